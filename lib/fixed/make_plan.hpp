// Validation of integer calls: a call either becomes a plan of plain numbers, or a status that names the
// argument to blame. A template: what an entry does not offer need not be looked at further.
#pragma once
#include "fixed/kernel.hpp"

namespace fovea::fixed {
namespace {

template <class Pointer>
constexpr bool given(Pointer x) {
  return x != nullptr;
}

template <const fixed_offer& Offer>
struct offered {
  static constexpr bool s16 = given(Offer.s16), tables = given(Offer.check_tables),
                        floats = given(Offer.write_floats), rows = given(Offer.packed_keys),
                        segments = given(Offer.segments);
  static bool is_s16(const fixed_plan& p) { return s16 && p.s16; }
  static bool panels(const fixed_plan& p) { return !rows || p.panels; }
};

int32_t check_offered(const fovea_fixed_attention& a) {
  if (a.softcap) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_SOFTCAP);
  int32_t reserved = a.q.reserved | a.k.reserved | a.v.reserved;
#if UINTPTR_MAX <= 0xffffffff
  for (int32_t word : a.reserved) reserved |= word;
#endif
  if (reserved) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_RESERVED);
  if (a.flags & ~int32_t{FOVEA_CAUSAL | FOVEA_POSITION | FOVEA_WINDOW})
    return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_FLAGS);
  return FOVEA_OK;
}

int32_t check_dims(const fovea_fixed_attention& a, fixed_plan& p) {
  if (const int32_t s = check_shape(a, fixed_greatest_dim, fixed_greatest_count, p)) return s;
  p.depth = up_to(p.dim, 16), p.width = up_to(p.v_dim, 16);
  return __builtin_mul_overflow(a.queries, p.group, &p.rows) || p.rows > fixed_greatest_count
             ? refusal(FOVEA_SIZE, FOVEA_ARG_QUERIES)
             : int32_t{FOVEA_OK};
}

template <const fixed_offer& Offer>
int32_t check_types(const fovea_fixed_attention& a, fixed_plan& p) {
  p.s16 = a.q.dtype == FOVEA_FIXED_S16, p.out_type = a.out.dtype;
  if (p.s16 ? !offered<Offer>::s16 : a.q.dtype != FOVEA_FIXED_S8)
    return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_Q);
  if (a.k.dtype != a.q.dtype) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_K);
  if (a.v.dtype != a.q.dtype) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_V);
  const int32_t least = offered<Offer>::is_s16(p) ? FOVEA_FIXED_S16 : FOVEA_FIXED_S8,
                most = offered<Offer>::floats ? FOVEA_FIXED_F32 : FOVEA_FIXED_S16;
  if (p.out_type < least || p.out_type > most) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_OUT);
  p.panels = a.k.layout == FOVEA_PANELS;
  if (a.q.layout != FOVEA_ROWS) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_Q);
  if (p.panels ? offered<Offer>::is_s16(p) : a.k.layout != FOVEA_ROWS || !offered<Offer>::rows)
    return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_K);
  if (a.v.layout != a.k.layout) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_V);
  if (offered<Offer>::panels(p) && a.first_key % fixed_block != 0)
    return refusal(FOVEA_ALIGN, FOVEA_ARG_FIRST_KEY);
  p.fine_weights = a.weight_bits == 22;
  if (a.weight_bits && a.weight_bits != 15 && !(p.fine_weights && offered<Offer>::is_s16(p)))
    return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_WEIGHTS);
  return FOVEA_OK;
}

bool within(int32_t x, int32_t low, int32_t high) { return low <= x && x <= high; }
// Is a zero point one of -half .. half - 1?
bool reaches(int32_t zero, int32_t half) { return half ? within(zero, -half, half - 1) : zero == 0; }

template <const fixed_offer& Offer>
int32_t check_zero_points(const fovea_fixed_attention& a, fixed_plan& p) {
  const int32_t in = offered<Offer>::is_s16(p) ? 0 : 128, out = p.out_type == FOVEA_FIXED_S8    ? 128
                                                                : p.out_type == FOVEA_FIXED_S16 ? 32768
                                                                                                : 0;
  p.zero_q = a.q.zero_point, p.zero_k = a.k.zero_point, p.zero_v = a.v.zero_point,
  p.zero_out = a.out.zero_point;
  if (!reaches(p.zero_q, in)) return refusal(FOVEA_RANGE, FOVEA_ARG_Q);
  if (!reaches(p.zero_k, in)) return refusal(FOVEA_RANGE, FOVEA_ARG_K);
  if (!reaches(p.zero_v, in)) return refusal(FOVEA_RANGE, FOVEA_ARG_V);
  if (!reaches(p.zero_out, out)) return refusal(FOVEA_RANGE, FOVEA_ARG_OUT);
  if (p.zero_q && !a.key_sums.data) return refusal(FOVEA_NULL, FOVEA_ARG_KEY_SUMS);
  if (p.zero_v && a.value_weights.data) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_V);
  return FOVEA_OK;
}

// The largest score times the multiplier must stay below 4,096 octaves: then octaves and their distances fit
// 32 bits everywhere.
template <const fixed_offer& Offer>
bool octaves_fit(const fixed_plan& p, const fovea_fixed_scale& x) {
  const uint32_t dim = static_cast<uint32_t>(p.dim);
  uint32_t score = dim * (p.zero_q || p.zero_k ? 255 * 255 : 128 * 128);
  if (offered<Offer>::is_s16(p)) {
    if (dim >> (x.score_pre_shift + 1)) return false; // 2^31 and more
    score = dim << (30 - x.score_pre_shift);
  }
  const uint64_t octaves = uint64_t{score + 1} * static_cast<uint32_t>(x.score_multiplier) /
                           static_cast<uint32_t>(fixed_octave_limit);
  return octaves >> 32 == 0 && static_cast<uint32_t>(octaves) >> x.score_shift == 0;
}

// Of 2^-86: sums stay below 2^40, and the least normal float is 2^-126.
constexpr uint32_t least_f32_exponent = 127 - 86;

template <const fixed_offer& Offer>
bool scale_fits(const fixed_plan& p, const fovea_fixed_scale& x) {
  if (x.score_multiplier < 1 || !within(x.score_shift, 1, 31)) return false;
  if (!within(x.score_pre_shift, 0, offered<Offer>::is_s16(p) ? 24 : 0) || !octaves_fit<Offer>(p, x))
    return false;
  if (offered<Offer>::floats && p.out_type == FOVEA_FIXED_F32) {
    // Positive, finite, and normal also when divided by the largest sum of weights.
    const uint32_t exponent = x.f32_scale >> 23;
    return exponent >= least_f32_exponent && exponent < 255;
  }
  return x.out_multiplier >= 1 && within(x.out_shift, -30, 20);
}

template <const fixed_offer& Offer>
int32_t check_scales(const fovea_fixed_attention& a, fixed_plan& p) {
  p.scale = &a.scale, p.head_scales = offered<Offer>::tables ? a.head_scales : nullptr;
  if (reinterpret_cast<uintptr_t>(p.head_scales) % alignof(fovea_fixed_scale))
    return refusal(FOVEA_ALIGN, FOVEA_ARG_SCALE);
  const fovea_fixed_scale* scale = p.head_scales ? p.head_scales : p.scale;
  for (int32_t left = p.head_scales ? a.q_heads : 1; left > 0; --left, ++scale)
    if (!scale_fits<Offer>(p, *scale)) return refusal(FOVEA_RANGE, FOVEA_ARG_SCALE);
  const int32_t max_keys = a.max_keys ? a.max_keys : 512;
  if (!within(max_keys, 0, 1 << 17)) return refusal(FOVEA_RANGE, FOVEA_ARG_KEYS);
  if (!a.segments && a.first_key + a.keys > max_keys) return refusal(FOVEA_SIZE, FOVEA_ARG_KEYS);
  p.spill = spill_of(max_keys, offered<Offer>::is_s16(p) ? 32768 : 512);
  return FOVEA_OK;
}

FOVEA_ONCE int32_t limited_sum(int32_t a, int32_t b) {
  int32_t x;
  if (__builtin_add_overflow(a, b, &x)) return a < 0 ? -beyond_keys : beyond_keys;
  return x < -beyond_keys ? -beyond_keys : x > beyond_keys ? beyond_keys : x;
}

int32_t check_seen(const fovea_fixed_attention& a, fixed_visibility& see) {
  if (a.prefix < 0) return refusal(FOVEA_RANGE, FOVEA_ARG_PREFIX);
  if (a.keep_first < 0) return refusal(FOVEA_RANGE, FOVEA_ARG_KEEP_FIRST);
  if (const int32_t s = check_pattern(a)) return s;
  see.chunk = a.pattern ? a.pattern->chunk : 0, see.tree = false;
  see.chunks_left = see.chunk && a.pattern->left_chunks >= 0 ? int64_t{see.chunk} * a.pattern->left_chunks
                                                             : unbounded;
  see.first_key = a.first_key, see.end = a.first_key + a.keys;
  see.from = -beyond_keys, see.to = see.kept = beyond_keys, see.prefix = a.prefix, see.keep = 0;
  const int32_t position = a.flags & FOVEA_POSITION ? a.position : see.end - a.queries;
  see.position = position;
  if (see.chunk) see.keep = a.keep_first;
  if (a.flags & FOVEA_WINDOW) {
    see.keep = a.keep_first;
    if (a.window_left >= 0) see.from = limited_sum(position, -a.window_left);
    if (a.window_right >= 0) see.to = limited_sum(position, a.window_right) + 1;
  }
  if (a.flags & FOVEA_CAUSAL) {
    see.kept = limited_sum(position, 0) + 1;
    if (see.to > see.kept) see.to = see.kept;
  }
  return FOVEA_OK;
}

inline const int16_t* parents_of(const fovea_fixed_attention& a) {
  return a.pattern ? a.pattern->parents : nullptr;
}

inline bool has_tables(const fovea_fixed_attention& a) {
  const auto word = [](const void* x) { return reinterpret_cast<uintptr_t>(x); };
  return word(a.head_scales) | word(a.key_multipliers.data) | word(a.key_sums.data) |
         word(a.value_weights.data) | word(a.mask.data) | word(a.bias.data) | word(a.alibi) | word(a.sinks) |
         word(parents_of(a));
}

// The argument of the first table that is given, or 0.
inline int32_t first_table(const fovea_fixed_attention& a) {
  if (a.head_scales) return FOVEA_ARG_SCALE;
  if (a.key_multipliers.data || a.key_sums.data) return FOVEA_ARG_K;
  if (a.value_weights.data) return FOVEA_ARG_V;
  if (a.mask.data || a.bias.data) return FOVEA_ARG_MASK;
  if (a.alibi) return FOVEA_ARG_ALIBI;
  if (a.sinks) return FOVEA_ARG_SINKS;
  return parents_of(a) ? FOVEA_ARG_PARENT : 0;
}

template <const fixed_offer& Offer>
int32_t check_options(const fovea_fixed_attention& a, fixed_plan& p) {
  if (const int32_t s = check_seen(a, p.see)) return s;
  p.tables.count = 0;
  p.multipliers.data = p.sums.data = p.bias.data = p.alibi = p.sinks = nullptr;
  p.value_weights.data = nullptr, p.mask.data = nullptr, p.tree.parents = nullptr, p.octaves_by_key = false;
  if constexpr (!offered<Offer>::tables) {
    if (const int32_t argument = first_table(a)) return refusal(FOVEA_UNSUPPORTED, argument);
  } else if (has_tables(a)) {
    if (const int32_t s = Offer.check_tables(a, p)) return s;
  }
  return check_part(a.part, p);
}

struct counts { // of a tensor, whose elements have 2^shift bytes
  int32_t heads, tokens, row;
  int shift;
  bool written;
};

FOVEA_ONCE int32_t check_strided(const void* data, ptrdiff_t head_stride, ptrdiff_t token_stride,
                                 const counts& n, byte_rows& rows) {
  extent e{n.heads, n.tokens, 0, 0, n.row};
  byte_range bytes{};
  const int32_t reason = place<false>(data, head_stride, token_stride, size_t{1} << n.shift, n.written, e,
                                      bytes);
  // Strides that nothing walks over may be any number.
  const auto in_bytes = [&](int32_t steps, ptrdiff_t stride) {
    return steps > 1 && bytes.begin != bytes.end
               ? static_cast<ptrdiff_t>(static_cast<size_t>(stride) << n.shift)
               : 0;
  };
  rows = {static_cast<const unsigned char*>(data), bytes.end, in_bytes(n.heads, e.head_stride),
          in_bytes(n.tokens, e.token_stride)};
  return reason;
}

// Returns the reason to refuse a tensor, or FOVEA_OK. Most have no gaps and few rows, so that products of
// counts cannot overflow.
FOVEA_ONCE int32_t check_tensor(const void* data, ptrdiff_t head_stride, ptrdiff_t token_stride,
                                const counts& n, byte_rows& rows) {
  if (head_stride | token_stride | n.heads >> 6 | n.tokens >> 13)
    return check_strided(data, head_stride, token_stride, n, rows);
  static_assert(int64_t{fixed_greatest_dim} << (2 + 6 + 13) <= int64_t{1} << 31);
  const uintptr_t begin = reinterpret_cast<uintptr_t>(data), below = (uintptr_t{1} << n.shift) - 1;
  const int32_t token = n.row << n.shift, head = n.tokens * token, size = n.heads * head;
  rows = {static_cast<const unsigned char*>(data), begin + static_cast<uintptr_t>(size), head, token};
  if (rows.end < begin) return FOVEA_OVERFLOW;
  if (!data && size) return FOVEA_NULL;
  return begin & below ? FOVEA_ALIGN : FOVEA_OK;
}
template <class Tensor>
int32_t check_tensor(const Tensor& x, const counts& n, byte_rows& rows) {
  return check_tensor(x.data, x.head_stride, x.token_stride, n, rows);
}

template <const fixed_offer& Offer>
int32_t check_keys_and_values(const fovea_fixed_attention& a, fixed_plan& p, counts& n) {
  n.heads = p.kv_heads, n.tokens = a.keys;
  p.segments = nullptr;
  if (a.segments) {
    if (!offered<Offer>::segments || !p.panels) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_SEGMENTS);
    p.segments = a.segments;
    p.k = p.v = {};
    if constexpr (offered<Offer>::segments) return Offer.segments->check(a, p);
  }
  if (offered<Offer>::panels(p)) {
    if (a.k.token_stride) return refusal(FOVEA_STRIDE, FOVEA_ARG_K);
    n.tokens = up_to(n.tokens, fixed_block), n.row = p.depth;
  }
  if (const int32_t reason = check_tensor(a.k, n, p.k)) return refusal(reason, FOVEA_ARG_K);
  n.row = p.v_dim;
  if (offered<Offer>::panels(p)) {
    if (a.v.token_stride) return refusal(FOVEA_STRIDE, FOVEA_ARG_V);
    n.row = p.width;
  }
  if (const int32_t reason = check_tensor(a.v, n, p.v)) return refusal(reason, FOVEA_ARG_V);
  return FOVEA_OK;
}

template <const fixed_offer& Offer>
int32_t check_tensors(const fovea_fixed_attention& a, fixed_plan& p) {
  counts n{a.q_heads, a.queries, p.dim, offered<Offer>::is_s16(p), false};
  if (const int32_t reason = check_tensor(a.q, n, p.q)) return refusal(reason, FOVEA_ARG_Q);
  if (const int32_t s = check_keys_and_values<Offer>(a, p, n)) return s;
  n = {a.q_heads, a.queries, p.v_dim, p.out_type, true};
  if (const int32_t reason = check_tensor(a.out, n, p.out)) return refusal(reason, FOVEA_ARG_OUT);
  if (meets_inputs(p, p.out.bytes())) return refusal(FOVEA_OVERLAP, FOVEA_ARG_OUT);
  if constexpr (offered<Offer>::segments)
    if (p.segments && Offer.segments->meet(p, p.out.bytes())) return refusal(FOVEA_OVERLAP, FOVEA_ARG_OUT);
  return FOVEA_OK;
}

template <const fixed_offer& Offer>
FOVEA_ONCE int32_t make_fixed_plan(const fovea_fixed_attention* call, fixed_plan& p) {
  if (!call) return refusal(FOVEA_NULL, FOVEA_ARG_CALL);
  const fovea_fixed_attention& a = *call;
  if (const int32_t s = check_offered(a)) return s;
  if (const int32_t s = check_dims(a, p)) return s;
  if (const int32_t s = check_types<Offer>(a, p)) return s;
  if (const int32_t s = check_zero_points<Offer>(a, p)) return s;
  if (const int32_t s = check_scales<Offer>(a, p)) return s;
  if (const int32_t s = check_options<Offer>(a, p)) return s;
  if (const int32_t s = check_tensors<Offer>(a, p)) return s;
  p.offer = &Offer;
  p.kernel = find_fixed_kernel(a.isa);
  if (!p.kernel) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_ISA);
  if (offered<Offer>::is_s16(p)) p.kernel = Offer.s16;
  return FOVEA_OK;
}

} // namespace
} // namespace fovea::fixed
