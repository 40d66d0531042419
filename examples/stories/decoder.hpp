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
// tokens that are read at once; the scratch of one worker.
constexpr uint64_t up64(uint64_t bytes) { return (bytes + image_align - 1) / image_align * image_align; }
constexpr uint64_t row_bytes(int32_t rows, int32_t columns) {
  return up64(sizeof(float) * static_cast<uint64_t>(rows) * static_cast<uint64_t>(columns));
}
constexpr uint64_t cache_size(const shape& s, int32_t tokens) {
  return up64(FOVEA_CACHE_BYTES(s.kv_heads, s.head_dim(), s.head_dim(), tokens, int32_t{FOVEA_F32}));
}
constexpr uint64_t caches_size(const shape& s, int32_t tokens) {
  return static_cast<uint64_t>(s.layers) * cache_size(s, tokens);
}
constexpr uint64_t numbers_size(const shape& s, int32_t rows) {
  return 3 * row_bytes(rows, s.width) + row_bytes(rows, s.qkv_width()) + row_bytes(rows, s.hidden);
}
constexpr uint64_t scratch_size(const shape& s, int32_t rows) {
  const uint64_t product = FOVEA_MULTIPLY_SCRATCH(s.hidden > s.width ? s.hidden : s.width, rows,
                                                  int32_t{FOVEA_I8}),
                 attention = FOVEA_SCRATCH(s.head_dim(), s.head_dim());
  return up64(product > attention ? product : attention);
}

// What a branch needs in addition: it copies up to so many of the last tokens of its prefix.
constexpr int32_t branch_tokens = 15;

struct decoder_memory {
  unsigned char* caches;  // caches_size(of, tokens) bytes at a multiple of 64
  unsigned char* numbers; // numbers_size(of, rows) bytes at a multiple of 64
  int32_t tokens, rows;
};

// The caches of another decoder, which has read `tokens` with room for no more: in flash, for example.
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

  const model& m_;
  const decoder_memory memory_;
  const arithmetic how_;
  const uint64_t scratch_size_;
  prefix prefix_;
};

} // namespace stories
