// What may happen to a score before softmax: softcap, ALiBi, an additive or a bool mask. docs/numerics.md,
// section 8.
#pragma once
#include "f32/kernel/block.hpp"
#include "f32/kernel/exp2.hpp"

namespace fovea::f32 {

// The score of a key that a mask hides. It gets weight 0 without an exponential.
constexpr float minus_infinity = -__builtin_inff();

// cap * tanh(s / cap) as m / (2 - m), m = 1 - 2^(|s| * factor). From the parts of the exponential m is
// exact to a few units in the last place also where it is small.
template <class Isa>
FOVEA_INLINE typename Isa::reg soft_capped(typename Isa::reg s, typename Isa::reg cap,
                                           typename Isa::reg factor) {
  const auto m0 = Isa::spread(power_magic), one = Isa::spread(1.f);
  const auto x = Isa::max(Isa::mul(Isa::abs(s), factor), Isa::spread(deepest)); // factor is negative
  const auto t = Isa::add(x, m0), n = Isa::sub(t, m0);
  const auto whole = Isa::power(t); // 2^x = 2^n (1 + r q)
  const auto minus_r = Isa::mul(whole, Isa::sub(n, x));
  const auto m = Isa::fma(minus_r, exp2_slope<Isa>(Isa::sub(x, n)), Isa::sub(one, whole));
  const auto y = Isa::mul(cap, Isa::div(m, Isa::sub(Isa::spread(2.f), m)));
  return Isa::inside(s, minus_infinity, 0, Isa::sub(Isa::spread(0), y), y);
}

struct row_bias {                    // of one row within one block
  float slope;                       // times log2(e), negative: what ALiBi takes per key of distance
  float distance;                    // position of the query - first key of the block
  const float* bias;                 // of the block's keys, or null
  const uint8_t* shown;              // the same of a bool mask
  const tree_path<block_keys>* path; // null: no tree hides keys of the block
};

template <int Lanes>
struct mask_vectors;
template <>
struct mask_vectors<4> {
  typedef uint8_t bytes __attribute__((vector_size(4)));
  typedef int32_t words __attribute__((vector_size(16)));
};
template <>
struct mask_vectors<8> {
  typedef uint8_t bytes __attribute__((vector_size(8)));
  typedef int32_t words __attribute__((vector_size(32)));
};
template <>
struct mask_vectors<16> {
  typedef uint8_t bytes __attribute__((vector_size(16)));
  typedef int32_t words __attribute__((vector_size(64)));
};

// Sixteen elements of a bool mask as floats, 0 or -infinity: bytes become words, and words of 0 the bits of
// -infinity.
template <class Isa>
FOVEA_INLINE void write_out(const uint8_t* mask, float* out) {
  if constexpr (Isa::lanes == 1) {
    for (int i = 0; i < 16; ++i) out[i] = mask[i] ? 0 : minus_infinity;
  } else {
#pragma GCC unroll 16
    for (int i = 0; i < 16; i += Isa::lanes) {
      using words = typename mask_vectors<Isa::lanes>::words;
      typename mask_vectors<Isa::lanes>::bytes b;
      __builtin_memcpy(&b, mask + i, sizeof b);
      const words w = (__builtin_convertvector(b, words) == 0) & static_cast<int32_t>(0xff800000u);
      __builtin_memcpy(out + i, &w, sizeof w);
    }
  }
}

// `path` is memory for what a tree says.
FOVEA_INLINE row_bias bias_of(const tile_job& job, const block& b, int row, tree_path<block_keys>& path) {
  const plan& p = *job.p;
  const modifiers& m = p.modify;
  const row_place at = place_of(job, row);
  const ptrdiff_t start = at.head * m.mask.head + at.query * m.mask.query +
                          static_cast<ptrdiff_t>(b.first_key - p.see.first_key);
  const int32_t query = static_cast<int32_t>(at.query);
  if (b.in_tree) find_path(p.tree, query, b.first_key, block_keys, {path.shown, path.behind, &path.special});
  const int64_t before = p.tree.parents && m.alibi ? depth_of(p.tree, query) : query;
  return {m.alibi ? -m.alibi[at.head] * log2_e : 0, static_cast<float>(p.see.position + before - b.first_key),
          m.mask.bias ? m.mask.bias + start : nullptr, m.mask.shown ? m.mask.shown + start : nullptr,
          b.in_tree ? &path : nullptr};
}

// By how much sixteen keys come after their positions.
template <class Isa>
__attribute__((noinline)) f32x16<Isa> behind_positions(const tree_path<block_keys>& path, int j) {
  alignas(64) float behind[16];
  for (int i = 0; i < 16; ++i) behind[i] = path.behind[j + i];
  return f32x16<Isa>::load(behind);
}

// A key that is far away is not hidden: its score is at least `lowest`.
template <class Isa>
FOVEA_INLINE f32x16<Isa> with_alibi(const row_bias& row, int j, const f32x16<Isa>& s) {
  alignas(64) static constexpr float lane[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  auto distance = f32x16<Isa>::all(row.distance - static_cast<float>(j)) - f32x16<Isa>::load(lane);
  if (row.path) distance = distance + behind_positions<Isa>(*row.path, j);
  const auto slope = Isa::spread(row.slope), floor = Isa::spread(lowest);
  return f32x16<Isa>::each([&](int i) FOVEA_LAMBDA_INLINE {
    return Isa::max(Isa::fma(slope, Isa::abs(distance.r[i]), s.r[i]), floor);
  });
}

FOVEA_INLINE float mask_at(const row_bias& m, int j) {
  return m.bias ? m.bias[j] : m.shown[j] ? 0 : minus_infinity;
}

// Sixteen elements of a mask row, of which only a .. b-1 are read; with what a tree hides.
template <class Isa>
FOVEA_INLINE f32x16<Isa> read_mask(const row_bias& m, int j, int a, int b) {
  alignas(64) float mask[16];
  if (m.path) {
    const bool given = m.bias || m.shown;
    for (int i = 0; i < 16; ++i)
      mask[i] = i < a || i >= b ? 0 : !m.path->shown[j + i] ? minus_infinity : given ? mask_at(m, j + i) : 0;
  } else if (a <= 0 && b >= 16) {
    if (m.bias) return f32x16<Isa>::load(m.bias + j);
    write_out<Isa>(m.shown + j, mask);
  } else {
    for (int i = 0; i < 16; ++i) mask[i] = i < a || i >= b ? 0 : mask_at(m, j + i);
  }
  return f32x16<Isa>::load(mask);
}

// A finite bias does not hide a key: the score is at least `lowest`. Only -infinity hides.
template <class Isa>
FOVEA_INLINE f32x16<Isa> with_mask(const f32x16<Isa>& bias, const f32x16<Isa>& s) {
  const auto seen = max(fma_by(log2_e, bias, s), f32x16<Isa>::all(lowest)),
             hidden = f32x16<Isa>::all(minus_infinity);
  return f32x16<Isa>::each([&](int i) FOVEA_LAMBDA_INLINE {
    return Isa::if_equal(bias.r[i], minus_infinity, hidden.r[i], seen.r[i]);
  });
}

// Scores of keys j .. j+15, of which lanes a .. b-1 are meant. One copy of the code for all modifiers.
template <class Isa>
FOVEA_INLINE f32x16<Isa> modified(const modifiers& m, const row_bias& row, int j, int a, int b,
                                  f32x16<Isa> s) {
  if (m.cap != 0) {
    const auto cap = Isa::spread(m.cap), factor = Isa::spread(m.cap_factor);
    s = f32x16<Isa>::each([&](int i) FOVEA_LAMBDA_INLINE { return soft_capped<Isa>(s.r[i], cap, factor); });
  }
  if (row.slope != 0) s = with_alibi(row, j, s);
  const bool hides = row.path && (row.path->special >> j / 16 & 1);
  if (row.bias || row.shown || hides) s = with_mask(read_mask<Isa>(row, j, a, b), s);
  return s;
}

} // namespace fovea::f32
