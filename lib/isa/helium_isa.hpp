// Helium's floats (MVE-F, Cortex-M55 and M85): eight registers of four lanes. They flush denormals to zero.
// LT and LE hold for a NaN, too, so comparisons are GT, GE, EQ and NE.
#pragma once
#include <arm_mve.h>

#include "f32/kernel/shapes.hpp"
#include "isa/contract.hpp"
#include "isa/scalar_isa.hpp"

namespace fovea::f32 {

struct helium_isa : isa_defaults {
  using reg = float32x4_t;
  static constexpr int lanes = 4;
  static constexpr bool keeps_denormals = false;
  using shapes = shape_list<shape<1, 1>>; // sixteen sums take half of the registers
  using product_shapes = shapes;
  static constexpr int rows = 8;

  static FOVEA_INLINE reg load(const float* p) { return vldrwq_f32(p); }
  static FOVEA_INLINE void store(float* p, reg x) { vstrwq_f32(p, x); }
  static FOVEA_INLINE reg spread(float x) { return vdupq_n_f32(x); }
  static FOVEA_INLINE reg zero() { // which compilers would keep in memory, and copy
    reg x;
    __asm__ volatile("vmov.i32 %q0, #0" : "=w"(x));
    return x;
  }
  static FOVEA_INLINE reg load_first(const float* p, int n) { return vldrwq_z_f32(p, first(n)); }
  static FOVEA_INLINE void store_first(float* p, reg x, int n) { vstrwq_p_f32(p, x, first(n)); }
  static FOVEA_INLINE reg fma(reg a, reg b, reg c) { return vfmaq_f32(c, a, b); }
  static FOVEA_INLINE reg add(reg a, reg b) { return vaddq_f32(a, b); }
  static FOVEA_INLINE reg sub(reg a, reg b) { return vsubq_f32(a, b); }
  static FOVEA_INLINE reg mul(reg a, reg b) { return vmulq_f32(a, b); }
  static FOVEA_INLINE reg div(reg a, reg b) { // there is no instruction for four
    return reg{a[0] / b[0], a[1] / b[1], a[2] / b[2], a[3] / b[3]};
  }
  static FOVEA_INLINE reg abs(reg x) { return vabsq_f32(x); }
  static FOVEA_INLINE reg max(reg x, reg floor) {
    return vpselq_f32(floor, x, vcmpgtq_f32(opaque(floor), x));
  }
  static FOVEA_INLINE reg min(reg x, reg ceiling) {
    return vpselq_f32(ceiling, x, vcmpgtq_f32(x, opaque(ceiling)));
  }
  // As the fixed tree: i and i + 2, then to one.
  static FOVEA_INLINE float sum_tree(reg x) { return (x[0] + x[2]) + (x[1] + x[3]); }
  static FOVEA_INLINE float largest(reg x) { return vmaxnmvq_f32(-__builtin_inff(), x); }
  static FOVEA_INLINE bool any_nan(reg x) { return vcmpneq_f32(x, opaque(x)) != 0; }
  static FOVEA_INLINE reg inside(reg lane, float from, float to, reg a, reg b) {
    return vpselq_f32(a, b, vcmpgtq_m_f32(opaque(spread(to)), lane, vcmpgeq_n_f32(lane, from)));
  }
  static FOVEA_INLINE reg if_equal(reg x, float value, reg a, reg b) {
    return vpselq_f32(a, b, vcmpeqq_n_f32(x, value));
  }
  // x = m * 2^n with m in [sqrt(1/2), sqrt(2))
  static FOVEA_INLINE void split(reg x, reg& m, reg& n) {
    const int32x4_t bits = vreinterpretq_s32_f32(x);
    const int32x4_t k = vshrq_n_s32(vsubq_n_s32(bits, static_cast<int32_t>(root_half_bits)), 23);
    m = vreinterpretq_f32_s32(vsubq_s32(bits, vshlq_n_s32(k, 23)));
    n = vcvtq_f32_s32(k);
  }
  // 2^n, where n + 127 stands in the low bits of the float t
  static FOVEA_INLINE reg power(reg t) {
    return vreinterpretq_f32_s32(vshlq_n_s32(vreinterpretq_s32_f32(t), 23));
  }
  // Four columns of as many rows as a register has lanes: loads from four places transpose.
  template <class Row>
  static FOVEA_INLINE void columns(Row row, reg (&t)[4]) {
    const uint32x4_t at = {place(row(0)), place(row(1)), place(row(2)), place(row(3))};
    t[0] = vldrwq_gather_base_f32(at, 0);
    t[1] = vldrwq_gather_base_f32(at, 4);
    t[2] = vldrwq_gather_base_f32(at, 8);
    t[3] = vldrwq_gather_base_f32(at, 12);
  }

  static constexpr bool widens_bf16 = true;
#if defined(__clang__) // gcc's assembler, of binutils 2.40, takes other registers for VCVTB
  static constexpr bool converts_f16 = true;
#endif
  static FOVEA_INLINE reg load_f16(const uint16_t* p) {
    return vcvtbq_f32_f16(vreinterpretq_f16_u32(vldrhq_u32(p)));
  }
  static FOVEA_INLINE reg load_bf16(const uint16_t* p) {
    return vreinterpretq_f32_u32(vshlq_n_u32(vldrhq_u32(p), 16));
  }

  static constexpr bool by_row = true;
  static FOVEA_INLINE reg larger_first(reg a, reg b, int n) { return vmaxnmq_m_f32(a, a, b, first(n)); }

  // x += by[i] * the sixteen numbers of row i, i ascending. In assembly, as multiply_rows: compilers load
  // each factor alone, and each vector right before the product that waits for it.
  static FOVEA_INLINE void add_sixteens(const float* by, int count, const float* row, ptrdiff_t stride,
                                        reg (&x)[4]) {
    reg t0, t1, t2, t3;
    // clang-format off
#define FOVEA_SIXTEEN_PRODUCTS(factor)       \
  "vldrw.u32 %q[t0], [%[row]]\n"             \
  "vldrw.u32 %q[t1], [%[row], #16]\n"        \
  "vfma.f32 %q[x0], %q[t0], " factor "\n"    \
  "vldrw.u32 %q[t2], [%[row], #32]\n"        \
  "vfma.f32 %q[x1], %q[t1], " factor "\n"    \
  "vldrw.u32 %q[t3], [%[row], #48]\n"        \
  "vfma.f32 %q[x2], %q[t2], " factor "\n"    \
  "add %[row], %[step]\n"                    \
  "vfma.f32 %q[x3], %q[t3], " factor "\n"
    __asm__ volatile(
        "wls lr, %[fours], 2f\n"
        "1:\n"
        "ldmia %[by]!, {r4, r5, r8, r9}\n"
        FOVEA_SIXTEEN_PRODUCTS("r4")
        FOVEA_SIXTEEN_PRODUCTS("r5")
        FOVEA_SIXTEEN_PRODUCTS("r8")
        FOVEA_SIXTEEN_PRODUCTS("r9")
        "le lr, 1b\n"
        "2:\n"
        "wls lr, %[rest], 4f\n"
        "3:\n"
        "ldr r4, [%[by]], #4\n"
        FOVEA_SIXTEEN_PRODUCTS("r4")
        "le lr, 3b\n"
        "4:"
        : [x0] "+w"(x[0]), [x1] "+w"(x[1]), [x2] "+w"(x[2]), [x3] "+w"(x[3]), [t0] "=&w"(t0), [t1] "=&w"(t1),
          [t2] "=&w"(t2), [t3] "=&w"(t3), [by] "+r"(by), [row] "+r"(row)
        : [fours] "r"(count >> 2), [rest] "r"(count & 3),
          [step] "r"(stride * static_cast<ptrdiff_t>(sizeof(float)))
        : "lr", "r4", "r5", "r8", "r9", "memory");
#undef FOVEA_SIXTEEN_PRODUCTS
    // clang-format on
  }

  // Scores become weights as in exp2_reg, and join the sums of their lanes, of which there are sixteen: the
  // first one joins sum[lane]. Up to the next multiple of sixteen at a time; LETP leaves out what is behind
  // the last one. In assembly, because VFMAS has the next term as its summand; compilers copy a vector of it
  // first.
  static FOVEA_INLINE void weigh(float* s, int count, float* sum, int lane, float shift, float floor,
                                 const float (&term)[5]) {
    float* at = sum + lane;
    int room = 16 - lane;
    const float* terms = term;
    reg x, t, p;
    __asm__ volatile(
        "ldm %[term], {r4, r5, r8, r9, r10}\n"
        "mov %[term], #0x3f800000\n" // the last one is 1
        "1:\n"
        "cmp %[count], %[room]\n"
        "csel lr, %[count], %[room], lt\n"
        "dlstp.32 lr, lr\n"
        "2:\n"
        "vldrw.u32 %q[x], [%[s]]\n"
        "vcmp.f32 gt, %q[floors], %q[x]\n"
        "vpsel %q[x], %q[floors], %q[x]\n"
        "vadd.f32 %q[t], %q[x], %[shift]\n"
        "vsub.f32 %q[p], %q[t], %[shift]\n"
        "vshl.i32 %q[t], %q[t], #23\n"
        "vsub.f32 %q[x], %q[x], %q[p]\n"
        "vdup.32 %q[p], r5\n"
        "vfma.f32 %q[p], %q[x], r4\n"
        "vfmas.f32 %q[p], %q[x], r8\n"
        "vfmas.f32 %q[p], %q[x], r9\n"
        "vfmas.f32 %q[p], %q[x], r10\n"
        "vfmas.f32 %q[p], %q[x], %[term]\n"
        "vldrw.u32 %q[x], [%[at]]\n"
        "vmul.f32 %q[p], %q[p], %q[t]\n"
        "vadd.f32 %q[x], %q[x], %q[p]\n"
        "vstrw.32 %q[p], [%[s]], #16\n"
        "vstrw.32 %q[x], [%[at]], #16\n"
        "letp lr, 2b\n"
        "subs %[count], %[room]\n"
        "ble 3f\n"
        "rsb %[room], #0\n" // s has moved on by a multiple of four
        "and %[room], #3\n"
        "sub %[s], %[s], %[room], lsl #2\n"
        "mov %[room], #16\n"
        "mov %[at], %[sum]\n"
        "b 1b\n"
        "3:"
        : [s] "+r"(s), [at] "+&r"(at), [count] "+r"(count), [room] "+r"(room), [term] "+r"(terms),
          [x] "=&w"(x), [t] "=&w"(t), [p] "=&w"(p)
        : [sum] "r"(sum), [floors] "w"(spread(floor)), [shift] "r"(shift)
        : "lr", "r4", "r5", "r8", "r9", "r10", "cc", "memory");
  }

  // s[j] = the product of q with row j of k. Eight rows at a time are loaded by columns, from eight places.
  static FOVEA_INLINE void multiply_rows(const float* q, int dim, const float* k, ptrdiff_t stride, float* s,
                                         int count) {
    const uint32_t step = static_cast<uint32_t>(stride) * sizeof(float), begin = place(k) - 4,
                   next = 8 * step -
                          4 * static_cast<uint32_t>(dim); // from behind eight rows to the next ones
    const uint32x4_t last = vdupq_n_u32(begin +
                                        static_cast<uint32_t>(count - 1) * step); // for rows behind it
    uint32x4_t a0 = vaddq_n_u32(vmulq_n_u32(vidupq_n_u32(0, 1), step), begin),
               a1 = vaddq_n_u32(vmulq_n_u32(vidupq_n_u32(4, 1), step), begin);
    for (; count > 0; count -= 8, a0 = vaddq_n_u32(a0, next), a1 = vaddq_n_u32(a1, next), s += 8) {
      a0 = vminq_u32(a0, last);
      a1 = vminq_u32(a1, last);
      const float* number = q;
      reg x0, x1, t0, t1;
      __asm__ volatile(
          "vmov.i32 %q[x0], #0\n"
          "vmov.i32 %q[x1], #0\n"
          "wls lr, %[fours], 2f\n"
          "1:\n"
          "ldmia %[q]!, {r4, r5, r8, r9}\n"
          "vldrw.u32 %q[t0], [%q[a0], #4]\n"
          "vldrw.u32 %q[t1], [%q[a1], #4]\n"
          "vfma.f32 %q[x0], %q[t0], r4\n"
          "vldrw.u32 %q[t0], [%q[a0], #8]\n"
          "vfma.f32 %q[x1], %q[t1], r4\n"
          "vldrw.u32 %q[t1], [%q[a1], #8]\n"
          "vfma.f32 %q[x0], %q[t0], r5\n"
          "vldrw.u32 %q[t0], [%q[a0], #12]\n"
          "vfma.f32 %q[x1], %q[t1], r5\n"
          "vldrw.u32 %q[t1], [%q[a1], #12]\n"
          "vfma.f32 %q[x0], %q[t0], r8\n"
          "vldrw.u32 %q[t0], [%q[a0], #16]!\n"
          "vfma.f32 %q[x1], %q[t1], r8\n"
          "vldrw.u32 %q[t1], [%q[a1], #16]!\n"
          "vfma.f32 %q[x0], %q[t0], r9\n"
          "vfma.f32 %q[x1], %q[t1], r9\n"
          "le lr, 1b\n"
          "2:\n"
          "wls lr, %[rest], 4f\n"
          "3:\n"
          "ldr r4, [%[q]], #4\n"
          "vldrw.u32 %q[t0], [%q[a0], #4]!\n"
          "vldrw.u32 %q[t1], [%q[a1], #4]!\n"
          "vfma.f32 %q[x0], %q[t0], r4\n"
          "vfma.f32 %q[x1], %q[t1], r4\n"
          "le lr, 3b\n"
          "4:"
          : [x0] "=&w"(x0), [x1] "=&w"(x1), [t0] "=&w"(t0), [t1] "=&w"(t1), [a0] "+w"(a0), [a1] "+w"(a1),
            [q] "+r"(number)
          : [fours] "r"(dim >> 2), [rest] "r"(dim & 3)
          : "lr", "r4", "r5", "r8", "r9", "memory");
      if (count >= 8) {
        store(s, x0);
        store(s + 4, x1);
      } else {
        store_first(s, x0, count < 4 ? count : 4);
        if (count > 4) store_first(s + 4, x1, count - 4);
      }
    }
  }

 private:
  // Hides from clang 19 what x is. It would turn GT around into LT beside a number that all lanes have, and
  // x != x into a test that no NaN passes.
  static FOVEA_INLINE reg opaque(reg x) {
    __asm__("" : "+w"(x));
    return x;
  }
  static FOVEA_INLINE mve_pred16_t first(int n) { return vctp32q(static_cast<uint32_t>(n)); }
  static FOVEA_INLINE uint32_t place(const float* p) {
    return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(p));
  }
};

} // namespace fovea::f32
