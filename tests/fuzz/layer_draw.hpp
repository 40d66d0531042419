// A legal call of a layer out of bytes: weights of all dtypes, sequences, options of its attention, rows.
#pragma once
#include "fovea/layer.h"
#include "product_draw.hpp"

namespace fuzz {

inline std::string in_words(const fovea_layer_call& c) {
  std::ostringstream to;
  const fovea_layer& l = *c.layer;
  to << "layer of " << l.q_heads << "/" << l.kv_heads << " heads, dims " << l.dim << "/" << l.v_dim
     << ", q: " << in_words(&l.q) << ", k: " << in_words(&l.k) << ", v: " << in_words(&l.v)
     << ", out: " << in_words(&l.out) << ", norms " << l.q_norm << " " << l.k_norm << ", epsilon "
     << l.norm_epsilon << ", rope " << l.rope.cos << " " << l.rope.sin << " " << l.rope.positions << " "
     << l.rope.rotary_dim << " " << l.rope.interleaved << ", attention " << l.attention << "; x "
     << in_words(c.x) << ", context " << in_words(c.context) << ", values " << in_words(c.values) << ", kv "
     << c.kv << ", y " << c.y.data << " stride " << c.y.stride << ", residual " << in_words(c.residual)
     << ", tokens " << c.tokens << " and " << c.context_tokens << ", sequences " << c.sequences << ", starts "
     << c.starts << " " << c.context_starts << ", lengths " << c.lengths << ", positions " << c.positions
     << " from " << c.first_position << ", flags " << c.how.flags << ", window " << c.how.window_left << " "
     << c.how.window_right << ", prefix " << c.how.prefix << ", keep_first " << c.how.keep_first
     << ", position " << c.how.position << ", alibi " << c.how.alibi << ", sinks " << c.how.sinks << ", isa "
     << c.how.isa << ", fixed_isa " << c.fixed_isa << ", stage " << c.stage << ", part " << c.part.index
     << " of " << c.part.count << ", shared " << c.shared << " of " << c.shared_size;
  return to.str();
}

class drawn_layer {
 public:
  explicit drawn_layer(bytes& in) {
    draw_shape(in);
    draw_weights(in);
    draw_sequences(in);
    draw_options(in);
    place_rows(in);
    call.layer = &layer;
  }
  drawn_layer(const drawn_layer&) = delete;
  drawn_layer& operator=(const drawn_layer&) = delete;

  float* y(int32_t token) const {
    return static_cast<float*>(call.y.data) + token * (call.y.stride == 0 ? layer.out.out : call.y.stride);
  }

  memory all;
  fovea_layer layer = {};
  fovea_layer_call call = {};
  bool cross = false, joined = false;

 private:
  void draw_shape(bytes& in) {
    const int32_t groups[] = {1, 2, 3}, dims[] = {16, 8, 4, 10, 24, 1, 32, 17};
    layer.kv_heads = in.between(1, 3);
    layer.q_heads = layer.kv_heads * in.one_of(groups);
    layer.dim = in.one_of(dims), layer.v_dim = in.one_in(2) ? in.one_of(dims) : layer.dim;
    cross = in.one_in(3);
    const bool cuts = layer.q_heads * layer.dim % 16 == 0 && layer.kv_heads * layer.dim % 16 == 0;
    joined = in.one_in(2) && (cuts || !cross); // the header asks for multiples of 16 where there is a context
  }

  fovea_linear draw_matrix(bytes& in, int32_t inputs, int32_t outputs, int32_t dtype, bool biased) {
    const weight_rows w = fuzz::draw_weights(in, all, inputs, outputs, dtype);
    fovea_linear l = {};
    l.packed = pack(in, all, w, inputs, outputs, dtype);
    if (biased) l.bias = noise_of(in, all, static_cast<size_t>(outputs), 1);
    l.in = inputs, l.out = outputs, l.dtype = dtype;
    return l;
  }

  void draw_weights(bytes& in) {
    const int32_t width = 1 + in.between(0, 40),
                  of_context = cross && !joined ? 1 + in.between(0, 30) : width;
    const int32_t dtype = in.one_of(dtypes_of_weights), of_out = in.one_of(dtypes_of_weights);
    const bool biased = in.one_in(2);
    const int32_t q = layer.q_heads * layer.dim, k = layer.kv_heads * layer.dim,
                  v = layer.kv_heads * layer.v_dim;
    if (joined) {
      layer.q = draw_matrix(in, width, q + k + v, dtype, biased);
    } else {
      layer.q = draw_matrix(in, width, q, dtype, biased);
      layer.k = draw_matrix(in, of_context, k, dtype, biased);
      layer.v = draw_matrix(in, of_context, v, dtype, biased);
    }
    const int32_t columns = in.one_in(2) ? width : 1 + in.between(0, 40);
    layer.out = draw_matrix(in, layer.q_heads * layer.v_dim, columns, of_out, biased);
    if (in.one_in(3)) {
      layer.q_norm = noise_of(in, all, static_cast<size_t>(layer.dim), 1);
      layer.k_norm = noise_of(in, all, static_cast<size_t>(layer.dim), 1);
      layer.norm_plus_one = in.between(0, 1);
    }
  }

  // Each sequence has 0 to 9 tokens, and 0 to 12 of the context.
  const int32_t* draw_starts(bytes& in, int32_t most, int32_t& tokens) {
    auto* starts = all.take_of<int32_t>(static_cast<size_t>(call.sequences) + 1);
    starts[0] = tokens = 0;
    for (int32_t s = 1; s <= call.sequences; ++s) starts[s] = tokens += in.between(0, most);
    return starts;
  }
  void draw_sequences(bytes& in) {
    call.sequences = in.between(1, 3);
    call.starts = draw_starts(in, 9, call.tokens);
    if (cross) call.context_starts = draw_starts(in, 12, call.context_tokens);
    if (in.one_in(3)) {
      const int32_t* keys = cross ? call.context_starts : call.starts;
      auto* lengths = all.take_of<int32_t>(static_cast<size_t>(call.sequences));
      for (int32_t s = 0; s < call.sequences; ++s) lengths[s] = in.between(0, keys[s + 1] - keys[s]);
      call.lengths = lengths;
    }
    if (layer.dim % 2 != 0 || !in.one_in(3)) return;
    constexpr int32_t positions = 20;
    layer.rope = {noise_of(in, all, static_cast<size_t>(positions * layer.dim / 2), 1),
                  noise_of(in, all, static_cast<size_t>(positions * layer.dim / 2), 1),
                  positions,
                  0,
                  in.between(0, 1),
                  0};
    if (in.one_in(2)) {
      auto* where = all.take_of<int32_t>(static_cast<size_t>(call.tokens));
      for (int32_t t = 0; t < call.tokens; ++t) where[t] = in.between(0, positions - 1);
      call.positions = where;
    } else {
      call.first_position = in.between(0, 9);
    }
  }

  void draw_options(bytes& in) {
    const uint32_t which = in.byte();
    fovea_attention& a = call.how;
    if ((which & 1) != 0) a.flags |= FOVEA_CAUSAL;
    if ((which & 6) == 6) a.flags |= FOVEA_POSITION, a.position = in.between(-5, 12);
    if ((which & 8) != 0) {
      a.flags |= FOVEA_WINDOW, a.window_left = in.between(-2, 9), a.window_right = in.between(-2, 9);
      a.keep_first = in.between(0, 3);
    }
    if ((which & 48) == 48) a.prefix = in.between(0, 9);
    if ((which & 192) == 192) layer.attention = FOVEA_I8;
    if ((which & 192) == 64) a.alibi = heads_of(in.byte(), 0.5f), a.sinks = heads_of(in.byte(), 2);
  }

  // Finite numbers, one for each query head.
  const float* heads_of(uint32_t seed, float size) {
    float* x = all.take_of<float>(static_cast<size_t>(layer.q_heads));
    for (int32_t h = 0; h < layer.q_heads; ++h) x[h] = size * data::noise(seed, static_cast<uint32_t>(h));
    return x;
  }

  fovea_rows_in draw_rows(bytes& in, int32_t rows, int32_t columns) {
    const float some[] = {1, 1, 1, 30, 1e-3f, 1e4f, 1e19f, 1};
    fovea_rows_in x = {};
    const ptrdiff_t stride = in.one_in(2) ? columns + in.between(0, 5) : columns;
    x.stride = stride == columns && in.one_in(2) ? 0 : stride;
    x.data = noise_of(in, all, extent(rows, stride, columns), in.one_of(some));
    return x;
  }
  void place_rows(bytes& in) {
    call.x = draw_rows(in, call.tokens, layer.q.in);
    if (cross) call.context = draw_rows(in, call.context_tokens, joined ? layer.q.in : layer.k.in);
    if (cross && in.one_in(3))
      call.values = draw_rows(in, call.context_tokens, joined ? layer.q.in : layer.v.in);
    const fovea_rows_in y = draw_rows(in, call.tokens, layer.out.out);
    call.y.data = const_cast<void*>(y.data), call.y.stride = y.stride;
    const uint32_t kind = in.byte() % 4;
    if (kind == 1) call.residual = draw_rows(in, call.tokens, layer.out.out);
    if (kind == 2) call.residual = y;
    if (kind == 3 && layer.out.out == layer.q.in)
      call.y.data = const_cast<void*>(call.x.data), call.y.stride = call.x.stride;
  }
};

} // namespace fuzz
