// RISC-V vectors (RVV 1.0) as the compiler's own vectors of eight floats. Clang turns each operation into an
// instruction with a length of eight, on as many registers as hold them: pairs where a register may have 128
// bits. So the code is right on every core with registers of 128 bits or more.
#pragma once
#include <riscv_vector.h>

#include <cstring>

#include "isa/contract.hpp"

namespace fovea::f32 {

struct rvv_isa : isa_defaults {
  typedef float reg __attribute__((vector_size(32)));
  typedef int32_t ints __attribute__((vector_size(32)));
  typedef uint32_t words __attribute__((vector_size(32)));
  static constexpr int lanes = 8;
  static constexpr bool divides_by_products = true, has_masks = true, loads_columns = true;

  static FOVEA_INLINE reg load(const float* p) { return loaded<reg>(p); }
  static FOVEA_INLINE void store(float* p, reg x) { std::memcpy(p, &x, sizeof x); }
  static FOVEA_INLINE reg load_first(const float* p, int n) {
    float t[lanes] = {};
    const auto count = static_cast<size_t>(n);
    __riscv_vse32(t, __riscv_vle32_v_f32m2(p, count), count);
    return load(t);
  }
  static FOVEA_INLINE void store_first(float* p, reg x, int n) {
    float t[lanes];
    store(t, x);
    const auto count = static_cast<size_t>(n);
    __riscv_vse32(p, __riscv_vle32_v_f32m2(t, count), count);
  }
  static FOVEA_INLINE void copy_first(uint16_t* to, const uint16_t* p, int n) {
    std::memset(to, 0, 16 * sizeof *to);
    const auto count = static_cast<size_t>(n);
    __riscv_vse16(to, __riscv_vle16_v_u16m2(p, count), count);
  }
  static FOVEA_INLINE reg if_shown(const uint8_t* p, reg a, reg b) {
    typedef uint8_t bytes __attribute__((vector_size(lanes)));
    bytes shown;
    std::memcpy(&shown, p, sizeof shown);
    return __builtin_convertvector(shown, ints) != 0 ? a : b;
  }
  static FOVEA_INLINE reg spread(float x) { return reg{x, x, x, x, x, x, x, x}; }
  static FOVEA_INLINE reg fma(reg a, reg b, reg c) { return __builtin_elementwise_fma(a, b, c); }
  static FOVEA_INLINE reg mul(reg a, reg b) { return a * b; }
  static FOVEA_INLINE reg add(reg a, reg b) { return a + b; }
  static FOVEA_INLINE reg sub(reg a, reg b) { return a - b; }
  static FOVEA_INLINE reg div(reg a, reg b) { return a / b; }
  static FOVEA_INLINE reg abs(reg x) { return __builtin_elementwise_abs(x); }
  static FOVEA_INLINE reg max(reg x, reg floor) { return x < floor ? floor : x; } // a NaN stays
  static FOVEA_INLINE reg min(reg x, reg ceiling) { return x > ceiling ? ceiling : x; }
  static FOVEA_INLINE reg inside(reg lane, float from, float to, reg a, reg b) {
    return ((lane >= spread(from)) & (lane < spread(to))) ? a : b;
  }
  static FOVEA_INLINE reg if_equal(reg x, float value, reg a, reg b) { return x == spread(value) ? a : b; }
  static FOVEA_INLINE bool any_nan(reg x) { return __builtin_reduce_or(x != x) != 0; }
  // Both walk down a register as the fixed tree does: i and i + 4, then + 2, + 1.
  static FOVEA_INLINE float sum_tree(reg x) {
    return join(x, [](auto a, auto b) FOVEA_LAMBDA_INLINE { return a + b; });
  }
  static FOVEA_INLINE float largest(reg x) {
    return join(x, [](auto a, auto b) FOVEA_LAMBDA_INLINE { return a < b ? b : a; });
  }
  // x = m * 2^n with m in [sqrt(1/2), sqrt(2))
  static FOVEA_INLINE void split(reg x, reg& m, reg& n) {
    const ints bits = as<ints>(x), k = (bits - static_cast<int32_t>(root_half_bits)) >> 23;
    m = as<reg>(bits - (k << 23));
    n = __builtin_convertvector(k, reg);
  }
  // 2^n, where n + 127 stands in the low bits of the float t
  static FOVEA_INLINE reg power(reg t) { return as<reg>(as<ints>(t) << 23); }
  static FOVEA_INLINE reg max_signed(reg a, reg b) {
    return as<reg>(__builtin_elementwise_max(as<ints>(a), as<ints>(b)));
  }
  static FOVEA_INLINE reg max_unsigned(reg a, reg b) {
    return as<reg>(__builtin_elementwise_max(as<words>(a), as<words>(b)));
  }
  // Sums with 1.5 * 2^23 have no room for a fraction: they are rounded, and their low bits are the integer.
  template <class T>
  static FOVEA_INLINE void store_nearest(T* p, const reg (&x)[2], int32_t zero) {
    typedef T narrow __attribute__((vector_size(lanes * sizeof(T))));
    constexpr int32_t low = sizeof(T) == 1 ? -128 : -32768, high = sizeof(T) == 1 ? 127 : 32767;
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i) {
      const ints sum = as<ints>(x[i] + 0x1.8p23f) + (zero - 0x4b400000);
      const ints y = __builtin_elementwise_min(__builtin_elementwise_max(sum, ints{} + low), ints{} + high);
      const narrow stored = __builtin_convertvector(y, narrow);
      std::memcpy(p + i * lanes, &stored, sizeof stored);
    }
  }
  // Four columns of eight rows: four numbers of each row side by side in memory, which one load takes apart.
  template <class Row>
  static FOVEA_INLINE void columns(Row row, reg (&t)[4]) {
    typedef float four __attribute__((vector_size(16)));
    typedef float all __attribute__((vector_size(128)));
    float fours[4 * lanes];
#pragma GCC unroll 8
    for (int l = 0; l < lanes; ++l) {
      const four x = loaded<four>(row(l));
      std::memcpy(fours + 4 * l, &x, sizeof x);
    }
    __asm__("" : "+m"(fours)); // else the compiler makes shuffles of it, one after the other
    const all x = loaded<all>(fours);
    t[0] = __builtin_shufflevector(x, x, 0, 4, 8, 12, 16, 20, 24, 28);
    t[1] = __builtin_shufflevector(x, x, 1, 5, 9, 13, 17, 21, 25, 29);
    t[2] = __builtin_shufflevector(x, x, 2, 6, 10, 14, 18, 22, 26, 30);
    t[3] = __builtin_shufflevector(x, x, 3, 7, 11, 15, 19, 23, 27, 31);
  }
  // From this clang makes a load with a stride.
  static FOVEA_INLINE void columns_apart(const float* p, ptrdiff_t stride, reg (&t)[4]) {
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      const float* const c = p + i;
      t[i] = reg{c[0],          c[stride],     c[2 * stride], c[3 * stride],
                 c[4 * stride], c[5 * stride], c[6 * stride], c[7 * stride]};
    }
  }

 private:
  template <class Vector>
  static FOVEA_INLINE Vector loaded(const float* p) {
    Vector x;
    std::memcpy(&x, p, sizeof x);
    return x;
  }
  template <class To, class From>
  static FOVEA_INLINE To as(From x) {
    To y;
    static_assert(sizeof x == sizeof y);
    std::memcpy(&y, &x, sizeof y);
    return y;
  }
  template <class Op>
  static FOVEA_INLINE float join(reg x, Op op) {
    const auto four = op(__builtin_shufflevector(x, x, 0, 1, 2, 3),
                         __builtin_shufflevector(x, x, 4, 5, 6, 7));
    const auto two = op(__builtin_shufflevector(four, four, 0, 1), __builtin_shufflevector(four, four, 2, 3));
    return op(static_cast<float>(two[0]), static_cast<float>(two[1]));
  }
};

} // namespace fovea::f32
