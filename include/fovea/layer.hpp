// layer.hpp: multi-head attention with its weights as one object of fixed size, for .bss. C++17, header only;
// each call ends in the C interface of layer.h.
#pragma once
#include <cstddef>
#include <cstdint>

#include "fovea/layer.h"

namespace fovea {

// Self-attention of `Width` numbers a token, for up to `Tokens` tokens at a time, with weights of `Dtype`.
template <int Width, int Heads, int KvHeads, int Dim, int Tokens, int Dtype = FOVEA_F32>
class self_attention {
  static_assert(Heads > 0 && KvHeads > 0 && Heads % KvHeads == 0,
                "each kv head serves the same number of query heads");
  static_assert(Dim >= 1 && Dim <= 1024, "a head has 1 to 1024 dimensions");
  static_assert(Width > 0 && Tokens > 0, "room for at least one token");
  // A joined matrix whose parts do not begin at multiples of 16 is multiplied whole, which takes more
  // scratch.
  static constexpr bool in_parts = Heads * Dim % 16 == 0 && KvHeads * Dim % 16 == 0;

 public:
  self_attention() = default; // not copied: it holds addresses of its own memory
  self_attention(const self_attention&) = delete;
  self_attention& operator=(const self_attention&) = delete;

  static constexpr int inputs = Width, head_columns = Heads * Dim, outputs = (Heads + 2 * KvHeads) * Dim;

  // Packs W_Q, W_K and W_V one after another, [outputs][Width] (PyTorch's in_proj_weight), and W_O,
  // [Width][head_columns]. Biases are kept by address; null = none.
  std::int32_t pack(const float* in_weight, const float* in_bias, const float* out_weight,
                    const float* out_bias) {
    weights_ = {};
    weights_.q = {in_, in_bias, Width, outputs, Dtype, {}, 0};
    weights_.out = {out_, out_bias, head_columns, Width, Dtype, {}, 0};
    weights_.q_heads = Heads;
    weights_.kv_heads = KvHeads;
    weights_.dim = Dim;
    const fovea_rows_in in{in_weight, 0, FOVEA_F32, 0}, out{out_weight, 0, FOVEA_F32, 0};
    if (const std::int32_t s = fovea_pack_linear(in_, sizeof in_, Width, outputs, Dtype, 0, &in, outputs))
      return s;
    return fovea_pack_linear(out_, sizeof out_, head_columns, Width, Dtype, 0, &out, Width);
  }

  // Norms and rotation may be set here. Attention in int8 takes more scratch than there is here: see layer.h.
  fovea_layer& weights() { return weights_; }

  // x and y are [tokens][Width], and may be the same; residual is added last, null = none.
  std::int32_t run(const float* x, std::int32_t tokens, float* y, const float* residual = nullptr) {
    const fovea_layer_call c = call(x, tokens, y, residual);
    return fovea_run_layer(&c, scratch_, sizeof scratch_);
  }

  // The call that run makes, for callers who want to change it.
  fovea_layer_call call(const float* x, std::int32_t tokens, float* y,
                        const float* residual = nullptr) const {
    fovea_layer_call c{};
    c.layer = &weights_;
    c.x.data = x;
    c.y.data = y;
    c.residual.data = residual;
    c.tokens = tokens;
    return c;
  }

 private:
  fovea_layer weights_;
  alignas(64) unsigned char in_[FOVEA_LINEAR_BYTES(Width, outputs, Dtype)];
  alignas(64) unsigned char out_[FOVEA_LINEAR_BYTES(head_columns, Width, Dtype)];
  static constexpr int widest = Width > head_columns ? Width : head_columns;
  alignas(64) unsigned char scratch_[in_parts ? FOVEA_LAYER_SCRATCH(Tokens, Tokens, widest, Heads, KvHeads,
                                                                    Dim, Dim)
                                              : FOVEA_LAYER_SCRATCH_FAST(Tokens, Tokens, widest, Heads,
                                                                         KvHeads, Dim, Dim)];
};

} // namespace fovea
