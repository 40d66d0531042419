// Attention on halves and bytes: validation of such tensors, and where their numbers stand. Compiled once,
// for all ISAs.
#include "common/build.hpp"

#include "f32/stored.hpp"

#include "common/bits.hpp"
#include "f32/check.hpp"
#include "f32/segments.hpp"
#include "linear/element_bits.hpp"

namespace fovea::f32 {
namespace {

constexpr int32_t tokens_of_bytes = 64; // a panel of V in bytes; K ends with it

int32_t up_to(int32_t n, int32_t multiple) { return (n + multiple - 1) & -multiple; }

int32_t check_scales(const fovea_in& in, int32_t argument, const extent& e, bool in_segments,
                     stored_tensor& t, byte_range& bytes) {
  scale_table& s = t.scales;
  s = {nullptr, 0, 0, in.scale_unit, in.scales != nullptr};
  if (!is_finite(in.scale_unit)) return refusal(FOVEA_NOT_FINITE, argument);
  if (bits_of(in.scale_unit) >> 31 || (is_denormal(in.scale_unit) && !is_zero(in.scale_unit)))
    return refusal(FOVEA_RANGE, argument);
  const bool placed = in.scale_head_stride | in.scale_token_stride;
  if (in_segments) return in.scales || placed ? refusal(FOVEA_UNSUPPORTED, argument) : int32_t{FOVEA_OK};
  if (!in.scales) return placed || !is_zero(s.unit) ? refusal(FOVEA_NULL, argument) : int32_t{FOVEA_OK};
  extent table{e.heads, e.tokens, 0, 0, 1};
  const int32_t reason = place(in.scales, in.scale_head_stride, in.scale_token_stride,
                               static_cast<size_t>(bytes_of_scale(s, argument)), false, table, bytes);
  if (reason) return refusal(reason, argument);
  s.data = in.scales;
  s.head = table.heads > 1 ? table.head_stride : 0;
  s.token = table.tokens > 1 ? table.token_stride : 0;
  return FOVEA_OK;
}

int32_t check_input(const fovea_in& in, int32_t argument, extent e, bool in_segments, stored_tensor& t,
                    byte_range& bytes, byte_range& scales) {
  const bool halves = in.dtype == FOVEA_F16 || in.dtype == FOVEA_BF16, is_k = argument == FOVEA_ARG_K,
             is_q = argument == FOVEA_ARG_Q;
  if (!halves && (in.dtype != FOVEA_I8 || is_q)) return refusal(FOVEA_UNSUPPORTED, argument);
  t.dtype = in.dtype;
  t.bytes = halves ? 2 : 1;
  t.panels = in.layout == FOVEA_PANELS;
  const bool may_be_panels = is_k || (!is_q && !halves);
  if (in.zero_point || (t.panels ? !may_be_panels : in.layout != FOVEA_ROWS))
    return refusal(FOVEA_UNSUPPORTED, argument);
  if (halves && (in.scales || in.scale_head_stride || in.scale_token_stride || !is_zero(in.scale_unit)))
    return refusal(FOVEA_UNSUPPORTED, argument);
  if (t.panels && in.token_stride) return refusal(FOVEA_STRIDE, argument);
  const extent given = e;
  if (t.panels) {
    e.tokens = up_to(e.tokens, halves ? 16 : tokens_of_bytes);
    if (!halves) e.row = up_to(static_cast<int32_t>(e.row), 16);
  }
  t.width = static_cast<int32_t>(e.row);
  t.data = nullptr;
  t.head = t.token = 0;
  t.words = false;
  if (in_segments) {
    bytes = {0, 0};
    t.token = e.row;
  } else {
    const int32_t reason = place(in.data, in.head_stride, in.token_stride, static_cast<size_t>(t.bytes),
                                 false, e, bytes);
    if (reason) return refusal(reason, argument);
    t.data = in.data;
    t.head = e.heads > 1 ? e.head_stride : 0;
    t.token = e.tokens > 1 ? e.token_stride : 0;
    const uintptr_t places = reinterpret_cast<uintptr_t>(t.data) |
                             static_cast<uintptr_t>((t.head | t.token) * t.bytes);
    t.words = !t.panels && t.width * t.bytes % 16 == 0 && places % 4 == 0;
  }
  if (halves) {
    t.scales = {};
    return FOVEA_OK;
  }
  return check_scales(in, argument, given, in_segments, t, scales);
}

int32_t check_output(const fovea_attention& a, extent e, stored_out& out, byte_range& bytes) {
  const fovea_out& o = a.out;
  if ((o.dtype != FOVEA_F16 && o.dtype != FOVEA_BF16) || o.zero_point || !is_zero(o.scale))
    return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_OUT);
  const int32_t reason = place(o.data, o.head_stride, o.token_stride, 2, true, e, bytes);
  if (reason) return refusal(reason, FOVEA_ARG_OUT);
  out = {o.dtype, o.data, e.heads > 1 ? e.head_stride : 0, e.tokens > 1 ? e.token_stride : 0};
  return FOVEA_OK;
}

const void* moved(const void* data, ptrdiff_t elements, int32_t bytes) {
  return static_cast<const char*>(data) + elements * bytes;
}

// How far a key is from the first one of its memory, in elements.
ptrdiff_t distance(const stored_tensor& t, int64_t keys) {
  return static_cast<ptrdiff_t>(keys) * (t.panels ? t.width : t.token);
}

// `Step`: keys of a panel.
template <const void* fovea_segment::* Data, ptrdiff_t fovea_segment::* Head>
stored_place in_segments(const plan& p, const stored_tensor& t, int32_t kv_head, int64_t key, int32_t step) {
  const fovea_segment& s = segment_of(*p.segments, key);
  const int32_t tokens = t.panels ? up_to(s.keys, step) : s.keys;
  const ptrdiff_t head = stride_or(s.*Head, distance(t, tokens));
  return {moved(s.*Data, kv_head * head + distance(t, key - s.first_key), t.bytes),
          s.first_key + int64_t{tokens}};
}

int32_t panel_of(const stored_tensor& t) { return t.bytes == 1 ? tokens_of_bytes : 16; }

stored_place in_one_piece(const plan& p, const stored_tensor& t, int32_t kv_head, int64_t key) {
  return {moved(t.data, kv_head * t.head + distance(t, key - p.see.first_key), t.bytes), p.keys_end + 63};
}

} // namespace

extern const stored_types all_stored_types = {check_input, check_output};

int32_t make_any_plan(const fovea_attention* call, plan& p) {
  return make_plan(call, p, features::types ? &all_stored_types : nullptr);
}

int32_t bytes_of_scale(const scale_table& s, int32_t argument) {
  return is_zero(s.unit) || argument == FOVEA_ARG_K ? 4 : 2;
}

stored_place stored_keys(const plan& p, int32_t kv_head, int64_t key) {
  const stored_tensor& t = p.stored.k;
  if (!p.segments) return in_one_piece(p, t, kv_head, key);
  return in_segments<&fovea_segment::k, &fovea_segment::k_head_stride>(p, t, kv_head, key, panel_of(t));
}

stored_place stored_values(const plan& p, int32_t kv_head, int64_t key) {
  const stored_tensor& t = p.stored.v;
  if (!p.segments) return in_one_piece(p, t, kv_head, key);
  return in_segments<&fovea_segment::v, &fovea_segment::v_head_stride>(p, t, kv_head, key, panel_of(t));
}

scale_place place_of_scales(const plan& p, bool of_keys, int32_t kv_head, int64_t key) {
  const scale_table& s = of_keys ? p.stored.k.scales : p.stored.v.scales;
  const int32_t bytes = bytes_of_scale(s, of_keys ? FOVEA_ARG_K : FOVEA_ARG_V);
  if (!p.segments)
    return {moved(s.data, kv_head * s.head, bytes), s.token, p.see.first_key, p.keys_end, s.unit, of_keys};
  const fovea_segment& at = segment_of(*p.segments, key);
  const void* data = of_keys ? static_cast<const void*>(at.key_multipliers) : at.value_weights;
  return {moved(data, kv_head * stride_or(at.table_head_stride, at.keys), bytes),
          1,
          at.first_key,
          at.first_key + int64_t{at.keys},
          s.unit,
          of_keys};
}

void fetch_scales(const scale_place& s, int64_t first, float (&out)[16]) {
  for (int i = 0; i < 16; ++i) {
    const int64_t key = first + i;
    out[i] = 1;
    if (key < s.begin || key >= s.end) continue;
    const ptrdiff_t place = static_cast<ptrdiff_t>(key - s.begin) * s.token;
    if (is_zero(s.unit))
      out[i] = static_cast<const float*>(s.at)[place];
    else if (s.of_keys)
      out[i] = static_cast<float>(static_cast<const int32_t*>(s.at)[place]) * s.unit;
    else
      out[i] = static_cast<float>(static_cast<const int16_t*>(s.at)[place]) * s.unit;
  }
}

float number_of(const void* row, int32_t dtype, ptrdiff_t c) {
  const uint16_t half = static_cast<const uint16_t*>(row)[c];
  return float_of(dtype == FOVEA_F16 ? linear::f16_bits::widen(half) : linear::bf16_bits::widen(half));
}

uint16_t rounded_half(float x, int32_t dtype) {
  const uint32_t bits = bits_of(x);
  return dtype == FOVEA_F16 ? linear::f16_bits::narrow(bits) : linear::bf16_bits::narrow(bits);
}

} // namespace fovea::f32
