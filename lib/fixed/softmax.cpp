// The accurate softmax of integers: weights of 22 bits, one 32-bit division per row. A row whose columns are
// all masked becomes zeros.
#include "common/build.hpp"

#include "fixed/fine.hpp"
#include "fixed/softmax_checks.hpp"
#include "fovea/fixed_softmax.h"

namespace fovea::fixed {
namespace {

struct line { // octaves of x, with 22 bits behind the point
  int32_t multiplier, shift;
  int64_t operator()(int32_t x) const {
    const int64_t product = static_cast<int64_t>(x) * multiplier;
    return shift >= 6 ? product >> (shift - 6) : product * (1 << (6 - shift));
  }
};

template <class T>
void softmax(const T* x, const uint8_t* mask, int32_t count, line octaves, uint16_t* out) {
  int32_t top = INT32_MIN;
  const auto counts = [&](int32_t i) { return !mask || mask[i]; };
  for (int32_t i = 0; i < count; ++i)
    if (counts(i) && x[i] > top) top = x[i];
  const auto weight = [&](int32_t i) {
    return counts(i) ? weights_of_22_bits::weight(octaves(top) - octaves(x[i])) : 0;
  };
  int64_t sum = 0;
  for (int32_t i = 0; i < count; ++i) sum += weight(i);
  const int length = length_of(sum), shift = 14 + length;
  const int64_t inverse = sum ? inverse_of(sum, length) : 0;
  for (int32_t i = 0; i < count; ++i) {
    const int64_t y = (weight(i) * inverse + (int64_t{1} << (shift - 1))) >> shift;
    out[i] = static_cast<uint16_t>(y > 65535 ? 65535 : y);
  }
}

template <class T>
int32_t checked(const T* x, const uint8_t* mask, int32_t count, int32_t multiplier, int32_t shift,
                uint16_t* out) {
  if (count < 0 || count > 65536) return refusal(FOVEA_SIZE, FOVEA_ARG_KEYS);
  if (multiplier < 1 || shift < 1 || shift > 31) return refusal(FOVEA_RANGE, FOVEA_ARG_SCALE);
  if (const int32_t s = check_rows_of_integers(x, sizeof(T), out, sizeof(uint16_t), count)) return s;
  const size_t bytes = static_cast<size_t>(count);
  if (const int32_t s = check_beside_output(mask, 1, mask ? bytes : 0, FOVEA_ARG_MASK, out,
                                            bytes * sizeof(uint16_t)))
    return s;
  softmax(x, mask, count, {multiplier, shift}, out);
  return FOVEA_OK;
}

} // namespace
} // namespace fovea::fixed

int32_t fovea_fixed_softmax_s8(const int8_t* x, const uint8_t* mask, int32_t count, int32_t multiplier,
                               int32_t shift, uint16_t* out) {
  return fovea::fixed::checked(x, mask, count, multiplier, shift, out);
}
int32_t fovea_fixed_softmax_s16(const int16_t* x, const uint8_t* mask, int32_t count, int32_t multiplier,
                                int32_t shift, uint16_t* out) {
  return fovea::fixed::checked(x, mask, count, multiplier, shift, out);
}
