// A legal integer call out of bytes: shapes, strides, scales, tables, and data that reaches both ends of its
// type.
#pragma once
#include <algorithm>
#include <sstream>

#include "data.hpp"
#include "draw.hpp"
#include "fixed_rules.hpp"
#include "fovea/fixed.hpp"

namespace fuzz {

// Noise over `size` parts of 256 of the type, or only its two ends.
template <class T>
void fill(bytes& in, T* x, size_t count) {
  const uint32_t seed = in.byte(), size = in.byte();
  const float half = sizeof(T) == 1 ? 128 : 32768;
  for (size_t n = 0; n < count; ++n) {
    const float noise = data::noise(seed, static_cast<uint32_t>(n));
    const float y = size == 255 ? (noise < 0 ? -half : half - 1)
                                : half * noise * static_cast<float>(256 - size) / 256;
    x[n] = static_cast<T>(y < -half ? -half : y > half - 1 ? half - 1 : y);
  }
}

class drawn_call {
 public:
  explicit drawn_call(bytes& in) {
    draw_shape(in);
    draw_types(in);
    draw_visibility(in);
    place_tensors(in);
    draw_scales(in);
    place_tables(in);
  }
  fovea_fixed_attention call = {};
  memory all;

 private:
  void draw_shape(bytes& in) {
    const int32_t groups[] = {1, 2, 4, 3, 8}, firsts[] = {0, 0, 64, 448, 4096, 60};
    const int32_t kv = in.between(1, 2), group = in.one_of(groups);
    call.q_heads = kv * group, call.kv_heads = group == 1 && in.one_in(2) ? 0 : kv;
    call.dim = 1 + draw_length(in, 39, 200), call.v_dim = draw_length(in, 40, 200);
    call.queries = draw_length(in, 6, 60), call.keys = draw_length(in, 140, 600);
    const int64_t of_query = int64_t{call.q_heads} * (call.keys + 1) * (2 * call.dim + v_dim(call) + 20);
    while (call.queries > 1 && of_query * call.queries > 200000) call.queries /= 2;
    call.first_key = in.one_of(firsts);
    if (in.one_in(2)) call.first_key += in.between(0, 70);
    const int32_t mosts[] = {1000, 4096, 1 << 17, 513, 20000}, end = call.first_key + call.keys;
    call.max_keys = end <= 512 && !in.one_in(2) ? 0 : std::max(end, in.one_of(mosts));
  }

  void draw_types(bytes& in) {
    const uint32_t which = in.byte();
    const bool s16 = which % 4 == 3;
    call.q.dtype = call.k.dtype = call.v.dtype = s16 ? FOVEA_FIXED_S16 : FOVEA_FIXED_S8;
    call.out.dtype = static_cast<int32_t>(which / 4 % 3);
    if (s16 && call.out.dtype == FOVEA_FIXED_S8) call.out.dtype = FOVEA_FIXED_S16;
    if (s16) call.weight_bits = which & 64 ? 22 : which & 32 ? 15 : 0;
    const auto zero = [&](int32_t half) { return in.between(-half, half - 1); };
    const uint32_t zeros = in.byte();
    if (!s16 && (zeros & 3) == 3) call.q.zero_point = zero(128);
    if (!s16 && (zeros & 12) == 12) call.k.zero_point = zero(128);
    if (!s16 && (zeros & 48) == 48) call.v.zero_point = zero(128);
    if ((zeros & 64) != 0 && call.out.dtype == FOVEA_FIXED_S8) call.out.zero_point = zero(128);
    if ((zeros & 64) != 0 && call.out.dtype == FOVEA_FIXED_S16) call.out.zero_point = zero(32768);
  }

  void draw_visibility(bytes& in) {
    const uint32_t which = fuzz::draw_visibility(in, call, 100);
    const int32_t far[] = {INT32_MAX, INT32_MIN, (1 << 27) + 1, 1 << 30, -(1 << 30), INT32_MAX - 100};
    if ((which & 0xc6) == 0xc6) call.position = in.one_of(far);
    draw_pattern(in, which, call, all);
  }

  template <class T>
  void fill_input(bytes& in, fovea_fixed_in& to, size_t count) {
    T* data = all.take_of<T>(count, sizeof(T) == 1 ? static_cast<size_t>(in.between(0, 3)) : 0);
    fill(in, data, count);
    to.data = data;
  }
  size_t place(bytes& in, int32_t heads, int32_t tokens, int32_t dim, bool written, ptrdiff_t& head_stride,
               ptrdiff_t& token_stride) {
    const strides s = draw_strides(in, heads, tokens, dim, written);
    head_stride = s.head, token_stride = s.token;
    strides whole = s;
    resolve(whole.head, whole.token, tokens, dim);
    return heads == 0 || tokens == 0
               ? 0
               : static_cast<size_t>((heads - 1) * whole.head + (tokens - 1) * whole.token + dim);
  }
  void place_input(bytes& in, int32_t heads, int32_t tokens, int32_t dim, fovea_fixed_in& to) {
    const size_t count = place(in, heads, tokens, dim, false, to.head_stride, to.token_stride);
    to.dtype == FOVEA_FIXED_S16 ? fill_input<int16_t>(in, to, count) : fill_input<int8_t>(in, to, count);
  }
  void place_tensors(bytes& in) {
    place_input(in, call.q_heads, call.queries, call.dim, call.q);
    place_input(in, kv_heads(call), call.keys, call.dim, call.k);
    place_input(in, kv_heads(call), call.keys, v_dim(call), call.v);
    fovea_fixed_out& o = call.out;
    o.data = all.take(place(in, call.q_heads, call.queries, v_dim(call), true, o.head_stride, o.token_stride)
                      << o.dtype);
  }

  // Scales as fixed.hpp makes them, or any number that is allowed.
  fovea_fixed_scale draw_scale(bytes& in) {
    const double some[] = {1, 3, 0.1, 1e-3, 10, 1e-6, 30}, outs[] = {1, 0.3, 0.01, 30, 1e-4};
    const bool s16 = call.q.dtype == FOVEA_FIXED_S16;
    const double unit = 4.5 / (s16 ? 32767 : 127);
    const fovea::real_scales real{unit * in.one_of(some), unit, unit, unit * in.one_of(outs), 0};
    fovea_fixed_scale s = fovea::make_fixed_scale(real, call.dim, call.max_keys, call.q.dtype,
                                                  call.q.zero_point != 0 || call.k.zero_point != 0)
                              .scale;
    if (in.one_in(3)) {
      s.score_multiplier = in.between(1, INT32_MAX), s.score_shift = in.between(1, 31);
      s.out_multiplier = in.between(1, INT32_MAX), s.out_shift = in.between(-30, 20);
      s.f32_scale = static_cast<uint32_t>(in.between(least_f32_exponent, 254)) << 23 | in.word();
      if (s16) s.score_pre_shift = in.between(0, 24);
    }
    if (s.f32_scale == 0) s.f32_scale = 0x3f800000u; // fixed.hpp refused these scales
    if (s.score_multiplier < 1) s.score_multiplier = 1;
    if (s.out_multiplier < 1) s.out_multiplier = 1;
    if (s.score_shift < 1) s.score_shift = 1;
    if (s16) s.score_pre_shift = std::max(s.score_pre_shift, 11);
    const auto legal = [&] {
      judge j;
      scale_is_legal(call, s, j);
      return j.result().is == verdict::legal;
    };
    while (s.score_shift < 31 && !legal()) ++s.score_shift;
    while (s.score_multiplier > 1 && !legal()) s.score_multiplier /= 2;
    return s;
  }
  void draw_scales(bytes& in) {
    call.scale = draw_scale(in);
    if (!in.one_in(4)) return;
    fovea_fixed_scale* scales = all.take_of<fovea_fixed_scale>(static_cast<size_t>(call.q_heads));
    for (int32_t h = 0; h < call.q_heads; ++h) scales[h] = h < 3 ? draw_scale(in) : scales[h - 3];
    call.head_scales = scales;
  }

  // Whether any row sees this key of a kv head: only then its numbers must mean something.
  bool seen(int32_t g, int32_t key) const {
    const fixed_reference::call x{call};
    const int32_t group = call.q_heads / kv_heads(call);
    for (int32_t h = g * group; h < (g + 1) * group; ++h)
      for (int32_t i = 0; i < call.queries; ++i)
        if (x.sees(h, i, key)) return true;
    return false;
  }
  template <class T, class Number>
  void place_per_key(bytes& in, fovea_fixed_per_key& to, const Number& number) {
    const ptrdiff_t stride = in.one_in(2) ? call.keys + in.between(0, 5) : 0,
                    head = stride == 0 ? call.keys : stride;
    T* x = all.take_of<T>(call.keys == 0 ? 0 : static_cast<size_t>((kv_heads(call) - 1) * head + call.keys));
    const T garbage = in.one_in(2) ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max();
    for (int32_t g = 0; g < kv_heads(call); ++g)
      for (int32_t j = 0; j < call.keys; ++j)
        x[g * head + j] = seen(g, j) ? static_cast<T>(number(g, j)) : garbage;
    to = {x, stride};
  }
  int32_t key_sum(int32_t g, int32_t j) const {
    const fixed_reference::call x{call};
    int64_t sum = 0;
    for (int32_t c = 0; c < call.dim; ++c) sum += x.k(g, j, c) + call.k.zero_point;
    return static_cast<int32_t>(sum);
  }

  void place_tables(bytes& in) {
    const uint32_t which = in.byte();
    if ((which & 3) == 3) place_mask(in);
    if ((which & 12) == 12) place_bias(in);
    if ((which & 16) != 0) call.alibi = numbers_of_heads(in);
    if ((which & 32) != 0) call.sinks = numbers_of_heads(in);
    const uint32_t seed = in.byte();
    const auto share = [&](int32_t j) { return (data::noise(seed, static_cast<uint32_t>(j)) + 1) / 2; };
    if (call.q.zero_point != 0 || in.one_in(16))
      place_per_key<int32_t>(in, call.key_sums, [&](int32_t g, int32_t j) { return key_sum(g, j); });
    int32_t least = call.scale.score_multiplier;
    for (int32_t h = 0; call.head_scales != nullptr && h < call.q_heads; ++h)
      least = std::min(least, call.head_scales[h].score_multiplier);
    if ((which & 0x43) == 0x41)
      place_per_key<int32_t>(in, call.key_multipliers,
                             [&](int32_t, int32_t j) { return static_cast<double>(share(j)) * least; });
    if ((which & 0x83) == 0x82 && call.v.zero_point == 0)
      place_per_key<int16_t>(in, call.value_weights, [&](int32_t, int32_t j) { return share(j) * 32767; });
  }

  const int32_t* numbers_of_heads(bytes& in) {
    const int32_t sizes[] = {100000, 1000, 5000000, 1 << 28, INT32_MAX, 1 << 30, 1, 0};
    int32_t* x = all.take_of<int32_t>(static_cast<size_t>(call.q_heads));
    const int32_t size = in.one_of(sizes);
    const uint32_t seed = in.byte();
    for (int32_t h = 0; h < call.q_heads; ++h)
      x[h] = seed == 255 ? INT32_MIN
                         : static_cast<int32_t>(
                               static_cast<double>(data::noise(seed, static_cast<uint32_t>(h))) * size);
    return x;
  }

  size_t place_rows(bytes& in, fovea_fixed_mask& m) {
    const uint32_t which = in.byte();
    m.query_stride = (which & 1) != 0 ? call.keys + in.between(0, 3) : 0;
    m.head_stride = (which & 2) != 0
                        ? m.query_stride * std::max(call.queries - 1, 0) + call.keys + in.between(0, 3)
                        : 0;
    const bool any = call.queries > 0 && call.keys > 0;
    return any ? static_cast<size_t>((call.q_heads - 1) * m.head_stride +
                                     (call.queries - 1) * m.query_stride + call.keys)
               : 0;
  }
  void place_mask(bytes& in) {
    const size_t count = place_rows(in, call.mask);
    unsigned char* x = all.take(count);
    const uint32_t seed = in.byte(), hidden = in.byte();
    for (size_t n = 0; n < count; ++n)
      x[n] = data::noise(seed, static_cast<uint32_t>(n)) * 128 + 128 < static_cast<float>(hidden)
                 ? 0
                 : static_cast<unsigned char>(n | 1);
    call.mask.data = x;
  }
  void place_bias(bytes& in) {
    const int32_t sizes[] = {200000, 1000, 5000000, 1 << 28, INT32_MAX};
    const size_t count = place_rows(in, call.bias);
    int32_t* x = all.take_of<int32_t>(count);
    const uint32_t seed = in.byte(), hidden = in.byte();
    const int32_t size = in.one_of(sizes);
    for (size_t n = 0; n < count; ++n) {
      const auto noise = static_cast<double>(data::noise(seed, static_cast<uint32_t>(n)));
      x[n] = noise * 128 + 128 < hidden ? INT32_MIN : static_cast<int32_t>(noise * size);
    }
    call.bias.data = x;
  }
};

inline std::string in_words(const fovea_fixed_attention& a) {
  std::ostringstream to;
  const auto tensor = [&](const char* name, const void* data, ptrdiff_t head, ptrdiff_t token, int32_t dtype,
                          int32_t zero) {
    to << ", " << name << " at " << data << " strides " << head << ' ' << token << " dtype " << dtype
       << " zero " << zero;
  };
  const auto table = [&](const char* name, const void* data, ptrdiff_t head, ptrdiff_t row) {
    if (data != nullptr) to << ", " << name << " at " << data << " strides " << head << ' ' << row;
  };
  to << "heads " << a.q_heads << '/' << a.kv_heads << ", dims " << a.dim << '/' << a.v_dim << ", queries "
     << a.queries << ", keys " << a.keys << " from " << a.first_key << " of " << a.max_keys << ", flags "
     << a.flags << ", position " << a.position << ", window " << a.window_left << ' ' << a.window_right
     << ", prefix " << a.prefix << ", keep_first " << a.keep_first << pattern::in_words(a.pattern)
     << ", weight_bits " << a.weight_bits << ", k.layout " << a.k.layout;
  tensor("q", a.q.data, a.q.head_stride, a.q.token_stride, a.q.dtype, a.q.zero_point);
  tensor("k", a.k.data, a.k.head_stride, a.k.token_stride, a.k.dtype, a.k.zero_point);
  tensor("v", a.v.data, a.v.head_stride, a.v.token_stride, a.v.dtype, a.v.zero_point);
  tensor("out", a.out.data, a.out.head_stride, a.out.token_stride, a.out.dtype, a.out.zero_point);
  const fovea_fixed_scale& s = a.scale;
  to << ", scale {" << s.score_multiplier << ", " << s.score_shift << ", " << s.score_pre_shift << ", "
     << s.out_multiplier << ", " << s.out_shift << ", " << s.f32_scale << '}';
  table("head_scales", a.head_scales, 0, 0);
  table("key_multipliers", a.key_multipliers.data, a.key_multipliers.head_stride, 0);
  table("value_weights", a.value_weights.data, a.value_weights.head_stride, 0);
  table("key_sums", a.key_sums.data, a.key_sums.head_stride, 0);
  table("mask", a.mask.data, a.mask.head_stride, a.mask.query_stride);
  table("bias", a.bias.data, a.bias.head_stride, a.bias.query_stride);
  table("alibi", a.alibi, 0, 0);
  table("sinks", a.sinks, 0, 0);
  to << ", part " << a.part.index << '/' << a.part.count << ", isa " << a.isa;
  return to.str();
}
} // namespace fuzz
