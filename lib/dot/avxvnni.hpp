// AVX-VNNI: VPDPBUSD on eight lanes; all else as with AVX2.
#pragma once
#include "dot/avx2_weights.hpp"
#include "dot/vnni.hpp"

namespace fovea {

struct avxvnni_registers : avx2_registers {
  static FOVEA_INLINE reg flip(reg bytes) { return _mm256_xor_si256(bytes, _mm256_set1_epi8(-128)); }
  static FOVEA_INLINE reg times_256(reg x) { return _mm256_slli_epi32(x, 8); }
  static FOVEA_INLINE void dot(reg& sum, reg u, reg s) {
    sum = _mm256_dpbusd_avx_epi32(sum, u, s);
#if !defined(__clang__)
    asm volatile("" : "+x"(sum)); // gcc reorders products until accumulators spill, unless each stays where it is
#endif
  }
};

using avxvnni_keys = vnni_keys<avxvnni_registers>;
using avxvnni_values = vnni_values<avxvnni_registers>;
using avxvnni_weigher = avx2_byte_weigher<avxvnni_values::plane>;

} // namespace fovea
