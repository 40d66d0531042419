// What may happen to a score before softmax: softcap, ALiBi, an additive or a bool mask. docs/numerics.md,
// section 8.
#pragma once
#include "f32/kernel/block.hpp"
#include "f32/kernel/elements.hpp"
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

// Sixteen elements of a bool mask: x where they are not 0, else `hidden`.
template <class Isa>
FOVEA_INLINE f32x16<Isa> if_shown(const uint8_t* mask, const f32x16<Isa>& x, const f32x16<Isa>& hidden) {
  return f32x16<Isa>::each([&](int i) FOVEA_LAMBDA_INLINE {
    const uint8_t* at = mask + i * Isa::lanes;
    if constexpr (Isa::has_masks) {
      return Isa::if_shown(at, x.r[i], hidden.r[i]);
    } else if constexpr (Isa::lanes == 1) {
      return *at ? x.r[i] : hidden.r[i];
    } else {
      using lanes = lane_words<Isa::lanes>;
      typename lanes::bytes b;
      std::memcpy(&b, at, sizeof b);
      const typename lanes::integers zeros = __builtin_convertvector(b, typename lanes::integers) == 0;
      using words = typename lanes::words;
      return same_bits<typename Isa::reg>(
          words((same_bits<words>(x.r[i]) & ~words(zeros)) | (same_bits<words>(hidden.r[i]) & words(zeros))));
    }
  });
}

// What the masks say about the block that begins with `first_key`.
FOVEA_INLINE row_bias mask_of_row(const plan& p, const row_place& at, int64_t first_key) {
  const auto& mask = p.modify.mask;
  const ptrdiff_t start = at.head * mask.head + at.query * mask.query +
                          static_cast<ptrdiff_t>(first_key - p.see.first_key);
  return {0, 0, mask.bias ? mask.bias + start : nullptr, mask.shown ? mask.shown + start : nullptr, nullptr};
}

// The nearest float. Below 2^40 both parts are exact, so only their sum is rounded. A cast from int64_t links
// 0.5 KB of libgcc on 32-bit cores.
FOVEA_INLINE float float_of_distance(int64_t keys) {
  return static_cast<float>(static_cast<int32_t>(keys >> 16)) * 65536 +
         static_cast<float>(static_cast<int32_t>(keys & 65535));
}

// With all modifiers, but what a tree hides.
FOVEA_INLINE row_bias bias_of(const plan& p, const row_place& at, int64_t first_key) {
  const modifiers& m = p.modify;
  const int32_t query = static_cast<int32_t>(at.query);
  const int64_t before = p.tree.parents && m.alibi ? depth_of(p.tree, query) : query;
  row_bias bias = mask_of_row(p, at, first_key);
  bias.slope = m.alibi ? -m.alibi[at.head] * log2_e : 0;
  bias.distance = float_of_distance(p.see.position + before - first_key);
  return bias;
}
template <int Keys>
FOVEA_INLINE void find_path(const plan& p, ptrdiff_t query, int64_t first_key, tree_path<Keys>& path) {
  fovea::find_path(p.tree, static_cast<int32_t>(query), first_key, Keys,
                   {path.shown, path.behind, &path.special});
}
// And with that; `path` is memory for it.
FOVEA_INLINE row_bias bias_of(const tile_job& job, const block& b, int row, tree_path<block_keys>& path) {
  const row_place at = place_of(job, row);
  row_bias bias = bias_of(*job.p, at, b.first_key);
  if (b.in_tree) {
    find_path(*job.p, at.query, b.first_key, path);
    bias.path = &path;
  }
  return bias;
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

// What is added to a score that a tree lets through: also a score of -0 stays what it is.
constexpr float no_bias = -0.0f;

FOVEA_INLINE float mask_at(const row_bias& m, int j) {
  return m.bias ? m.bias[j] : m.shown[j] ? 0 : minus_infinity;
}

// Sixteen elements of a mask row, of which only a .. b-1 are read; with what a tree hides.
template <class Isa>
FOVEA_INLINE f32x16<Isa> read_mask(const row_bias& m, int j, int a, int b) {
  const auto zero = f32x16<Isa>::all(0), hidden = f32x16<Isa>::all(minus_infinity);
  if (!m.path && a <= 0 && b >= 16)
    return m.bias ? f32x16<Isa>::load(m.bias + j) : if_shown(m.shown + j, zero, hidden);
  if constexpr (Isa::has_masks)
    if (!m.path && a <= 0) {
      if (m.bias) return load_first(m.bias + j, b, zero);
      const sixteen_bytes first = first_bytes(m.shown + j, b);
      return if_shown(reinterpret_cast<const uint8_t*>(&first), zero, hidden);
    }
  alignas(64) float mask[16];
  if (m.path) {
    const bool given = m.bias || m.shown;
    for (int i = 0; i < 16; ++i)
      mask[i] = i < a || i >= b         ? 0
                : !m.path->shown[j + i] ? minus_infinity
                : given                 ? mask_at(m, j + i)
                                        : no_bias;
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

// The score of key j of the block, alone. `path`: null, or what a tree says of the keys from j - n on.
template <class Isa, int Keys>
FOVEA_INLINE float modified(const modifiers& m, const row_bias& row, int j, float s,
                            const tree_path<Keys>* path, int n) {
  if (features::softcap && m.cap != 0) s = soft_capped<Isa>(s, m.cap, m.cap_factor);
  if (features::alibi && row.slope != 0) {
    float distance = (row.distance - static_cast<float>(j & -16)) - static_cast<float>(j & 15);
    if (path) distance = distance + static_cast<float>(path->behind[n]);
    s = Isa::max(Isa::fma(row.slope, Isa::abs(distance), s), lowest);
  }
  const bool given = features::masks && (row.bias || row.shown),
             hides = features::trees && path && (path->special >> n / 16 & 1);
  if (!given && !hides) return s;
  const float bias = hides && !path->shown[n] ? minus_infinity : given ? mask_at(row, j) : no_bias;
  return bias == minus_infinity ? bias : Isa::max(Isa::fma(log2_e, bias, s), lowest);
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

// How the scores of one row are modified: whole vectors from key j on, and those of which lanes a .. b-1 are
// meant.
template <class Isa>
struct modified_by {
  static constexpr bool modifies = true;
  const modifiers& how;
  const row_bias& row;

  FOVEA_INLINE f32x16<Isa> whole(int j, const f32x16<Isa>& s) const { return edge(j, 0, 16, s); }
  FOVEA_INLINE f32x16<Isa> edge(int j, int a, int b, const f32x16<Isa>& s) const {
    return modified(how, row, j, a, b, s);
  }
};
// A mask and nothing else, without tests in the loop.
template <class Isa>
struct biased_by_mask {
  static constexpr bool modifies = true;
  const row_bias& row;

  FOVEA_INLINE f32x16<Isa> whole(int j, const f32x16<Isa>& s) const {
    return with_mask(f32x16<Isa>::load(row.bias + j), s);
  }
  FOVEA_INLINE f32x16<Isa> edge(int j, int a, int b, const f32x16<Isa>& s) const {
    return with_mask(read_mask<Isa>(row, j, a, b), s);
  }
};
// A score of -0 stays one here. Neither a weight nor a reference depends on that.
template <class Isa>
struct hidden_by_mask : biased_by_mask<Isa> {
  FOVEA_INLINE f32x16<Isa> whole(int j, const f32x16<Isa>& s) const {
    return if_shown(this->row.shown + j, max(s, f32x16<Isa>::all(lowest)), f32x16<Isa>::all(minus_infinity));
  }
};
struct unmodified {
  static constexpr bool modifies = false;
};

} // namespace fovea::f32
