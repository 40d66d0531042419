// TFLite's integer softmax, bit for bit: its fixed-point primitives, its exponential, its reciprocal. Sums
// and one-element rows are right where other ports overflow.
#include "common/build.hpp"

#include "fixed/arithmetic.hpp"
#include "fixed/softmax_checks.hpp"
#include "fovea/fixed_softmax.h"

namespace fovea::fixed {
namespace {

// a * b / 2^31, rounded; -1 times -1 saturates.
int32_t doubling_high(int32_t a, int32_t b) {
  if (a == INT32_MIN && b == INT32_MIN) return INT32_MAX;
  return static_cast<int32_t>((static_cast<int64_t>(a) * b + (int64_t{1} << 30)) >> 31);
}

int32_t divide_by_power(int32_t x, int exponent) { // to nearest, halves away from zero
  if (exponent > 31) return 0;
  const int32_t mask = static_cast<int32_t>((uint32_t{1} << exponent) - 1), rest = x & mask;
  return (x >> exponent) + (rest > (mask >> 1) + (x < 0));
}

int32_t saturating_left(int32_t x, int by) {
  const int32_t limit = INT32_MAX >> by;
  return x > limit ? INT32_MAX : x < -limit - 1 ? INT32_MIN : left_shift(x, by);
}

// e^a for a in (-1/4, 0] in Q31, by a polynomial around -1/8.
int32_t exp_of_quarter(int32_t a) {
  const int32_t x = a + (1 << 28), x2 = doubling_high(x, x), x3 = doubling_high(x2, x),
                x4 = doubling_high(x2, x2);
  const int32_t tail = divide_by_power(doubling_high(divide_by_power(x4, 2) + x3, 715827883) + x2, 1);
  return 1895147668 + doubling_high(1895147668, x + tail);
}

// e^a for a <= 0 with 5 integer bits, in Q31: a quarter's polynomial, times e^-(2^i) for each bit of what is
// left.
int32_t exp_of(int32_t a) {
  if (a == 0) return INT32_MAX;
  constexpr int32_t quarter = 1 << 24;
  constexpr int32_t powers[] = {1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242};
  const int32_t within = (a & (quarter - 1)) - quarter, rest = within - a;
  int32_t result = exp_of_quarter(left_shift(within, 5));
  for (int i = 0; i < 7; ++i)
    if (rest & (quarter << i)) result = doubling_high(result, powers[i]);
  return result;
}

// 1 / (1 + v) for v in [0, 1) in Q31: three steps of Newton's.
int32_t one_over_one_plus(int32_t v) {
  const int32_t half = static_cast<int32_t>((static_cast<int64_t>(v) + INT32_MAX + 1) / 2);
  int32_t y = 1515870810 + doubling_high(half, -1010580540);
  for (int i = 0; i < 3; ++i) y += saturating_left(doubling_high(y, (1 << 29) - doubling_high(half, y)), 2);
  return saturating_left(y, 1);
}

template <class T>
int32_t softmax(const int8_t* x, int32_t count, const fovea_tflite_softmax& scale, T* out) {
  constexpr int bits = 8 * sizeof(T);
  constexpr int32_t least = bits == 8 ? -128 : -32768, greatest = bits == 8 ? 127 : 32767;
  int32_t top = -128;
  for (int32_t i = 0; i < count; ++i) top = x[i] > top ? x[i] : top;
  const auto exponential = [&](int32_t below) {
    return exp_of(doubling_high(left_shift(below, scale.left_shift), scale.multiplier));
  };
  uint32_t sum = 0; // 1 is 2^19
  for (int32_t i = 0; i < count; ++i)
    if (x[i] - top >= scale.diff_min)
      sum += static_cast<uint32_t>(divide_by_power(exponential(x[i] - top), 12));
  const int headroom = leading_zeros(sum);
  const int32_t inverse = one_over_one_plus(static_cast<int32_t>((sum << headroom) - (uint32_t{1} << 31)));
  for (int32_t i = 0; i < count; ++i) {
    if (x[i] - top < scale.diff_min) {
      out[i] = static_cast<T>(least);
      continue;
    }
    const int32_t y = divide_by_power(doubling_high(inverse, exponential(x[i] - top)),
                                      12 - headroom + 31 - bits) +
                      least;
    out[i] = static_cast<T>(y < least ? least : y > greatest ? greatest : y);
  }
  return FOVEA_OK;
}

template <class In, class Out>
int32_t check(const In* x, int32_t count, const void* scale, const Out* out) {
  if (!scale) return refusal(FOVEA_NULL, FOVEA_ARG_SCALE);
  if (count < 0 || count > 8191)
    return refusal(FOVEA_SIZE, FOVEA_ARG_KEYS); // more ones would not fit the sum
  return check_rows_of_integers(x, sizeof(In), out, sizeof(Out), count);
}

int32_t check_scale(const fovea_tflite_softmax& s) {
  const bool good = s.multiplier >= 0 && s.left_shift >= 0 && s.left_shift <= 31 && s.diff_min <= 0;
  return good ? int32_t{FOVEA_OK} : refusal(FOVEA_RANGE, FOVEA_ARG_SCALE);
}

template <class T>
int32_t checked(const int8_t* x, int32_t count, const fovea_tflite_softmax* scale, T* out) {
  if (const int32_t s = check(x, count, scale, out)) return s;
  if (const int32_t s = check_scale(*scale)) return s;
  return count ? softmax(x, count, *scale, out) : int32_t{FOVEA_OK};
}

// A table of 513 numbers over 16 bits, straight lines in between.
int32_t look_up(int32_t x, const int16_t* table) {
  const int32_t at = 256 + (x >> 7), offset = x & 127;
  const int32_t slope = static_cast<int16_t>(table[at + 1] - table[at]);
  return table[at] + ((slope * offset + 64) >> 7);
}

constexpr int32_t to_16_bits(int32_t x) { return x < -32768 ? -32768 : x > 32767 ? 32767 : x; }

// x * multiplier * 2^shift / 2^31 with TFLite's two roundings.
int32_t multiply_by(int32_t x, int32_t multiplier, int shift) {
  const int left = shift > 0 ? shift : 0, right = shift > 0 ? 0 : -shift;
  return divide_by_power(doubling_high(left_shift(x, left), multiplier), right);
}

} // namespace
} // namespace fovea::fixed

int32_t fovea_tflite_softmax_s8(const int8_t* x, int32_t count, const fovea_tflite_softmax* scale,
                                int8_t* out) {
  return fovea::fixed::checked(x, count, scale, out);
}
int32_t fovea_tflite_softmax_s8_s16(const int8_t* x, int32_t count, const fovea_tflite_softmax* scale,
                                    int16_t* out) {
  return fovea::fixed::checked(x, count, scale, out);
}

int32_t fovea_tflite_softmax_s16(const int16_t* x, int32_t count, const fovea_tflite_softmax_tables* t,
                                 int16_t* out) {
  using namespace fovea;
  using namespace fovea::fixed;
  if (const int32_t s = check(x, count, t, out)) return s;
  if (!t->exp || !t->one_over_one_plus) return refusal(FOVEA_NULL, FOVEA_ARG_SCALE);
  const size_t bytes = static_cast<size_t>(count) * sizeof *out, table = 513 * sizeof *t->exp;
  if (const int32_t s = check_beside_output(t->exp, sizeof *out, table, FOVEA_ARG_SCALE, out, bytes))
    return s;
  if (const int32_t s = check_beside_output(t->one_over_one_plus, sizeof *out, table, FOVEA_ARG_SCALE, out,
                                            bytes))
    return s;
  if (t->multiplier < 0 || t->shift < -31 || t->shift > 14) return refusal(FOVEA_RANGE, FOVEA_ARG_SCALE);
  if (count == 0) return FOVEA_OK;
  int32_t top = -32768, sum = 0;
  for (int32_t i = 0; i < count; ++i) top = x[i] > top ? x[i] : top;
  const auto exponential = [&](int32_t i) {
    return look_up(to_16_bits(multiply_by(x[i] - top, t->multiplier, t->shift) + 32767), t->exp);
  };
  for (int32_t i = 0; i < count; ++i) sum += exponential(i);
  const int headroom = leading_zeros(static_cast<uint32_t>(sum));
  const int32_t scaled = static_cast<int32_t>(((static_cast<int64_t>(sum) << (headroom - 1)) + (1 << 13)) >>
                                              14);
  const int32_t inverse = look_up(to_16_bits(scaled - 98304), t->one_over_one_plus);
  for (int32_t i = 0; i < count; ++i) {
    const int64_t y = (static_cast<int64_t>(exponential(i)) * inverse + (int64_t{1} << (30 - headroom))) >>
                      (31 - headroom);
    out[i] = static_cast<int16_t>(y < 0 ? 0 : y > 32767 ? 32767 : y);
  }
  return FOVEA_OK;
}
