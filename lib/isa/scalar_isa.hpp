// The ISA of plain floats: the reference of all others, and the float kernel of Cortex-M. Needs no xsimd.
#pragma once
#include <cstring>

#include "f32/kernel/shapes.hpp"
#include "isa/cortex_m_loops.hpp"

namespace fovea::f32 {

#if FOVEA_CORTEX_M_LOOPS
using loops_of_scalar = cortex_m_loops;
#else
using loops_of_scalar = isa_defaults;
#endif

struct scalar_isa : loops_of_scalar {
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
#if FOVEA_CORTEX_M_FMA
  // One instruction loads eight numbers, in nine cycles. A load before each product would take two.
  static constexpr bool loads_eight = true;
  static FOVEA_INLINE void add_eight(float by, const float* p, float* x) {
    __asm__(
        "vldmia %[p], {s24-s31}\n\t"
        "vfma.f32 %0, %[by], s24\n\t"
        "vfma.f32 %1, %[by], s25\n\t"
        "vfma.f32 %2, %[by], s26\n\t"
        "vfma.f32 %3, %[by], s27\n\t"
        "vfma.f32 %4, %[by], s28\n\t"
        "vfma.f32 %5, %[by], s29\n\t"
        "vfma.f32 %6, %[by], s30\n\t"
        "vfma.f32 %7, %[by], s31"
        : "+t"(x[0]), "+t"(x[1]), "+t"(x[2]), "+t"(x[3]), "+t"(x[4]), "+t"(x[5]), "+t"(x[6]), "+t"(x[7])
        : [p] "r"(p), [by] "t"(by), "m"(*reinterpret_cast<const float(*)[8]>(p))
        : "s24", "s25", "s26", "s27", "s28", "s29", "s30", "s31");
  }
  // Chains of four rows go on by eight products; all pointers move on by as many numbers.
  static FOVEA_INLINE void add_eight_products(const float*& q, const float* (&row)[4], float (&x)[4]) {
    // clang-format off
#define FOVEA_EIGHT_PRODUCTS(x, row) \
  "vldmia " row "!, {s24-s31}\n\t"   \
  "vfma.f32 " x ", s16, s24\n\t"     \
  "vfma.f32 " x ", s17, s25\n\t"     \
  "vfma.f32 " x ", s18, s26\n\t"     \
  "vfma.f32 " x ", s19, s27\n\t"     \
  "vfma.f32 " x ", s20, s28\n\t"     \
  "vfma.f32 " x ", s21, s29\n\t"     \
  "vfma.f32 " x ", s22, s30\n\t"     \
  "vfma.f32 " x ", s23, s31\n\t"
    __asm__("vldmia %[q]!, {s16-s23}\n\t"
            FOVEA_EIGHT_PRODUCTS("%[x0]", "%[row0]")
            FOVEA_EIGHT_PRODUCTS("%[x1]", "%[row1]")
            FOVEA_EIGHT_PRODUCTS("%[x2]", "%[row2]")
            FOVEA_EIGHT_PRODUCTS("%[x3]", "%[row3]")
            : [q] "+r"(q), [row0] "+r"(row[0]), [row1] "+r"(row[1]), [row2] "+r"(row[2]), [row3] "+r"(row[3]),
              [x0] "+t"(x[0]), [x1] "+t"(x[1]), [x2] "+t"(x[2]), [x3] "+t"(x[3])
            :
            : "memory", "s16", "s17", "s18", "s19", "s20", "s21", "s22", "s23", "s24", "s25", "s26", "s27",
              "s28", "s29", "s30", "s31");
    // clang-format on
  }
  // The same for one row.
  static FOVEA_INLINE void add_eight_products(const float*& q, const float* (&row)[1], float (&x)[1]) {
    __asm__("vldmia %[q]!, {s16-s23}\n\t" FOVEA_EIGHT_PRODUCTS("%[x0]", "%[row0]")
            : [q] "+r"(q), [row0] "+r"(row[0]), [x0] "+t"(x[0])
            :
            : "memory", "s16", "s17", "s18", "s19", "s20", "s21", "s22", "s23", "s24", "s25", "s26", "s27",
              "s28", "s29", "s30", "s31");
  }
#undef FOVEA_EIGHT_PRODUCTS
  // Eight products are written; with a sum of 0, which makes +0 of -0. Both pointers move on.
  template <bool AddsZero>
  static FOVEA_INLINE void multiply_eight(const float*& from, float by, float*& to) {
    // clang-format off
#define FOVEA_EIGHT_TIMES(step)                                                            \
  "vldmia %[from]!, {s24-s31}\n\t"                                                         \
  step("s24") step("s25") step("s26") step("s27") step("s28") step("s29") step("s30") step("s31") \
  "vstmia %[to]!, {s24-s31}"
#define FOVEA_TIMES(x) "vmul.f32 " x ", " x ", %[by]\n\t"
#define FOVEA_TIMES_PLUS_ZERO(x) FOVEA_TIMES(x) "vadd.f32 " x ", " x ", %[zero]\n\t"
    if constexpr (AddsZero)
      __asm__(FOVEA_EIGHT_TIMES(FOVEA_TIMES_PLUS_ZERO)
              : [from] "+r"(from), [to] "+r"(to)
              : [by] "t"(by), [zero] "t"(0.f)
              : "memory", "s24", "s25", "s26", "s27", "s28", "s29", "s30", "s31");
    else
      __asm__(FOVEA_EIGHT_TIMES(FOVEA_TIMES)
              : [from] "+r"(from), [to] "+r"(to)
              : [by] "t"(by)
              : "memory", "s24", "s25", "s26", "s27", "s28", "s29", "s30", "s31");
#undef FOVEA_TIMES_PLUS_ZERO
#undef FOVEA_TIMES
#undef FOVEA_EIGHT_TIMES
    // clang-format on
  }
#endif
  static FOVEA_INLINE reg load(const float* p) { return *p; }
  static FOVEA_INLINE void store(float* p, reg x) { *p = x; }
  static FOVEA_INLINE reg spread(float x) { return x; }
#if defined(__clang__) && __has_builtin(__builtin_elementwise_fma) // with -fmath-errno the other calls libm
  static FOVEA_INLINE reg fma(reg a, reg b, reg c) { return __builtin_elementwise_fma(a, b, c); }
#else
  static FOVEA_INLINE reg fma(reg a, reg b, reg c) { return __builtin_fmaf(a, b, c); }
#endif
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

// The same for single numbers beside the registers of an ISA, whose file compiles a copy of its own.
template <class Isa>
struct plain_floats : scalar_isa {};
template <class Isa>
using plain_of = std::conditional_t<Isa::lanes == 1, Isa, plain_floats<Isa>>;

struct no_fma_isa : scalar_isa {
  static FOVEA_INLINE reg fma(reg a, reg b, reg c) { return a * b + c; }
#if FOVEA_CORTEX_M_FMA
  static constexpr bool weighs_fours = false;
  static constexpr bool activates_fours = false;
  static constexpr bool multiplies_panels = false;
  static constexpr bool sums_columns = false;
  // A product and a sum take a cycle each where a fused multiply-add takes three, and one more if the next
  // instruction needs the result: so products come first, and sums of two rows in turn.
  static FOVEA_INLINE void add_eight(float by, const float* p, float* x) {
    __asm__(
        "vldmia %[p], {s24-s31}\n\t"
        "vmul.f32 s24, s24, %[by]\n\t"
        "vmul.f32 s25, s25, %[by]\n\t"
        "vmul.f32 s26, s26, %[by]\n\t"
        "vmul.f32 s27, s27, %[by]\n\t"
        "vmul.f32 s28, s28, %[by]\n\t"
        "vmul.f32 s29, s29, %[by]\n\t"
        "vmul.f32 s30, s30, %[by]\n\t"
        "vmul.f32 s31, s31, %[by]\n\t"
        "vadd.f32 %0, %0, s24\n\t"
        "vadd.f32 %1, %1, s25\n\t"
        "vadd.f32 %2, %2, s26\n\t"
        "vadd.f32 %3, %3, s27\n\t"
        "vadd.f32 %4, %4, s28\n\t"
        "vadd.f32 %5, %5, s29\n\t"
        "vadd.f32 %6, %6, s30\n\t"
        "vadd.f32 %7, %7, s31"
        : "+t"(x[0]), "+t"(x[1]), "+t"(x[2]), "+t"(x[3]), "+t"(x[4]), "+t"(x[5]), "+t"(x[6]), "+t"(x[7])
        : [p] "r"(p), [by] "t"(by), "m"(*reinterpret_cast<const float(*)[8]>(p))
        : "s24", "s25", "s26", "s27", "s28", "s29", "s30", "s31");
  }
  static FOVEA_INLINE void add_eight_products(const float*& q, const float* (&row)[4], float (&x)[4]) {
    const float* again = q;
    add_two_rows(again, row[0], row[1], x[0], x[1]);
    add_two_rows(q, row[2], row[3], x[2], x[3]);
  }
  static FOVEA_INLINE void add_eight_products(const float*& q, const float* (&row)[1], float (&x)[1]) {
    for (int c = 0; c < 8; ++c) x[0] = x[0] + *q++ * *row[0]++;
  }

 private:
  static FOVEA_INLINE void add_two_rows(const float*& q, const float*& row0, const float*& row1, float& x0,
                                        float& x1) {
    // clang-format off
#define FOVEA_TIMES(a, b) "vmul.f32 " b ", " b ", " a "\n\t"
#define FOVEA_PLUS(a, b) "vadd.f32 %[x0], %[x0], " a "\n\t" "vadd.f32 %[x1], %[x1], " b "\n\t"
    __asm__("vldmia %[q]!, {s8-s15}\n\t"
            "vldmia %[row0]!, {s16-s23}\n\t"
            "vldmia %[row1]!, {s24-s31}\n\t"
            FOVEA_TIMES("s8", "s16") FOVEA_TIMES("s9", "s17") FOVEA_TIMES("s10", "s18")
            FOVEA_TIMES("s11", "s19") FOVEA_TIMES("s12", "s20") FOVEA_TIMES("s13", "s21")
            FOVEA_TIMES("s14", "s22") FOVEA_TIMES("s15", "s23")
            FOVEA_TIMES("s8", "s24") FOVEA_TIMES("s9", "s25") FOVEA_TIMES("s10", "s26")
            FOVEA_TIMES("s11", "s27") FOVEA_TIMES("s12", "s28") FOVEA_TIMES("s13", "s29")
            FOVEA_TIMES("s14", "s30") FOVEA_TIMES("s15", "s31")
            FOVEA_PLUS("s16", "s24") FOVEA_PLUS("s17", "s25") FOVEA_PLUS("s18", "s26")
            FOVEA_PLUS("s19", "s27") FOVEA_PLUS("s20", "s28") FOVEA_PLUS("s21", "s29")
            FOVEA_PLUS("s22", "s30") FOVEA_PLUS("s23", "s31")
            : [q] "+r"(q), [row0] "+r"(row0), [row1] "+r"(row1), [x0] "+t"(x0), [x1] "+t"(x1)
            :
            : "memory", "s8", "s9", "s10", "s11", "s12", "s13", "s14", "s15", "s16", "s17", "s18", "s19",
              "s20", "s21", "s22", "s23", "s24", "s25", "s26", "s27", "s28", "s29", "s30", "s31");
#undef FOVEA_PLUS
#undef FOVEA_TIMES
    // clang-format on
  }
#endif
};

} // namespace fovea::f32
