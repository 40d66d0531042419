// A problem to solve: the shape of an attention call, and the memory and data that belong to it.
#pragma once
#include <doctest/doctest.h>

#include <vector>

#include "data.hpp"
#include "fovea/fovea.h"
#include "modifiers.hpp"

enum class storage { heads_first, tokens_first, packed_qkv, padded_rows };

// What a call asks for, written as a sentence: shape("why").heads(4, 2).dims(64).lengths(1, 17).causal()
struct shape {
  const char* why;
  fovea_attention options = {};
  storage stored = storage::heads_first;
  float score_size = 1; // scores reach about this, with the default scale
  modifier_wish wish = {};

  explicit shape(const char* reason) : why(reason) { heads(1).dims(8).lengths(1, 16); }
  shape& heads(int32_t q, int32_t kv = 0) { return options.q_heads = q, options.kv_heads = kv, *this; }
  shape& dims(int32_t dim, int32_t v_dim = 0) { return options.dim = dim, options.v_dim = v_dim, *this; }
  shape& lengths(int32_t queries, int32_t keys) {
    return options.queries = queries, options.keys = keys, *this;
  }
  shape& causal() { return options.flags |= FOVEA_CAUSAL, *this; }
  shape& position(int32_t p) { return options.flags |= FOVEA_POSITION, options.position = p, *this; }
  shape& window(int32_t left, int32_t right) {
    options.flags |= FOVEA_WINDOW, options.window_left = left, options.window_right = right;
    return *this;
  }
  shape& prefix(int32_t keys) { return options.prefix = keys, *this; }
  shape& keep_first(int32_t keys) { return options.keep_first = keys, *this; }
  shape& first_key(int32_t j) { return options.first_key = j, *this; }
  shape& chunk(int32_t keys, int32_t left) { return wish.chunk = keys, wish.left_chunks = left, *this; }
  shape& tree(uint32_t seed) { return wish.tree = seed, causal(); }
  shape& scale(float x) { return options.flags |= FOVEA_SCALE, options.scale = x, *this; }
  shape& softcap(float cap) { return options.softcap = cap, *this; }
  shape& alibi(float slopes = 0.3f) { return wish.slopes = slopes, *this; }
  shape& sinks(float logits = 2) { return wish.sinks = logits, *this; }
  shape& mask(mask_kind kind, bool by_head = true, bool by_query = true) {
    wish.mask = kind, wish.mask_by_head = by_head, wish.mask_by_query = by_query;
    return *this;
  }
  shape& mask_keys(int32_t keys) { return options.mask.keys = keys, *this; }
  shape& lse() { return wish.lse = true, *this; }
  shape& weights(int32_t stage) { return wish.weights = true, options.weights.stage = stage, *this; }
  shape& scores(float size) { return score_size = size, *this; }
  shape& in(storage s) { return stored = s, *this; }

  int32_t kv_heads() const { return options.kv_heads == 0 ? options.q_heads : options.kv_heads; }
  int32_t v_dim() const { return options.v_dim == 0 ? options.dim : options.v_dim; }
  int64_t products() const {
    return int64_t{options.q_heads} * options.queries * options.keys * (int64_t{options.dim} + v_dim());
  }
};

// Memory for one problem: exact sizes, NaN wherever no element lives.
class problem {
 public:
  explicit problem(const shape& s, uint32_t seed = 1);
  ~problem();
  problem(const problem&) = delete;
  problem& operator=(const problem&) = delete;

  fovea_attention call(int32_t isa = FOVEA_ISA_BEST) const;

  // The results in the order [head][query][dim], whatever the strides; then the log-sum-exp and the weights
  // that were asked for.
  std::vector<float> results() const;

  void wipe_results() { out_memory.wipe(), modifiers.wipe(); }

  // Nothing beside the elements of the output was written: neither before, nor behind, nor between its rows.
  bool only_results_written() const;

  modifier_memory modifiers;
  data::tensor q, k, v, out;
  data::guarded<float> q_memory{0}, k_memory{0}, v_memory{0}, out_memory{0};

 private:
  void view(const data::tensor& t, fovea_in& in) const;
  void stride(data::tensor& t, int32_t heads, int32_t tokens, int32_t dim) const;
  void place(const shape& s);
  void pack_qkv();

  storage stored_;
  fovea_attention call_;
};

doctest::String status_text(int32_t status);

// Attends with scratch of exactly this size and checks that nothing was written outside of it.
int32_t attend_in(const fovea_attention& a, size_t scratch_size);

// The results of a call on a problem's memory; the output starts as NaN, and nothing but results may be
// written.
std::vector<float> solve(problem& p, const fovea_attention& a, size_t scratch_size);
std::vector<float> solve(problem& p, const fovea_attention& a);

// K of a problem in panels, as a cache holds it; with a gap between heads, or close together as a stride of 0
// says.
class packed_keys {
 public:
  explicit packed_keys(const problem& p, size_t gap = 0)
      : head_(FOVEA_UP16(p.k.tokens) * static_cast<size_t>(p.k.dim) + gap),
        has_gap_(gap > 0),
        panels_(head_ * static_cast<size_t>(p.k.heads)) {
    for (int32_t g = 0; g < p.k.heads; ++g)
      CHECK(fovea_pack_keys(panels_.data() + head_ * static_cast<size_t>(g), 0, p.k.row(g, 0),
                            p.k.token_stride, p.k.tokens, p.k.dim) == FOVEA_OK);
  }
  fovea_attention read_by(fovea_attention a) const {
    a.k.data = panels_.data(), a.k.layout = FOVEA_PANELS;
    a.k.head_stride = has_gap_ ? static_cast<ptrdiff_t>(head_) : 0, a.k.token_stride = 0;
    return a;
  }
  const data::guarded<float>& memory() const { return panels_; }

 private:
  size_t head_;
  bool has_gap_;
  data::guarded<float> panels_;
};
