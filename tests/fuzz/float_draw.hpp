// A legal float call out of bytes: shapes, strides, options, and data with NaN, infinities, denormals and
// numbers near the largest.
#pragma once
#include <algorithm>
#include <limits>
#include <sstream>

#include "data.hpp"
#include "draw.hpp"
#include "float_rules.hpp"

namespace fuzz {

constexpr float sizes[] = {1,    1,     1,     1,      30,     1e-3f, 1e4f, 4e6f,
                           1e9f, 1e19f, 3e38f, 1e-38f, 1e-42f, 0,     100,  1e-19f};

inline void put_bits(float& place, uint32_t bits) { std::memcpy(&place, &bits, sizeof bits); }

struct tensor_view {
  float* data;
  ptrdiff_t head, token;
  int32_t heads, tokens, dim;
  float& at(int32_t h, int32_t t, int32_t c) const { return data[h * head + t * token + c]; }
};

// Noise of one size, and up to three numbers that are special.
inline void fill(bytes& in, const tensor_view& t, float size) {
  const uint32_t seed = in.byte();
  for (int32_t h = 0; h < t.heads; ++h)
    for (int32_t j = 0; j < t.tokens; ++j)
      for (int32_t c = 0; c < t.dim; ++c)
        t.at(h, j, c) = size * data::noise(seed, static_cast<uint32_t>((h * t.tokens + j) * t.dim + c));
  if (t.heads == 0 || t.tokens == 0) return;
  for (int32_t specials = std::max(0, in.between(0, 15) - 12); specials > 0; --specials) {
    const int32_t h = in.between(0, t.heads - 1), j = in.between(0, t.tokens - 1),
                  c = in.between(0, t.dim - 1);
    put_bits(t.at(h, j, c), in.one_of(special_bits));
  }
}

class drawn_call {
 public:
  explicit drawn_call(bytes& in) {
    draw_shape(in);
    draw_visibility(in);
    draw_options(in);
    place_tensors(in);
    place_tables(in);
  }
  fovea_attention call = {};
  memory all;

 private:
  void draw_shape(bytes& in) {
    const int32_t groups[] = {1, 2, 4, 3, 8};
    const int32_t kv_heads = in.between(1, 2), group = in.one_of(groups);
    call.q_heads = kv_heads * group, call.kv_heads = group == 1 && in.one_in(2) ? 0 : kv_heads;
    call.dim = 1 + draw_length(in, 39, 260), call.v_dim = draw_length(in, 40, 260);
    call.queries = draw_length(in, 6, 60), call.keys = draw_length(in, 80, 700);
    const int64_t of_query = int64_t{call.q_heads} * (call.keys + 1) *
                             (call.dim + reference::v_dim(call) + 20);
    while (call.queries > 1 && of_query * call.queries > 200000) call.queries /= 2;
    const int32_t firsts[] = {0, 0, 16, 240, 4080, 1 << 20};
    call.first_key = in.one_of(firsts);
    if (in.one_in(2)) call.first_key += in.between(0, 30);
  }

  void draw_visibility(bytes& in) {
    const uint32_t which = fuzz::draw_visibility(in, call, 60);
    if (which == 0xff) call.position = in.one_in(2) ? INT32_MAX : INT32_MIN;
    draw_pattern(in, which, call, all);
  }

  void draw_options(bytes& in) {
    const float caps[] = {5, 0.01f, 30, 1e4f, 1e30f, 1e-30f},
                scales[] = {1, -0.37f, 0, 1e-3f, 300, 1e-20f, 1e20f, 1e-38f, 8.2e-39f, 1e38f};
    const uint32_t which = in.byte();
    if ((which & 3) == 3) call.flags |= FOVEA_SCALE, call.scale = in.one_of(scales);
    if ((which & 4) != 0) call.softcap = in.one_of(caps);
    has_alibi_ = (which & 8) != 0, has_sinks_ = (which & 16) != 0, has_mask_ = (which & 32) != 0;
    has_lse_ = (which & 64) != 0, has_weights_ = (which & 128) != 0;
  }

  tensor_view place(bytes& in, int32_t heads, int32_t tokens, int32_t dim, bool written,
                    ptrdiff_t& head_stride, ptrdiff_t& token_stride) {
    const strides s = draw_strides(in, heads, tokens, dim, written);
    head_stride = s.head, token_stride = s.token;
    strides whole = s;
    resolve(whole.head, whole.token, tokens, dim);
    const bool none = heads == 0 || tokens == 0;
    const ptrdiff_t count = none ? 0 : (heads - 1) * whole.head + (tokens - 1) * whole.token + dim;
    float* data = all.take_of<float>(static_cast<size_t>(count),
                                     in.one_in(4) ? 4 * static_cast<size_t>(in.between(0, 15)) : 0);
    return {data, whole.head, whole.token, heads, tokens, dim};
  }

  tensor_view place_input(bytes& in, int32_t heads, int32_t tokens, int32_t dim, fovea_in& to) {
    const tensor_view t = place(in, heads, tokens, dim, false, to.head_stride, to.token_stride);
    fill(in, t, in.one_of(sizes));
    to.data = t.data;
    return t;
  }

  void place_tensors(bytes& in) {
    const int32_t kv_heads = reference::kv_heads(call), v_dim = reference::v_dim(call);
    place_input(in, call.q_heads, call.queries, call.dim, call.q);
    place_input(in, kv_heads, call.keys, call.dim, call.k);
    place_input(in, kv_heads, call.keys, v_dim, call.v);
    call.out.data =
        place(in, call.q_heads, call.queries, v_dim, true, call.out.head_stride, call.out.token_stride).data;
  }

  const float* numbers_of_heads(bytes& in, float infinite) {
    const float some[] = {0.3f, 2, 30, 1e-3f, 1e5f, -1, 1e30f, 0};
    float* x = all.take_of<float>(static_cast<size_t>(call.q_heads));
    const float size = in.one_of(some);
    const uint32_t seed = in.byte();
    for (int32_t h = 0; h < call.q_heads; ++h) x[h] = size * data::noise(seed, static_cast<uint32_t>(h));
    if (in.one_in(8)) x[in.between(0, call.q_heads - 1)] = infinite;
    return x;
  }

  void place_tables(bytes& in) {
    if (has_alibi_) call.alibi = numbers_of_heads(in, 0);
    if (has_sinks_) call.sinks = numbers_of_heads(in, static_cast<float>(reference::minus_infinity));
    if (has_mask_) place_mask(in);
    const auto heads = static_cast<size_t>(call.q_heads), queries = static_cast<size_t>(call.queries),
               keys = static_cast<size_t>(call.keys);
    if (has_lse_) call.lse = all.take_of<float>(heads * queries);
    if (!has_weights_) return;
    fovea_weights& w = call.weights;
    w.stage = in.between(0, 3), w.first_head = in.between(0, call.q_heads - 1),
    w.first_query = in.between(0, call.queries);
    w.heads = in.between(0, call.q_heads - w.first_head),
    w.queries = in.between(0, call.queries - w.first_query);
    const size_t rows = static_cast<size_t>(w.heads == 0 ? call.q_heads - w.first_head : w.heads) *
                        static_cast<size_t>(w.queries == 0 ? call.queries - w.first_query : w.queries);
    w.data = all.take_of<float>(rows * keys);
  }

  void place_mask(bytes& in) {
    fovea_mask& m = call.mask;
    const uint32_t which = in.byte(), seed = in.byte(), hidden = in.byte();
    m.is_bias = which & 1;
    if ((which & 6) == 6) m.keys = in.between(0, call.keys + 5);
    const int32_t keys = m.keys == 0 || m.keys > call.keys ? call.keys : m.keys;
    m.query_stride = (which & 8) != 0 ? keys + in.between(0, 3) : 0;
    m.head_stride = (which & 16) != 0
                        ? m.query_stride * std::max(call.queries - 1, 0) + keys + in.between(0, 3)
                        : 0;
    const bool any = call.queries > 0;
    const auto count = static_cast<size_t>(
        any ? (call.q_heads - 1) * m.head_stride + (call.queries - 1) * m.query_stride + keys : 0);
    const auto hides = [&](size_t n) {
      return data::noise(seed, static_cast<uint32_t>(n)) * 128 + 128 < static_cast<float>(hidden);
    };
    if (m.is_bias == 0) {
      unsigned char* shown = all.take(count, in.between(0, 3) == 0 ? 0 : 1);
      for (size_t n = 0; n < count; ++n) shown[n] = hides(n) ? 0 : static_cast<unsigned char>(n | 1);
      m.data = shown;
      return;
    }
    const float some[] = {3, 1e-3f, 1e5f, 1e30f, 1e38f, 0};
    float* bias = all.take_of<float>(count);
    const float size = in.one_of(some);
    for (size_t n = 0; n < count; ++n)
      bias[n] = hides(n) ? static_cast<float>(reference::minus_infinity)
                         : size * data::noise(seed + 1, static_cast<uint32_t>(n));
    if (count > 0 && in.one_in(4)) put_bits(bias[in.word() % count], in.one_of(special_bits));
    m.data = bias;
  }

  bool has_alibi_ = false, has_sinks_ = false, has_mask_ = false, has_lse_ = false, has_weights_ = false;
};

inline std::string in_words(const fovea_attention& a) {
  std::ostringstream to;
  const auto tensor = [&](const char* name, const void* data, ptrdiff_t head, ptrdiff_t token) {
    to << ", " << name << " at " << data << " strides " << head << ' ' << token;
  };
  to << "heads " << a.q_heads << '/' << a.kv_heads << ", dims " << a.dim << '/' << a.v_dim << ", queries "
     << a.queries << ", keys " << a.keys << " from " << a.first_key << ", flags " << a.flags << ", position "
     << a.position << ", window " << a.window_left << ' ' << a.window_right << ", prefix " << a.prefix
     << ", keep_first " << a.keep_first << pattern::in_words(a.pattern) << ", scale " << a.scale
     << ", softcap " << a.softcap;
  tensor("q", a.q.data, a.q.head_stride, a.q.token_stride);
  tensor("k", a.k.data, a.k.head_stride, a.k.token_stride);
  tensor("v", a.v.data, a.v.head_stride, a.v.token_stride);
  tensor("out", a.out.data, a.out.head_stride, a.out.token_stride);
  to << ", k.layout " << a.k.layout << ", alibi " << a.alibi << ", sinks " << a.sinks << ", lse " << a.lse;
  tensor("mask", a.mask.data, a.mask.head_stride, a.mask.query_stride);
  to << " is_bias " << a.mask.is_bias << " keys " << a.mask.keys << ", weights at " << a.weights.data
     << " stage " << a.weights.stage << " heads " << a.weights.first_head << '+' << a.weights.heads
     << " queries " << a.weights.first_query << '+' << a.weights.queries << ", part " << a.part.index << '/'
     << a.part.count << ", partials " << a.partials << " of " << a.partials_size << ", isa " << a.isa;
  return to.str();
}
} // namespace fuzz
