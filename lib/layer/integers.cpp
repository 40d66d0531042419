// Attention of a layer in int8. q, k and v of a KV head get a scale each, from the tokens that count; or each
// key and each value has one of its own. A head that int8 cannot hold is attended to in float32: NaN,
// infinity, scores beyond 4,096 octaves. docs/fixed_point.md, "Layers".
#include "common/build.hpp"

#include "layer/integers.hpp"

#include "common/square_root.hpp"
#include "f32/kernel.hpp"
#include "f32/kernel/exp2.hpp"
#include "fovea/fixed.h"

namespace fovea::layer {
namespace {

constexpr int64_t up64(int64_t n) { return (n + 63) / 64 * 64; }
constexpr int32_t greatest_keys = 1 << 17;
constexpr int32_t greatest_weight = 32767;

// mantissa * 2^exponent, the mantissa from 1 to 2.
struct split_float {
  float mantissa;
  int32_t exponent;
};
split_float split(float x) {
  const uint32_t bits = bits_of(x);
  return {float_of((bits & 0x7fffffu) | 0x3f800000u), static_cast<int32_t>(bits >> 23) - 127};
}

// From scores of integers to octaves in Q16: q k scale log2(e) 2^16 as multiplier * 2^-shift. False if scores
// could reach 2^28.
bool set_scores(float q, float k, float scale, int32_t dim, fovea_fixed_scale& to) {
  if (!(scale > 0) || is_denormal(scale)) return false;
  const split_float a = split(q), b = split(k), c = split(scale),
                    all = split(a.mantissa * b.mantissa * c.mantissa * f32::log2_e);
  uint64_t multiplier = static_cast<uint64_t>((bits_of(all.mantissa) & 0x7fffffu) | 0x800000u) << 7;
  int32_t shift = 30 - 16 - (a.exponent + b.exponent + c.exponent + all.exponent);
  if (shift < 1) return false;
  const int32_t more = shift > 31 ? shift - 31 : 0; // very flat scores
  multiplier = more > 31 ? 0 : multiplier >> more;
  shift -= more;
  to.score_multiplier = multiplier ? static_cast<int32_t>(multiplier) : 1;
  to.score_shift = shift;
  const uint64_t largest_score = uint64_t{128 * 128} * static_cast<uint32_t>(dim) + 1;
  return (multiplier * largest_score) >> shift < uint64_t{1} << 28;
}

// What sums are divided by for as many keys, as docs/fixed_point.md has it, belongs to the scale of v.
bool set_output(float v, int32_t keys, fovea_fixed_scale& to) {
  float unit = v;
  for (int32_t most = 512; most < keys; most *= 2) unit *= 2;
  to.f32_scale = bits_of(unit);
  return unit >= 0x1p-80f && unit <= 0x1p120f;
}

// The largest magnitude of some rows; negative if some number of them is none.
float largest_of(int32_t place, const f32::float_rows& rows) {
  f32::float_range range = {};
  f32::run_at(place, f32::range_job{rows, &range});
  constexpr uint32_t infinity = 0x7f800000u, sign = 0x80000000u;
  if (static_cast<uint32_t>(range.high) >= infinity || range.low >= (infinity | sign)) return -1;
  const float high = float_of(static_cast<uint32_t>(range.high)), low = float_of(range.low);
  return high > -low ? high : -low;
}

// Rows become integers with one scale, or each with its own, at `scales` if that is not null; false if int8
// cannot hold them. `scale` is that of the largest number.
bool quantize(int32_t place, const f32::float_rows& rows, int8_t* out, float* scales, float& scale) {
  const float largest = largest_of(place, rows);
  if (largest < 0) return false;
  scale = f32::scale_of(largest, 127);
  f32::run_at(place, f32::quantize_job{rows, scale, largest, 0, scales, out, nullptr});
  return true;
}

// Which part of `largest` a scale is, in units of 2^-30. Rows of zeros, which any scale suits, may be above.
// At most 2^30, so int32_t holds it. A conversion to int64_t links 1.6 KB of software doubles on a M4F.
int64_t share_of(float scale, float largest) {
  return scale < largest ? static_cast<int32_t>(scale / largest * 0x1p30f) : int32_t{1} << 30;
}
int32_t rounded_part(int64_t share, int32_t whole) {
  return static_cast<int32_t>((share * whole + (int64_t{1} << 29)) >> 30);
}

struct integer_rows {
  int8_t *q, *k, *v;
  float *mean, *centred; // the mean key, and keys relative to it
  float* scales;         // of keys, then of values; null where a head has one of each
  int32_t* multipliers;
  int16_t* weights;
};
integer_rows cut(const integer_head& head, void* at) {
  const fovea_attention& a = head.a;
  integer_rows rows;
  rows.q = static_cast<int8_t*>(at);
  rows.k = rows.q + up64(int64_t{a.queries} * a.q_heads * a.dim);
  rows.v = rows.k + up64(int64_t{a.keys} * a.dim);
  rows.mean = reinterpret_cast<float*>(rows.v + up64(int64_t{a.keys} * a.v_dim));
  rows.centred = rows.mean + up64(a.dim);
  rows.scales = nullptr;
  rows.multipliers = nullptr;
  rows.weights = nullptr;
  if (!head.p.weights->token_scales) return rows;
  rows.scales = rows.centred + up64(int64_t{a.keys} * a.dim);
  rows.multipliers = reinterpret_cast<int32_t*>(rows.scales + up64(a.keys));
  rows.weights = reinterpret_cast<int16_t*>(rows.multipliers + up64(a.keys));
  return rows;
}

f32::float_rows rows_of(const fovea_in& in, int32_t columns, int32_t rows) {
  return {static_cast<const float*>(in.data), in.token_stride, columns, rows};
}

bool quantize_queries(const integer_head& head, const integer_rows& rows, float& scale) {
  const fovea_attention& a = head.a;
  const int32_t columns = a.q_heads * a.dim;
  const size_t width = static_cast<size_t>(columns), counting = static_cast<size_t>(head.counting) * width;
  std::memset(rows.q + counting, 0, static_cast<size_t>(a.queries) * width - counting); // of padding
  return quantize(head.p.place, rows_of(a.q, columns, head.counting), rows.q, nullptr, scale);
}

// Relative to their mean, which changes no softmax, keys have a finer scale.
bool quantize_keys(const integer_head& head, const integer_rows& rows, float& scale) {
  const fovea_attention& a = head.a;
  const int32_t place = head.p.place;
  const f32::float_rows keys = rows_of(a.k, a.dim, a.keys);
  const float largest = largest_of(place, keys);
  if (largest < 0 || largest > 1e38f) return false;
  for (int32_t c = 0; c < a.dim; ++c) rows.mean[c] = 0;
  f32::run_at(place, f32::columns_job{f32::columns_job::means, keys, nullptr, rows.mean});
  f32::run_at(place, f32::columns_job{f32::columns_job::difference, keys, rows.mean, rows.centred});
  return quantize(place, {rows.centred, a.dim, a.dim, a.keys}, rows.k, rows.scales, scale);
}

fovea_fixed_attention call_of(const integer_head& head, const integer_rows& rows) {
  const fovea_attention& a = head.a;
  fovea_fixed_attention f = {};
  f.q.data = rows.q;
  f.q.head_stride = a.dim;
  f.q.token_stride = static_cast<ptrdiff_t>(a.q_heads) * a.dim;
  f.k.data = rows.k;
  f.v.data = rows.v;
  f.out.data = a.out.data;
  f.out.head_stride = a.out.head_stride;
  f.out.token_stride = a.out.token_stride;
  f.out.dtype = FOVEA_FIXED_F32;
  f.q_heads = a.q_heads;
  f.kv_heads = 1;
  f.dim = a.dim;
  f.v_dim = a.v_dim;
  f.queries = a.queries;
  f.keys = a.keys;
  f.flags = a.flags & ~FOVEA_SCALE;
  f.position = a.position;
  f.window_left = a.window_left;
  f.window_right = a.window_right;
  f.prefix = a.prefix;
  f.keep_first = a.keep_first;
  f.pattern = a.pattern;
  f.max_keys = a.keys;
  f.mask = {a.mask.data, a.mask.head_stride, a.mask.query_stride};
  f.key_multipliers.data = rows.multipliers;
  f.value_weights.data = rows.weights;
  f.isa = head.p.call->fixed_isa;
  f.scale = {1 << 30, 31, 0, 0, 0, 0x3f800000u}; // until it is known
  return f;
}

// A call on other numbers: neither its checks nor its scratch depend on what they are.
fovea_fixed_attention example_of(const integer_head& head) {
  fovea_fixed_attention f = call_of(head, {});
  f.q.data = head.a.q.data;
  f.k.data = head.a.k.data;
  f.v.data = head.a.v.data;
  if (!head.p.weights->token_scales) return f;
  f.key_multipliers.data = head.a.k.data;
  f.value_weights.data = head.a.v.data;
  return f;
}

bool quantize_head(const integer_head& head, const integer_rows& rows, fovea_fixed_scale& scale) {
  const fovea_attention& a = head.a;
  float q, k, v;
  const float softmax = a.flags & FOVEA_SCALE ? a.scale : 1 / square_root(static_cast<float>(a.dim));
  if (!quantize_queries(head, rows, q) || !quantize_keys(head, rows, k)) return false;
  if (!set_scores(q, k, softmax, a.dim, scale)) return false;
  for (int32_t i = 0; rows.scales && i < a.keys; ++i) {
    const int32_t multiplier = rounded_part(share_of(rows.scales[i], k), scale.score_multiplier);
    rows.multipliers[i] = multiplier ? multiplier : 1;
  }
  if (!quantize(head.p.place, rows_of(a.v, a.v_dim, a.keys), rows.v, rows.scales, v)) return false;
  for (int32_t i = 0; rows.scales && i < a.keys; ++i)
    rows.weights[i] = static_cast<int16_t>(rounded_part(share_of(rows.scales[i], v), greatest_weight));
  return set_output(v, a.keys, scale);
}

} // namespace

int32_t check_integer_options(const fovea_attention& how, int32_t most_keys) {
  if (!is_zero(how.softcap)) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_SOFTCAP);
  if (how.alibi) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_ALIBI);
  if (how.sinks) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_SINKS);
  if (how.mask.data && (how.mask.is_bias || how.mask.keys)) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_MASK);
  if (how.lse) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_LSE);
  if (how.weights.data) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_WEIGHTS);
  if (how.flags & FOVEA_SCALE && how.scale < 0) return refusal(FOVEA_RANGE, FOVEA_ARG_SCALE);
  return most_keys > greatest_keys ? refusal(FOVEA_SIZE, FOVEA_ARG_TOKENS) : int32_t{FOVEA_OK};
}

int64_t bytes_of_integers(const layer_plan& p, int32_t queries, int32_t keys) {
  const int64_t floats = up64(p.dim) + up64(int64_t{keys} * p.dim),
                scales = p.weights->token_scales ? 10 * up64(keys) : 0;
  return 64 + up64(int64_t{queries} * p.group * p.dim) + up64(int64_t{keys} * p.dim) +
         up64(int64_t{keys} * p.v_dim) + static_cast<int64_t>(sizeof(float)) * floats + scales;
}

int64_t best_integer_scratch(const integer_head& head) {
  const fovea_fixed_attention f = example_of(head);
  return bytes_of_integers(head.p, head.a.queries, head.a.keys) +
         larger(static_cast<int64_t>(fovea_fixed_scratch_best(&f)),
                static_cast<int64_t>(FOVEA_SCRATCH(head.a.dim, head.a.v_dim)));
}

int32_t check_integers(const integer_head& head) {
  if (const int32_t s = fovea_check(&head.a)) return s;
  const fovea_fixed_attention f = example_of(head);
  return fovea_fixed_check(&f);
}

int32_t attend_in_integers(const integer_head& head, void* scratch, size_t size) {
  const auto address = reinterpret_cast<uintptr_t>(scratch);
  const integer_rows rows = cut(head, static_cast<int8_t*>(scratch) + (64 - address % 64) % 64);
  const int64_t used = bytes_of_integers(head.p, head.a.queries, head.a.keys);
  fovea_fixed_attention f = call_of(head, rows);
  if (!quantize_head(head, rows, f.scale)) return fovea_attend_f32(&head.a, scratch, size);
  return fovea_fixed_attend(&f, static_cast<int8_t*>(scratch) + used, size - static_cast<size_t>(used));
}

} // namespace fovea::layer
