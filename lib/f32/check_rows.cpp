// Where rows of numbers stand, and what is wrong with them.
#include "common/build.hpp"

#include "f32/check_rows.hpp"

#include "fovea/ops.h"

namespace fovea::f32 {

int32_t check_rows(const rows_given& given, size_t element, int32_t argument, byte_range& bytes) {
  size_t size;
  if (given.stride < 0) return refusal(FOVEA_STRIDE, argument);
  if (!bytes_of({1, given.rows, 0, given.stride, given.columns}, element, size) ||
      !range_of(given.data, size, bytes))
    return refusal(FOVEA_OVERFLOW, argument);
  if (size && !given.data) return refusal(FOVEA_NULL, argument);
  return bytes.begin & (element - 1) ? refusal(FOVEA_ALIGN, argument) : 0; // element is a power of two
}

int32_t check_written(const rows_given& given, int32_t argument, byte_range& bytes) {
  if (const int32_t status = check_floats(given, argument, bytes)) return status;
  return given.rows > 1 && given.stride < given.columns ? refusal(FOVEA_STRIDE, argument) : 0;
}

int32_t check_counts(int32_t rows, int32_t columns) {
  if (rows < 0) return refusal(FOVEA_SIZE, FOVEA_ARG_ROWS);
  return columns < 0 || columns > FOVEA_COLUMNS_MAX ? refusal(FOVEA_SIZE, FOVEA_ARG_COLUMNS) : 0;
}

} // namespace fovea::f32
