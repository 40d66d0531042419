// For computers, which make images for boards: it takes memory from the heap.
#include <vector>

#include "fovea/fixed.h"
#include "image_layout.hpp"

namespace stories {
namespace {

// A panel of sixteen outputs, `depth` bytes each, from order 1 into order 2.
void reorder_panel(unsigned char* panel, size_t depth) {
  const std::vector<unsigned char> before(panel, panel + 16 * depth);
  for (size_t lane = 0; lane < 16; ++lane)
    for (size_t c = 0; c < depth; ++c)
      panel[lane / 4 * 4 * depth + c / 16 * 64 + lane % 4 * 16 + c % 16] =
          before[c / 4 * 64 + lane * 4 + c % 4];
}

} // namespace

void reorder_linear_for_helium(unsigned char* packed, int32_t in, int32_t out, int32_t dtype) {
  const size_t panel_bytes = static_cast<size_t>(linear_bytes(in, 16, dtype));
  const size_t panels = (static_cast<size_t>(out) + 15) / 16, inputs = static_cast<size_t>(in);
  for (size_t p = 0; p < panels; ++p, packed += panel_bytes) {
    if (dtype == FOVEA_I8) {
      reorder_panel(packed, (inputs + 15) / 16 * 16);
      continue;
    }
    const size_t groups = (inputs + 31) / 32; // 32 bytes of scales each, then sixteen bytes of each output
    for (size_t g = 0; g < groups; ++g) reorder_panel(packed + groups * 32 + g * 256, 16);
  }
}

void arrange_linear_for_smlad(unsigned char* packed, int32_t in, int32_t out, int32_t dtype) {
  if (dtype != FOVEA_I8) return;
  const size_t size = static_cast<size_t>(linear_bytes(in, out, dtype));
  std::vector<uint32_t> before((size + 3) / 4);
  std::memcpy(before.data(), packed, size);
  fovea_linear l = {};
  l.packed = before.data();
  l.in = in;
  l.out = out;
  l.dtype = dtype;
  fovea_arrange_linear(packed, size, &l);
}

namespace {

template <class Reorder>
void reorder_image(unsigned char* image, size_t size, int32_t order, Reorder reorder) {
  image_header h;
  model m;
  if (open_image(image, size, m) || m.dtype == FOVEA_F32) return;
  const auto one = [&](const fovea_linear& l) {
    reorder(const_cast<unsigned char*>(static_cast<const unsigned char*>(l.packed)), l.in, l.out, l.dtype);
  };
  one(m.classifier);
  for (int32_t i = 0; i < m.of.layers; ++i) {
    const layer_weights layer = m.layer(i);
    for (const fovea_linear* l : {&layer.qkv, &layer.out, &layer.up, &layer.down}) one(*l);
  }
  std::memcpy(&h, image, sizeof h);
  h.panel_order = order;
  h.check = check_of(h);
  std::memcpy(image, &h, sizeof h);
}

} // namespace

void reorder_for_helium(unsigned char* image, size_t size) {
  reorder_image(image, size, 2, reorder_linear_for_helium);
}
void arrange_for_smlad(unsigned char* image, size_t size) {
  reorder_image(image, size, FOVEA_LINEAR_SMLAD, arrange_linear_for_smlad);
}

} // namespace stories
