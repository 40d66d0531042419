// The products, norms, rotations and attentions that a layer is made of, for some sequences and heads at a
// time.
#pragma once
#include "layer/plan.hpp"

namespace fovea::layer {

// Sequences, and KV heads of them, that are done at a time.
struct block {
  int32_t first_sequence, end_sequence;
  int32_t first_head, end_head;
  tokens_of queries, context;
  int32_t first_token; // of all queries, where `queries` are some of them

  int32_t heads() const { return end_head - first_head; }
};

// Outputs from .. from + count - 1 of a matrix.
struct outputs_of {
  int32_t from, count;
};
// Where rows of floats go, one for each token.
struct rows_to {
  float* at;
  ptrdiff_t stride;
};

// Tokens that both hold.
inline tokens_of overlap(tokens_of a, tokens_of b) {
  const auto from = static_cast<int32_t>(clamp(b.first, a.first, a.first + a.count)),
             to = static_cast<int32_t>(clamp(b.first + b.count, from, a.first + a.count));
  return {from, to - from};
}

struct layer_calls {
  const layer_plan& p;
  layer_rows rows; // row 0 is the first token of a block, and column 0 belongs to its first head
  void* scratch;
  size_t scratch_size;
  bool only_checks;
  int64_t weights_before = 0; // floats that earlier sequences wrote
  bool measures = false;      // checks find out how much scratch a call makes use of at most
  int64_t most_scratch = 0;

  int32_t project(const block& b);
  int32_t project_queries(const block& b, tokens_of tokens);
  int32_t project_keys(const block& b, tokens_of tokens);
  int32_t project_values(tokens_of tokens, float* rows_of_v);
  int32_t project_keys_of(int32_t sequence, tokens_of tokens); // to row 0 of rows.k
  int32_t attend(const block& b);
  int32_t multiply_heads(const block& b);

 private:
  int32_t attend_integers(const block& b);
  int32_t multiply(const fovea_product& product, int32_t argument);
  int32_t multiply_part(const fovea_linear& w, outputs_of outputs, const fovea_rows_in& x, tokens_of tokens,
                        rows_to y, int32_t argument);
  void normalise_heads(rows_to to, int32_t heads, const float* weight, int32_t tokens) const;
  void finish_heads(rows_to to, int32_t heads, const float* weight, tokens_of tokens, const block& b,
                    bool of_context) const;
  fovea_attention attention_of(const block& b, int32_t s) const;
};

int32_t run_portions(layer_calls& calls, const portion& n);

// The status of all calls with enough scratch; and what scratch must not meet.
int32_t check(const layer_plan& p);
int32_t check_scratch(const layer_plan& p, void* scratch, size_t size);

inline unsigned char* aligned(void* at) {
  const auto address = reinterpret_cast<uintptr_t>(at);
  return reinterpret_cast<unsigned char*>(address + (64 - address % 64) % 64);
}

// Where scratch would be that meets nothing: behind all that the call touches.
void* beyond(const layer_plan& p);

} // namespace fovea::layer
