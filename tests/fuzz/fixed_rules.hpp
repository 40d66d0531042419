// Which integer calls are legal, from the words of fixed.h, without a look at how the library judges them.
#pragma once
#include "fixed_reference.hpp"
#include "fovea/fixed.h"
#include "rules.hpp"

namespace fuzz {

constexpr int32_t least_f32_exponent = 127 - 86;     // of the bits of a float
constexpr int32_t surely_allowed_fixed = 0x3fffffff; // counts up to here; the header sets no limit of its own

inline int32_t kv_heads(const fovea_fixed_attention& a) { return a.kv_heads == 0 ? a.q_heads : a.kv_heads; }
inline int32_t v_dim(const fovea_fixed_attention& a) { return a.v_dim == 0 ? a.dim : a.v_dim; }
inline bool in_panels(const fovea_fixed_attention& a) { return a.k.layout == FOVEA_PANELS; }
inline wide up_to(wide n, wide step) { return (n + step - 1) / step * step; }

// The same call, every stride of 0 of a tensor of rows replaced by what it stands for.
inline fovea_fixed_attention resolved(fovea_fixed_attention a) {
  resolve(a.q.head_stride, a.q.token_stride, a.queries, a.dim);
  if (!in_panels(a))
    resolve(a.k.head_stride, a.k.token_stride, a.keys, a.dim),
        resolve(a.v.head_stride, a.v.token_stride, a.keys, v_dim(a));
  resolve(a.out.head_stride, a.out.token_stride, a.queries, v_dim(a));
  return a;
}

inline bool fixed_counts_are_legal(const fovea_fixed_attention& a, judge& j) {
  j.forbid(a.q_heads < 1 || a.kv_heads < 0 || a.kv_heads > a.q_heads, "heads out of range");
  if (!j.decided()) j.forbid(a.q_heads % kv_heads(a) != 0, "heads that do not share evenly");
  j.forbid(a.dim < 1 || a.dim > 1024 || a.v_dim < 0 || a.v_dim > 1024, "dims out of range");
  j.forbid(a.queries < 0 || a.keys < 0 || a.first_key < 0 || a.prefix < 0 || a.keep_first < 0,
           "a negative count");
  j.forbid(a.max_keys < 0 || a.max_keys > 1 << 17, "max_keys out of range");
  j.forbid(int64_t{a.first_key} + a.keys > (a.max_keys == 0 ? 512 : a.max_keys), "more keys than max_keys");
  if (j.decided()) return false;
  const int64_t rows = int64_t{a.queries} * (a.q_heads / kv_heads(a));
  j.leave_open(a.q_heads > surely_allowed_fixed || rows > surely_allowed_fixed,
               "counts at the end of 30 bits");
  return true;
}

inline void fixed_types_are_legal(const fovea_fixed_attention& a, judge& j) {
  int32_t reserved = a.q.reserved | a.k.reserved | a.v.reserved;
  j.forbid(reserved != 0 || a.softcap != 0, "a reserved word or a softcap");
  j.forbid((a.flags & ~(FOVEA_CAUSAL | FOVEA_POSITION | FOVEA_WINDOW)) != 0, "an unknown flag");
  const bool s16 = a.q.dtype == FOVEA_FIXED_S16;
  j.forbid((!s16 && a.q.dtype != FOVEA_FIXED_S8) || a.k.dtype != a.q.dtype || a.v.dtype != a.q.dtype,
           "types");
  j.forbid(a.out.dtype < (s16 ? FOVEA_FIXED_S16 : FOVEA_FIXED_S8) || a.out.dtype > FOVEA_FIXED_F32,
           "the type of out");
  j.forbid(a.q.layout != FOVEA_ROWS || a.v.layout != a.k.layout ||
               (a.k.layout != FOVEA_ROWS && (s16 || !in_panels(a))),
           "layouts");
  j.forbid(in_panels(a) && (a.first_key % 64 != 0 || a.k.token_stride != 0 || a.v.token_stride != 0),
           "panels");
  j.forbid(a.weight_bits != 0 && a.weight_bits != 15 && !(a.weight_bits == 22 && s16), "weight_bits");
  const int32_t in = s16 ? 0 : 128, out = a.out.dtype == FOVEA_FIXED_S8    ? 128
                                          : a.out.dtype == FOVEA_FIXED_S16 ? 32768
                                                                           : 0;
  const auto reaches = [](int32_t zero, int32_t half) { return zero == 0 || (-half <= zero && zero < half); };
  j.forbid(!reaches(a.q.zero_point, in) || !reaches(a.k.zero_point, in) || !reaches(a.v.zero_point, in),
           "a zero point of an input");
  j.forbid(!reaches(a.out.zero_point, out), "the zero point of out");
  j.forbid(a.q.zero_point != 0 && a.key_sums.data == nullptr, "a zero point of q without key_sums");
  j.leave_open(a.v.zero_point != 0 && a.value_weights.data != nullptr, "weights of values with a zero point");
  j.forbid(!(a.part.index == 0 && a.part.count == 0) && (a.part.index < 0 || a.part.index >= a.part.count),
           "a part that is none");
  j.forbid(fovea_fixed_has_isa(a.isa) == 0, "an ISA that is not here");
}

inline void scale_is_legal(const fovea_fixed_attention& a, const fovea_fixed_scale& s, judge& j) {
  const bool s16 = a.q.dtype == FOVEA_FIXED_S16;
  j.forbid(s.score_multiplier < 1 || s.score_shift < 1 || s.score_shift > 31, "the scale of scores");
  j.forbid(s.score_pre_shift < 0 || s.score_pre_shift > (s16 ? 24 : 0), "score_pre_shift");
  if (a.out.dtype == FOVEA_FIXED_F32) {
    const auto exponent = static_cast<int32_t>(s.f32_scale >> 23);
    j.forbid(exponent < least_f32_exponent || exponent > 254, "f32_scale");
  } else {
    j.forbid(s.out_multiplier < 1 || s.out_shift < -30 || s.out_shift > 20, "the scale of out");
  }
  if (j.decided()) return;
  const wide product = s16                                          ? wide{1} << 30
                       : a.q.zero_point != 0 || a.k.zero_point != 0 ? 255 * 255
                                                                    : 128 * 128;
  const wide score = (product * a.dim) >> s.score_pre_shift, limit = wide{1} << 28;
  j.forbid((score * s.score_multiplier) >> s.score_shift >= limit || score >> 31 != 0,
           "scores that reach 4,096 octaves");
  j.leave_open(((score + 1) * s.score_multiplier) >> s.score_shift >= limit, "scores close to 4,096 octaves");
}

inline void tables_are_legal(const fovea_fixed_attention& a, judge& j) {
  const auto table = [&](const void* data, wide heads, ptrdiff_t head, wide rows, ptrdiff_t row, wide count,
                         size_t element, const char* why) {
    if (data == nullptr) return;
    j.forbid(head < 0 || row < 0, why);
    if (!j.decided())
      j.read(j.cover(data, range_of(data, heads, head, rows, row, count, static_cast<wide>(element)), element,
                     why));
  };
  const auto per_key = [&](const fovea_fixed_per_key& x, size_t element, const char* why) {
    table(x.data, kv_heads(a), x.head_stride == 0 ? a.keys : x.head_stride, 1, 0, a.keys, element, why);
  };
  per_key(a.key_multipliers, 4, "key_multipliers");
  per_key(a.key_sums, 4, "key_sums");
  per_key(a.value_weights, 2, "value_weights");
  table(a.mask.data, a.q_heads, a.mask.head_stride, a.queries, a.mask.query_stride, a.keys, 1, "mask");
  table(a.bias.data, a.q_heads, a.bias.head_stride, a.queries, a.bias.query_stride, a.keys, 4, "bias");
  table(a.alibi, 1, 0, 1, 0, a.q_heads, 4, "alibi");
  table(a.sinks, 1, 0, 1, 0, a.q_heads, 4, "sinks");
  pattern_is_legal(a, j);
}

inline range head_scales_of(const fovea_fixed_attention& a) {
  return range_of(a.head_scales, 1, 0, 1, 0, a.q_heads, sizeof(fovea_fixed_scale));
}

// `scales`: the scales of heads stand in memory that can be looked at.
inline void judge_call(const fovea_fixed_attention& call, bool scales, judge& j) {
  if (!fixed_counts_are_legal(call, j)) return;
  fixed_types_are_legal(call, j);
  if (call.head_scales != nullptr) j.read(j.cover(call.head_scales, head_scales_of(call), 4, "head_scales"));
  if (j.decided()) return;
  for (int32_t h = 0; h < (call.head_scales == nullptr ? 1 : scales ? call.q_heads : 0) && !j.decided(); ++h)
    scale_is_legal(call, call.head_scales == nullptr ? call.scale : call.head_scales[h], j);
  tables_are_legal(call, j);
  const fovea_fixed_attention a = resolved(call);
  for (ptrdiff_t stride : {a.q.head_stride, a.q.token_stride, a.k.head_stride, a.k.token_stride,
                           a.v.head_stride, a.v.token_stride, a.out.head_stride, a.out.token_stride})
    j.forbid(stride < 0, "a negative stride");
  if (j.decided()) return;
  const size_t in = a.q.dtype == FOVEA_FIXED_S16 ? 2 : 1, out = size_t{1} << a.out.dtype;
  const auto tensor = [&](const void* data, wide heads, wide head, wide tokens, wide token, wide dim,
                          size_t element, const char* why) {
    return j.cover(data, range_of(data, heads, head, tokens, token, dim, static_cast<wide>(element)), element,
                   why);
  };
  const auto panels = [&](const fovea_fixed_in& x, wide dim, const char* why) {
    const wide head = up_to(a.keys, 64) * up_to(dim, 16);
    return tensor(x.data, kv_heads(a), x.head_stride == 0 ? head : wide{x.head_stride}, a.keys > 0, 0, head,
                  1, why);
  };
  j.read(tensor(a.q.data, a.q_heads, a.q.head_stride, a.queries, a.q.token_stride, a.dim, in, "q"));
  if (in_panels(a)) {
    j.read(panels(a.k, a.dim, "k"));
    j.read(panels(a.v, v_dim(a), "v"));
  } else {
    j.read(tensor(a.k.data, kv_heads(a), a.k.head_stride, a.keys, a.k.token_stride, a.dim, in, "k"));
    j.read(tensor(a.v.data, kv_heads(a), a.v.head_stride, a.keys, a.v.token_stride, v_dim(a), in, "v"));
  }
  j.forbid(!rows_apart(a.q_heads, a.out.head_stride, a.queries, a.out.token_stride, v_dim(a)),
           "rows of out that share elements");
  j.write(
      tensor(a.out.data, a.q_heads, a.out.head_stride, a.queries, a.out.token_stride, v_dim(a), out, "out"),
      "out overlaps an input");
}

} // namespace fuzz
