// Ways to break a good call in one place. Each returns the argument to blame, or 0 when it cannot break this
// call.
#pragma once
#include <iterator>
#include <limits>

#include "data.hpp"
#include "fovea/fovea.h"
#include "reference.hpp"

namespace breaches {

struct breach {
  const char* why;
  int32_t (*commit)(fovea_attention&, data::lottery&);
};

struct word { // of a call, and the argument that it belongs to
  int32_t* at;
  int32_t argument;
};

constexpr float no_number = std::numeric_limits<float>::quiet_NaN(),
                infinite = std::numeric_limits<float>::infinity();

struct tensor_of_call {
  const void** data;
  ptrdiff_t *head_stride, *token_stride;
  int32_t argument, heads, tokens, dim;

  bool empty() const { return heads == 0 || tokens == 0; }
};

inline tensor_of_call draw_tensor(fovea_attention& a, data::lottery& lot) {
  const int32_t kv_heads = reference::kv_heads(a), v_dim = reference::v_dim(a);
  const tensor_of_call all[] = {
      {&a.q.data, &a.q.head_stride, &a.q.token_stride, FOVEA_ARG_Q, a.q_heads, a.queries, a.dim},
      {&a.k.data, &a.k.head_stride, &a.k.token_stride, FOVEA_ARG_K, kv_heads, a.keys, a.dim},
      {&a.v.data, &a.v.head_stride, &a.v.token_stride, FOVEA_ARG_V, kv_heads, a.keys, v_dim},
      {const_cast<const void**>(&a.out.data), &a.out.head_stride, &a.out.token_stride, FOVEA_ARG_OUT,
       a.q_heads, a.queries, v_dim},
  };
  return lot.one_of(all);
}

inline int32_t negative(data::lottery& lot) { return lot.one_in(2) ? -1 : lot.between(INT32_MIN, -1); }
inline int32_t set(word w, int32_t value) { return *w.at = value, w.argument; }

inline int32_t misplace(fovea_attention& a, data::lottery& lot) {
  const tensor_of_call t = draw_tensor(a, lot);
  if (lot.one_in(2)) return *t.data = static_cast<const char*>(*t.data) + lot.between(1, 3), t.argument;
  return t.empty() ? 0 : (*t.data = nullptr, t.argument);
}
inline int32_t spoil_stride(fovea_attention& a, data::lottery& lot) {
  const tensor_of_call t = draw_tensor(a, lot);
  if (lot.one_in(2)) return *(lot.one_in(2) ? t.head_stride : t.token_stride) = negative(lot), t.argument;
  return t.empty() || t.tokens == 1 ? 0 : (*t.token_stride = PTRDIFF_MAX / lot.between(1, 3), t.argument);
}
inline int32_t overlap_rows(fovea_attention& a, data::lottery& lot) {
  if (a.queries < 2 || reference::v_dim(a) < 2) return 0;
  return a.out.token_stride = lot.between(1, reference::v_dim(a) - 1), FOVEA_ARG_OUT;
}
inline int32_t write_to_input(fovea_attention& a, data::lottery& lot) {
  const tensor_of_call t = draw_tensor(a, lot);
  if (t.empty() || a.queries == 0 || t.argument == FOVEA_ARG_OUT) return 0;
  return a.out.data = static_cast<float*>(const_cast<void*>(*t.data)) + lot.between(0, t.dim - 1),
         FOVEA_ARG_OUT;
}
inline int32_t write_twice(fovea_attention& a, data::lottery& lot) {
  if (a.queries == 0) return 0;
  return a.lse = static_cast<float*>(a.out.data) + lot.between(0, reference::v_dim(a) - 1), FOVEA_ARG_LSE;
}
inline int32_t count_below_none(fovea_attention& a, data::lottery& lot) {
  const word counts[] = {{&a.q_heads, FOVEA_ARG_HEADS},
                         {&a.kv_heads, FOVEA_ARG_HEADS},
                         {&a.dim, FOVEA_ARG_DIM},
                         {&a.v_dim, FOVEA_ARG_V_DIM},
                         {&a.queries, FOVEA_ARG_QUERIES},
                         {&a.keys, FOVEA_ARG_KEYS},
                         {&a.prefix, FOVEA_ARG_PREFIX},
                         {&a.keep_first, FOVEA_ARG_KEEP_FIRST},
                         {&a.first_key, FOVEA_ARG_FIRST_KEY},
                         {&a.part.index, FOVEA_ARG_PART}};
  return set(lot.one_of(counts), negative(lot));
}
inline int32_t count_too_much(fovea_attention& a, data::lottery& lot) {
  const word counts[] = {{&a.dim, FOVEA_ARG_DIM},
                         {&a.v_dim, FOVEA_ARG_V_DIM},
                         {&a.kv_heads, FOVEA_ARG_HEADS},
                         {&a.part.index, FOVEA_ARG_PART}};
  if (a.keys > 1 && lot.one_in(5))
    return a.first_key = INT32_MAX - lot.between(0, a.keys - 2), FOVEA_ARG_FIRST_KEY;
  return set(lot.one_of(counts), lot.one_in(2) ? 1025 : lot.between(1025, INT32_MAX));
}
inline int32_t ask_for_later_features(fovea_attention& a, data::lottery& lot) {
  fovea_in* const inputs[] = {&a.q, &a.k, &a.v};
  const int32_t which = lot.between(0, 2), argument = FOVEA_ARG_Q + which, later = FOVEA_ARG_RESERVED;
  fovea_in& in = *inputs[which];
  if (lot.one_in(12)) return in.scale_unit = 1, argument;
  const word words[] = {{&a.out.reserved, later},
                        {&a.weights.reserved, later},
                        {&in.dtype, argument},
                        {&in.layout, argument},
                        {&in.zero_point, argument},
                        {&a.out.dtype, FOVEA_ARG_OUT},
                        {&a.out.zero_point, FOVEA_ARG_OUT},
                        {&a.ring, FOVEA_ARG_RING},
                        {&a.isa, FOVEA_ARG_ISA}};
  if (lot.one_in(4)) return a.flags |= lot.one_in(2) ? 16 << lot.between(0, 26) : INT32_MIN, FOVEA_ARG_FLAGS;
  return set(lot.one_of(words), lot.one_in(2) ? negative(lot) : FOVEA_ISA_END + lot.between(0, 9));
}
inline int32_t spoil_numbers(fovea_attention& a, data::lottery& lot) {
  const float caps[] = {no_number, infinite, -infinite, -5, 3e38f, 1e-39f},
              scales[] = {no_number, infinite, -infinite, 3e38f};
  if (lot.one_in(2)) return a.softcap = lot.one_of(caps), FOVEA_ARG_SOFTCAP;
  return a.flags |= FOVEA_SCALE, a.scale = lot.one_of(scales), FOVEA_ARG_SCALE;
}
inline int32_t spoil_mask(fovea_attention& a, data::lottery& lot) {
  if (a.mask.data == nullptr) return 0;
  if (lot.one_in(3)) return a.mask.keys = negative(lot), FOVEA_ARG_MASK;
  return *(lot.one_in(2) ? &a.mask.head_stride : &a.mask.query_stride) = negative(lot), FOVEA_ARG_MASK;
}
inline int32_t spoil_weights(fovea_attention& a, data::lottery& lot) {
  fovea_weights& w = a.weights;
  if (w.data == nullptr) return 0;
  const int32_t argument = FOVEA_ARG_WEIGHTS, more = lot.between(1, 9);
  if (lot.one_in(3)) return set({lot.one_in(2) ? &w.first_head : &w.first_query, argument}, negative(lot));
  if (lot.one_in(3)) return set({&w.stage, argument}, 3 + more);
  if (lot.one_in(2)) return set({&w.heads, argument}, a.q_heads - w.first_head + more);
  return set({&w.queries, argument}, a.queries - w.first_query + more);
}

inline const breach all[] = {
    {"data that is missing or no address of a float", misplace},
    {"a stride backwards or beyond all memory", spoil_stride},
    {"rows of results that overlap", overlap_rows},
    {"results within an input", write_to_input},
    {"a log-sum-exp within the results", write_twice},
    {"a negative count", count_below_none},
    {"a count that is too large", count_too_much},
    {"a word that means nothing yet", ask_for_later_features},
    {"a scale or softcap of no use", spoil_numbers},
    {"a mask that ends before it begins", spoil_mask},
    {"weights of rows that are not there", spoil_weights},
};

} // namespace breaches
