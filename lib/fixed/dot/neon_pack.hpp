// Rows into panels with stores that interleave registers: sixteen elements of four keys at a time.
#pragma once
#include <arm_neon.h>

#include <cstddef>
#include <cstdint>

namespace fovea::fixed {

// They become [element / 4][key][4], chunks 64 bytes apart. gcc 12 would copy all four registers for each
// store.
static inline void put_keys(int8_t* to, const int8_t* rows, ptrdiff_t stride) {
  asm volatile(
      "ldr q0, [%[rows]]\n"
      "ldr q1, [%[rows], %[stride]]\n"
      "ldr q2, [%[rows], %[twice]]\n"
      "ldr q3, [%[rows], %[thrice]]\n"
      "st4 {v0.s-v3.s}[0], [%[to]], %[step]\n"
      "st4 {v0.s-v3.s}[1], [%[to]], %[step]\n"
      "st4 {v0.s-v3.s}[2], [%[to]], %[step]\n"
      "st4 {v0.s-v3.s}[3], [%[to]]\n"
      : [to] "+r"(to)
      : [rows] "r"(rows), [stride] "r"(stride), [twice] "r"(2 * stride), [thrice] "r"(3 * stride),
        [step] "r"(ptrdiff_t{64})
      : "memory", "v0", "v1", "v2", "v3");
}

// They become [element][key].
static inline void put_values(int8_t* to, const int8_t* rows, ptrdiff_t stride) {
  const int8x16x4_t four = {
      {vld1q_s8(rows), vld1q_s8(rows + stride), vld1q_s8(rows + 2 * stride), vld1q_s8(rows + 3 * stride)}};
  vst4q_s8(to, four);
}

} // namespace fovea::fixed
