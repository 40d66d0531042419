// Validation that the operations on rows share: where rows of numbers stand, and what they may overlap.
#pragma once
#include "f32/check.hpp"

namespace fovea::f32 {

struct rows_given { // [rows][columns]
  const void* data;
  ptrdiff_t stride; // in elements, 0 = columns
  int32_t rows, columns;
};

// The bytes that rows of `element` bytes take, and that there is such memory.
int32_t check_rows(const rows_given& given, size_t element, int32_t argument, byte_range& bytes);
inline int32_t check_floats(const rows_given& given, int32_t argument, byte_range& bytes) {
  return check_rows(given, sizeof(float), argument, bytes);
}
// The same for rows that are written: they must not overlap each other.
int32_t check_written(const rows_given& given, int32_t argument, byte_range& bytes);

int32_t check_counts(int32_t rows, int32_t columns);

// Rows that are written may be rows that are read, if these stand at the same places.
inline bool meets_others(const rows_given& in, byte_range in_bytes, const rows_given& out,
                         byte_range out_bytes) {
  const bool same = in.data == out.data && (in.rows < 2 || in.stride == out.stride);
  return !same && meet(in_bytes, out_bytes);
}

// Numbers, one for each row or column: [count], or null for none.
template <class T>
int32_t check_list(const T* numbers, int32_t count, int32_t argument, byte_range& bytes) {
  bytes = {};
  return numbers ? check_rows({numbers, 1, count, 1}, sizeof(T), argument, bytes) : 0;
}

} // namespace fovea::f32
