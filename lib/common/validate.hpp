// What the validation of float calls and that of integer calls share. Calls and plans of both have fields of
// the same names.
#pragma once
#include "common/range.hpp"
#include "common/visible.hpp"
#include "fovea/fovea.h"

// For code that runs once per call: small rather than fast.
#if defined(__clang__)
#define FOVEA_ONCE __attribute__((noinline, cold, minsize))
#else
#define FOVEA_ONCE __attribute__((noinline, cold))
#endif

namespace fovea {

constexpr int32_t refusal(int32_t reason, int32_t argument) { return reason | argument << 8; }

// n and d are not negative, so small cores need less code.
constexpr int32_t quotient(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) / static_cast<uint32_t>(b));
}

template <class Call, class Plan>
static inline int32_t check_shape(const Call& a, int32_t greatest_dim, int32_t greatest_count, Plan& p) {
  if (a.q_heads < 1 || a.q_heads > greatest_count) return refusal(FOVEA_SIZE, FOVEA_ARG_HEADS);
  if (a.kv_heads < 0 || a.kv_heads > a.q_heads) return refusal(FOVEA_SIZE, FOVEA_ARG_HEADS);
  p.kv_heads = a.kv_heads ? a.kv_heads : a.q_heads;
  p.group = quotient(a.q_heads, p.kv_heads);
  if (p.group * p.kv_heads != a.q_heads) return refusal(FOVEA_SIZE, FOVEA_ARG_HEADS);
  if (a.dim < 1 || a.dim > greatest_dim) return refusal(FOVEA_SIZE, FOVEA_ARG_DIM);
  if (a.v_dim < 0 || a.v_dim > greatest_dim) return refusal(FOVEA_SIZE, FOVEA_ARG_V_DIM);
  p.dim = a.dim;
  p.v_dim = a.v_dim ? a.v_dim : a.dim;
  if (a.queries < 0 || a.queries > greatest_count) return refusal(FOVEA_SIZE, FOVEA_ARG_QUERIES);
  if (a.keys < 0 || a.keys > greatest_count) return refusal(FOVEA_SIZE, FOVEA_ARG_KEYS);
  if (a.first_key < 0 || a.first_key > greatest_count - a.keys)
    return refusal(FOVEA_RANGE, FOVEA_ARG_FIRST_KEY);
  return FOVEA_OK;
}

// Numbers of a pattern, but not its tree: that is tree.hpp's.
template <class Call>
int32_t check_pattern(const Call& a) {
  if (!a.pattern) return FOVEA_OK;
  const fovea_pattern& x = *a.pattern;
  if (x.reserved[0] | x.reserved[1] | x.reserved[2] | x.reserved[3])
    return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_RESERVED);
  if (x.chunk < 0) return refusal(FOVEA_RANGE, FOVEA_ARG_CHUNK);
  return x.chunk && x.parents ? refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_CHUNK) : int32_t{FOVEA_OK};
}

template <class Call>
int32_t check_visibility(const Call& a, visibility& s) {
  if (a.prefix < 0) return refusal(FOVEA_RANGE, FOVEA_ARG_PREFIX);
  if (a.keep_first < 0) return refusal(FOVEA_RANGE, FOVEA_ARG_KEEP_FIRST);
  if (const int32_t status = check_pattern(a)) return status;
  const bool causal = a.flags & FOVEA_CAUSAL, window = a.flags & FOVEA_WINDOW;
  s.chunk = a.pattern ? a.pattern->chunk : 0;
  s.chunks_left = s.chunk && a.pattern->left_chunks >= 0 ? s.chunk * a.pattern->left_chunks : unbounded;
  s.tree = false;
  s.first_key = a.first_key;
  s.end = static_cast<int64_t>(a.first_key) + a.keys;
  s.position = a.flags & FOVEA_POSITION ? a.position : s.end - a.queries;
  s.left = window && a.window_left >= 0 ? a.window_left : unbounded;
  s.right = window && a.window_right >= 0 ? a.window_right : unbounded;
  if (causal) s.right = smaller(s.right, 0);
  s.prefix = a.prefix;
  s.keep = window || s.chunk ? a.keep_first : 0;
  s.ending = causal ? 1 : unbounded;
  return FOVEA_OK;
}

template <class Plan>
static inline int32_t check_part(const fovea_part& part, Plan& p) {
  p.part = part.index;
  p.parts = part.count ? part.count : 1;
  return part.index < 0 || part.index >= p.parts ? refusal(FOVEA_RANGE, FOVEA_ARG_PART) : int32_t{FOVEA_OK};
}

// Rows of an output must not share an element: tokens lie within heads, or heads within tokens.
static inline bool rows_apart(const extent& e) {
  if (e.heads == 0 || e.tokens == 0) return true;
  if ((e.tokens > 1 && e.token_stride < e.row) || (e.heads > 1 && e.head_stride < e.row)) return false;
  const bool in_heads = e.heads == 1 || e.head_stride >= (e.tokens - 1) * e.token_stride + e.row;
  const bool in_tokens = e.tokens == 1 || e.token_stride >= (e.heads - 1) * e.head_stride + e.row;
  return in_heads || in_tokens;
}

// Where a tensor stands: strides of 0 become numbers in e, whose counts are given; returns the reason to
// refuse it, or FOVEA_OK.
template <bool LookForDense = !multiplies_slowly>
static inline int32_t place(const void* data, ptrdiff_t head_stride, ptrdiff_t token_stride, size_t element,
                            bool written, extent& e, byte_range& bytes) {
  if ((head_stride | token_stride) < 0) return FOVEA_STRIDE;
  const bool dense = LookForDense &&
                     !(head_stride | token_stride); // then its bytes are a product, and its rows lie apart
  e.token_stride = token_stride ? token_stride : e.row;
  e.head_stride = head_stride;
  if (!head_stride &&
      __builtin_mul_overflow(static_cast<ptrdiff_t>(e.tokens), e.token_stride, &e.head_stride))
    return FOVEA_OVERFLOW;
  size_t size;
  if (!(dense ? dense_bytes_of(e, element, size) : bytes_of(e, element, size)) ||
      !range_of(data, size, bytes))
    return FOVEA_OVERFLOW;
  if (written && !dense && !rows_apart(e)) return FOVEA_STRIDE;
  if (size && !data) return FOVEA_NULL;
  return (bytes.begin & (element - 1)) == 0 ? FOVEA_OK : FOVEA_ALIGN; // element is a power of two
}

// What a call touches other than its scratch: in[] and to[] of a plan's `bytes`.
template <class Plan>
static inline bool meets_any(const Plan& p, byte_range scratch) {
  for (const byte_range& r : p.bytes.in)
    if (meet(r, scratch)) return true;
  for (const byte_range& r : p.bytes.to)
    if (meet(r, scratch)) return true;
  return false;
}

// The bytes of scratch that a call needs; 0 if it is refused.
template <class Plan, class Call>
size_t scratch_of(const Call* call, int32_t (*make)(const Call*, Plan&), size_t (*size)(const Plan&)) {
  Plan p;
  return make(call, p) ? 0 : size(p);
}

// Scratch is memory that nothing else of the call touches, or is refused.
template <class Plan>
static inline int32_t check_scratch(const Plan& p, void* scratch, size_t size) {
  if (!scratch) return refusal(FOVEA_NULL, FOVEA_ARG_SCRATCH);
  byte_range bytes;
  if (!range_of(scratch, size, bytes)) return refusal(FOVEA_OVERFLOW, FOVEA_ARG_SCRATCH);
  return meets_any(p, bytes) ? refusal(FOVEA_OVERLAP, FOVEA_ARG_SCRATCH) : int32_t{FOVEA_OK};
}
// It becomes a workspace, or is refused.
template <class Plan, class Workspace>
static inline int32_t take_scratch(const Plan& p, void* scratch, size_t size, Workspace& w) {
  if (const int32_t s = check_scratch(p, scratch, size)) return s;
  return make_workspace(p, scratch, size, w) ? int32_t{FOVEA_OK}
                                             : refusal(FOVEA_TOO_SMALL, FOVEA_ARG_SCRATCH);
}

} // namespace fovea
