// Attention layers of fovea for layer_peers.py: weights packed once, scratch taken once.
#include <cstdint>
#include <memory>
#include <vector>

#include "../problem.hpp"
#include "fovea/fixed.hpp"
#include "fovea/fixed_quantize.h"
#include "fovea/linear.h"

namespace {

struct packed_linear {
  bench::page_buffer memory;
  std::vector<float> bias;
  fovea_linear linear;

  packed_linear(const float* w, const float* b, int32_t in, int32_t out, int32_t dtype)
      : memory(fovea_linear_size(in, out, dtype)), bias(b, b + out), linear{memory.data(), bias.data(), in, out, dtype, {}} {
    const fovea_rows_in rows = {w, 0, FOVEA_F32, 0};
    fovea_pack_linear(memory.data(), memory.size(), in, out, dtype, 0, &rows, out);
  }
};

struct layer {
  int32_t width, heads, tokens, isa, fixed_isa;
  packed_linear qkv, out;
  std::vector<float> rows, mixed;
  std::vector<int8_t> integers;
  std::vector<fovea_fixed_scale> scales;
  bench::page_buffer scratch;

  int32_t dim() const { return width / heads; }
  bool integer() const { return out.linear.dtype == FOVEA_I8; }

  int32_t multiply(const packed_linear& w, const float* x, float* y) const {
    fovea_product p = {};
    p.w = &w.linear;
    p.x.data = x;
    p.y.data = y;
    p.rows = tokens;
    p.isa = isa;
    p.fixed_isa = fixed_isa;
    return fovea_multiply(&p, scratch.data(), scratch.size());
  }

  int32_t attend_floats() {
    fovea_attention a = {};
    const float* const parts[] = {rows.data(), rows.data() + width, rows.data() + 2 * width};
    fovea_in* const to[] = {&a.q, &a.k, &a.v};
    for (int i = 0; i < 3; ++i) {
      to[i]->data = parts[i];
      to[i]->head_stride = dim();
      to[i]->token_stride = 3 * width;
    }
    a.out.data = mixed.data();
    a.out.head_stride = dim();
    a.out.token_stride = width;
    a.q_heads = heads;
    a.dim = dim();
    a.queries = a.keys = tokens;
    a.isa = isa;
    return fovea_attend(&a, scratch.data(), scratch.size());
  }

  // Each head of q, K and V has a scale of its own.
  int32_t attend_integers() {
    fovea_fixed_attention a = {};
    const size_t all = static_cast<size_t>(width) * static_cast<size_t>(tokens);
    for (int32_t h = 0; h < heads; ++h) {
      float unit[3];
      for (int i = 0; i < 3; ++i) {
        const fovea_float_rows x = {rows.data() + i * width + h * dim(), 3 * width, tokens, dim()};
        int8_t* const to = integers.data() + static_cast<size_t>(i) * all + static_cast<size_t>(h * dim() * tokens);
        if (const int32_t s = fovea_fixed_symmetric(&x, FOVEA_FIXED_S8, &unit[i])) return s;
        if (const int32_t s = fovea_fixed_quantize_s8(&x, unit[i], 0, to)) return s;
      }
      const fovea::real_scales real = {double{unit[0]}, double{unit[1]}, double{unit[2]}, 0, 0};
      scales[static_cast<size_t>(h)] = fovea::make_fixed_scale(real, dim(), tokens).scale;
    }
    a.q.data = integers.data();
    a.k.data = integers.data() + all;
    a.v.data = integers.data() + 2 * all;
    a.out.data = mixed.data();
    a.out.dtype = FOVEA_FIXED_F32;
    a.out.head_stride = dim();
    a.out.token_stride = width;
    a.q_heads = heads;
    a.dim = dim();
    a.queries = a.keys = tokens;
    a.max_keys = tokens;
    a.head_scales = scales.data();
    a.isa = fixed_isa;
    return fovea_fixed_attend(&a, scratch.data(), scratch.size());
  }
};

} // namespace

extern "C" {

// Weights are [out][in], QKV one after another; int8 = 1 quantises weights, activations and attention.
FOVEA_API void* fovea_peers_layer(int32_t tokens, int32_t width, int32_t heads, int32_t int8, int32_t isa, int32_t fixed_isa,
                                  const float* qkv, const float* qkv_bias, const float* out, const float* out_bias) {
  const int32_t dtype = int8 ? int32_t{FOVEA_I8} : int32_t{FOVEA_F32};
  const size_t numbers = static_cast<size_t>(tokens) * static_cast<size_t>(width);
  return new layer{width,
                   heads,
                   tokens,
                   isa,
                   fixed_isa,
                   {qkv, qkv_bias, width, 3 * width, dtype},
                   {out, out_bias, width, width, dtype},
                   std::vector<float>(3 * numbers),
                   std::vector<float>(numbers),
                   std::vector<int8_t>(3 * numbers),
                   std::vector<fovea_fixed_scale>(static_cast<size_t>(heads)),
                   bench::page_buffer(size_t{8} << 20)};
}

FOVEA_API int32_t fovea_peers_run_layer(void* of, const float* x, float* y) {
  layer& l = *static_cast<layer*>(of);
  if (const int32_t status = l.multiply(l.qkv, x, l.rows.data())) return status;
  if (const int32_t status = l.integer() ? l.attend_integers() : l.attend_floats()) return status;
  return l.multiply(l.out, l.mixed.data(), y);
}

FOVEA_API void fovea_peers_drop_layer(void* of) { delete static_cast<layer*>(of); }
}
