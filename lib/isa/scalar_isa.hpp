// The ISA of plain floats: the reference of all others, and the float kernel of Cortex-M. Needs no xsimd.
#pragma once
#include <cstring>

#include "f32/kernel/shapes.hpp"
#include "isa/contract.hpp"

namespace fovea::f32 {

struct scalar_isa : isa_defaults {
  using reg = float;
  static constexpr int lanes = 1;
  // A core with 32 registers holds 4 rows x 4 lanes. A tile walks the sixteen lanes of a panel in groups, and
  // the chains of products stay the same.
  using shapes = shape_list<shape<4, 1, 4>, shape<2, 1, 8>, shape<1, 1, 8>>;
  using product_shapes = shape_list<shape<4, 1, 4>, shape<1, 2, 8>>;
  static constexpr int rows = 24;
#if defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M' && defined(__ARM_FP) // each FPU of these cores
  static constexpr bool converts_f16 = true;
  static FOVEA_INLINE reg load_f16(const uint16_t* p) {
    const uint32_t half = *p;
    reg x;
    std::memcpy(&x, &half, sizeof x);
    __asm__("vcvtb.f32.f16 %0, %0" : "+t"(x));
    return x;
  }
#endif
  static FOVEA_INLINE reg load(const float* p) { return *p; }
  static FOVEA_INLINE void store(float* p, reg x) { *p = x; }
  static FOVEA_INLINE reg spread(float x) { return x; }
  static FOVEA_INLINE reg fma(reg a, reg b, reg c) { return __builtin_fmaf(a, b, c); }
  static FOVEA_INLINE reg mul(reg a, reg b) { return a * b; }
  static FOVEA_INLINE reg add(reg a, reg b) { return a + b; }
  static FOVEA_INLINE reg sub(reg a, reg b) { return a - b; }
  static FOVEA_INLINE reg div(reg a, reg b) { return a / b; }
  static FOVEA_INLINE reg abs(reg x) { return __builtin_fabsf(x); }
  static FOVEA_INLINE reg max(reg x, reg floor) { return x < floor ? floor : x; }
  static FOVEA_INLINE reg min(reg x, reg ceiling) { return x < ceiling ? x : ceiling; }
  static FOVEA_INLINE float largest(reg x) { return x; }
  static FOVEA_INLINE float sum_tree(reg x) { return x; }
  static FOVEA_INLINE reg inside(reg lane, float from, float to, reg a, reg b) {
    return lane >= from && lane < to ? a : b;
  }
  static FOVEA_INLINE bool any_nan(reg x) { return x != x; }
  static FOVEA_INLINE reg if_equal(reg x, float value, reg a, reg b) { return x == value ? a : b; }
  // x = m * 2^n with m in [sqrt(1/2), sqrt(2))
  static FOVEA_INLINE void split(reg x, reg& m, reg& n) {
    uint32_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    const int32_t k = static_cast<int32_t>(bits - root_half_bits) >> 23;
    bits -= static_cast<uint32_t>(k) << 23;
    std::memcpy(&m, &bits, sizeof m);
    n = static_cast<float>(k);
  }
  // 2^n, where n + 127 stands in the low bits of the float t
  static FOVEA_INLINE reg power(reg t) {
    uint32_t bits;
    std::memcpy(&bits, &t, sizeof bits);
    bits <<= 23;
    std::memcpy(&t, &bits, sizeof t);
    return t;
  }
  static FOVEA_INLINE reg max_signed(reg a, reg b) { return larger_bits<int32_t>(a, b); }
  static FOVEA_INLINE reg max_unsigned(reg a, reg b) { return larger_bits<uint32_t>(a, b); }
  // Sums with 1.5 * 2^23 have no room for a fraction: they are rounded, and their low bits are the integer.
  template <class T>
  static FOVEA_INLINE void store_nearest(T* p, const reg (&x)[1], int32_t zero) {
    constexpr int32_t low = sizeof(T) == 1 ? -128 : -32768, high = sizeof(T) == 1 ? 127 : 32767;
    const float sum = x[0] + 0x1.8p23f;
    int32_t y;
    std::memcpy(&y, &sum, sizeof y);
    y += zero - 0x4b400000;
    *p = static_cast<T>(y < low ? low : y > high ? high : y);
  }
  // Four columns of as many rows as a register has lanes.
  template <class Row>
  static FOVEA_INLINE void columns(Row row, reg (&t)[4]) {
    const float* only = row(0);
    for (int i = 0; i < 4; ++i) t[i] = only[i];
  }

 private:
  template <class Bits>
  static FOVEA_INLINE reg larger_bits(reg a, reg b) {
    Bits x, y;
    std::memcpy(&x, &a, sizeof x);
    std::memcpy(&y, &b, sizeof y);
    x = x < y ? y : x;
    std::memcpy(&a, &x, sizeof a);
    return a;
  }
};

struct no_fma_isa : scalar_isa {
  static FOVEA_INLINE reg fma(reg a, reg b, reg c) { return a * b + c; }
};

} // namespace fovea::f32
