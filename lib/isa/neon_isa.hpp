// NEON, 32 and 64 bit, by its own intrinsics: through xsimd's tables of function pointers gcc makes a call of
// nearly every operation.
#pragma once
#include <arm_neon.h>

#include "isa/contract.hpp"

namespace fovea::f32 {

struct neon_isa : isa_defaults {
  using reg = float32x4_t;
  static constexpr int lanes = 4;
#if !defined(__aarch64__)
  static constexpr bool keeps_denormals = false;
#else
  static constexpr bool by_lane = true, divides_by_products = true;
  static FOVEA_INLINE reg max_signed(reg a, reg b) {
    return vreinterpretq_f32_s32(vmaxq_s32(vreinterpretq_s32_f32(a), vreinterpretq_s32_f32(b)));
  }
  static FOVEA_INLINE reg max_unsigned(reg a, reg b) {
    return vreinterpretq_f32_u32(vmaxq_u32(vreinterpretq_u32_f32(a), vreinterpretq_u32_f32(b)));
  }
  static FOVEA_INLINE void store_nearest(int8_t* p, const reg (&x)[4], int32_t zero) {
    vst1q_s8(p,
             vqmovn_high_s16(vqmovn_s16(nearest_words(x[0], x[1], zero)), nearest_words(x[2], x[3], zero)));
  }
  static FOVEA_INLINE void store_nearest(int16_t* p, const reg (&x)[4], int32_t zero) {
    vst1q_s16(p, nearest_words(x[0], x[1], zero));
    vst1q_s16(p + 8, nearest_words(x[2], x[3], zero));
  }
  using sixteen = float32x4x4_t;
  // In assembly, because compilers copy and spill accumulators of intrinsics here, and make two instructions
  // of a load that moves p on. Volatile keeps loads where they are written: earlier ones would need more
  // registers than there are.
  static FOVEA_INLINE reg fma_by_lane(reg a, int lane, reg b, reg c) {
    __asm__("fmla %0.4s, %1.4s, %2.s[%3]" : "+w"(c) : "w"(b), "w"(a), "i"(lane));
    return c;
  }
  static FOVEA_INLINE void add_product(reg& z, reg x, reg y) {
    __asm__("fmla %0.4s, %1.4s, %2.4s" : "+w"(z) : "w"(x), "w"(y));
  }
  static FOVEA_INLINE void load_pair(const float*& p, reg& x, reg& y) {
    __asm__ volatile("ldp %q0, %q1, [%2], 32"
                     : "=w"(x), "=w"(y), "+r"(p)
                     : "m"(*reinterpret_cast<const float(*)[8]>(p)));
  }
#if defined(__clang__) // its assembly does not take four registers as one
  static FOVEA_INLINE sixteen load_sixteen(const float*& p, ptrdiff_t step) {
    return vld1q_f32_x4((p += step) - step);
  }
  static FOVEA_INLINE sixteen add_products(const float* z, const sixteen& x, const reg (&y)[4]) {
    return {
        { fma(x.val[0], y[0], load(z)),
          fma(x.val[1], y[1], load(z)),
          fma(x.val[2], y[2], load(z)),
          fma(x.val[3], y[3], load(z)) }};
  }
#else
  static FOVEA_INLINE sixteen load_sixteen(const float*& p, ptrdiff_t step) { // step floats on
    sixteen x;
    __asm__ volatile("ld1 {%S0.4s - %V0.4s}, [%1], %2"
                     : "=w"(x), "+r"(p)
                     : "r"(4 * step), "m"(*reinterpret_cast<const float(*)[16]>(p)));
    return x;
  }
  static FOVEA_INLINE sixteen add_products(const float (&z)[16], const sixteen& x,
                                           const reg (&y)[4]) { // z + x * y, z loaded anew
    sixteen sum;
    __asm__(
        "ld1 {%S0.4s - %V0.4s}, %1\n\t"
        "fmla %S0.4s, %2.4s, %6.4s\n\t"
        "fmla %T0.4s, %3.4s, %7.4s\n\t"
        "fmla %U0.4s, %4.4s, %8.4s\n\t"
        "fmla %V0.4s, %5.4s, %9.4s"
        : "=&w"(sum)
        : "Q"(z), "w"(x.val[0]), "w"(x.val[1]), "w"(x.val[2]), "w"(x.val[3]), "w"(y[0]), "w"(y[1]), "w"(y[2]),
          "w"(y[3]));
    return sum;
  }
#endif
  static FOVEA_INLINE sixteen load_sixteen(const float* p) { return vld1q_f32_x4(p); }
#endif
  static constexpr bool widens_bf16 = true;
  static FOVEA_INLINE reg load_bf16(const uint16_t* p) {
    return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(p), 16));
  }
#if defined(__aarch64__) || (defined(__ARM_FP) && (__ARM_FP & 2) && defined(__ARM_FP16_FORMAT_IEEE))
  static constexpr bool converts_f16 = true, narrows_f16 = true;
  static FOVEA_INLINE reg load_f16(const uint16_t* p) {
    return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)));
  }
  static FOVEA_INLINE void store_f16(uint16_t* p, reg x) {
    vst1_u16(p, vreinterpret_u16_f16(vcvt_f16_f32(x)));
  }
#endif
  static FOVEA_INLINE reg load(const float* p) { return vld1q_f32(p); }
  static FOVEA_INLINE void store(float* p, reg x) { vst1q_f32(p, x); }
  static FOVEA_INLINE reg load_first(const float* p, int n) {
    if (n >= 4) return load(p);
    const float32x2_t zero = vdup_n_f32(0);
    float32x2_t low = zero, high = zero;
    if (n >= 2) low = vld1_f32(p);
    if (n == 1) low = vld1_lane_f32(p, low, 0);
    if (n == 3) high = vld1_lane_f32(p + 2, high, 0);
    return vcombine_f32(low, high);
  }
  static FOVEA_INLINE void store_first(float* p, reg x, int n) {
    if (n >= 4) return store(p, x);
    if (n >= 2) vst1_f32(p, vget_low_f32(x));
    if (n == 3) vst1q_lane_f32(p + 2, x, 2);
    if (n == 1) vst1q_lane_f32(p, x, 0);
  }
  static FOVEA_INLINE reg spread(float x) { return vdupq_n_f32(x); }
  static FOVEA_INLINE reg fma(reg a, reg b, reg c) { return vfmaq_f32(c, a, b); }
  static FOVEA_INLINE reg mul(reg a, reg b) { return vmulq_f32(a, b); }
  static FOVEA_INLINE reg add(reg a, reg b) { return vaddq_f32(a, b); }
  static FOVEA_INLINE reg sub(reg a, reg b) { return vsubq_f32(a, b); }
  static FOVEA_INLINE reg abs(reg x) { return vabsq_f32(x); }
  static FOVEA_INLINE reg max(reg x, reg floor) { return vmaxq_f32(x, floor); } // a NaN stays
  static FOVEA_INLINE reg min(reg x, reg ceiling) { return vminq_f32(x, ceiling); }
  static FOVEA_INLINE reg div(reg a, reg b) {
#if defined(__aarch64__)
    return vdivq_f32(a, b);
#else
    for (int i = 0; i < lanes; ++i) a[i] = a[i] / b[i]; // there is only an estimate for vectors
    return a;
#endif
  }
  static FOVEA_INLINE bool any_nan(reg x) {
    const uint32x4_t right = vceqq_f32(x, x);
    const uint32x2_t both = vand_u32(vget_low_u32(right), vget_high_u32(right));
    return (vget_lane_u32(both, 0) & vget_lane_u32(both, 1)) == 0;
  }
  static FOVEA_INLINE reg if_equal(reg x, float value, reg a, reg b) {
    return vbslq_f32(vceqq_f32(x, vdupq_n_f32(value)), a, b);
  }
  static FOVEA_INLINE reg inside(reg lane, float from, float to, reg a, reg b) {
    return vbslq_f32(vandq_u32(vcgeq_f32(lane, vdupq_n_f32(from)), vcltq_f32(lane, vdupq_n_f32(to))), a, b);
  }
  // Both walk down a register as the fixed tree does: i and i + 2, then to one.
  static FOVEA_INLINE float sum_tree(reg x) {
    const float32x2_t half = vadd_f32(vget_low_f32(x), vget_high_f32(x));
    return vget_lane_f32(half, 0) + vget_lane_f32(half, 1);
  }
  static FOVEA_INLINE float largest(reg x) {
    const float32x2_t half = vmax_f32(vget_low_f32(x), vget_high_f32(x));
    return vget_lane_f32(vpmax_f32(half, half), 0);
  }
  // 2^n, where n + 127 stands in the low bits of the float t
  static FOVEA_INLINE reg power(reg t) {
    return vreinterpretq_f32_s32(vshlq_n_s32(vreinterpretq_s32_f32(t), 23));
  }
  // x = m * 2^n with m in [sqrt(1/2), sqrt(2))
  static FOVEA_INLINE void split(reg x, reg& m, reg& n) {
    const int32x4_t bits = vreinterpretq_s32_f32(x);
    const int32x4_t k = vshrq_n_s32(vsubq_s32(bits, vdupq_n_s32(static_cast<int32_t>(root_half_bits))), 23);
    m = vreinterpretq_f32_s32(vsubq_s32(bits, vshlq_n_s32(k, 23)));
    n = vcvtq_f32_s32(k);
  }
  // Four columns of as many rows as a register has lanes: pairs of columns first, then pairs of rows.
  template <class Row>
  static FOVEA_INLINE void columns(Row row, reg (&t)[4]) {
    const float32x4x2_t a = pairs(load(row(0)), load(row(1))), b = pairs(load(row(2)), load(row(3)));
    t[0] = low_halves(a.val[0], b.val[0]), t[1] = low_halves(a.val[1], b.val[1]);
    t[2] = high_halves(a.val[0], b.val[0]), t[3] = high_halves(a.val[1], b.val[1]);
  }

 private:
#if defined(__aarch64__)
  static FOVEA_INLINE float32x4x2_t pairs(reg a, reg b) {
    return {{ vtrn1q_f32(a, b), vtrn2q_f32(a, b) }};
  }
  static FOVEA_INLINE int16x8_t nearest_words(reg a, reg b, int32_t zero) {
    const int16x8_t words = vqmovn_high_s32(vqmovn_s32(vcvtnq_s32_f32(a)), vcvtnq_s32_f32(b));
    return vqaddq_s16(words, vdupq_n_s16(static_cast<int16_t>(zero)));
  }
  static FOVEA_INLINE reg low_halves(reg a, reg b) {
    return vreinterpretq_f32_f64(vzip1q_f64(vreinterpretq_f64_f32(a), vreinterpretq_f64_f32(b)));
  }
  static FOVEA_INLINE reg high_halves(reg a, reg b) {
    return vreinterpretq_f32_f64(vzip2q_f64(vreinterpretq_f64_f32(a), vreinterpretq_f64_f32(b)));
  }
#else
  static FOVEA_INLINE float32x4x2_t pairs(reg a, reg b) { return vtrnq_f32(a, b); }
  static FOVEA_INLINE reg low_halves(reg a, reg b) { return vcombine_f32(vget_low_f32(a), vget_low_f32(b)); }
  static FOVEA_INLINE reg high_halves(reg a, reg b) {
    return vcombine_f32(vget_high_f32(a), vget_high_f32(b));
  }
#endif
};

} // namespace fovea::f32
