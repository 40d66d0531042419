// Everything of the public headers that expands or is instantiated in a program of somebody else's, who may
// have any warning switched on.
#include "fovea/cache.h"
#include "fovea/fixed.h"
#include "fovea/fixed.hpp"
#include "fovea/fixed_linear.h"
#include "fovea/fixed_quantize.h"
#include "fovea/fixed_softmax.h"
#include "fovea/fixed_softmax.hpp"
#include "fovea/fovea.h"
#include "fovea/fovea.hpp"
#include "fovea/layer.h"
#include "fovea/layer.hpp"
#include "fovea/linear.h"
#include "fovea/ops.h"

static unsigned char scratch[FOVEA_SCRATCH(3, 2)];
FOVEA_ASSERT_FITS(scratch, 3, 2);
static unsigned char fast_scratch[FOVEA_SCRATCH_FAST(3, 2, 4, 20)];
static unsigned char integer_scratch[FOVEA_FIXED_SCRATCH_ROWS(3, 2)];
static int8_t panels[FOVEA_FIXED_PANELS(2, 3)];
static int8_t linear[FOVEA_FIXED_LINEAR_BYTES(3, 2)];
static unsigned char linear_scratch[FOVEA_FIXED_LINEAR_SCRATCH(3, 1)];
static fovea::fixed_attention<float, 4, 2, 16, 32> memory;
static fovea::scratch<64, 32> typed_scratch;
static FOVEA_CACHE_ALIGN unsigned char
    cache[FOVEA_CACHE_BYTES(2, 16, 8, 40, FOVEA_I8) + FOVEA_CACHE_SCALES(2, 40)];
static fovea::kv_cache<float, 2, 16, FOVEA_CACHE_RING(20, 4, 3, FOVEA_F32)> typed_cache;
static fovea::tflite_tables tables;
static fovea::self_attention<64, 4, 2, 16, 24> attention_layer;
static unsigned char layer_scratch[FOVEA_LAYER_SCRATCH_FAST(128, 128, 384, 12, 12, 32, 32) +
                                   FOVEA_LAYER_SCRATCH_I8(128, 128, 12, 12, 32, 32)];
static unsigned char context[FOVEA_LAYER_KV_BYTES(7, 2, 4, 16, 16) + FOVEA_LAYER_KV_SCRATCH(64, 4, 16)];
static_assert(FOVEA_LAYER_SCRATCH_FAST(128, 128, 384, 12, 12, 32, 32) < 1000000, "a layer of MiniLM");
static_assert(FOVEA_LAYER_SCRATCH(32, 32, 64, 4, 4, 16, 16) < 16384, "a layer for a board");

int main() {
  const float row[4 * 16] = {};
  float out[4 * 16];
  fovea::make_tflite_tables(0.1, 1, tables);
  const fovea::fixed_scale_answer scale = fovea::make_fixed_scale({0.1, 0.1, 0.1, 0, 0}, 64);
  const int32_t status = memory.append(row, row) | memory.attend(row, out) |
                         attention_layer.pack(row, row, row, row) | attention_layer.run(row, 1, out);
  const std::int32_t cached = typed_cache.init(20, 4) | typed_cache.append({row, 0, 0}, {row, 0, 0}) |
                              cache[0];
  return cached + FOVEA_REASON(status) + FOVEA_ARGUMENT(status) + (scale.refusal ? 1 : 0) + scratch[0] +
         fast_scratch[0] + integer_scratch[0] + panels[0] + linear[0] + linear_scratch[0] + layer_scratch[0] +
         context[0] + fovea::make_fixed_multiplier(0.5).shift + typed_scratch.bytes[0];
}
