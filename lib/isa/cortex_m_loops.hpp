// Loops of plain floats in assembly, for the FPU of a Cortex-M with fused multiply-add: compilers for size
// load and store one number after another, and compare each one alone.
#pragma once
#include "isa/contract.hpp"

#if defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M' && defined(__ARM_FP) && \
    defined(__ARM_FEATURE_FMA)
#define FOVEA_CORTEX_M_FMA 1
#if defined(__OPTIMIZE__) // else gcc finds no registers for so many numbers
#define FOVEA_CORTEX_M_LOOPS 1
#endif
#endif

#if FOVEA_CORTEX_M_LOOPS
// clang-format off
// Powers of two in s8 .. s11, whose exponents are the low bits of r2 .. r5.
#define FOVEA_POWERS \
  "lsls r2, r2, #23\n\t" "lsls r3, r3, #23\n\t" "lsls r4, r4, #23\n\t" "lsls r5, r5, #23\n\t" \
  "vmov s8, s9, r2, r3\n\t" "vmov s10, s11, r4, r5\n\t"
// clang-format on
namespace fovea::f32 {

struct cortex_m_loops : isa_defaults {
  // The scores of a panel of keys: of sixteen chains, which begin with 0, by two numbers of q a turn. All
  // pointers move on.
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
        "vmov s14, s15, %[zero], %[zero]\n\t"
        "tst %[odd], #1\n\t"
        "beq 1f\n\t"
        "vldmia %[q]!, {s17}\n\t"
        "b 2f\n"
        "1:\n\t"
        "vldmia %[q]!, {s16-s17}\n\t"
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
        "2:\n\t"
        "vldmia %[k]!, {s24-s31}\n\t"
        "vfma.f32 s0, s17, s24\n\t"
        "vfma.f32 s1, s17, s25\n\t"
        "vfma.f32 s2, s17, s26\n\t"
        "vfma.f32 s3, s17, s27\n\t"
        "vfma.f32 s4, s17, s28\n\t"
        "vfma.f32 s5, s17, s29\n\t"
        "vfma.f32 s6, s17, s30\n\t"
        "vfma.f32 s7, s17, s31\n\t"
        "vldmia %[k]!, {s24-s31}\n\t"
        "vfma.f32 s8, s17, s24\n\t"
        "vfma.f32 s9, s17, s25\n\t"
        "vfma.f32 s10, s17, s26\n\t"
        "vfma.f32 s11, s17, s27\n\t"
        "vfma.f32 s12, s17, s28\n\t"
        "vfma.f32 s13, s17, s29\n\t"
        "vfma.f32 s14, s17, s30\n\t"
        "vfma.f32 s15, s17, s31\n\t"
        "cmp %[q], %[end]\n\t"
        "bne 1b\n\t"
        "vstmia %[s]!, {s0-s15}"
        : [q] "+r"(q), [k] "+r"(k), [s] "+r"(s)
        : [end] "r"(end), [zero] "r"(0), [odd] "r"(end - q)
        : "cc", "memory", "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "s12",
          "s13", "s14", "s15", "s16", "s17", "s24", "s25", "s26", "s27", "s28", "s29", "s30", "s31");
    // clang-format on
  }
  // The largest of `peak` and of numbers up to `end`, a multiple of four away, as by max; s moves on.
  static constexpr bool compares_fours = true;
  static FOVEA_INLINE float largest_of_fours(const float*& s, const float* end, float peak) {
    // clang-format off
#define FOVEA_LARGER(x) \
  "vcmp.f32 " x ", %[peak]\n\t" "vmrs APSR_nzcv, fpscr\n\t" "it pl\n\t" "vmovpl.f32 %[peak], " x "\n\t"
    __asm__ volatile(
        "1:\n\t"
        "vldmia %[s]!, {s0-s3}\n\t"
        FOVEA_LARGER("s0")
        FOVEA_LARGER("s1")
        FOVEA_LARGER("s2")
        FOVEA_LARGER("s3")
        "cmp %[s], %[end]\n\t"
        "bne 1b"
        : [s] "+r"(s), [peak] "+t"(peak)
        : [end] "r"(end)
        : "cc", "memory", "s0", "s1", "s2", "s3");
#undef FOVEA_LARGER
    // clang-format on
    return peak;
  }
  // The sum of sixteen lanes as one fixed tree: i + (i + 8), then + 4, + 2, + 1.
  static constexpr bool sums_lanes = true;
  static FOVEA_INLINE float sum_of_sixteen(const float* x) {
    float sum;
    __asm__(
        "vldmia %[x]!, {s4-s11}\n\t"
        "vldmia %[x]!, {s12-s15}\n\t"
        "vadd.f32 s4, s4, s12\n\t"
        "vadd.f32 s5, s5, s13\n\t"
        "vadd.f32 s6, s6, s14\n\t"
        "vadd.f32 s7, s7, s15\n\t"
        "vldmia %[x], {s12-s15}\n\t"
        "vadd.f32 s8, s8, s12\n\t"
        "vadd.f32 s9, s9, s13\n\t"
        "vadd.f32 s10, s10, s14\n\t"
        "vadd.f32 s11, s11, s15\n\t"
        "vadd.f32 s4, s4, s8\n\t"
        "vadd.f32 s5, s5, s9\n\t"
        "vadd.f32 s6, s6, s10\n\t"
        "vadd.f32 s7, s7, s11\n\t"
        "vadd.f32 s4, s4, s6\n\t"
        "vadd.f32 s5, s5, s7\n\t"
        "vadd.f32 %[sum], s4, s5"
        : [x] "+r"(x), [sum] "=t"(sum)
        :
        : "memory", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "s12", "s13", "s14", "s15");
    return sum;
  }
  // The sums of eight or sixteen columns of V, which begin with 0: rows times weights, keys ascending.
  static constexpr bool sums_columns = true;
  template <int Columns>
  static FOVEA_INLINE void sum_columns(const float* weights, int count, const float* v, ptrdiff_t stride,
                                       float* to) {
    const ptrdiff_t step = (stride - (Columns - 8)) * static_cast<ptrdiff_t>(sizeof(float));
    // clang-format off
#define FOVEA_ZEROS(a, b, c, d) \
  "vmov " a ", " b ", %[zero], %[zero]\n\t" "vmov " c ", " d ", %[zero], %[zero]\n\t"
#define FOVEA_ZEROS_OF_8 FOVEA_ZEROS("s0", "s1", "s2", "s3") FOVEA_ZEROS("s4", "s5", "s6", "s7")
#define FOVEA_ZEROS_OF_16 \
  FOVEA_ZEROS_OF_8 FOVEA_ZEROS("s8", "s9", "s10", "s11") FOVEA_ZEROS("s12", "s13", "s14", "s15")
#define FOVEA_EIGHT(w, a, b, c, d, e, f, g, h) \
  "vfma.f32 " a ", " w ", s16\n\t" "vfma.f32 " b ", " w ", s17\n\t" \
  "vfma.f32 " c ", " w ", s18\n\t" "vfma.f32 " d ", " w ", s19\n\t" \
  "vfma.f32 " e ", " w ", s20\n\t" "vfma.f32 " f ", " w ", s21\n\t" \
  "vfma.f32 " g ", " w ", s22\n\t" "vfma.f32 " h ", " w ", s23\n\t"
#define FOVEA_FIRST(w) FOVEA_EIGHT(w, "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7")
#define FOVEA_SECOND(w) FOVEA_EIGHT(w, "s8", "s9", "s10", "s11", "s12", "s13", "s14", "s15")
#define FOVEA_ROW_OF_8(w) "vldmia %[v], {s16-s23}\n\t" FOVEA_FIRST(w) "add %[v], %[step]\n\t"
#define FOVEA_ROW_OF_16(w) \
  "vldmia %[v]!, {s16-s23}\n\t" FOVEA_FIRST(w) \
  "vldmia %[v], {s16-s23}\n\t" FOVEA_SECOND(w) "add %[v], %[step]\n\t"
#define FOVEA_ROWS(row)             \
  "subs %[count], #2\n\t"           \
  "blt 2f\n"                        \
  "1:\n\t"                          \
  "vldmia %[w]!, {s24-s25}\n\t"     \
  row("s24") row("s25")             \
  "subs %[count], #2\n\t"           \
  "bge 1b\n"                        \
  "2:\n\t"                          \
  "tst %[count], #1\n\t"            \
  "beq 3f\n\t"                      \
  "vldmia %[w]!, {s24}\n\t"         \
  row("s24")                        \
  "3:\n\t"
#define FOVEA_OPERANDS                                                                                  \
  : [w] "+r"(weights), [v] "+r"(v), [count] "+r"(count) : [step] "r"(step), [to] "r"(to), [zero] "r"(0) \
  : "cc", "memory", "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s16", "s17", "s18", "s19", "s20",  \
    "s21", "s22", "s23", "s24", "s25"
    if constexpr (Columns == 16)
      __asm__ volatile(FOVEA_ZEROS_OF_16 FOVEA_ROWS(FOVEA_ROW_OF_16) "vstmia %[to], {s0-s15}" FOVEA_OPERANDS,
                       "s8", "s9", "s10", "s11", "s12", "s13", "s14", "s15");
    else
      __asm__ volatile(FOVEA_ZEROS_OF_8 FOVEA_ROWS(FOVEA_ROW_OF_8) "vstmia %[to], {s0-s7}" FOVEA_OPERANDS);
#undef FOVEA_OPERANDS
#undef FOVEA_ROWS
#undef FOVEA_ROW_OF_16
#undef FOVEA_ROW_OF_8
#undef FOVEA_SECOND
#undef FOVEA_FIRST
#undef FOVEA_EIGHT
#undef FOVEA_ZEROS_OF_16
#undef FOVEA_ZEROS_OF_8
#undef FOVEA_ZEROS
    // clang-format on
  }
  // Scores become weights as in exp2_in_place, four at a time, and join their sums; both pointers move on.
  // Stops at `end`, which is a multiple of four away, or before four of which one is no larger than the
  // floor: its exponent is deepest or less.
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
        "ittt gt\n\t"
        "cmpgt r3, %[least]\n\t"
        "cmpgt r4, %[least]\n\t"
        "cmpgt r5, %[least]\n\t"
        "ble 2f\n\t"
        FOVEA_EACH(FOVEA_INTEGER)
        FOVEA_EACH(FOVEA_FRACTION)
        FOVEA_EACH(FOVEA_TERM_1)
        FOVEA_EACH(FOVEA_TERM_2)
        FOVEA_EACH(FOVEA_TERM_3)
        FOVEA_EACH(FOVEA_TERM_4)
        FOVEA_POWERS
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
  // y = silu(x) as in times_sigmoid, four numbers at a time; both pointers move on. Stops at `end`, which is
  // a multiple of four away, or before four of which one is no number from -87 to 87.
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
#define FOVEA_FRACTION(x, p, t, r) \
  "vsub.f32 " r ", %[bias], " t "\n\t" "vfms.f32 " r ", " p ", %[log2]\n\t"
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
        "ittt le\n\t"
        "cmple r3, %[farthest]\n\t"
        "cmple r4, %[farthest]\n\t"
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
        FOVEA_POWERS
        "vmov r2, r3, s0, s1\n\t"
        "vmov r4, r5, s2, s3\n\t"
        FOVEA_EACH(FOVEA_POWER)
        FOVEA_OF_NEGATIVE("r2", "s8", "s4")
        FOVEA_OF_NEGATIVE("r3", "s9", "s5")
        FOVEA_OF_NEGATIVE("r4", "s10", "s6")
        FOVEA_OF_NEGATIVE("r5", "s11", "s7")
        FOVEA_EACH(FOVEA_QUOTIENT)
        "vstmia %[y]!, {s0-s3}\n\t"
        "add %[x], #16\n\t"
        "cmp %[x], %[end]\n\t"
        "bne 1b\n"
        "2:"
        : [x] "+r"(x), [y] "+r"(y)
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
  // to = a + b, four numbers at a time up to `end`, which is a multiple of four away; all pointers move on.
  // `to` may be one of them.
  static constexpr bool joins_fours = true;
  static FOVEA_INLINE void add_fours(const float*& a, const float*& b, float*& to, const float* end) {
    __asm__ volatile(
        "1:\n\t"
        "vldmia %[a]!, {s0-s3}\n\t"
        "vldmia %[b]!, {s4-s7}\n\t"
        "vadd.f32 s0, s0, s4\n\t"
        "vadd.f32 s1, s1, s5\n\t"
        "vadd.f32 s2, s2, s6\n\t"
        "vadd.f32 s3, s3, s7\n\t"
        "vstmia %[to]!, {s0-s3}\n\t"
        "cmp %[to], %[end]\n\t"
        "bne 1b"
        : [a] "+r"(a), [b] "+r"(b), [to] "+r"(to)
        : [end] "r"(end)
        : "cc", "memory", "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7");
  }
  // y = y * x
  static FOVEA_INLINE void multiply_fours(float*& y, const float*& x, const float* end) {
    __asm__ volatile(
        "1:\n\t"
        "vldmia %[y], {s0-s3}\n\t"
        "vldmia %[x]!, {s4-s7}\n\t"
        "vmul.f32 s0, s0, s4\n\t"
        "vmul.f32 s1, s1, s5\n\t"
        "vmul.f32 s2, s2, s6\n\t"
        "vmul.f32 s3, s3, s7\n\t"
        "vstmia %[y]!, {s0-s3}\n\t"
        "cmp %[y], %[end]\n\t"
        "bne 1b"
        : [y] "+r"(y), [x] "+r"(x)
        : [end] "r"(end)
        : "cc", "memory", "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7");
  }
};

} // namespace fovea::f32
#undef FOVEA_POWERS
#endif
