// What the validation of float calls and that of integer calls share. Calls and plans of both have fields of the same names.
#pragma once
#include "fovea/fovea.h"
#include "range.hpp"
#include "visible.hpp"

#define FOVEA_ONCE __attribute__((noinline, cold)) // what runs once a call should be small, not fast

namespace fovea {

constexpr int32_t refusal(int32_t reason, int32_t argument) { return reason | argument << 8; }

template <class Call, class Plan>
int32_t check_shape(const Call& a, int32_t greatest_dim, int32_t greatest_count, Plan& p) {
  if (a.q_heads < 1 || a.q_heads > greatest_count) return refusal(FOVEA_SIZE, FOVEA_ARG_HEADS);
  if (a.kv_heads < 0 || a.kv_heads > a.q_heads) return refusal(FOVEA_SIZE, FOVEA_ARG_HEADS);
  p.kv_heads = a.kv_heads ? a.kv_heads : a.q_heads;
  if (a.q_heads % p.kv_heads != 0) return refusal(FOVEA_SIZE, FOVEA_ARG_HEADS);
  p.group = a.q_heads / p.kv_heads;
  if (a.dim < 1 || a.dim > greatest_dim) return refusal(FOVEA_SIZE, FOVEA_ARG_DIM);
  if (a.v_dim < 0 || a.v_dim > greatest_dim) return refusal(FOVEA_SIZE, FOVEA_ARG_V_DIM);
  p.dim = a.dim;
  p.v_dim = a.v_dim ? a.v_dim : a.dim;
  if (a.queries < 0 || a.queries > greatest_count) return refusal(FOVEA_SIZE, FOVEA_ARG_QUERIES);
  if (a.keys < 0 || a.keys > greatest_count) return refusal(FOVEA_SIZE, FOVEA_ARG_KEYS);
  if (a.first_key < 0 || a.first_key > greatest_count - a.keys) return refusal(FOVEA_RANGE, FOVEA_ARG_FIRST_KEY);
  return FOVEA_OK;
}

template <class Call>
int32_t check_visibility(const Call& a, visibility& s) {
  if (a.prefix < 0) return refusal(FOVEA_RANGE, FOVEA_ARG_PREFIX);
  if (a.keep_first < 0) return refusal(FOVEA_RANGE, FOVEA_ARG_KEEP_FIRST);
  const bool causal = a.flags & FOVEA_CAUSAL, window = a.flags & FOVEA_WINDOW;
  s.first_key = a.first_key;
  s.end = static_cast<int64_t>(a.first_key) + a.keys;
  s.position = a.flags & FOVEA_POSITION ? a.position : s.end - a.queries;
  s.left = window && a.window_left >= 0 ? a.window_left : unbounded;
  s.right = window && a.window_right >= 0 ? a.window_right : unbounded;
  if (causal) s.right = smaller(s.right, 0);
  s.prefix = a.prefix;
  s.keep = window ? a.keep_first : 0;
  s.ending = causal ? 1 : unbounded;
  return FOVEA_OK;
}

template <class Plan>
int32_t check_part(const fovea_part& part, Plan& p) {
  const bool all = part.index == 0 && part.count == 0;
  if (!all && (part.index < 0 || part.index >= part.count)) return refusal(FOVEA_RANGE, FOVEA_ARG_PART);
  p.part = part.index;
  p.parts = all ? 1 : part.count;
  return FOVEA_OK;
}

// Rows of an output must not share an element: tokens lie within heads, or heads within tokens.
inline bool rows_apart(const extent& e) {
  if (e.heads == 0 || e.tokens == 0) return true;
  if ((e.tokens > 1 && e.token_stride < e.row) || (e.heads > 1 && e.head_stride < e.row)) return false;
  const bool in_heads = e.heads == 1 || e.head_stride >= (e.tokens - 1) * e.token_stride + e.row;
  const bool in_tokens = e.tokens == 1 || e.token_stride >= (e.heads - 1) * e.head_stride + e.row;
  return in_heads || in_tokens;
}

// Where a tensor stands: strides of 0 become numbers in e, whose counts are given; returns the reason to refuse it, or FOVEA_OK.
__attribute__((noinline)) inline int32_t place(const void* data, ptrdiff_t head_stride, ptrdiff_t token_stride, size_t element,
                                               bool written, extent& e, byte_range& bytes) {
  if (head_stride < 0 || token_stride < 0) return FOVEA_STRIDE;
  e.token_stride = token_stride ? token_stride : e.row;
  e.head_stride = head_stride;
  if (!head_stride && __builtin_mul_overflow(static_cast<ptrdiff_t>(e.tokens), e.token_stride, &e.head_stride)) return FOVEA_OVERFLOW;
  size_t size;
  if (!bytes_of(e, element, size) || !range_of(data, size, bytes)) return FOVEA_OVERFLOW;
  if (written && !rows_apart(e)) return FOVEA_STRIDE;
  if (size && !data) return FOVEA_NULL;
  return (bytes.begin & (element - 1)) == 0 ? FOVEA_OK : FOVEA_ALIGN; // element is a power of two
}

// What a call touches beside its scratch: in[] and to[] of a plan's `bytes`.
template <class Footprint>
bool meets_any(const Footprint& f, byte_range scratch) {
  for (const byte_range& r : f.in)
    if (meet(r, scratch)) return true;
  for (const byte_range& r : f.to)
    if (meet(r, scratch)) return true;
  return false;
}

// The bytes of scratch that a call asks for; 0 if it is refused.
template <class Plan, class Call>
size_t scratch_of(const Call* call, int32_t (*make)(const Call*, Plan&), size_t (*size)(const Plan&)) {
  Plan p;
  return make(call, p) ? 0 : size(p);
}

// Scratch becomes a workspace, or is refused.
template <class Plan, class Workspace>
int32_t take_scratch(const Plan& p, void* scratch, size_t size, Workspace& w) {
  if (!scratch) return refusal(FOVEA_NULL, FOVEA_ARG_SCRATCH);
  byte_range bytes;
  if (!range_of(scratch, size, bytes)) return refusal(FOVEA_OVERFLOW, FOVEA_ARG_SCRATCH);
  if (meets_any(p.bytes, bytes)) return refusal(FOVEA_OVERLAP, FOVEA_ARG_SCRATCH);
  return make_workspace(p, scratch, size, w) ? int32_t{FOVEA_OK} : refusal(FOVEA_TOO_SMALL, FOVEA_ARG_SCRATCH);
}

} // namespace fovea
