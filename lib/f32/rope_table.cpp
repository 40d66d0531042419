// Cosines and sines of rotary embedding, in 64-bit integers: no libm, no double, the same bits everywhere.
// docs/numerics.md, section 11.
#include "common/build.hpp"

#include "f32/check_rows.hpp"
#include "fovea/ops.h"

namespace fovea::f32 {
namespace {

constexpr int64_t one = int64_t{1} << 62; // numbers between -2 and 2 are multiples of 2^-62

// The upper 64 bits of a product, by halves: few cores have such an instruction.
constexpr uint64_t upper(uint64_t a, uint64_t b) {
  const uint64_t low = 0xffffffffu;
  const uint64_t a1 = a >> 32, a0 = a & low, b1 = b >> 32, b0 = b & low;
  const uint64_t middle = a1 * b0 + (a0 * b0 >> 32), other = a0 * b1 + (middle & low);
  return a1 * b1 + (middle >> 32) + (other >> 32);
}
// a * b of numbers, rounded towards zero.
constexpr int64_t times(int64_t a, int64_t b) {
  const bool down = (a < 0) != (b < 0);
  const uint64_t x = static_cast<uint64_t>(a < 0 ? -a : a), y = static_cast<uint64_t>(b < 0 ? -b : b);
  const auto product = static_cast<int64_t>(upper(x << 1, y << 1));
  return down ? -product : product;
}

// log2 of a float of at least 1, as a multiple of 2^-57: squaring tells one bit of the logarithm after the
// other.
uint64_t log2_of(float x) {
  const uint32_t bits = bits_of(x);
  uint64_t result = (bits >> 23) - 127;
  uint64_t fraction = uint64_t{(bits & 0x7fffffu) | 0x800000u} << 40; // 1 .. 2, a multiple of 2^-63
  for (int bit = 0; bit < 57; ++bit) {
    const uint64_t square = upper(fraction, fraction); // 1 .. 4, a multiple of 2^-62
    const bool twice = square >> 63;
    fraction = twice ? square : square << 1;
    result = result << 1 | (twice ? 1 : 0);
  }
  return result;
}

// 2^-x of a multiple of 2^-57, as a multiple of 2^-62 that is shifted right by x's integer.
int64_t exp2_of_negative(uint64_t x) {
  constexpr int64_t ln_2 = 0x2c5c85fdf473de6b; // of 2^-62
  const int64_t t = times(static_cast<int64_t>((x & ((uint64_t{1} << 57) - 1)) << 5), ln_2);
  int64_t sum = one; // of (-t)^k / k!
  for (int k = 20; k > 0; --k) sum = one - times(t, sum) / k;
  const uint64_t shift = x >> 57;
  return shift > 62 ? 0 : sum >> shift;
}

// base^(-2i / rotary_dim) / (2 pi): what an angle grows by with each position, in turns of 2^-64.
uint64_t turns_of(uint64_t log2_base, int32_t i, int32_t rotary_dim) {
  constexpr uint64_t inverse_of_two_pi = 0x28be60db9391054a; // of 2^-64
  const uint64_t whole = log2_base / static_cast<uint32_t>(rotary_dim),
                 rest = log2_base % static_cast<uint32_t>(rotary_dim);
  const uint64_t twice = 2 * static_cast<uint32_t>(i);
  const uint64_t x = whole * twice + rest * twice / static_cast<uint32_t>(rotary_dim);
  return upper(inverse_of_two_pi << 1, static_cast<uint64_t>(exp2_of_negative(x)) << 1);
}

struct exact_factor { // significand * 2^-shift, of 24 bits: a float of 1 to 32768
  uint32_t significand;
  int shift;
};

struct scaled_frequencies {
  uint64_t log2_base;
  int32_t rotary_dim, scaling;
  exact_factor factor, low, high;
  uint32_t original;
};

uint64_t over(uint64_t turns, exact_factor by) { // turns / by, rounded down
  const uint64_t whole = turns / by.significand, rest = turns % by.significand;
  return (whole << by.shift) + (rest << by.shift) / by.significand;
}

uint64_t in_40_bits(exact_factor x) { return uint64_t{x.significand} << (40 - x.shift); } // of 2^-40

int64_t ratio(uint64_t a, uint64_t b) { // a / b below 1
  uint64_t result = 0;
  for (int bit = 0; bit < 62; ++bit) {
    a <<= 1;
    result = result << 1 | (a >= b ? 1 : 0);
    if (a >= b) a -= b;
  }
  return static_cast<int64_t>(result);
}

uint64_t frequency(const scaled_frequencies& f, int32_t i) {
  const uint64_t turns = turns_of(f.log2_base, i, f.rotary_dim);
  if (f.scaling == FOVEA_ROPE_DEFAULT) return turns;
  const uint64_t slow = over(turns, f.factor);
  if (f.scaling == FOVEA_ROPE_LINEAR) return slow;
  // Turns within the original length, and the ends of the ramp: multiples of 2^-40.
  const uint64_t within = upper(turns << 1, uint64_t{f.original} << 39);
  const uint64_t low = in_40_bits(f.low), high = in_40_bits(f.high);
  if (within < low) return slow;
  if (within >= high) return turns;
  return slow + (upper((turns - slow) << 1, static_cast<uint64_t>(ratio(within - low, high - low)) << 1));
}

// Sum of Taylor's series: 1 - x / (m (m + 1)) (1 - x / ((m + 2) (m + 3)) (...)), ten terms.
int64_t series(int64_t x, int m) {
  int64_t sum = one;
  for (int k = m + 18; k >= m; k -= 2) sum = one - times(x, sum) / (k * (k + 1));
  return sum;
}

float rounded(int64_t x) { return static_cast<float>(x) * 0x1p-62f; } // rounds once: the product is exact

// An angle in turns of 2^-64.
void cosine_and_sine(uint64_t turns, float& cosine, float& sine) {
  constexpr int64_t half_pi = 0x6487ed5110b4611a;     // of 2^-62
  const uint64_t quarters = ((turns >> 61) + 1) >> 1; // the nearest quarter of a turn
  const int64_t angle = times(static_cast<int64_t>(turns - (quarters << 62)), half_pi); // within pi / 4
  const int64_t square = times(angle, angle);
  const int64_t s = times(angle, series(square, 2)), c = series(square, 1);
  const bool swapped = quarters & 1;
  const int64_t x = swapped ? s : c, y = swapped ? c : s;
  cosine = rounded((quarters + 1) & 2 ? -x : x);
  sine = rounded(quarters & 2 ? -y : y);
}

int32_t check_factor(float given, float otherwise, exact_factor& factor) {
  if (!is_finite(given)) return refusal(FOVEA_NOT_FINITE, FOVEA_ARG_FACTOR);
  const float x = is_zero(given) ? otherwise : given;
  if (x < 1 || x > 32768) return refusal(FOVEA_RANGE, FOVEA_ARG_FACTOR);
  const uint32_t bits = bits_of(x);
  factor = {(bits & 0x7fffff) | 0x800000, 23 + 127 - static_cast<int>(bits >> 23)};
  return FOVEA_OK;
}

int32_t check_frequencies(const fovea_rope_frequencies& f, scaled_frequencies& to) {
  if (!all_zero(f.reserved, sizeof f.reserved / sizeof *f.reserved))
    return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_RESERVED);
  if (!is_finite(f.base)) return refusal(FOVEA_NOT_FINITE, FOVEA_ARG_BASE);
  const float base = is_zero(f.base) ? 10000 : f.base;
  if (base < 1 || base > 0x1p60f) return refusal(FOVEA_RANGE, FOVEA_ARG_BASE);
  if (f.rotary_dim < 2 || f.rotary_dim % 2 || f.rotary_dim > greatest_dim)
    return refusal(FOVEA_SIZE, FOVEA_ARG_DIM);
  if (f.scaling < FOVEA_ROPE_DEFAULT || f.scaling > FOVEA_ROPE_LLAMA3)
    return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_KIND);
  if (f.original_positions < 0 || f.original_positions > 1 << 24)
    return refusal(FOVEA_RANGE, FOVEA_ARG_POSITIONS);
  const float usual = f.scaling == FOVEA_ROPE_LLAMA3 ? 8 : 1;
  if (const int32_t s = check_factor(f.factor, usual, to.factor)) return s;
  if (const int32_t s = check_factor(f.low_factor, 1, to.low)) return s;
  if (const int32_t s = check_factor(f.high_factor, 4, to.high)) return s;
  if (in_40_bits(to.high) <= in_40_bits(to.low)) return refusal(FOVEA_RANGE, FOVEA_ARG_FACTOR);
  to.log2_base = log2_of(base);
  to.rotary_dim = f.rotary_dim;
  to.scaling = f.scaling;
  to.original = f.original_positions ? static_cast<uint32_t>(f.original_positions) : 8192;
  return FOVEA_OK;
}

} // namespace
} // namespace fovea::f32

int32_t fovea_rope_table(const fovea_rope_frequencies* f, int32_t first, int32_t count, float* cosines,
                         float* sines) {
  using namespace fovea;
  using namespace fovea::f32;
  if (!f) return refusal(FOVEA_NULL, FOVEA_ARG_CALL);
  scaled_frequencies scaled;
  if (const int32_t status = check_frequencies(*f, scaled)) return status;
  if (count < 0) return refusal(FOVEA_SIZE, FOVEA_ARG_POSITIONS);
  if (first < 0 || first > 0x7fffffff - count) return refusal(FOVEA_RANGE, FOVEA_ARG_POSITIONS);
  const int32_t half = f->rotary_dim / 2;
  byte_range cosine_bytes, sine_bytes;
  if (const int32_t s = check_floats({cosines, half, count, half}, FOVEA_ARG_OUT, cosine_bytes)) return s;
  if (const int32_t s = check_floats({sines, half, count, half}, FOVEA_ARG_OUT, sine_bytes)) return s;
  if (meet(cosine_bytes, sine_bytes)) return refusal(FOVEA_OVERLAP, FOVEA_ARG_OUT);
  for (ptrdiff_t i = 0; i < half; ++i) {
    const uint64_t turns = frequency(scaled, static_cast<int32_t>(i));
    for (ptrdiff_t t = 0; t < count; ++t)
      cosine_and_sine(turns * static_cast<uint64_t>(first + t), cosines[t * half + i], sines[t * half + i]);
  }
  return FOVEA_OK;
}
