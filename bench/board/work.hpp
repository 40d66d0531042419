// One work of a board: its numbers, which are those of the same work in fovea_bench, its call and its digest.
#pragma once
#include "../shape.hpp"
#include "fovea/fixed.h"

namespace board {

#if defined(__ARM_FP)
constexpr bool has_floats = true;
#else
constexpr bool has_floats = false; // works of integers only
#endif

// All memory of a work, and its scratch, which gets what the numbers leave of `arena`.
class problem {
 public:
  explicit problem(const bench::shape& what); // fits() is false where there is too little memory

  bool fits() const { return scratch_bytes_ > 0; }
  int32_t run(); // one call; FOVEA_OK or a status
  uint64_t digest() const;
  uint32_t scratch_bytes() const { return scratch_bytes_; }
  const char* isa_name() const;

 private:
  bool integers() const { return !has_floats || what_.integers(); } // known to the compiler without an FPU
  void fill_floats();
  void fill_integers();
  void pack_heads();
  unsigned char* take(size_t bytes);
  size_t output_bytes() const;

  const bench::shape what_;
  size_t taken_ = 0;
  unsigned char *q_ = nullptr, *cache_ = nullptr, *out_ = nullptr, *scratch_ = nullptr;
  uint32_t scratch_bytes_ = 0;
  fovea_attention floats_ = {};
  fovea_fixed_attention integers_ = {};
};

uint64_t multiply_adds(
    const bench::shape& s); // one for each element of a key or value for a query that sees it

} // namespace board
