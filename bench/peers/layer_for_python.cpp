// Attention layers and the encoder of MiniLM for layer_peers.py: weights packed once, memory taken once.
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "../problem.hpp"
#include "fovea/fixed.hpp"
#include "fovea/fixed_quantize.h"
#include "fovea/layer.h"
#include "minilm/encoder.hpp"

namespace {

using bench::page_buffer;

// Weights of one product, [out][in].
struct packed_linear {
  packed_linear(const float* w, const float* bias, int32_t in, int32_t out, int32_t dtype)
      : memory(fovea_linear_size(in, out, dtype)), linear{memory.data(), bias, in, out, dtype, {}} {
    const fovea_rows_in rows = {w, 0, FOVEA_F32, 0};
    status = fovea_pack_linear(memory.data(), memory.size(), in, out, dtype, 0, &rows, out);
  }

  page_buffer memory;
  fovea_linear linear;
  int32_t status;
};

int32_t dtype_of(int32_t int8) { return int8 ? int32_t{FOVEA_I8} : int32_t{FOVEA_F32}; }

// One call, as an application makes it.
struct float_attention_layer {
  float_attention_layer(const packed_linear& qkv, const packed_linear& out, int32_t heads, int32_t tokens,
                        int32_t isa, int32_t fixed_isa) {
    layer.q = qkv.linear;
    layer.out = out.linear;
    layer.q_heads = heads;
    layer.dim = out.linear.in / heads;
    call.layer = &layer;
    call.tokens = tokens;
    call.how.isa = isa;
    call.fixed_isa = fixed_isa;
    std::vector<float> room(static_cast<size_t>(tokens) * static_cast<size_t>(out.linear.in));
    call.x.data = call.y.data = room.data();
    scratch = std::make_unique<page_buffer>(fovea_layer_scratch_best(&call));
  }

  int32_t run(const float* x, float* y) {
    call.x.data = x;
    call.y.data = y;
    return fovea_run_layer(&call, scratch->data(), scratch->size());
  }

  fovea_layer layer = {};
  fovea_layer_call call = {};
  std::unique_ptr<page_buffer> scratch;
};

// The same with attention in int8, composed of the calls that there are for it. Each head of q, K and V has a
// scale of its own.
struct integer_attention_layer {
  const packed_linear &qkv, &out;
  int32_t heads, tokens, isa, fixed_isa;
  size_t numbers = static_cast<size_t>(tokens) * static_cast<size_t>(out.linear.in);
  std::vector<float> rows = std::vector<float>(3 * numbers), mixed = std::vector<float>(numbers);
  std::vector<int8_t> integers = std::vector<int8_t>(3 * numbers);
  std::vector<fovea_fixed_scale> scales = std::vector<fovea_fixed_scale>(static_cast<size_t>(heads));
  page_buffer scratch = page_buffer(size_t{8} << 20);

  int32_t width() const { return out.linear.in; }
  int32_t dim() const { return width() / heads; }

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

  int32_t quantise(int32_t head) {
    float unit[3];
    for (int i = 0; i < 3; ++i) {
      const fovea_float_rows x = {rows.data() + i * width() + head * dim(), 3 * width(), tokens, dim()};
      int8_t* const to = integers.data() + static_cast<size_t>(i) * numbers +
                         static_cast<size_t>(head * dim() * tokens);
      if (const int32_t s = fovea_fixed_symmetric(&x, FOVEA_FIXED_S8, &unit[i])) return s;
      if (const int32_t s = fovea_fixed_quantize_s8(&x, unit[i], 0, to)) return s;
    }
    const fovea::real_scales real = {double{unit[0]}, double{unit[1]}, double{unit[2]}, 0, 0};
    scales[static_cast<size_t>(head)] = fovea::make_fixed_scale(real, dim(), tokens).scale;
    return FOVEA_OK;
  }

  int32_t attend() {
    for (int32_t h = 0; h < heads; ++h)
      if (const int32_t status = quantise(h)) return status;
    fovea_fixed_attention a = {};
    a.q.data = integers.data();
    a.k.data = integers.data() + numbers;
    a.v.data = integers.data() + 2 * numbers;
    a.out.data = mixed.data();
    a.out.dtype = FOVEA_FIXED_F32;
    a.out.head_stride = dim();
    a.out.token_stride = width();
    a.q_heads = heads;
    a.dim = dim();
    a.queries = a.keys = a.max_keys = tokens;
    a.head_scales = scales.data();
    a.isa = fixed_isa;
    return fovea_fixed_attend(&a, scratch.data(), scratch.size());
  }

  int32_t run(const float* x, float* y) {
    if (const int32_t status = multiply(qkv, x, rows.data())) return status;
    if (const int32_t status = attend()) return status;
    return multiply(out, mixed.data(), y);
  }
};

struct peer_layer {
  packed_linear qkv, out;
  std::unique_ptr<float_attention_layer> floats;
  std::unique_ptr<integer_attention_layer> integers;
};

struct peer_encoder {
  minilm::model model = {};
  minilm::arithmetic how;
  std::deque<packed_linear> products;
  std::unique_ptr<minilm::batch_space> shared = std::make_unique<minilm::batch_space>();
  std::unique_ptr<minilm::worker_space> own = std::make_unique<minilm::worker_space>();
};

} // namespace

extern "C" {

// int8: weights and activations; int8_attention: q, K and V, too. Biases stay the caller's.
FOVEA_API void* fovea_peers_layer(int32_t tokens, int32_t width, int32_t heads, int32_t int8,
                                  int32_t int8_attention, int32_t isa, int32_t fixed_isa, const float* qkv,
                                  const float* qkv_bias, const float* out, const float* out_bias) {
  peer_layer* l = new peer_layer{{qkv, qkv_bias, width, 3 * width, dtype_of(int8)},
                                 {out, out_bias, width, width, dtype_of(int8)},
                                 {},
                                 {}};
  if (int8_attention)
    l->integers.reset(new integer_attention_layer{l->qkv, l->out, heads, tokens, isa, fixed_isa});
  else
    l->floats = std::make_unique<float_attention_layer>(l->qkv, l->out, heads, tokens, isa, fixed_isa);
  return l;
}

FOVEA_API int32_t fovea_peers_run_layer(void* of, const float* x, float* y) {
  peer_layer& l = *static_cast<peer_layer*>(of);
  return l.integers ? l.integers->run(x, y) : l.floats->run(x, y);
}

// Arrays: words, positions, types, norm and its bias; then of each layer weights and bias of QKV, out, up and
// down, and the two norms. They stay the caller's.
FOVEA_API void* fovea_peers_encoder(int32_t vocabulary, int32_t int8, int32_t int8_attention, int32_t isa,
                                    int32_t fixed_isa, const float* const* arrays) {
  peer_encoder* e = new peer_encoder;
  e->how = {int8_attention != 0, isa, fixed_isa};
  const auto next = [&] { return *arrays++; };
  const auto norm = [&] {
    const float* const weight = next();
    return minilm::norm_weights{weight, next()};
  };
  const auto product = [&](int32_t in, int32_t out) {
    const float* const weights = next();
    return e->products.emplace_back(weights, next(), in, out, dtype_of(int8)).linear;
  };
  minilm::model& m = e->model;
  m.words = next();
  m.positions = next();
  m.types = next();
  m.vocabulary_size = vocabulary;
  m.after_embedding = norm();
  for (minilm::layer_weights& l : m.layer) {
    l.qkv = product(minilm::width, 3 * minilm::width);
    l.out = product(minilm::width, minilm::width);
    l.up = product(minilm::width, minilm::inner);
    l.down = product(minilm::inner, minilm::width);
    l.after_attention = norm();
    l.after_mlp = norm();
  }
  return e;
}

// One sentence becomes `width` numbers.
FOVEA_API int32_t fovea_peers_encode(void* of, const int32_t* ids, int32_t tokens, float* embedding) {
  peer_encoder& e = *static_cast<peer_encoder*>(of);
  const int32_t starts[] = {0, tokens};
  return minilm::encode(e.model, {ids, starts, 1}, e.how, embedding, *e.shared, *e.own);
}
}
