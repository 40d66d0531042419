// Attention on 16-bit numbers from its written specification (docs/fixed_point.md, "16 bits"), in integers of
// 128 bits where 64 might not do. It shares no code with the library.
#pragma once
#include "fixed_reference.hpp"

#if defined(__SIZEOF_INT128__)
namespace fixed_s16_reference {

__extension__ using huge = __int128;
using fixed_reference::call;
using wide = int64_t;

inline huge floor_shift(huge x, int by) { return x >> by; }
inline huge round_shift(huge x, wide by) {
  if (by == 0) return x;
  return by > 62 ? 0 : (x + (huge{1} << (by - 1))) >> by;
}

// The weight of a key that lies u below the reference; octaves have 16 bits behind the point, or 22.
inline wide weight_of_15_bits(wide u) {
  using fixed_reference::mulr;
  const wide whole = u / 65536, h = u % 65536 / 2 - 32768;
  const wide y = mulr(mulr(mulr(mulr(232, h) - 820, h) + 3942, h) - 11262, h) + 16256;
  if (whole >= 16) return 0;
  return whole == 0 ? y : (y * (wide{1} << (15 - whole)) + 16384) / 32768;
}
inline wide weight_of_22_bits(wide u) {
  const wide factors[] = {-1369601, 10286296, -59582935, 257938912, -744260973, 1 << 30};
  const wide whole = u >> 22, f = (u & ((1 << 22) - 1)) << 9; // Q31
  wide y = 117391;
  for (wide factor : factors) y = static_cast<wide>(floor_shift(huge{y} * f, 31)) + factor;
  return whole >= 23 ? 0 : static_cast<wide>(round_shift(y, 8 + whole));
}

struct sums {
  std::vector<huge> acc;
  huge sum = 0;
};

class row {
 public:
  row(const call& x, int32_t h, int32_t i)
      : x_(x), a_(x.a), h_(h), i_(i), fraction_(a_.weight_bits == 22 ? 22 : 16) {
    s_.acc.assign(static_cast<size_t>(x.v_dim()), 0);
    add_sink();
    for (int32_t block = a_.first_key / 64; block * 64 < a_.first_key + a_.keys; ++block)
      add_block(block * 64);
  }
  const sums& result() const { return s_; }

 private:
  huge limited(huge t) const {
    const huge limit = ((huge{1} << 28) << (fraction_ - 16)) - 1;
    return t < -limit ? -limit : t > limit ? limit : t;
  }
  wide weight(huge t) const {
    const wide u = static_cast<wide>(huge{reference_} * (huge{1} << fraction_) - t);
    return fraction_ == 22 ? weight_of_22_bits(u) : weight_of_15_bits(u);
  }
  huge octaves(int32_t n) const {
    const int down = x_.scale(h_).score_shift - (fraction_ - 16);
    const huge product = huge{x_.score(h_, i_, n)} * x_.multiplier(h_, n);
    huge more = x_.bias(h_, i_, n);
    if (a_.alibi) more -= huge{a_.alibi[h_]} * std::llabs(x_.position(i_) - a_.first_key - n);
    return limited((down >= 0 ? product >> down : product * (huge{1} << -down)) +
                   more * (huge{1} << (fraction_ - 16)));
  }
  void raise(huge t) {
    const wide wanted = static_cast<wide>((t + (huge{1} << fraction_) - 1) >> fraction_);
    if (any_ && wanted <= reference_) return;
    for (huge& y : s_.acc) y = any_ ? round_shift(y, wanted - reference_) : 0;
    s_.sum = any_ ? round_shift(s_.sum, wanted - reference_) : 0;
    reference_ = wanted, any_ = true;
  }
  void add_sink() {
    if (!a_.sinks) return;
    const huge t = std::clamp<wide>(a_.sinks[h_], 1 - (1 << 28), (1 << 28) - 1) *
                   (huge{1} << (fraction_ - 16));
    raise(t);
    s_.sum += weight(t);
  }
  void add_block(int32_t first) {
    std::vector<int32_t> seen;
    for (int32_t j = std::max(first, a_.first_key); j < std::min(first + 64, a_.first_key + a_.keys); ++j)
      if (x_.sees(h_, i_, j - a_.first_key)) seen.push_back(j - a_.first_key);
    if (seen.empty()) return;
    huge top = octaves(seen[0]);
    for (int32_t n : seen) top = std::max(top, octaves(n));
    raise(top);
    const int32_t g = x_.kv_head(h_);
    const int16_t* value_weights = x_.per_key<int16_t>(a_.value_weights, g);
    for (int32_t n : seen) {
      const wide p = weight(octaves(n));
      s_.sum += p;
      const huge scaled = value_weights ? (huge{p} * value_weights[n] + 16384) >> 15 : huge{p};
      for (size_t c = 0; c < s_.acc.size(); ++c) s_.acc[c] += scaled * x_.v(g, n, static_cast<int32_t>(c));
    }
  }

  const call& x_;
  const fovea_fixed_attention& a_;
  int32_t h_, i_;
  int fraction_;
  bool any_ = false;
  wide reference_ = 0;
  sums s_;
};

// About 2^(30 + length) / sum: 16 bits by a division of 32 bits, 30 bits by one step of Newton's.
inline wide inverse_of(wide sum, int length) {
  const wide top = length > 32 ? sum >> (length - 32) : sum << (32 - length);
  const wide r = (4294967295 / (top >> 15)) << 15, rest = (wide{1} << 62) - r * top;
  return std::min<wide>(r + static_cast<wide>(floor_shift(huge{r} * (rest >> 31), 31)), 2147483647);
}

inline int16_t integer_output(const call& x, int32_t h, const sums& s, size_t c) {
  if (s.sum == 0) return static_cast<int16_t>(x.a.out.zero_point);
  int length = 1;
  while (s.sum >> length) ++length;
  const huge multiplier = (huge{inverse_of(static_cast<wide>(s.sum), length)} * x.scale(h).out_multiplier) >>
                          31;
  const huge acc = length > 16 ? round_shift(s.acc[c], length - 16) : s.acc[c] * (huge{1} << (16 - length));
  const huge y = round_shift((acc * multiplier) >> 32, 14 - x.scale(h).out_shift) + x.a.out.zero_point;
  return static_cast<int16_t>(y < -32768 ? -32768 : y > 32767 ? 32767 : y);
}

inline float float_output(const call& x, int32_t h, const sums& s, size_t c) {
  if (s.sum == 0) return 0;
  float scale;
  std::memcpy(&scale, &x.scale(h).f32_scale, sizeof scale);
  const volatile float by = scale / static_cast<float>(static_cast<wide>(s.sum));
  const volatile float acc = static_cast<float>(static_cast<wide>(s.acc[c]));
  return acc * by;
}

// The bytes of the whole output.
inline std::vector<unsigned char> output(const fovea_fixed_attention& a) {
  std::vector<unsigned char> all;
  const call x{a};
  for (int32_t h = 0; h < a.q_heads; ++h)
    for (int32_t i = 0; i < a.queries; ++i) {
      const row r(x, h, i);
      for (size_t c = 0; c < r.result().acc.size(); ++c) {
        unsigned char bytes[4] = {};
        const bool floats = a.out.dtype == FOVEA_FIXED_F32;
        const float f = floats ? float_output(x, h, r.result(), c) : 0;
        const int16_t s = floats ? int16_t{0} : integer_output(x, h, r.result(), c);
        std::memcpy(bytes, floats ? static_cast<const void*>(&f) : &s, floats ? 4 : 2);
        all.insert(all.end(), bytes, bytes + (floats ? 4 : 2));
      }
    }
  return all;
}

} // namespace fixed_s16_reference
#endif
