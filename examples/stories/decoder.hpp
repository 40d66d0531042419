// Tokens in, logits out: Llama's decoder. All memory is given. The model is constant; what it has read so far
// is in the caches of its layers, which may continue a prefix in constant memory.
#pragma once
#include "fovea/cache.h"
#include "image.hpp"

namespace stories {

struct arithmetic {
  int32_t isa = FOVEA_ISA_BEST, fixed_isa = FOVEA_FIXED_BEST;
};

// Workers call run() at the same time, each with its own index and scratch. Where one needs what others
// compute, it calls `wait`, which returns when all have called it.
struct team {
  fovea_part part = {0, 1};
  void (*wait)(void* context) = nullptr; // not called for one worker
  void* context = nullptr;
};

// Bytes, each a multiple of 64: the cache of a layer, and of all layers, for `tokens`; the numbers of `rows`
// tokens that are read at once; the scratch of one worker. `cache`: FOVEA_F32 or FOVEA_I8, behind which
// stands the largest number of its keys.
constexpr uint64_t up64(uint64_t bytes) { return (bytes + image_align - 1) / image_align * image_align; }
constexpr uint64_t row_bytes(int32_t rows, int32_t columns) {
  return up64(sizeof(float) * static_cast<uint64_t>(rows) * static_cast<uint64_t>(columns));
}
constexpr uint64_t cache_size(const shape& s, int32_t tokens, int32_t cache = FOVEA_F32) {
  return up64(FOVEA_CACHE_BYTES(s.kv_heads, s.head_dim(), s.head_dim(), tokens, cache) +
              (cache == FOVEA_I8 ? FOVEA_CACHE_SCALES(s.kv_heads, tokens) + image_align : 0));
}
constexpr uint64_t caches_size(const shape& s, int32_t tokens, int32_t cache = FOVEA_F32) {
  return static_cast<uint64_t>(s.layers) * cache_size(s, tokens, cache);
}
constexpr uint64_t numbers_size(const shape& s, int32_t rows) {
  return 2 * row_bytes(rows, s.width) + row_bytes(rows, s.q_width()) + row_bytes(rows, s.qkv_width()) +
         row_bytes(rows, s.hidden);
}
// Of a row of queries in int8, and how scores of each head become octaves.
constexpr uint64_t integer_query_size(const shape& s) {
  return up64(static_cast<uint64_t>(s.q_width())) +
         up64(sizeof(fovea_fixed_scale) * static_cast<uint64_t>(s.heads));
}
constexpr uint64_t scratch_size(const shape& s, int32_t rows, int32_t cache = FOVEA_F32) {
  const auto larger = [](uint64_t a, uint64_t b) { return a > b ? a : b; };
  const uint64_t inputs = larger(larger(static_cast<uint64_t>(s.hidden), static_cast<uint64_t>(s.width)),
                                 static_cast<uint64_t>(s.q_width())),
                 product = FOVEA_MULTIPLY_SCRATCH(inputs, rows, int32_t{FOVEA_I8}),
                 floats = FOVEA_SCRATCH(s.head_dim(), s.head_dim()),
                 integers = cache == FOVEA_I8
                                ? integer_query_size(s) + FOVEA_FIXED_SCRATCH(s.head_dim(), s.head_dim())
                                : 0;
  return up64(larger(product, larger(floats, integers)));
}

// What a branch needs in addition: it copies up to so many of the last tokens of its prefix.
constexpr int32_t branch_tokens(int32_t cache = FOVEA_F32) { return cache == FOVEA_I8 ? 63 : 15; }

struct decoder_memory {
  unsigned char* caches;  // caches_size(of, tokens, cache) bytes at a multiple of 64
  unsigned char* numbers; // numbers_size(of, rows) bytes at a multiple of 64
  int32_t tokens, rows;
  // FOVEA_F32, or FOVEA_I8: keys and values have a scale for each token and head, queries one each, and
  // attention is computed in integers. A row of queries that these cannot hold is attended to in floats.
  int32_t cache = FOVEA_F32;
};

// The caches of another decoder, of the same kind, which has read `tokens` with room for no more: in flash,
// for example.
struct prefix {
  const unsigned char* caches = nullptr;
  int32_t tokens = 0;
};

class decoder {
 public:
  decoder(const model& m, const decoder_memory& memory, const arithmetic& how = {});

  // Each returns a status of fovea.
  int32_t begin();                     // nothing has been read
  int32_t begin(const prefix& before); // the prefix has been read

  // Reads `count` tokens, at most `rows`, and writes logits[wanted][words] of the last `wanted` ones. The
  // numbers depend on the tokens only: not on how many are read at once, on workers or the ISA.
  int32_t run(const int32_t* ids, int32_t count, int32_t wanted, float* logits, void* scratch,
              const team& workers = {});

  int32_t length() const; // tokens that have been read
  const model& of() const { return m_; }

 private:
  friend class pass;
  unsigned char* cache(int32_t layer) const;
  const unsigned char* prefix_cache(int32_t layer) const;
  float* largest_key(int32_t layer) const; // of a cache of int8

  const model& m_;
  const decoder_memory memory_;
  const arithmetic how_;
  const uint64_t scratch_size_;
  prefix prefix_;
};

} // namespace stories
