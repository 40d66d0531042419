// Products with weights of integers: what of them the plan, the packing and the call ask for.
// docs/fixed_point.md, linear layers.
#pragma once
#include "linear/plan.hpp"

namespace fovea::linear {

constexpr bool is_integer(int32_t dtype) { return dtype == FOVEA_I8 || dtype == FOVEA_I4; }

constexpr int32_t greatest_in_of_bytes = 65536; // sums stay below 2^31
// A block of GGUF's Q4_0: a float16 scale, and 16 bytes of two numbers each.
constexpr int32_t q4_0_numbers = 32, q4_0_halves = 9, q4_0_block = 2 * q4_0_halves;

// Rows that a call quantises at a time where scratch suffices, and the bytes it takes for so many.
int32_t rows_at_once(const linear_plan& p, const share& s);
size_t integer_scratch(const linear_plan& p, int32_t rows);
// A status: of the scratch, which must suffice for one row.
int32_t multiply_integers(const linear_plan& p, const share& s, void* scratch, size_t size);

// The same with weights in an order of their own.
size_t arranged_scratch(const linear_plan& p, int32_t rows);
int32_t multiply_arranged(const linear_plan& p, const share& s, void* scratch, size_t size);

// Rows of weights that are packed as outputs at .. at + rows - 1. FOVEA_OK, or the reason to refuse a number.
struct integer_rows {
  const unsigned char* data;
  ptrdiff_t step; // bytes from row to row
  int32_t dtype;  // of the rows: FOVEA_F32, FOVEA_F16, FOVEA_BF16, or FOVEA_I4: blocks of Q4_0
  int32_t rows, in, out, at;
};
int32_t check_numbers(const integer_rows& w, int32_t dtype);
void pack_bytes(const integer_rows& w, unsigned char* packed);
void pack_groups(const integer_rows& w, unsigned char* packed);

} // namespace fovea::linear
