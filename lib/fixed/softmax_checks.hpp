// What the softmax functions of integers refuse: memory that is missing, misaligned, or read and written at
// once.
#pragma once
#include "common/validate.hpp"

namespace fovea::fixed {

// A row of `count` integers becomes another one; it may become it in place when both have the same element
// size.
static inline int32_t check_rows_of_integers(const void* x, size_t x_element, const void* out,
                                             size_t out_element, int32_t count) {
  if (count == 0) return FOVEA_OK;
  if (!x) return refusal(FOVEA_NULL, FOVEA_ARG_Q);
  if (!out) return refusal(FOVEA_NULL, FOVEA_ARG_OUT);
  byte_range in, to;
  if (!range_of(x, static_cast<size_t>(count) * x_element, in)) return refusal(FOVEA_OVERFLOW, FOVEA_ARG_Q);
  if (!range_of(out, static_cast<size_t>(count) * out_element, to))
    return refusal(FOVEA_OVERFLOW, FOVEA_ARG_OUT);
  if (in.begin % x_element) return refusal(FOVEA_ALIGN, FOVEA_ARG_Q);
  if (to.begin % out_element) return refusal(FOVEA_ALIGN, FOVEA_ARG_OUT);
  const bool in_place = x == out && x_element == out_element;
  return !in_place && meet(in, to) ? refusal(FOVEA_OVERLAP, FOVEA_ARG_OUT) : int32_t{FOVEA_OK};
}

// Memory that is read beside the row may not be written. The output has been checked before.
static inline int32_t check_beside_output(const void* data, size_t element, size_t bytes, int32_t argument,
                                          const void* out, size_t written) {
  byte_range in, to;
  if (!range_of(data, bytes, in)) return refusal(FOVEA_OVERFLOW, argument);
  if (in.begin % element) return refusal(FOVEA_ALIGN, argument);
  return range_of(out, written, to) && meet(in, to) ? refusal(FOVEA_OVERLAP, FOVEA_ARG_OUT)
                                                    : int32_t{FOVEA_OK};
}

} // namespace fovea::fixed
