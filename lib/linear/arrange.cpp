// Weights of int8 in the order of SMLAD: fixed/dot/dsp_product.hpp.
#include "common/build.hpp"

#include <cstring>

#include "f32/check.hpp"
#include "fixed/panels.hpp"
#include "linear/integers.hpp"

namespace fovea::linear {
namespace {

int32_t check_arrange(const void* to, size_t size, const fovea_linear* w) {
  if (!w) return refusal(FOVEA_NULL, FOVEA_ARG_W);
  if (!f32::all_zero(w->reserved, sizeof w->reserved / sizeof *w->reserved))
    return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_RESERVED);
  if (w->dtype != FOVEA_I8) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_DTYPE);
  if (w->in < 1 || w->in > greatest_in_of_bytes) return refusal(FOVEA_SIZE, FOVEA_ARG_IN);
  if (w->out < 1 || w->out > FOVEA_LINEAR_MAX) return refusal(FOVEA_SIZE, FOVEA_ARG_OUT);
  const size_t needed = packed_bytes(w->in, w->out, w->dtype);
  if (!needed) return refusal(FOVEA_OVERFLOW, FOVEA_ARG_PACKED);
  if (!to || !w->packed) return refusal(FOVEA_NULL, FOVEA_ARG_PACKED);
  if (f32::misaligned(to) || f32::misaligned(w->packed)) return refusal(FOVEA_ALIGN, FOVEA_ARG_PACKED);
  if (size < needed) return refusal(FOVEA_TOO_SMALL, FOVEA_ARG_PACKED);
  byte_range from, into;
  if (!range_of(w->packed, needed, from) || !range_of(to, needed, into))
    return refusal(FOVEA_OVERFLOW, FOVEA_ARG_PACKED);
  if (meet(from, into)) return refusal(FOVEA_OVERLAP, FOVEA_ARG_PACKED);
  // Is the other order the one that is rearranged?
  return w->order == FOVEA_LINEAR_AS_PACKED && fixed::fixed_panel_order == 1
             ? int32_t{FOVEA_OK}
             : refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_PACKED);
}

// [depth/4][16 outputs][4] becomes [4 quads][depth/4][4 outputs][4]. Bytes at even places hold their number
// plus 128.
void arrange_panel(const unsigned char* from, int32_t depth, unsigned char* to) {
  for (int32_t quad = 0; quad < 4; ++quad)
    for (int32_t c = 0; c < depth; c += 4, to += 16) {
      const unsigned char* const at = from + 16 * c + 16 * quad;
      for (int i = 0; i < 16; ++i) to[i] = static_cast<unsigned char>(i % 2 ? at[i] : at[i] ^ 0x80);
    }
}

} // namespace
} // namespace fovea::linear

int32_t fovea_arrange_linear(void* to, size_t size, const fovea_linear* w) {
  using namespace fovea::linear;
  if (const int32_t status = check_arrange(to, size, w)) return status;
  const int32_t depth = (w->in + 15) & -16;
  const size_t numbers = static_cast<size_t>(depth) * 16, panel = FOVEA_LINEAR_BYTES(w->in, 1, FOVEA_I8);
  const auto* from = static_cast<const unsigned char*>(w->packed);
  auto* into = static_cast<unsigned char*>(to);
  for (int32_t output = 0; output < w->out; output += 16, from += panel, into += panel) {
    arrange_panel(from, depth, into);
    std::memcpy(into + numbers, from + numbers, panel - numbers); // scales
  }
  return FOVEA_OK;
}
