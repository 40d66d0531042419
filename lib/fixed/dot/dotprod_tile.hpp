// The tile of Arm dot products in assembler: gcc 12 would move its sums from register to register. Four rows
// by sixteen lanes: sums in v16 .. v31, four registers a row; v0 .. v3 hold four deep of a panel, v4 .. v7
// sixteen deep of a row each.
#pragma once
#include "fixed/dot/neon_registers.hpp"

namespace fovea::fixed {

// Four rows by sixteen lanes, `blocks` times 64 deep: of a, chunks of four rows stand side by side; panels
// lie `apart`. Sums begin with those at `even` and `odd`; steps count bytes. Folded: the second of two rows
// is the high byte of the first, and sums are shifted before a block at which references rise, by as many
// octaves as `rise` says for two rows. OneRow: one row by 32 lanes in two panels; its second sixteen lanes
// stand for a second row.
template <bool Folded, bool OneRow = false>
FOVEA_INLINE void multiply_four_rows(const int8_t* a, const int8_t*& b, ptrdiff_t apart, int blocks,
                                     const int32_t* even, ptrdiff_t even_step, const int32_t* odd,
                                     ptrdiff_t odd_step, int32_t* out, ptrdiff_t out_step,
                                     const uint8_t* rise = nullptr) {
  uint32_t by, other;
  const int8_t* second = b + 16 * 64;
  asm volatile(
      ".macro fovea_fold\n"
      "movi v0.4s, #1, lsl #8\n"
      "mla v16.4s, v20.4s, v0.4s\n"
      "mla v17.4s, v21.4s, v0.4s\n"
      "mla v18.4s, v22.4s, v0.4s\n"
      "mla v19.4s, v23.4s, v0.4s\n"
      "mla v24.4s, v28.4s, v0.4s\n"
      "mla v25.4s, v29.4s, v0.4s\n"
      "mla v26.4s, v30.4s, v0.4s\n"
      "mla v27.4s, v31.4s, v0.4s\n"
      ".endm\n"
      "ld1 {v16.4s-v19.4s}, [%[even]], %[even_step]\n"
      "ld1 {v20.4s-v23.4s}, [%[odd]], %[odd_step]\n"
      "ld1 {v24.4s-v27.4s}, [%[even]]\n"
      "ld1 {v28.4s-v31.4s}, [%[odd]]\n"
      "1:\n"
      ".if %c[folded]\n"
      "ldrh %w[by], [%[rise]], #2\n"
      "cbz %w[by], 2f\n"
      "fovea_fold\n"
      ".if %c[one_row]\n"
      "mov %w[other], %w[by]\n"
      ".else\n"
      "lsr %w[other], %w[by], #8\n"
      ".endif\n"
      "and %w[by], %w[by], #255\n"
      "neg %w[by], %w[by]\n"
      "neg %w[other], %w[other]\n"
      "dup v1.4s, %w[by]\n"
      "dup v2.4s, %w[other]\n"
      "srshl v16.4s, v16.4s, v1.4s\n"
      "srshl v17.4s, v17.4s, v1.4s\n"
      "srshl v18.4s, v18.4s, v1.4s\n"
      "srshl v19.4s, v19.4s, v1.4s\n"
      "srshl v24.4s, v24.4s, v2.4s\n"
      "srshl v25.4s, v25.4s, v2.4s\n"
      "srshl v26.4s, v26.4s, v2.4s\n"
      "srshl v27.4s, v27.4s, v2.4s\n"
      "movi v20.4s, #0\n"
      "movi v21.4s, #0\n"
      "movi v22.4s, #0\n"
      "movi v23.4s, #0\n"
      "movi v28.4s, #0\n"
      "movi v29.4s, #0\n"
      "movi v30.4s, #0\n"
      "movi v31.4s, #0\n"
      "2:\n"
      ".endif\n"
      "subs %w[blocks], %w[blocks], #1\n"
      ".rept 4\n"
      ".if %c[one_row]\n"
      "ldp q4, q5, [%[a]]\n"
      "ldp q6, q7, [%[a]], #64\n"
      ".else\n"
      "ld1 {v4.16b-v7.16b}, [%[a]], #64\n"
      ".endif\n"
      ".irp step, 0, 1, 2, 3\n"
      "ld1 {v0.16b-v3.16b}, [%[b]], #64\n"
      "sdot v16.4s, v0.16b, v4.4b[\\step]\n"
      "sdot v17.4s, v1.16b, v4.4b[\\step]\n"
      "sdot v18.4s, v2.16b, v4.4b[\\step]\n"
      "sdot v19.4s, v3.16b, v4.4b[\\step]\n"
      "sdot v20.4s, v0.16b, v5.4b[\\step]\n"
      "sdot v21.4s, v1.16b, v5.4b[\\step]\n"
      "sdot v22.4s, v2.16b, v5.4b[\\step]\n"
      "sdot v23.4s, v3.16b, v5.4b[\\step]\n"
      ".if %c[one_row]\n"
      "ld1 {v0.16b-v3.16b}, [%[second]], #64\n"
      ".endif\n"
      "sdot v24.4s, v0.16b, v6.4b[\\step]\n"
      "sdot v25.4s, v1.16b, v6.4b[\\step]\n"
      "sdot v26.4s, v2.16b, v6.4b[\\step]\n"
      "sdot v27.4s, v3.16b, v6.4b[\\step]\n"
      "sdot v28.4s, v0.16b, v7.4b[\\step]\n"
      "sdot v29.4s, v1.16b, v7.4b[\\step]\n"
      "sdot v30.4s, v2.16b, v7.4b[\\step]\n"
      "sdot v31.4s, v3.16b, v7.4b[\\step]\n"
      ".endr\n"
      ".endr\n"
      "add %[b], %[b], %[apart]\n"
      ".if %c[one_row]\n"
      "add %[second], %[second], %[apart]\n"
      ".endif\n"
      "b.ne 1b\n"
      ".if %c[folded]\n"
      "fovea_fold\n"
      ".endif\n"
      "st1 {v16.4s-v19.4s}, [%[out]], %[out_step]\n"
      ".ifeq %c[folded]\n"
      "st1 {v20.4s-v23.4s}, [%[out]], %[out_step]\n"
      ".endif\n"
      "st1 {v24.4s-v27.4s}, [%[out]], %[out_step]\n"
      ".ifeq %c[folded]\n"
      "st1 {v28.4s-v31.4s}, [%[out]]\n"
      ".endif\n"
      ".purgem fovea_fold\n"
      : [a] "+r"(a), [b] "+r"(b), [blocks] "+r"(blocks), [even] "+r"(even), [odd] "+r"(odd), [out] "+r"(out),
        [rise] "+r"(rise), [by] "=&r"(by), [other] "=&r"(other), [second] "+r"(second)
      : [apart] "r"(apart), [even_step] "r"(even_step), [odd_step] "r"(odd_step), [out_step] "r"(out_step),
        [folded] "i"(Folded ? 1 : 0), [one_row] "i"(OneRow ? 1 : 0)
      : "memory", "cc", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v16", "v17", "v18", "v19", "v20",
        "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31");
}

} // namespace fovea::fixed
