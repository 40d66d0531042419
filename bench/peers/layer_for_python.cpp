// Attention layers and the encoder of MiniLM for layer_peers.py: weights packed once, memory taken once.
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "../problem.hpp"
#include "fovea/layer.h"
#include "minilm/encoder.hpp"

namespace {

using bench::page_buffer;

// Weights of one product, [out][in].
struct packed_linear {
  packed_linear(const float* w, const float* bias, int32_t in, int32_t out, int32_t dtype)
      : memory(fovea_linear_size(in, out, dtype)), linear{memory.data(), bias, in, out, dtype, {}} {
    const fovea_rows_in rows = {w, 0, FOVEA_F32, 0};
    fovea_pack_linear(memory.data(), memory.size(), in, out, dtype, 0, &rows, out);
  }

  page_buffer memory;
  fovea_linear linear;
};

int32_t dtype_of(int32_t int8) { return int8 ? int32_t{FOVEA_I8} : int32_t{FOVEA_F32}; }

// One call, as an application makes it.
struct peer_layer {
  peer_layer(int32_t tokens, int32_t width, int32_t heads, int32_t dtype, int32_t attention, int32_t isa,
             int32_t fixed_isa, const float* const (&arrays)[4])
      : qkv(arrays[0], arrays[1], width, 3 * width, dtype), out(arrays[2], arrays[3], width, width, dtype) {
    layer.q = qkv.linear;
    layer.out = out.linear;
    layer.q_heads = heads;
    layer.dim = width / heads;
    layer.attention = attention;
    call.layer = &layer;
    call.tokens = tokens;
    call.how.isa = isa;
    call.fixed_isa = fixed_isa;
  }

  int32_t run(const float* x, float* y) {
    call.x.data = x;
    call.y.data = y;
    if (!scratch) scratch = std::make_unique<page_buffer>(fovea_layer_scratch_best(&call));
    return fovea_run_layer(&call, scratch->data(), scratch->size());
  }

  packed_linear qkv, out;
  fovea_layer layer = {};
  fovea_layer_call call = {};
  std::unique_ptr<page_buffer> scratch;
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
  return new peer_layer(tokens, width, heads, dtype_of(int8), dtype_of(int8_attention), isa, fixed_isa,
                        {qkv, qkv_bias, out, out_bias});
}

FOVEA_API int32_t fovea_peers_run_layer(void* of, const float* x, float* y) {
  return static_cast<peer_layer*>(of)->run(x, y);
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
