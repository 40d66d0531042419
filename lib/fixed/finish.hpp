// From sums to output: one 32-bit division a row, one product a number.
#pragma once
#include <cstring>

#include "fixed/rows.hpp"
#include "fixed/soft_float.hpp"

namespace fovea::fixed {

// out = (high_product(acc << left, multiplier) - zero + 2^(shift - 1)) >> shift is acc / sum in units of the
// output; shift is 1 .. 31. left is 0 but for a very fine output; then sums are small enough for it.
struct output_factor {
  int32_t multiplier, zero;
  int shift, left;
};

// What zero_v adds to the sums of a row, in the units of its accumulators: (zero_v * keys + half) >> spill,
// where `keys` is the part of the weights' sum that is not the sink's. Like the accumulators it fits 32 bits.
static inline int32_t zero_sum(const fixed_plan& p, uint32_t sum, uint32_t sink) {
  sum = sum > sink ? sum - sink : 0;
  const int32_t whole = static_cast<int32_t>(sum >> p.spill),
                rest = static_cast<int32_t>(sum - (sum >> p.spill << p.spill));
  return p.zero_v * whole + ((p.zero_v * rest + ((1 << p.spill) >> 1)) >> p.spill);
}

static inline output_factor factor_of(const fovea_fixed_scale& scale, uint32_t sum, int32_t zero_sum) {
  const int zeros = leading_zeros(sum);
  const uint32_t inverse = 0xffffffffu / ((sum << zeros) >> 15); // below 2^16
  output_factor f{};
  f.multiplier = high_product(scale.out_multiplier, static_cast<int32_t>(inverse << 15));
  f.shift = 29 - zeros - scale.out_shift;
  if (f.shift > 31) return {0, 0, 1, 0}; // nothing is left of any sum
  if (f.shift < 1) {
    f.left = 1 - f.shift;
    f.shift = 1;
  }
  f.zero = high_product(left_shift(zero_sum, f.left), f.multiplier);
  return f;
}

// Plain numbers in a plain loop, in a function of its own: compilers make registers of it.
template <class T>
__attribute__((noinline)) static void write_integers(const int32_t* __restrict acc, const output_factor& f,
                                                     int count, int32_t zero, T* __restrict out) {
  constexpr int32_t low = sizeof(T) == 1 ? -128 : -32768, high = sizeof(T) == 1 ? 127 : 32767;
  const int32_t half = (1 << (f.shift - 1)) - f.zero;
  for (int c = 0; c < count; ++c) {
    const int32_t y = ((high_product(left_shift(acc[c], f.left), f.multiplier) + half) >> f.shift) + zero;
    out[c] = static_cast<T>(y < low ? low : y > high ? high : y);
  }
}

template <class T>
static inline void fill(T* out, int count, T value) {
  for (int c = 0; c < count; ++c) out[c] = value;
}

// A row that saw nothing is zero.
static inline void write_nothing(const fixed_plan& p, unsigned char* out) {
  if (p.out_type == FOVEA_FIXED_F32) return fill(reinterpret_cast<uint32_t*>(out), p.v_dim, uint32_t{0});
  if (p.out_type == FOVEA_FIXED_S16)
    return fill(reinterpret_cast<int16_t*>(out), p.v_dim, static_cast<int16_t>(p.zero_out));
  fill(reinterpret_cast<int8_t*>(out), p.v_dim, static_cast<int8_t>(p.zero_out));
}

// How output is written; cores with registers for it have a writer of their own.
struct plain_writer {
  template <class T>
  static inline void write(const int32_t* acc, const output_factor& f, int count, int32_t zero, T* out) {
    write_integers(acc, f, count, zero, out);
  }
  // float(acc) * (scale / float(sum)): two roundings, the same everywhere.
  static inline void write_floats(const int32_t* acc, uint32_t sum, int64_t zero_sum,
                                  const fovea_fixed_scale& scale, int32_t count, float* out) {
    const uint32_t by = divide_floats(scale.f32_scale, float_from_integer(sum));
    for (int32_t c = 0; c < count; ++c) {
      const uint32_t bits = multiply_floats(float_from_integer(acc[c] - zero_sum), by);
      std::memcpy(out + c, &bits, sizeof bits);
    }
  }
};

static inline int32_t zero_sum_of(const fixed_plan& p, fixed_row& r, uint32_t sum) {
  return p.zero_v ? zero_sum(p, sum, weigh_sink(p, r)) : 0;
}

template <class Writer>
static inline void finish_row_by(const fixed_plan& p, fixed_row& r, const int32_t* acc, uint32_t sum) {
  if (sum == 0) return write_nothing(p, r.out);
  const int32_t zero = zero_sum_of(p, r, sum);
  if (p.out_type == FOVEA_FIXED_F32)
    return Writer::write_floats(acc, sum, zero, *r.scale, p.v_dim, reinterpret_cast<float*>(r.out));
  const output_factor f = factor_of(*r.scale, sum, zero);
  if (p.out_type == FOVEA_FIXED_S16)
    return Writer::write(acc, f, p.v_dim, p.zero_out, reinterpret_cast<int16_t*>(r.out));
  Writer::write(acc, f, p.v_dim, p.zero_out, reinterpret_cast<int8_t*>(r.out));
}

static inline void finish_row(const fixed_plan& p, fixed_row& r, const int32_t* acc, uint32_t sum) {
  finish_row_by<plain_writer>(p, r, acc, sum);
}

} // namespace fovea::fixed
