// Which float calls are legal, from the words of fovea.h, without a look at how the library judges them.
#pragma once
#include <cmath>

#include "reference.hpp"
#include "rules.hpp"

namespace fuzz {

constexpr int32_t surely_allowed = 0x7fffffff -
                                   4 * 4096; // counts up to here; the header sets no limit of its own

// The same call, every stride of 0 replaced by what it stands for.
inline fovea_attention resolved(fovea_attention a) {
  resolve(a.q.head_stride, a.q.token_stride, a.queries, a.dim);
  if (a.k.layout == FOVEA_PANELS)
    resolve(a.k.head_stride, a.k.token_stride, (wide{a.keys} + 15) / 16 * 16, a.dim);
  else
    resolve(a.k.head_stride, a.k.token_stride, a.keys, a.dim);
  resolve(a.v.head_stride, a.v.token_stride, a.keys, reference::v_dim(a));
  resolve(a.out.head_stride, a.out.token_stride, a.queries, reference::v_dim(a));
  return a;
}

inline bool counts_are_legal(const fovea_attention& a, judge& j) {
  j.forbid(a.q_heads < 1 || a.kv_heads < 0 || a.kv_heads > a.q_heads, "heads out of range");
  if (!j.decided()) j.forbid(a.q_heads % reference::kv_heads(a) != 0, "heads that do not share evenly");
  j.forbid(a.dim < 1 || a.dim > 1024, "dim out of range");
  j.forbid(a.v_dim < 0 || a.v_dim > 1024, "v_dim out of range");
  j.forbid(a.queries < 0 || a.keys < 0 || a.first_key < 0, "a negative count");
  j.forbid(a.prefix < 0 || a.keep_first < 0, "a negative prefix");
  j.forbid(int64_t{a.first_key} + a.keys > INT32_MAX, "positions of keys beyond 31 bits");
  const bool many = a.q_heads > surely_allowed || a.queries > surely_allowed ||
                    int64_t{a.first_key} + a.keys > surely_allowed;
  j.leave_open(many, "counts at the end of 31 bits");
  return !j.decided();
}

inline void numbers_are_legal(const fovea_attention& a, judge& j) {
  int32_t reserved = a.ring | a.out.reserved | a.weights.reserved;
  j.forbid(reserved != 0, "a reserved word");
  j.forbid((a.flags & ~(FOVEA_CAUSAL | FOVEA_POSITION | FOVEA_WINDOW | FOVEA_SCALE)) != 0, "an unknown flag");
  for (const fovea_in* in : {&a.q, &a.k, &a.v}) {
    const bool unit = in->scale_unit < 0 || !(in->scale_unit <= 0); // or no number
    const bool numbers = in->scales != nullptr || in->scale_head_stride != 0 || in->scale_token_stride != 0 ||
                         in->zero_point != 0 || unit;
    j.forbid(in->dtype != FOVEA_F32 || numbers, "integers");
    j.forbid(in->layout != FOVEA_ROWS && !(in == &a.k && in->layout == FOVEA_PANELS), "an unknown layout");
    j.forbid(in->head_stride < 0 || in->token_stride < 0, "a negative stride");
  }
  j.forbid(a.out.head_stride < 0 || a.out.token_stride < 0, "a negative stride of out");
  j.forbid(a.out.dtype != FOVEA_F32 || a.out.zero_point != 0 || !(a.out.scale == 0), "integer output");
  j.forbid(a.k.layout == FOVEA_PANELS && (a.first_key % 16 != 0 || a.k.token_stride != 0),
           "panels that begin inside a panel");
  const float log2_e = 1.44269504f;
  if ((a.flags & FOVEA_SCALE) != 0) {
    const float scale2 = a.scale * log2_e;
    j.forbid(!std::isfinite(scale2), "a scale that is not finite");
    j.forbid(a.scale != 0 && std::fabs(scale2) < std::numeric_limits<float>::min(), "a denormal scale");
  }
  j.forbid(!(a.softcap >= 0) || !std::isfinite(a.softcap * log2_e), "a softcap that is not finite");
  if (a.softcap > 0) j.forbid(!std::isfinite(2 / a.softcap), "a softcap near 0");
  j.forbid(!(a.part.index == 0 && a.part.count == 0) && (a.part.index < 0 || a.part.index >= a.part.count),
           "a part that is none");
  j.forbid(fovea_has_isa(a.isa) == 0, "an ISA that is not here");
}

inline void numbers_of_heads(const fovea_attention& a, const float* x, bool readable, judge& j,
                             const char* why) {
  const range r = range_of(x, 1, 0, 1, 0, a.q_heads, 4);
  if (x == nullptr) return;
  j.read(j.cover(x, r, 4, why));
  for (int32_t h = 0; readable && !j.decided() && h < a.q_heads; ++h) {
    if (x == a.sinks && x[h] == static_cast<float>(reference::minus_infinity)) continue;
    j.forbid(!std::isfinite(x[h] * 1.44269504f), why);
  }
}

inline void weights_are_legal(const fovea_attention& a, judge& j) {
  const fovea_weights& w = a.weights;
  if (w.data == nullptr) return;
  const char* const why = "weights of rows that are not there";
  j.forbid(
      w.stage < 0 || w.stage > 3 || w.first_head < 0 || w.first_query < 0 || w.heads < 0 || w.queries < 0,
      why);
  j.forbid(w.first_head > a.q_heads || w.first_query > a.queries, why);
  j.forbid(w.heads > int64_t{a.q_heads} - w.first_head || w.queries > int64_t{a.queries} - w.first_query,
           why);
  if (j.decided()) return;
  const wide heads = w.heads == 0 ? a.q_heads - w.first_head : w.heads,
             queries = w.queries == 0 ? a.queries - w.first_query : w.queries;
  j.write(
      j.cover(w.data, range_of(w.data, heads, queries * a.keys, queries, a.keys, a.keys, 4), 4, "weights"),
      "weights overlap");
}

inline wide partials_needed(
    const fovea_attention& a) { // what the slots hold at least: sums, a top, outputs of each row and piece
  const wide rows = wide{a.queries} * a.q_heads,
             piece = rows <= 16 * wide{reference::kv_heads(a)} ? 256 : 4096;
  const wide pieces = a.keys == 0 ? 0 : (wide{a.first_key} + a.keys - 1) / piece - a.first_key / piece + 1;
  return rows * pieces * 4 * (16 + reference::v_dim(a));
}

// Whether q, k, v and out are float32. Of other types only this is judged: whether there is such a type.
inline bool is_of_floats(const fovea_attention& a) {
  return (a.q.dtype | a.k.dtype | a.v.dtype | a.out.dtype) == FOVEA_F32;
}
inline void types_are_known(const fovea_attention& a, judge& j) {
  for (int32_t dtype : {a.q.dtype, a.k.dtype, a.v.dtype, a.out.dtype})
    j.forbid(dtype < FOVEA_F32 || dtype > FOVEA_I8, "a type that attention does not take");
  j.forbid(a.q.dtype == FOVEA_I8 || a.out.dtype == FOVEA_I8, "integers");
  j.leave_open(true, "another type than float32");
}

// `readable`: numbers of heads stand in memory that can be looked at.
inline void judge_call(const fovea_attention& call, bool readable, judge& j) {
  if (!is_of_floats(call)) return types_are_known(call, j);
  numbers_are_legal(call, j);
  if (!counts_are_legal(call, j) || j.decided()) return;
  const fovea_attention a = resolved(call);
  const wide keys = a.k.layout == FOVEA_PANELS ? (wide{a.keys} + 15) / 16 * 16 : wide{a.keys};
  const wide kv_heads = reference::kv_heads(a), v_dim = reference::v_dim(a);
  j.read(j.cover(a.q.data,
                 range_of(a.q.data, a.q_heads, a.q.head_stride, a.queries, a.q.token_stride, a.dim, 4), 4,
                 "q"));
  j.read(j.cover(a.k.data, range_of(a.k.data, kv_heads, a.k.head_stride, keys, a.k.token_stride, a.dim, 4), 4,
                 "k"));
  j.read(j.cover(a.v.data, range_of(a.v.data, kv_heads, a.v.head_stride, a.keys, a.v.token_stride, v_dim, 4),
                 4, "v"));
  pattern_is_legal(a, j);
  numbers_of_heads(a, a.alibi, readable, j, "alibi");
  numbers_of_heads(a, a.sinks, readable, j, "sinks");
  if (a.mask.data != nullptr) {
    const fovea_mask& m = a.mask;
    j.forbid(m.head_stride < 0 || m.query_stride < 0 || m.keys < 0 || (m.is_bias != 0 && m.is_bias != 1),
             "a mask that is none");
    const wide element = m.is_bias != 0 ? 4 : 1, seen = m.keys == 0 || m.keys > a.keys ? a.keys : m.keys;
    const range r = range_of(m.data, a.q_heads, m.head_stride, a.queries, m.query_stride, seen, element);
    j.read(j.cover(m.data, r, static_cast<size_t>(element), "mask"));
  }
  j.forbid(!rows_apart(a.q_heads, a.out.head_stride, a.queries, a.out.token_stride, v_dim),
           "rows of out that share elements");
  const range out = range_of(a.out.data, a.q_heads, a.out.head_stride, a.queries, a.out.token_stride, v_dim,
                             4);
  j.write(j.cover(a.out.data, out, 4, "out"), "out overlaps an input");
  if (a.lse != nullptr)
    j.write(j.cover(a.lse, range_of(a.lse, a.q_heads, a.queries, 1, 0, a.queries, 4), 4, "lse"),
            "lse overlaps something");
  weights_are_legal(a, j);
  if (j.decided()) return;
  j.forbid(a.partials == nullptr && a.partials_size > 0, "partials without memory");
  if (a.partials == nullptr) return;
  j.forbid(a.weights.data != nullptr, "weights of split rows");
  j.forbid(static_cast<wide>(a.partials_size) < partials_needed(a), "partials that are too small");
  const size_t needed = j.decided() ? 0 : fovea_partials_size(&a);
  j.forbid(a.partials_size < needed, "partials that are too small");
  const range r = range_of(a.partials, 1, 0, 1, 0, static_cast<wide>(needed), 1);
  j.write(j.cover(a.partials, r, 4, "partials"), "partials overlap something");
}

} // namespace fuzz
