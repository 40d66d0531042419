// A problem whose tensors are halves or bytes: the same numbers as floats, which say what its results must
// be.
#pragma once
#include <cmath>
#include <cstring>

#include "fovea/fixed.h"
#include "problem.hpp"

namespace stored {

struct types {
  const char* why;
  int32_t q, k, v, out;
  int32_t k_layout = FOVEA_ROWS, v_layout = FOVEA_ROWS;
  bool scaled = false;    // bytes have scales: powers of two, so that floats have exactly the same products
  int32_t scale_step = 3; // from the scale of a token to the next one
};

inline float of_bits(uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

// A half by its definition.
inline float widened(uint16_t half, int32_t dtype) {
  if (dtype == FOVEA_BF16) return of_bits(uint32_t{half} << 16);
  const int32_t exponent = half >> 10 & 31, fraction = half & 1023;
  if (exponent == 31)
    return of_bits((half & 0x8000u) << 16 | 0x7f800000u | static_cast<uint32_t>(fraction) << 13);
  const float size = exponent == 0 ? static_cast<float>(fraction) * 0x1p-24f
                                   : of_bits(static_cast<uint32_t>((exponent + 112) << 23 | fraction << 13));
  return half & 0x8000 ? -size : size;
}

// The nearest half, of two the even one, by its definition. A double holds each step exactly.
inline uint16_t nearest_by_definition(float x, int32_t dtype) {
  const int32_t bits = dtype == FOVEA_F16 ? 10 : 7, least = dtype == FOVEA_F16 ? -14 : -126,
                infinity = dtype == FOVEA_F16 ? 31 << 10 : 255 << 7;
  const int32_t sign = std::signbit(x) ? 0x8000 : 0;
  if (x != x) return static_cast<uint16_t>(sign | infinity | 1 << (bits - 1));
  const double size = std::fabs(static_cast<double>(x));
  if (size == 0) return static_cast<uint16_t>(sign);
  if (std::isinf(size)) return static_cast<uint16_t>(sign | infinity);
  int exponent;
  std::frexp(size, &exponent);
  exponent = exponent - 1 < least ? least : exponent - 1;
  const double steps = std::ldexp(size, bits - exponent), whole = std::floor(steps), rest = steps - whole;
  const bool up = rest > 0.5 || (rest == 0.5 && std::fmod(whole, 2) == 1);
  const int32_t mantissa = static_cast<int32_t>(whole) + (up ? 1 : 0); // its leading one adds to the exponent
  const int32_t half = (exponent - least) * (1 << bits) + mantissa;
  return static_cast<uint16_t>(sign | (half > infinity ? infinity : half));
}

// The same by integers, for cores that have no doubles: tests round millions of numbers.
inline uint16_t nearest(float x, int32_t dtype) {
  uint32_t number;
  std::memcpy(&number, &x, sizeof number);
  const uint32_t sign = number >> 16 & 0x8000u, size = number & 0x7fffffffu;
  const bool f16 = dtype == FOVEA_F16;
  const uint32_t bits = f16 ? 10 : 7, infinity = f16 ? 31u << 10 : 255u << 7;
  if (size > 0x7f800000u) return static_cast<uint16_t>(sign | infinity | 1u << (bits - 1));
  const uint32_t bias = f16 ? 112 : 0; // of exponents: what a float has more than a half
  uint32_t exponent = size >> 23, mantissa = size & 0x7fffffu, drop = 23 - bits;
  if (exponent > bias) {
    mantissa |= (exponent - bias) << 23; // a carry of the rounding goes on into the exponent
  } else {
    if (exponent > 0) mantissa |= 1u << 23;
    drop += bias + 1 - exponent - (exponent == 0 ? 1 : 0); // denormal: counted in the smallest steps
  }
  if (drop > 30) return static_cast<uint16_t>(sign);
  const uint32_t whole = mantissa >> drop, rest = mantissa & ((1u << drop) - 1), middle = 1u << (drop - 1);
  const uint32_t half = whole + (rest > middle || (rest == middle && whole % 2 == 1) ? 1 : 0);
  return static_cast<uint16_t>(sign | (half > infinity ? infinity : half));
}

// One tensor in memory of its own, NaN wherever no element lives. Strides are those of the floats, or of
// panels.
class tensor {
 public:
  tensor(const data::tensor& floats, int32_t dtype, int32_t layout, bool keys)
      : floats_(floats), dtype_(dtype), layout_(layout) {
    if (dtype == FOVEA_F32) return;
    const auto heads = static_cast<size_t>(floats.heads), tokens = static_cast<size_t>(floats.tokens);
    size_t elements = 0;
    if (heads && tokens)
      elements = static_cast<size_t>((floats.heads - 1) * floats.head_stride +
                                     (floats.tokens - 1) * floats.token_stride + floats.dim);
    if (layout == FOVEA_PANELS) {
      width_ = dtype == FOVEA_I8 ? static_cast<int32_t>(FOVEA_UP16(floats.dim)) : floats.dim;
      head_ = (dtype == FOVEA_I8 ? (tokens + 63) / 64 * 64 : FOVEA_UP16(tokens)) *
              static_cast<size_t>(width_);
      elements = head_ * heads;
    }
    if (dtype == FOVEA_I8)
      bytes_ = data::guarded<int8_t>(elements);
    else
      halves_ = data::guarded<uint16_t>(elements);
    keys_ = keys;
    read_floats();
  }

  // Numbers of the floats, which this type can hold, times their scales.
  void read_floats() {
    if (dtype_ == FOVEA_F32) return;
    for (int32_t h = 0; h < floats_.heads; ++h)
      for (int32_t j = 0; j < floats_.tokens; ++j) read_row(h, j);
  }

  void enter(fovea_in& in) const {
    if (dtype_ == FOVEA_F32) return;
    in.dtype = dtype_;
    in.layout = layout_;
    in.data = memory();
    if (layout_ == FOVEA_PANELS) in.head_stride = in.token_stride = 0;
    if (scales_.size() == 0) return;
    in.scales = scales_.data();
    in.scale_head_stride = head_of_scales();
    in.scale_token_stride = scale_step_;
  }
  const void* memory() const {
    return dtype_ == FOVEA_I8 ? static_cast<const void*>(bytes_.data()) : halves_.data();
  }
  const data::guarded<float>& scales() const { return scales_; }

  // Makes the floats numbers of this type. Bytes get a scale for each row: what the floats are in units of.
  void round(bool scaled, int32_t scale_step) {
    if (dtype_ == FOVEA_F32) return;
    scale_step_ = scale_step;
    if (scaled && dtype_ == FOVEA_I8)
      scales_ = data::guarded<float>(static_cast<size_t>(floats_.heads * head_of_scales()));
    for (int32_t h = 0; h < floats_.heads; ++h)
      for (int32_t j = 0; j < floats_.tokens; ++j) {
        if (scales_.size()) scale(h, j) = std::ldexp(1.0f, (h + 3 * j) % 5 - 7);
        for (int32_t c = 0; c < floats_.dim; ++c) {
          float& x = floats_.at(h, j, c);
          if (dtype_ != FOVEA_I8)
            x = widened(nearest(x, dtype_), dtype_);
          else if (scales_.size())
            x = clipped(std::nearbyint(x * 100)) * scale(h, j);
          else
            x = clipped(std::nearbyint(x * 3));
        }
      }
    read_floats();
  }

 private:
  data::tensor floats_;
  int32_t dtype_, layout_, width_ = 0, scale_step_ = 1;
  bool keys_ = false;
  size_t head_ = 0;
  data::guarded<uint16_t> halves_{0};
  data::guarded<int8_t> bytes_{0};
  data::guarded<float> scales_{0};

  static float clipped(float x) { return x < -127 ? -127 : x > 127 ? 127 : x; }
  ptrdiff_t head_of_scales() const { return scale_step_ * floats_.tokens + 2; }
  float& scale(int32_t h, int32_t j) {
    return scales_[static_cast<size_t>(h * head_of_scales() + scale_step_ * j)];
  }

  void read_row(int32_t h, int32_t j) {
    const ptrdiff_t row = h * floats_.head_stride + j * floats_.token_stride;
    if (dtype_ == FOVEA_I8) {
      std::vector<int8_t> numbers(static_cast<size_t>(floats_.dim));
      for (int32_t c = 0; c < floats_.dim; ++c) {
        const float x = floats_.at(h, j, c) / (scales_.size() ? scale(h, j) : 1);
        numbers[static_cast<size_t>(c)] = static_cast<int8_t>(x == x ? clipped(x) : 99);
      }
      int8_t* const head = bytes_.data() + head_ * static_cast<size_t>(h);
      if (layout_ == FOVEA_ROWS)
        for (size_t c = 0; c < numbers.size(); ++c)
          bytes_.data()[row + static_cast<ptrdiff_t>(c)] = numbers[c];
      else if (keys_)
        CHECK(fovea_fixed_pack_keys(head, j, numbers.data(), 0, 1, floats_.dim) == FOVEA_OK);
      else
        CHECK(fovea_fixed_pack_values(head, j, numbers.data(), 0, 1, floats_.dim) == FOVEA_OK);
      return;
    }
    for (int32_t c = 0; c < floats_.dim; ++c) {
      uint32_t bits;
      std::memcpy(&bits, &floats_.at(h, j, c), sizeof bits);
      const uint16_t half = dtype_ == FOVEA_BF16 ? static_cast<uint16_t>(bits >> 16)
                                                 : nearest(floats_.at(h, j, c), dtype_);
      if (layout_ == FOVEA_ROWS)
        halves_[static_cast<size_t>(row + c)] = half;
      else
        halves_[head_ * static_cast<size_t>(h) +
                static_cast<size_t>((j / 16 * floats_.dim + c) * 16 + j % 16)] = half;
    }
  }
};

// The problem, its floats rounded to numbers of the types.
class stored_problem {
 public:
  stored_problem(const shape& s, const types& t, uint32_t seed = 1)
      : p(s, seed),
        q(p.q, t.q, FOVEA_ROWS, false),
        k(p.k, t.k, t.k_layout, true),
        v(p.v, t.v, t.v_layout, false),
        types_(t) {
    q.round(false, 1);
    k.round(t.scaled, t.scale_step);
    v.round(t.scaled, t.scale_step);
    if (t.out != FOVEA_F32) out = data::guarded<uint16_t>(p.out_memory.size());
  }
  void read_floats() { q.read_floats(), k.read_floats(), v.read_floats(); }

  fovea_attention call(int32_t isa) const {
    fovea_attention a = p.call(isa);
    q.enter(a.q);
    k.enter(a.k);
    v.enter(a.v);
    if (types_.out != FOVEA_F32) {
      a.out.dtype = types_.out;
      a.out.data = const_cast<uint16_t*>(out.data());
    }
    return a;
  }

  // Results in the order of problem::results; halves as the floats that they are.
  std::vector<float> results() {
    if (types_.out != FOVEA_F32)
      for (int32_t h = 0; h < p.out.heads; ++h)
        for (int32_t i = 0; i < p.out.tokens; ++i)
          for (int32_t c = 0; c < p.out.dim; ++c)
            p.out.at(h, i, c) = widened(
                out[static_cast<size_t>(h * p.out.head_stride + i * p.out.token_stride + c)], types_.out);
    return p.results();
  }
  // What they must be, from those of the floats.
  std::vector<float> rounded(std::vector<float> all) const {
    const auto count = static_cast<size_t>(p.out.heads) * static_cast<size_t>(p.out.tokens) *
                       static_cast<size_t>(p.out.dim);
    for (size_t i = 0; types_.out != FOVEA_F32 && i < count; ++i)
      all[i] = widened(nearest(all[i], types_.out), types_.out);
    return all;
  }
  void wipe_results() { p.wipe_results(), out.wipe(); }
  bool guards_hold() const { return out.guards_hold(); }

  problem p;
  tensor q, k, v;
  data::guarded<uint16_t> out{0};

 private:
  types types_;
};

inline std::vector<float> solve(stored_problem& s, const fovea_attention& a, size_t scratch_size) {
  s.wipe_results();
  const int32_t status = attend_in(a, scratch_size);
  CHECK_MESSAGE(status == FOVEA_OK, status_text(status));
  CHECK(s.guards_hold());
  return s.results();
}

inline std::vector<float> solve_in_parts(stored_problem& s, fovea_attention a, int32_t parts) {
  data::guarded<unsigned char> partials(fovea_partials_size(&a));
  a.partials = partials.data(), a.partials_size = partials.size();
  s.wipe_results();
  for (int32_t part = 0; part < parts; ++part) {
    a.part = {part, parts};
    CHECK(attend_in(a, fovea_scratch_best(&a)) == FOVEA_OK);
  }
  CHECK(fovea_merge(&a) == FOVEA_OK);
  CHECK((s.guards_hold() && partials.guards_hold()));
  return s.results();
}

} // namespace stored
