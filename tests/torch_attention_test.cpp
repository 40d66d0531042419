// Layers against torch.nn.MultiheadAttention in float64: weights packed and separate, with and without
// biases, kdim != vdim, padding. tests/golden/multihead_attention.py draws the same numbers and writes the
// results.
#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "data.hpp"
#include "fovea/layer.h"
#include "golden/multihead_attention.inc"
#include "isas.hpp"

namespace {

struct torch_case {
  const char* why;
  int32_t embed, heads, kdim, vdim; // kdim 0: in_proj_weight
  bool bias;
  int32_t batch, tokens, keys; // keys 0: self-attention
  int32_t lengths[3];          // 0: all
  bool causal;
  const float *y, *weights;
};
const torch_case cases[] = {
    {"packed", 16, 4, 0, 0, true, 1, 5, 0, {}, false, packed_y, packed_weights},
    {"packed, without bias, causal",
     24,
     3,
     0,
     0,
     false,
     1,
     6,
     0,
     {},
     true,
     packed_without_bias_causal_y,
     packed_without_bias_causal_weights},
    {"packed, padded", 16, 2, 0, 0, true, 3, 4, 0, {4, 1, 3}, false, packed_padded_y, packed_padded_weights},
    {"packed, cross-attention",
     32,
     2,
     0,
     0,
     true,
     2,
     3,
     5,
     {5, 2},
     false,
     packed_cross_y,
     packed_cross_weights},
    {"separate, kdim != vdim", 16, 2, 12, 20, true, 1, 4, 6, {}, false, separate_y, separate_weights},
    {"separate, without bias, padded",
     20,
     4,
     8,
     7,
     false,
     2,
     3,
     4,
     {2, 4},
     false,
     separate_without_bias_padded_y,
     separate_without_bias_padded_weights},
};

std::vector<float> drawn(uint32_t seed, int32_t count) {
  std::vector<float> all;
  for (int32_t i = 0; i < count; ++i) all.push_back(data::noise(seed, static_cast<uint32_t>(i)));
  return all;
}

fovea_linear pack(const std::vector<float>& weight, const float* bias, int32_t in, int32_t out,
                  std::vector<float>& packed) {
  packed.assign(fovea_linear_size(in, out, FOVEA_F32) / sizeof(float), 0);
  const fovea_rows_in rows = {weight.data(), 0, FOVEA_F32, 0};
  REQUIRE(fovea_pack_linear(packed.data(), packed.size() * sizeof(float), in, out, FOVEA_F32, 0, &rows,
                            out) == FOVEA_OK);
  return {packed.data(), bias, in, out, FOVEA_F32, {}, 0};
}

void check_case(const torch_case& c, int32_t isa) {
  const int32_t keys = c.keys != 0 ? c.keys : c.tokens, kdim = c.kdim != 0 ? c.kdim : c.embed,
                vdim = c.vdim != 0 ? c.vdim : c.embed;
  const std::vector<float> in_bias = drawn(6, 3 * c.embed), out_bias = drawn(7, c.embed),
                           x = drawn(8, c.batch * c.tokens * c.embed), k = drawn(9, c.batch * keys * kdim),
                           v = drawn(10, c.batch * keys * vdim);
  std::vector<float> packed[4];
  fovea_layer layer = {};
  if (c.kdim == 0) {
    layer.q = pack(drawn(1, 3 * c.embed * c.embed), c.bias ? in_bias.data() : nullptr, c.embed, 3 * c.embed,
                   packed[0]);
  } else {
    const float *k_bias = in_bias.data() + c.embed, *v_bias = k_bias + c.embed;
    layer.q = pack(drawn(2, c.embed * c.embed), c.bias ? in_bias.data() : nullptr, c.embed, c.embed,
                   packed[0]);
    layer.k = pack(drawn(3, c.embed * kdim), c.bias ? k_bias : nullptr, kdim, c.embed, packed[1]);
    layer.v = pack(drawn(4, c.embed * vdim), c.bias ? v_bias : nullptr, vdim, c.embed, packed[2]);
  }
  layer.out = pack(drawn(5, c.embed * c.embed), c.bias ? out_bias.data() : nullptr, c.embed, c.embed,
                   packed[3]);
  layer.q_heads = c.heads, layer.dim = c.embed / c.heads;

  std::vector<float> y(x.size(), -1), weights(static_cast<size_t>(c.batch * c.heads * c.tokens * keys), -1);
  fovea_layer_call call = {};
  call.layer = &layer;
  call.x.data = x.data(), call.y.data = y.data();
  if (c.keys != 0) {
    call.context.data = k.data();
    call.context_tokens = c.batch * keys;
    if (c.kdim != 0) call.values.data = v.data();
  }
  call.tokens = c.batch * c.tokens, call.sequences = c.batch;
  if (c.lengths[0] != 0) call.lengths = c.lengths;
  call.how.flags = c.causal ? FOVEA_CAUSAL : 0;
  call.how.weights.data = weights.data();
  call.how.isa = isa;
  std::vector<float> scratch(fovea_layer_scratch_best(&call) / sizeof(float) + 1);
  REQUIRE(fovea_run_layer(&call, scratch.data(), scratch.size() * sizeof(float)) == FOVEA_OK);

  // Sums of at most 33 products below 4, three times: a few times 1e-6. Weights: scores up to 30 times that.
  int wrong = 0;
  for (size_t i = 0; i < y.size(); ++i) wrong += !(std::fabs(y[i] - c.y[i]) <= 2e-5f);
  CHECK(wrong == 0);
  const float* found = weights.data();
  for (int32_t row = 0; row < c.batch * c.heads * c.tokens; ++row) {
    const int32_t of_sequence = row / (c.heads * c.tokens),
                  seen = call.lengths != nullptr ? c.lengths[of_sequence] : keys;
    for (int32_t j = 0; j < keys; ++j) // behind the length there is no column; PyTorch has zeros
      wrong += !(std::fabs((j < seen ? *found++ : 0) - c.weights[row * keys + j]) <= 1e-5f);
  }
  CHECK(wrong == 0);
}

} // namespace

TEST_CASE("layers_agree_with_multihead_attention_of_pytorch") {
  for (const torch_case& c : cases) {
    INFO(doctest::String(c.why));
    isas::for_each([&](int32_t isa) { check_case(c, isa); });
  }
}
