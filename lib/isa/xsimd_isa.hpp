// An ISA of x86 by way of xsimd: what the kernels need of one register. The only file of the library that
// includes xsimd.
#pragma once
#include <xsimd/xsimd.hpp>

#include "isa/contract.hpp"

namespace fovea::f32 {

// Sixteen floats to the nearest integers, halves to even; both steps of narrowing clip.
FOVEA_INLINE void narrow_nearest(int16_t* p, __m128 a, __m128 b, __m128i zero) {
  const __m128i words = _mm_packs_epi32(_mm_cvtps_epi32(a), _mm_cvtps_epi32(b));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm_adds_epi16(words, zero));
}
FOVEA_INLINE void narrow_nearest(int8_t* p, const __m128 (&x)[4], int32_t zero) {
  const __m128i z = _mm_set1_epi16(static_cast<int16_t>(zero));
  const __m128i low = _mm_packs_epi32(_mm_cvtps_epi32(x[0]), _mm_cvtps_epi32(x[1])),
                high = _mm_packs_epi32(_mm_cvtps_epi32(x[2]), _mm_cvtps_epi32(x[3]));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p),
                   _mm_packs_epi16(_mm_adds_epi16(low, z), _mm_adds_epi16(high, z)));
}
FOVEA_INLINE void narrow_nearest(int16_t* p, const __m128 (&x)[4], int32_t zero) {
  const __m128i z = _mm_set1_epi16(static_cast<int16_t>(zero));
  narrow_nearest(p, x[0], x[1], z);
  narrow_nearest(p + 8, x[2], x[3], z);
}
#if defined(__AVX2__)
FOVEA_INLINE __m256i nearest_words(const __m256 (&x)[2], int32_t zero) {
  const __m256i mixed = _mm256_packs_epi32(_mm256_cvtps_epi32(x[0]), _mm256_cvtps_epi32(x[1]));
  return _mm256_adds_epi16(_mm256_permute4x64_epi64(mixed, 0xd8),
                           _mm256_set1_epi16(static_cast<int16_t>(zero)));
}
FOVEA_INLINE void narrow_nearest(int8_t* p, const __m256 (&x)[2], int32_t zero) {
  const __m256i words = nearest_words(x, zero);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p),
                   _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1)));
}
FOVEA_INLINE void narrow_nearest(int16_t* p, const __m256 (&x)[2], int32_t zero) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), nearest_words(x, zero));
}
#endif
#if defined(__AVX2__)
// Thirty-two: each step of narrowing works on halves of its own, and one permutation puts fours in order.
FOVEA_INLINE void narrow_nearest(int8_t* p, const __m256 (&x)[4], int32_t zero) {
  const __m256i z = _mm256_set1_epi16(static_cast<int16_t>(zero));
  const __m256i low = _mm256_packs_epi32(_mm256_cvtps_epi32(x[0]), _mm256_cvtps_epi32(x[1])),
                high = _mm256_packs_epi32(_mm256_cvtps_epi32(x[2]), _mm256_cvtps_epi32(x[3]));
  const __m256i mixed = _mm256_packs_epi16(_mm256_adds_epi16(low, z), _mm256_adds_epi16(high, z));
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm256_permutevar8x32_epi32(mixed, order));
}
FOVEA_INLINE void narrow_nearest(int16_t* p, const __m256 (&x)[4], int32_t zero) {
  const __m256 low[2] = {x[0], x[1]}, high[2] = {x[2], x[3]};
  narrow_nearest(p, low, zero);
  narrow_nearest(p + 16, high, zero);
}
#endif
#if defined(__AVX512F__)
FOVEA_INLINE void narrow_nearest(int8_t* p, const __m512 (&x)[1], int32_t zero) {
  const __m512i y = _mm512_add_epi32(_mm512_cvtps_epi32(x[0]), _mm512_set1_epi32(zero));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtsepi32_epi8(y));
}
FOVEA_INLINE void narrow_nearest(int16_t* p, const __m512 (&x)[1], int32_t zero) {
  const __m512i y = _mm512_add_epi32(_mm512_cvtps_epi32(x[0]), _mm512_set1_epi32(zero));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtsepi32_epi16(y));
}
#endif

template <class Arch>
struct xsimd_isa : isa_defaults {
  using reg = xsimd::batch<float, Arch>;
  using ints = xsimd::batch<int32_t, Arch>;
  static constexpr int lanes = static_cast<int>(reg::size);
  static constexpr int rows_a_pointer = 3;
  static FOVEA_INLINE reg load(const float* p) { return reg::load_unaligned(p); }
  static FOVEA_INLINE void store(float* p, reg x) { x.store_unaligned(p); }
  static FOVEA_INLINE reg load_first(const float* p, int n) {
    static_assert(lanes == 4);
    if (n >= 4) return load(p);
    if (n == 0) return reg(0.f);
    const __m128 first = _mm_load_ss(p);
    if (n == 1) return first;
    const __m128 two = _mm_loadl_pi(first, reinterpret_cast<const __m64*>(p));
    return n == 2 ? two : _mm_movelh_ps(two, _mm_load_ss(p + 2));
  }
  static FOVEA_INLINE void store_first(float* p, reg x, int n) {
    static_assert(lanes == 4);
    if (n >= 4) return store(p, x);
    if (n >= 2) _mm_storel_pi(reinterpret_cast<__m64*>(p), x);
    if (n == 3) _mm_store_ss(p + 2, _mm_movehl_ps(x, x));
    if (n == 1) _mm_store_ss(p, x);
  }
  static FOVEA_INLINE reg spread(float x) { return reg(x); }
  static FOVEA_INLINE reg fma(reg a, reg b, reg c) { return xsimd::fma(a, b, c); }
  static FOVEA_INLINE reg mul(reg a, reg b) { return a * b; }
  static FOVEA_INLINE reg add(reg a, reg b) { return a + b; }
  static FOVEA_INLINE reg sub(reg a, reg b) { return a - b; }
  static FOVEA_INLINE reg div(reg a, reg b) { return a / b; }
  static FOVEA_INLINE reg abs(reg x) { return xsimd::abs(x); }
  static FOVEA_INLINE reg max(reg x, reg floor) { return xsimd::max(x, floor); } // x when unordered
  static FOVEA_INLINE reg min(reg x, reg ceiling) { return xsimd::min(x, ceiling); }
  // Both walk down a register as the fixed tree does: i and i + lanes / 2, and so on to one.
  static FOVEA_INLINE float sum_tree(reg x) {
    if constexpr (lanes > 8) x = x + down<8>(x);
    if constexpr (lanes > 4) x = x + down<4>(x);
    x = x + down<2>(x);
    return (x + down<1>(x)).first();
  }
  static FOVEA_INLINE float largest(reg x) {
    if constexpr (lanes > 8) x = max(x, down<8>(x));
    if constexpr (lanes > 4) x = max(x, down<4>(x));
    x = max(x, down<2>(x));
    return max(x, down<1>(x)).first();
  }
  template <int Lanes>
  struct across {
    static constexpr uint32_t get(uint32_t i, uint32_t) { return i ^ Lanes; }
  };
  template <int Lanes>
  static FOVEA_INLINE reg down(reg x) { // lane i + Lanes in lane i; lanes above get something
    return xsimd::swizzle(x, xsimd::make_batch_constant<uint32_t, across<Lanes>, Arch>());
  }
  static FOVEA_INLINE reg inside(reg lane, float from, float to, reg a, reg b) {
    return xsimd::select((lane >= reg(from)) & (lane < reg(to)), a, b);
  }
  static FOVEA_INLINE bool any_nan(reg x) { return xsimd::any(x != x); }
  static FOVEA_INLINE reg if_equal(reg x, float value, reg a, reg b) {
    return xsimd::select(x == reg(value), a, b);
  }
  // x = m * 2^n with m in [sqrt(1/2), sqrt(2))
  static FOVEA_INLINE void split(reg x, reg& m, reg& n) {
    const ints bits = xsimd::bitwise_cast<int32_t>(x),
               k = (bits - ints(static_cast<int32_t>(root_half_bits))) >> 23;
    m = xsimd::bitwise_cast<float>(bits - (k << 23));
    n = xsimd::batch_cast<float>(k);
  }
  // 2^n, where n + 127 stands in the low bits of the float t
  static FOVEA_INLINE reg power(reg t) {
    return xsimd::bitwise_cast<float>(xsimd::bitwise_cast<int32_t>(t) << 23);
  }
  static FOVEA_INLINE reg max_signed(reg a, reg b) {
    return xsimd::bitwise_cast<float>(
        xsimd::max(xsimd::bitwise_cast<int32_t>(a), xsimd::bitwise_cast<int32_t>(b)));
  }
  static FOVEA_INLINE reg max_unsigned(reg a, reg b) {
    return xsimd::bitwise_cast<float>(
        xsimd::max(xsimd::bitwise_cast<uint32_t>(a), xsimd::bitwise_cast<uint32_t>(b)));
  }
  template <class T, int Regs>
  static FOVEA_INLINE void store_nearest(T* p, const reg (&x)[Regs], int32_t zero) {
    typename reg::register_type raw[Regs];
#pragma GCC unroll 4
    for (int i = 0; i < Regs; ++i) raw[i] = x[i];
    narrow_nearest(p, raw, zero);
  }
  // Four columns of as many rows as a register has lanes.
  template <class Row>
  static FOVEA_INLINE void columns(Row row, reg (&t)[4]) {
    static_assert(lanes == 4);
    for (int l = 0; l < 4; ++l) t[l] = load(row(l));
    xsimd::transpose(t, t + lanes);
  }
};

} // namespace fovea::f32
