// Validation of integer calls: a call either becomes a plan of plain numbers, or a status that names the
// argument to blame. A template: what an entry does not offer need not be looked at further.
#pragma once
#include "fixed/kernel.hpp"
#include "fixed/numbers.hpp"

namespace fovea::fixed {
namespace {

int32_t check_dims(const fovea_fixed_attention& a, fixed_plan& p) {
  p.kv_heads = a.kv_heads ? a.kv_heads : a.q_heads;
  p.group = quotient(a.q_heads, p.kv_heads); // unsigned: 0 where kv_heads is negative or too large
  if (p.group * p.kv_heads != a.q_heads) return refusal(FOVEA_SIZE, FOVEA_ARG_HEADS);
  p.dim = a.dim;
  p.v_dim = a.v_dim ? a.v_dim : a.dim;
  p.depth = up_to(p.dim, 16);
  p.width = up_to(p.v_dim, 16);
  if (a.first_key + a.keys > fixed_greatest_count) return refusal(FOVEA_RANGE, FOVEA_ARG_FIRST_KEY);
  const int64_t rows = int64_t{a.queries} * p.group;
  p.rows = static_cast<int32_t>(rows);
  return rows > fixed_greatest_count ? refusal(FOVEA_SIZE, FOVEA_ARG_QUERIES) : int32_t{FOVEA_OK};
}

template <const fixed_offer& Offer>
int32_t check_types(const fovea_fixed_attention& a, fixed_plan& p) {
  p.out_type = a.out.dtype;
  p.panels = !offered<Offer>::rows || a.k.layout & FOVEA_PANELS;
  if constexpr (offered<Offer>::s16) {
    p.s16 = a.q.dtype == FOVEA_FIXED_S16;
    p.fine_weights = p.s16 && a.weight_bits == 22;
    if (a.k.dtype != a.q.dtype) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_K);
    if (a.v.dtype != a.q.dtype) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_V);
    if (p.s16 && p.out_type < FOVEA_FIXED_S16) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_OUT);
    if (p.s16 && p.panels) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_K);
  }
  if (offered<Offer>::rows && a.v.layout != a.k.layout) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_V);
  if (offered<Offer>::panels(p) && a.first_key % fixed_block != 0)
    return refusal(FOVEA_ALIGN, FOVEA_ARG_FIRST_KEY);
  return offered<Offer>::s16 && a.weight_bits > 15 && !p.fine_weights
             ? refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_WEIGHTS)
             : int32_t{FOVEA_OK};
}

constexpr bool within(int32_t x, int32_t low, int32_t high) { return low <= x && x <= high; }

template <const fixed_offer& Offer>
int32_t check_zero_points(const fovea_fixed_attention& a, fixed_plan& p) {
  p.zero_q = a.q.zero_point;
  p.zero_k = a.k.zero_point;
  p.zero_v = a.v.zero_point;
  p.zero_out = a.out.zero_point;
  if (offered<Offer>::is_s16(p)) {
    if (p.zero_q) return refusal(FOVEA_RANGE, FOVEA_ARG_Q);
    if (p.zero_k) return refusal(FOVEA_RANGE, FOVEA_ARG_K);
    if (p.zero_v) return refusal(FOVEA_RANGE, FOVEA_ARG_V);
  }
  // It is a number of the output's type; floats have none.
  const bool floats = offered<Offer>::floats && p.out_type == FOVEA_FIXED_F32;
  if (floats ? p.zero_out : (p.zero_out ^ p.zero_out >> 31) >> (7 + 8 * p.out_type))
    return refusal(FOVEA_RANGE, FOVEA_ARG_OUT);
  if (p.zero_q && !(offered<Offer>::tables && a.key_sums.data))
    return refusal(FOVEA_NULL, FOVEA_ARG_KEY_SUMS);
  if (p.zero_v && offered<Offer>::tables && a.value_weights.data)
    return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_V);
  return FOVEA_OK;
}

// The largest score times the multiplier must stay below 4,096 octaves: then octaves and their distances fit
// 32 bits everywhere. Microcontrollers take octaves of bytes from the upper word of score * 2^(32 - shift)
// times the multiplier. The first factor has 32 bits with any multiplier from 2^30 on; with a smaller one it
// may have more, and then octaves are found key by key, or the scale is refused where an entry has no such
// path.
template <const fixed_offer& Offer>
bool octaves_fit(fixed_plan& p, const fovea_fixed_scale& x) {
  const uint32_t dim = static_cast<uint32_t>(p.dim);
  uint32_t score = dim * (p.zero_q || p.zero_k ? 255 * 255 : 128 * 128);
  if (offered<Offer>::is_s16(p)) {
    if (dim >> (x.score_pre_shift + 1)) return false; // 2^31 and more
    score = dim << (30 - x.score_pre_shift);
  }
  const uint64_t octaves = uint64_t{score + 1} * static_cast<uint32_t>(x.score_multiplier) /
                           static_cast<uint32_t>(fixed_octave_limit);
  if (offered<Offer>::s16 && octaves >> 32) return false; // those of bytes fit
  const bool score_fits = offered<Offer>::is_s16(p) || 2 * score >> x.score_shift == 0;
  if (!offered<Offer>::tables && !score_fits) return false;
  if (!kernels_read_tables && !score_fits) p.octaves_by_key = true;
  return static_cast<uint32_t>(octaves) >> x.score_shift == 0;
}

// Of 2^-86: sums stay below 2^40, and the least normal float is 2^-126.
constexpr uint32_t least_f32_exponent = 127 - 86;

template <const fixed_offer& Offer>
bool scale_fits(fixed_plan& p, const fovea_fixed_scale& x) {
  const bool floats = offered<Offer>::floats && p.out_type == FOVEA_FIXED_F32;
  constexpr int of_scores = 3, all = 5;
  if (check_numbers<make_scale_ranges<Offer>>(&x, floats ? of_scores : all)) return false;
  if (offered<Offer>::s16 && !p.s16 && x.score_pre_shift) return false;
  if (!octaves_fit<Offer>(p, x)) return false;
  // A float is positive, finite, and normal also when divided by the largest sum of weights.
  const uint32_t exponent = x.f32_scale >> 23;
  return !floats || (exponent >= least_f32_exponent && exponent < 255);
}

template <const fixed_offer& Offer>
int32_t check_scales(const fovea_fixed_attention& a, fixed_plan& p) {
  p.scale = &a.scale;
  p.octaves_by_key = p.zero_q != 0;
  const fovea_fixed_scale* scale = p.scale;
  int32_t left = 1;
  if (offered<Offer>::tables && a.head_scales) {
    scale = a.head_scales;
    left = a.q_heads;
  }
  if (reinterpret_cast<uintptr_t>(scale) % alignof(fovea_fixed_scale))
    return refusal(FOVEA_ALIGN, FOVEA_ARG_SCALE);
  for (; left > 0; --left, ++scale)
    if (!scale_fits<Offer>(p, *scale)) return refusal(FOVEA_RANGE, FOVEA_ARG_SCALE);
  return FOVEA_OK;
}

template <const fixed_offer& Offer>
int32_t check_most_keys(const fovea_fixed_attention& a, fixed_plan& p) {
  p.most_keys = a.max_keys ? a.max_keys : 512;
  if (!p.in_segments() && a.first_key + a.keys > p.most_keys) return refusal(FOVEA_SIZE, FOVEA_ARG_KEYS);
  p.spill = spill_of(p.most_keys, offered<Offer>::is_s16(p) ? 32768 : 512);
  return FOVEA_OK;
}

inline const int16_t* parents_of(const fovea_fixed_attention& a) {
  return a.pattern ? a.pattern->parents : nullptr;
}

// Within the numbers that keys from any query on may have.
#if defined(__ARM_FEATURE_DSP) && defined(__ARM_FEATURE_SAT)
inline int32_t limited_sum(int32_t a, int32_t b) { return __builtin_arm_ssat(__builtin_arm_qadd(a, b), 31); }
#else
FOVEA_ONCE int32_t limited_sum(int32_t a, int32_t b) {
  int32_t x;
  if (__builtin_add_overflow(a, b, &x)) x = a < 0 ? INT32_MIN : INT32_MAX;
  return x < -beyond_keys ? -beyond_keys : x >= beyond_keys ? beyond_keys - 1 : x;
}
#endif

int32_t check_seen(const fovea_fixed_attention& a, fixed_visibility& see) {
  if (!features::trees && parents_of(a)) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_PARENT);
  if (!features::chunks && a.pattern && (a.pattern->chunk || a.pattern->left_chunks))
    return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_CHUNK);
  if (const int32_t s = check_pattern(a)) return s;
  see.chunk = 0;
  see.tree = false;
  if (features::chunks && a.pattern) {
    see.chunk = a.pattern->chunk;
    if (a.pattern->left_chunks < 0 ||
        __builtin_mul_overflow(static_cast<uint32_t>(see.chunk),
                               static_cast<uint32_t>(a.pattern->left_chunks), &see.chunks_left))
      see.chunks_left = UINT32_MAX;
  }
  see.first_key = a.first_key;
  see.end = a.first_key + a.keys;
  see.from = -beyond_keys;
  see.to = see.kept = beyond_keys;
  see.prefix = a.prefix;
  see.keep = 0;
  const int32_t position = a.flags & FOVEA_POSITION ? a.position : see.end - a.queries;
  see.position = position;
  if (see.chunk || a.flags & FOVEA_WINDOW) see.keep = a.keep_first;
  if (a.flags & FOVEA_WINDOW) {
    if (a.window_left >= 0) see.from = limited_sum(position, -a.window_left);
    if (a.window_right >= 0) see.to = limited_sum(position, a.window_right) + 1;
  }
  if (a.flags & FOVEA_CAUSAL) {
    see.kept = limited_sum(position, 0) + 1;
    if (see.to > see.kept) see.to = see.kept;
  }
  return FOVEA_OK;
}

// Checks q, k, v or out: n.argument says which. All four begin with the fields of tensor_place.
static_assert(offsetof(fovea_fixed_attention, out) == (FOVEA_ARG_OUT - FOVEA_ARG_Q) * sizeof(fovea_fixed_in));
inline int32_t check_tensor(const fovea_fixed_attention& a, const tensor_counts& n, fixed_plan& p) {
  const int32_t i = n.argument - FOVEA_ARG_Q;
  return check_tensor(*reinterpret_cast<const tensor_place*>(&a.q + i), n, p, p.tensors[i]);
}

template <const fixed_offer& Offer>
int32_t check_tables(const fovea_fixed_attention& a, fixed_plan& p) {
  if constexpr (offered<Offer>::tables) {
    return Offer.check_tables(a, p);
  } else {
    if (parents_of(a)) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_PARENT);
    p.head_scales.data = nullptr;
    p.sinks.data = nullptr;
    p.value_weights.data = nullptr;
    if constexpr (kernels_read_tables) {
      p.multipliers.data = nullptr;
      p.sums.data = p.bias.data = p.alibi.data = nullptr;
      p.mask.data = nullptr;
    }
    return FOVEA_OK;
  }
}

template <const fixed_offer& Offer>
int32_t check_keys_and_values(const fovea_fixed_attention& a, fixed_plan& p, tensor_counts& n) {
  if constexpr (offered<Offer>::segments)
    if (p.segments)
      return p.panels ? Offer.check_segments(a, p) : refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_SEGMENTS);
  n.heads = p.kv_heads;
  n.tokens = a.keys;
  if (offered<Offer>::panels(p)) {
    n.tokens = up_to(n.tokens, fixed_block);
    n.row = p.depth;
  }
  if (offered<Offer>::rows && p.panels && a.k.token_stride) return refusal(FOVEA_STRIDE, FOVEA_ARG_K);
  n.argument = FOVEA_ARG_K;
  if (const int32_t s = check_tensor(a, n, p)) return s;
  n.row = offered<Offer>::panels(p) ? p.width : p.v_dim;
  if (offered<Offer>::rows && p.panels && a.v.token_stride) return refusal(FOVEA_STRIDE, FOVEA_ARG_V);
  n.argument = FOVEA_ARG_V;
  return check_tensor(a, n, p);
}

// The output first, which nothing else may meet.
template <const fixed_offer& Offer>
int32_t check_tensors(const fovea_fixed_attention& a, fixed_plan& p) {
  tensor_counts n{a.q_heads, a.queries, p.v_dim, p.out_type, FOVEA_ARG_OUT};
  if (const int32_t s = check_tensor(a, n, p)) return s;
  n.row = p.dim;
  n.shift = offered<Offer>::is_s16(p);
  n.argument = FOVEA_ARG_Q;
  if (const int32_t s = check_tensor(a, n, p)) return s;
  if (const int32_t s = check_tables<Offer>(a, p)) return s;
  return check_keys_and_values<Offer>(a, p, n);
}

template <const fixed_offer& Offer>
FOVEA_ONCE int32_t make_fixed_plan(const fovea_fixed_attention* call, fixed_plan& p) {
  if (!call) return refusal(FOVEA_NULL, FOVEA_ARG_CALL);
  const fovea_fixed_attention& a = *call;
  p.offer = &Offer;
  p.segments = offered<Offer>::segments ? a.segments : nullptr;
  if (const int32_t s = check_numbers<make_ranges<Offer>>(&a)) return s;
  if (const int32_t s = check_dims(a, p)) return s;
  if (const int32_t s = check_types<Offer>(a, p)) return s;
  if (const int32_t s = check_zero_points<Offer>(a, p)) return s;
  if (const int32_t s = check_most_keys<Offer>(a, p)) return s;
  if (const int32_t s = check_seen(a, p.see)) return s;
  if constexpr (features::parts)
    if (const int32_t s = check_part(a.part, p)) return s;
  if (!features::parts) p.parts = 1;
  if constexpr (offered<Offer>::tables || kernels_read_tables) p.tree.parents = parents_of(a);
  if constexpr (offered<Offer>::tables && features::trees)
    if (p.tree.parents)
      if (const int32_t s = check_tree(a, p)) return s;
  if (const int32_t s = check_scales<Offer>(a, p)) return s;
  if (const int32_t s = check_tensors<Offer>(a, p)) return s;
  p.kernel = find_fixed_kernel(a.isa);
  if (!p.kernel) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_ISA);
  if (offered<Offer>::is_s16(p)) p.kernel = Offer.s16;
  return FOVEA_OK;
}

} // namespace
} // namespace fovea::fixed
