// The limits of NEON, 64-bit and armv7: chains of 4 lanes, 16-byte loads. The big 64-bit cores have 4 pipes
// of 4 cycles.
#include <arm_neon.h>

#include "peak_loops.hpp"

namespace bench {
namespace {
struct neon {
  using vec = float32x4_t;
  using words = uint32x4_t;
#if defined(__aarch64__)
  static constexpr int lanes = 4, chains = 24, loads = 8;
#else
  static constexpr int lanes = 4, chains = 12, loads = 8;
#endif
  static vec spread(float x) { return vdupq_n_f32(x); }
  static vec step(vec chain, vec x, vec y) { return vfmaq_f32(chain, x, y); }
  static void keep(words w) { __asm__ volatile("" : : "w"(w)); }
  static float first(vec x) { return vgetq_lane_f32(x, 0); }
};
} // namespace
extern const isa_loops neon_loops;
const isa_loops neon_loops = loops_for<neon>;
} // namespace bench
