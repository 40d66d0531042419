// Layers with drawn weights, calls of them, and the same once more in plain scalar code: products, norms,
// rotations and attention as docs/numerics.md has them, from the rows of PyTorch's weights.
#pragma once
#include <vector>

#include "data.hpp"
#include "fovea/layer.h"
#include "isas.hpp"
#include "numerics.hpp"
#include "ops_model.hpp"

namespace layers {

using floats = std::vector<float>;

inline floats drawn(uint32_t seed, size_t count, float size) {
  floats all(count);
  for (size_t i = 0; i < count; ++i) all[i] = size * data::noise(seed, static_cast<uint32_t>(i));
  return all;
}

struct layer_case {
  const char* why;
  int32_t width, context_width; // inputs; context_width 0: self-attention
  int32_t q_heads, kv_heads, dim, v_dim;
  bool joined, biased, normed, rotated, residual;
  int32_t rotary_dim = 0, interleaved = 0;
};

// [out][in] and [out], as PyTorch stores them.
struct matrix {
  int32_t in = 0, out = 0;
  floats weight, bias;

  matrix() = default;
  matrix(uint32_t seed, int32_t in_, int32_t out_, bool biased) : in(in_), out(out_) {
    weight = drawn(seed, static_cast<size_t>(in) * static_cast<size_t>(out),
                   1.5f / std::sqrt(static_cast<float>(in)));
    if (biased) bias = drawn(seed + 1, static_cast<size_t>(out), 0.5f);
  }
  void add_to(fovea_linear& w, floats& packed, floats& all_biases, int32_t at) const {
    const fovea_rows_in rows = {weight.data(), 0, FOVEA_F32, 0};
    REQUIRE(fovea_pack_linear(packed.data(), packed.size() * sizeof(float), in, w.out, FOVEA_F32, at, &rows,
                              out) == FOVEA_OK);
    if (!bias.empty()) std::copy(bias.begin(), bias.end(), all_biases.begin() + at);
  }
  floats times(const floats& x, int32_t rows) const {
    floats y;
    for (int32_t r = 0; r < rows; ++r)
      for (int32_t o = 0; o < out; ++o) {
        float sum = 0;
        for (int32_t k = 0; k < in; ++k)
          sum = std::fma(x[static_cast<size_t>(r * in + k)], weight[static_cast<size_t>(o * in + k)], sum);
        y.push_back(bias.empty() ? sum : sum + bias[static_cast<size_t>(o)]);
      }
    return y;
  }
};

struct packed_matrix {
  floats packed, bias;
  fovea_linear linear = {};

  void pack(const std::vector<const matrix*>& parts) {
    int32_t out = 0;
    for (const matrix* m : parts) out += m->out;
    packed.assign(fovea_linear_size(parts[0]->in, out, FOVEA_F32) / sizeof(float), 0);
    const bool biased = !parts[0]->bias.empty();
    bias.assign(biased ? static_cast<size_t>(out) : 0, 0);
    linear = {packed.data(), biased ? bias.data() : nullptr, parts[0]->in, out, FOVEA_F32, {}, 0};
    int32_t at = 0;
    for (const matrix* m : parts) {
      m->add_to(linear, packed, bias, at);
      at += m->out;
    }
  }
};

struct layer_problem {
  static constexpr int32_t positions = 64;
  layer_case shape;
  matrix q, k, v, out;
  packed_matrix packed_q, packed_k, packed_v, packed_out;
  floats q_norm, k_norm, cosine, sine;
  fovea_layer layer = {};

  explicit layer_problem(const layer_case& c) : shape(c) {
    const int32_t context = c.context_width != 0 ? c.context_width : c.width;
    q = matrix(1, c.width, c.q_heads * c.dim, c.biased);
    k = matrix(3, context, c.kv_heads * c.dim, c.biased);
    v = matrix(5, context, c.kv_heads * c.v_dim, c.biased);
    out = matrix(7, c.q_heads * c.v_dim, c.width, c.biased);
    if (c.joined) {
      packed_q.pack({&q, &k, &v});
    } else {
      packed_q.pack({&q});
      packed_k.pack({&k});
      packed_v.pack({&v});
    }
    packed_out.pack({&out});
    layer.q = packed_q.linear, layer.k = packed_k.linear, layer.v = packed_v.linear,
    layer.out = packed_out.linear;
    layer.q_heads = c.q_heads, layer.kv_heads = c.kv_heads, layer.dim = c.dim, layer.v_dim = c.v_dim;
    if (c.normed) {
      q_norm = drawn(9, static_cast<size_t>(c.dim), 1), k_norm = drawn(10, static_cast<size_t>(c.dim), 1);
      layer.q_norm = q_norm.data(), layer.k_norm = k_norm.data(), layer.norm_plus_one = 1;
    }
    if (c.rotated) {
      fovea_rope_frequencies f = {};
      f.rotary_dim = c.rotary_dim != 0 ? c.rotary_dim : c.dim;
      const auto count = static_cast<size_t>(positions * f.rotary_dim / 2);
      cosine.resize(count), sine.resize(count);
      REQUIRE(fovea_rope_table(&f, 0, positions, cosine.data(), sine.data()) == FOVEA_OK);
      layer.rope = {cosine.data(), sine.data(), positions, c.rotary_dim, c.interleaved, 0};
    }
  }
};

// A batch of sequences: their tokens, and of each the keys that count.
struct batch {
  std::vector<int32_t> starts, context_starts, lengths, where; // lengths and where may be empty
  int32_t tokens() const { return starts.back(); }
  int32_t context_tokens() const { return context_starts.empty() ? tokens() : context_starts.back(); }
  int32_t sequences() const { return static_cast<int32_t>(starts.size()) - 1; }
  const std::vector<int32_t>& keys() const { return context_starts.empty() ? starts : context_starts; }
};

struct layer_data {
  floats x, context, residual;
  data::guarded<float> y;
  fovea_layer_call call = {};

  layer_data(const layer_problem& p, const batch& b)
      : x(drawn(20, static_cast<size_t>(b.tokens() * p.shape.width), 1)),
        context(drawn(21, static_cast<size_t>(b.context_tokens() * p.k.in), 1)),
        residual(drawn(22, x.size(), 1)),
        y(x.size()) {
    call.layer = &p.layer;
    call.x.data = x.data(), call.y.data = y.data();
    if (p.shape.context_width != 0) {
      call.context.data = context.data();
      call.context_tokens = b.context_tokens();
      call.context_starts = b.context_starts.data();
    }
    if (p.shape.residual) call.residual.data = residual.data();
    call.tokens = b.tokens(), call.sequences = b.sequences(), call.starts = b.starts.data();
    if (!b.lengths.empty()) call.lengths = b.lengths.data();
    if (!b.where.empty()) call.positions = b.where.data();
  }
};

struct answer {
  floats y, lse, weights;
};

inline void finish_heads(const layer_problem& p, floats& rows, int32_t heads, int32_t token, int32_t position,
                         const floats& norm) {
  const int32_t dim = p.shape.dim, rotary = p.shape.rotary_dim != 0 ? p.shape.rotary_dim : dim,
                half = rotary / 2;
  for (int32_t h = 0; h < heads; ++h) {
    float* head = rows.data() + (token * heads + h) * dim;
    if (!norm.empty()) {
      fovea_norm_rows n = {};
      n.kind = FOVEA_RMS_NORM, n.weight = norm.data(), n.weight_plus_one = 1, n.epsilon = 1e-6f;
      const floats normed = ops_model::norm(n, floats(head, head + dim));
      std::copy(normed.begin(), normed.end(), head);
    }
    for (int32_t i = 0; i < half && p.shape.rotated; ++i) {
      const int32_t a = p.shape.interleaved != 0 ? 2 * i : i, b = p.shape.interleaved != 0 ? a + 1 : a + half;
      const auto at = static_cast<size_t>(position * half + i);
      ops_model::turn(head[a], head[b], p.cosine[at], p.sine[at]);
    }
  }
}

// Rows of q, k and v of a call, normed and rotated: [token][head][dim].
struct projected {
  floats q, k, v;
};
inline projected project(const layer_problem& p, const batch& b, const layer_data& d) {
  const layer_case& c = p.shape;
  const bool cross = c.context_width != 0;
  const floats& source = cross ? d.context : d.x;
  projected rows = {p.q.times(d.x, b.tokens()), p.k.times(source, b.context_tokens()),
                    p.v.times(source, b.context_tokens())};
  for (size_t s = 0; s + 1 < b.starts.size(); ++s) {
    const int32_t first = b.starts[s], end = b.starts[s + 1], key = b.keys()[s], keys_end = b.keys()[s + 1];
    for (int32_t t = first; t < end; ++t) {
      const int32_t position = b.where.empty() ? d.call.first_position + t - first
                                               : b.where[static_cast<size_t>(t)];
      finish_heads(p, rows.q, c.q_heads, t, position, p.q_norm);
      if (!cross) finish_heads(p, rows.k, c.kv_heads, t, position, p.k_norm);
    }
    for (int32_t t = key; t < keys_end && cross; ++t)
      finish_heads(p, rows.k, c.kv_heads, t, t - key, p.k_norm);
  }
  return rows;
}

inline floats finish(const layer_problem& p, const batch& b, const layer_data& d, const floats& heads) {
  floats y = p.out.times(heads, b.tokens());
  for (size_t i = 0; i < y.size() && p.shape.residual; ++i) y[i] += d.residual[i];
  return y;
}

// The call once more. What it asks for in `how` is computed for all heads.
inline answer model(const layer_problem& p, const batch& b, const layer_data& d) {
  const layer_case& c = p.shape;
  const projected rows = project(p, b, d);
  floats heads(static_cast<size_t>(b.tokens() * c.q_heads * c.v_dim));
  answer result;
  for (size_t s = 0; s + 1 < b.starts.size(); ++s) {
    const int32_t first = b.starts[s], end = b.starts[s + 1], key = b.keys()[s], keys_end = b.keys()[s + 1];
    fovea_attention a = d.call.how;
    a.q_heads = c.q_heads, a.kv_heads = c.kv_heads, a.dim = c.dim, a.v_dim = c.v_dim;
    a.queries = end - first, a.keys = b.lengths.empty() ? keys_end - key : b.lengths[s];
    a.q.data = rows.q.data() + first * c.q_heads * c.dim;
    a.k.data = rows.k.data() + key * c.kv_heads * c.dim;
    a.v.data = rows.v.data() + key * c.kv_heads * c.v_dim;
    a.q.head_stride = a.k.head_stride = c.dim, a.v.head_stride = c.v_dim;
    a.q.token_stride = c.q_heads * c.dim, a.k.token_stride = c.kv_heads * c.dim,
    a.v.token_stride = c.kv_heads * c.v_dim;
    if (c.context_width == 0 && (a.flags & FOVEA_POSITION) == 0) a.flags |= FOVEA_POSITION, a.position = 0;
    const floats all = numerics::attend(a);
    for (int32_t h = 0; h < c.q_heads; ++h)
      for (int32_t i = 0; i < a.queries; ++i)
        for (int32_t n = 0; n < c.v_dim; ++n)
          heads[static_cast<size_t>(((first + i) * c.q_heads + h) * c.v_dim + n)] =
              all[static_cast<size_t>((h * a.queries + i) * c.v_dim + n)];
    auto rest = all.begin() + c.q_heads * a.queries * c.v_dim;
    const auto lse_end = rest + (a.lse != nullptr ? c.q_heads * a.queries : 0);
    result.lse.insert(result.lse.end(), rest, lse_end);
    result.weights.insert(result.weights.end(), lse_end, all.end());
  }
  result.y = finish(p, b, d, heads);
  return result;
}

inline floats numbers(const data::guarded<float>& x) { return floats(x.data(), x.data() + x.size()); }

// Where no bits are promised: products and scores round twice as often.
inline void check_same(const floats& found, const floats& expected, int32_t isa) {
  if (isas::promises_bits(isa)) {
    CHECK(data::same_numbers(found, expected));
    return;
  }
  REQUIRE(found.size() == expected.size());
  int wrong = 0;
  for (size_t i = 0; i < found.size(); ++i)
    wrong += found[i] != expected[i] && !(std::fabs(found[i] - expected[i]) <= 1e-4f);
  CHECK(wrong == 0);
}

} // namespace layers
