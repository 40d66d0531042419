// The ISA of plain floats: the reference of all others, and the float kernel of Cortex-M. Needs no xsimd.
#pragma once
#include <cstring>

#include "f32/kernel/shapes.hpp"
#include "isa/contract.hpp"

#if defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M' && defined(__ARM_FP) && \
    defined(__ARM_FEATURE_FMA)
#define FOVEA_CORTEX_M_FMA 1
#endif

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
  // The scores of a panel of keys: of sixteen chains, which begin with 0. All pointers move on.
  static constexpr bool multiplies_panels = true;
  static FOVEA_INLINE void multiply_panel(const float* q, const float* end, const float*& k, float*& s) {
    // clang-format off
    __asm__ volatile(
        "vmov s0, s1, %[zero], %[zero]\n\t"
        "vmov s2, s3, %[zero], %[zero]\n\t"
        "vmov s4, s5, %[zero], %[zero]\n\t"
        "vmov s6, s7, %[zero], %[zero]\n\t"
        "vmov s8, s9, %[zero], %[zero]\n\t"
        "vmov s10, s11, %[zero], %[zero]\n\t"
        "vmov s12, s13, %[zero], %[zero]\n\t"
        "vmov s14, s15, %[zero], %[zero]\n"
        "1:\n\t"
        "vldmia %[q]!, {s16}\n\t"
        "vldmia %[k]!, {s24-s31}\n\t"
        "vfma.f32 s0, s16, s24\n\t"
        "vfma.f32 s1, s16, s25\n\t"
        "vfma.f32 s2, s16, s26\n\t"
        "vfma.f32 s3, s16, s27\n\t"
        "vfma.f32 s4, s16, s28\n\t"
        "vfma.f32 s5, s16, s29\n\t"
        "vfma.f32 s6, s16, s30\n\t"
        "vfma.f32 s7, s16, s31\n\t"
        "vldmia %[k]!, {s24-s31}\n\t"
        "vfma.f32 s8, s16, s24\n\t"
        "vfma.f32 s9, s16, s25\n\t"
        "vfma.f32 s10, s16, s26\n\t"
        "vfma.f32 s11, s16, s27\n\t"
        "vfma.f32 s12, s16, s28\n\t"
        "vfma.f32 s13, s16, s29\n\t"
        "vfma.f32 s14, s16, s30\n\t"
        "vfma.f32 s15, s16, s31\n\t"
        "cmp %[q], %[end]\n\t"
        "bne 1b\n\t"
        "vstmia %[s]!, {s0-s15}"
        : [q] "+r"(q), [k] "+r"(k), [s] "+r"(s)
        : [end] "r"(end), [zero] "r"(0)
        : "cc", "memory", "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "s12", "s13",
          "s14", "s15", "s16", "s24", "s25", "s26", "s27", "s28", "s29", "s30", "s31");
    // clang-format on
  }
  // Scores become weights as in exp2_in_place, four at a time, and join their sums; both pointers move on.
  // Stops at `end`, which is a multiple of four away, or before four of which one is no larger than the floor:
  // its exponent is deepest or less.
  static constexpr bool weighs_fours = true;
  static FOVEA_INLINE void weigh_fours(float*& s, const float* end, float*& sum, float shift,
                                       const float (&term)[5]) {
    constexpr int32_t least = 0x4b40001b; // the bits of power_magic + deepest
    // clang-format off
#define FOVEA_EACH(step) \
  step("s0", "s4", "s8") step("s1", "s5", "s9") step("s2", "s6", "s10") step("s3", "s7", "s11")
#define FOVEA_SHIFTED(x, t, p) "vadd.f32 " t ", " x ", %[shift]\n\t"
#define FOVEA_INTEGER(x, t, p) "vsub.f32 " t ", " t ", %[shift]\n\t"
#define FOVEA_FRACTION(x, t, p) "vsub.f32 " x ", " x ", " t "\n\t"
#define FOVEA_TERM_1(x, t, p) "vmov.f32 " p ", %[c1]\n\t" "vfma.f32 " p ", %[c0], " x "\n\t"
#define FOVEA_TERM_2(x, t, p) "vmov.f32 " t ", %[c2]\n\t" "vfma.f32 " t ", " p ", " x "\n\t"
#define FOVEA_TERM_3(x, t, p) "vmov.f32 " p ", %[c3]\n\t" "vfma.f32 " p ", " t ", " x "\n\t"
#define FOVEA_TERM_4(x, t, p) "vmov.f32 " t ", %[c4]\n\t" "vfma.f32 " t ", " p ", " x "\n\t"
#define FOVEA_TIMES_POWER(x, t, p) "vmul.f32 " t ", " t ", " p "\n\t"
#define FOVEA_WEIGHT(x, t, p) "vfma.f32 " p ", " t ", " x "\n\t"
#define FOVEA_SUM(x, t, p) "vadd.f32 " x ", " x ", " p "\n\t"
    __asm__ volatile(
        "1:\n\t"
        "vldmia %[s], {s0-s3}\n\t"
        FOVEA_EACH(FOVEA_SHIFTED)
        "vmov r2, r3, s4, s5\n\t"
        "vmov r4, r5, s6, s7\n\t"
        "cmp r2, %[least]\n\t"
        "it gt\n\t"
        "cmpgt r3, %[least]\n\t"
        "it gt\n\t"
        "cmpgt r4, %[least]\n\t"
        "it gt\n\t"
        "cmpgt r5, %[least]\n\t"
        "ble 2f\n\t"
        FOVEA_EACH(FOVEA_INTEGER)
        FOVEA_EACH(FOVEA_FRACTION)
        FOVEA_EACH(FOVEA_TERM_1)
        FOVEA_EACH(FOVEA_TERM_2)
        FOVEA_EACH(FOVEA_TERM_3)
        FOVEA_EACH(FOVEA_TERM_4)
        "lsls r2, r2, #23\n\t"
        "lsls r3, r3, #23\n\t"
        "lsls r4, r4, #23\n\t"
        "lsls r5, r5, #23\n\t"
        "vmov s8, s9, r2, r3\n\t"
        "vmov s10, s11, r4, r5\n\t"
        FOVEA_EACH(FOVEA_TIMES_POWER)
        FOVEA_EACH(FOVEA_WEIGHT)
        "vldmia %[sum], {s0-s3}\n\t"
        FOVEA_EACH(FOVEA_SUM)
        "vstmia %[s]!, {s8-s11}\n\t"
        "vstmia %[sum]!, {s0-s3}\n\t"
        "cmp %[s], %[end]\n\t"
        "bne 1b\n"
        "2:"
        : [s] "+r"(s), [sum] "+r"(sum)
        : [end] "r"(end), [shift] "t"(shift), [least] "r"(least), [c0] "t"(term[0]), [c1] "t"(term[1]),
          [c2] "t"(term[2]), [c3] "t"(term[3]), [c4] "t"(term[4])
        : "cc", "memory", "r2", "r3", "r4", "r5", "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9",
          "s10", "s11");
#undef FOVEA_SUM
#undef FOVEA_WEIGHT
#undef FOVEA_TIMES_POWER
#undef FOVEA_TERM_4
#undef FOVEA_TERM_3
#undef FOVEA_TERM_2
#undef FOVEA_TERM_1
#undef FOVEA_FRACTION
#undef FOVEA_INTEGER
#undef FOVEA_SHIFTED
#undef FOVEA_EACH
    // clang-format on
  }
  // y = silu(x) as in times_sigmoid, four numbers at a time; both pointers move on. Stops at `end`, which is a
  // multiple of four away, or before four of which one is no number from -87 to 87.
  static constexpr bool activates_fours = true;
  static FOVEA_INLINE void silu_fours(const float*& x, const float* end, float*& y, float log2, float bias,
                                      const float (&term)[5]) {
    constexpr int32_t farthest = 0x42ae0000; // the bits of 87
    // clang-format off
#define FOVEA_EACH(step) \
  step("s0", "s4", "s8", "s12") step("s1", "s5", "s9", "s13") \
  step("s2", "s6", "s10", "s14") step("s3", "s7", "s11", "s15")
#define FOVEA_SIZE(x, p, t, r) "vabs.f32 " p ", " x "\n\t"
#define FOVEA_INTEGER(x, p, t, r) "vmov.f32 " t ", %[bias]\n\t" "vfms.f32 " t ", " p ", %[log2]\n\t"
#define FOVEA_FRACTION(x, p, t, r) "vsub.f32 " r ", %[bias], " t "\n\t" "vfms.f32 " r ", " p ", %[log2]\n\t"
#define FOVEA_TERM_1(x, p, t, r) "vmov.f32 " p ", %[c1]\n\t" "vfma.f32 " p ", %[c0], " r "\n\t"
#define FOVEA_TERM_2(x, p, t, r) "vmov.f32 " t ", %[c2]\n\t" "vfma.f32 " t ", " p ", " r "\n\t"
#define FOVEA_TERM_3(x, p, t, r) "vmov.f32 " p ", %[c3]\n\t" "vfma.f32 " p ", " t ", " r "\n\t"
#define FOVEA_TERM_4(x, p, t, r) "vmov.f32 " t ", %[c4]\n\t" "vfma.f32 " t ", " p ", " r "\n\t"
#define FOVEA_TERM_5(x, p, t, r) "vmov.f32 " p ", %[one]\n\t" "vfma.f32 " p ", " t ", " r "\n\t"
#define FOVEA_POWER(x, p, t, r) "vmul.f32 " p ", " p ", " t "\n\t" "vmov.f32 " t ", %[one]\n\t"
#define FOVEA_OF_NEGATIVE(bits, t, p) "cmp " bits ", #0\n\t" "it lt\n\t" "vmovlt.f32 " t ", " p "\n\t"
#define FOVEA_QUOTIENT(x, p, t, r) \
  "vmul.f32 " x ", " x ", " t "\n\t" "vadd.f32 " p ", " p ", %[one]\n\t" "vdiv.f32 " x ", " x ", " p "\n\t"
    __asm__ volatile(
        "1:\n\t"
        "vldmia %[x], {s0-s3}\n\t"
        FOVEA_EACH(FOVEA_SIZE)
        "vmov r2, r3, s4, s5\n\t"
        "vmov r4, r5, s6, s7\n\t"
        "cmp r2, %[farthest]\n\t"
        "it le\n\t"
        "cmple r3, %[farthest]\n\t"
        "it le\n\t"
        "cmple r4, %[farthest]\n\t"
        "it le\n\t"
        "cmple r5, %[farthest]\n\t"
        "bgt 2f\n\t"
        FOVEA_EACH(FOVEA_INTEGER)
        "vmov r2, r3, s8, s9\n\t"
        "vmov r4, r5, s10, s11\n\t"
        FOVEA_EACH(FOVEA_FRACTION)
        FOVEA_EACH(FOVEA_TERM_1)
        FOVEA_EACH(FOVEA_TERM_2)
        FOVEA_EACH(FOVEA_TERM_3)
        FOVEA_EACH(FOVEA_TERM_4)
        FOVEA_EACH(FOVEA_TERM_5)
        "lsls r2, r2, #23\n\t"
        "lsls r3, r3, #23\n\t"
        "lsls r4, r4, #23\n\t"
        "lsls r5, r5, #23\n\t"
        "vmov s8, s9, r2, r3\n\t"
        "vmov s10, s11, r4, r5\n\t"
        "vmov r2, r3, s0, s1\n\t"
        "vmov r4, r5, s2, s3\n\t"
        FOVEA_EACH(FOVEA_POWER)
        FOVEA_OF_NEGATIVE("r2", "s8", "s4")
        FOVEA_OF_NEGATIVE("r3", "s9", "s5")
        FOVEA_OF_NEGATIVE("r4", "s10", "s6")
        FOVEA_OF_NEGATIVE("r5", "s11", "s7")
        FOVEA_EACH(FOVEA_QUOTIENT)
        "vstmia %[y]!, {s0-s3}\n\t"
        "adds %[x], #16\n\t"
        "cmp %[x], %[end]\n\t"
        "bne 1b\n"
        "2:"
        : [x] "+l"(x), [y] "+r"(y)
        : [end] "r"(end), [farthest] "r"(farthest), [log2] "t"(log2), [bias] "t"(bias), [one] "t"(1.f),
          [c0] "t"(term[0]), [c1] "t"(term[1]), [c2] "t"(term[2]), [c3] "t"(term[3]), [c4] "t"(term[4])
        : "cc", "memory", "r2", "r3", "r4", "r5", "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9",
          "s10", "s11", "s12", "s13", "s14", "s15");
#undef FOVEA_QUOTIENT
#undef FOVEA_OF_NEGATIVE
#undef FOVEA_POWER
#undef FOVEA_TERM_5
#undef FOVEA_TERM_4
#undef FOVEA_TERM_3
#undef FOVEA_TERM_2
#undef FOVEA_TERM_1
#undef FOVEA_FRACTION
#undef FOVEA_INTEGER
#undef FOVEA_SIZE
#undef FOVEA_EACH
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
