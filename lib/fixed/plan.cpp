// Validation of integer calls: a call either becomes a plan of plain numbers, or a status that names the argument to blame.
#include "fixed/plan.hpp"

#include "fixed/kernel.hpp"

namespace fovea {
namespace {

int32_t check_offered(const fovea_fixed_attention& a) {
  if (a.softcap) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_SOFTCAP);
  for (int32_t word : a.reserved)
    if (word) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_RESERVED);
  if (a.q.reserved || a.k.reserved || a.v.reserved) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_RESERVED);
  if (a.flags & ~int32_t{FOVEA_CAUSAL | FOVEA_POSITION | FOVEA_WINDOW}) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_FLAGS);
  return FOVEA_OK;
}

int32_t check_dims(const fovea_fixed_attention& a, fixed_plan& p) {
  if (const int32_t s = check_shape(a, fixed_greatest_dim, fixed_greatest_count, p)) return s;
  if (a.queries > fixed_greatest_count / p.group) return refusal(FOVEA_SIZE, FOVEA_ARG_QUERIES);
  p.depth = up_to(p.dim, 16), p.width = up_to(p.v_dim, 16);
  p.rows = a.queries * p.group;
  return FOVEA_OK;
}

int32_t check_types(const fovea_fixed_attention& a, fixed_plan& p) {
  p.wide = a.q.dtype == FOVEA_FIXED_S16;
  if (a.q.dtype != FOVEA_FIXED_S8 && !p.wide) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_Q);
  if (a.k.dtype != a.q.dtype) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_K);
  if (a.v.dtype != a.q.dtype) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_V);
  if (a.out.dtype < FOVEA_FIXED_S8 || a.out.dtype > FOVEA_FIXED_F32) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_OUT);
  if (p.wide && a.out.dtype == FOVEA_FIXED_S8) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_OUT);
  p.out_type = a.out.dtype;
  p.panels = a.k.layout == FOVEA_PANELS;
  if (a.q.layout != FOVEA_ROWS) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_Q);
  if (a.k.layout != FOVEA_ROWS && (!p.panels || p.wide)) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_K);
  if (a.v.layout != a.k.layout) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_V);
  if (p.panels && a.first_key % fixed_block != 0) return refusal(FOVEA_ALIGN, FOVEA_ARG_FIRST_KEY);
  p.fine_weights = a.weight_bits == 22;
  if (a.weight_bits && a.weight_bits != 15 && !(p.fine_weights && p.wide)) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_WEIGHTS);
  return FOVEA_OK;
}

bool within(int32_t x, int32_t low, int32_t high) { return low <= x && x <= high; }

int32_t check_zero_points(const fovea_fixed_attention& a, fixed_plan& p) {
  const auto fits = [&](int32_t zero) { return p.wide ? zero == 0 : within(zero, -128, 127); };
  if (!fits(a.q.zero_point)) return refusal(FOVEA_RANGE, FOVEA_ARG_Q);
  if (!fits(a.k.zero_point)) return refusal(FOVEA_RANGE, FOVEA_ARG_K);
  if (!fits(a.v.zero_point)) return refusal(FOVEA_RANGE, FOVEA_ARG_V);
  const int32_t zero = a.out.zero_point;
  const bool right = p.out_type == FOVEA_FIXED_F32   ? zero == 0
                     : p.out_type == FOVEA_FIXED_S16 ? within(zero, -32768, 32767)
                                                     : within(zero, -128, 127);
  if (!right) return refusal(FOVEA_RANGE, FOVEA_ARG_OUT);
  if (a.q.zero_point && !a.key_sums.data) return refusal(FOVEA_NULL, FOVEA_ARG_K);
  if (a.v.zero_point && a.value_weights.data) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_V);
  p.zero_q = a.q.zero_point, p.zero_k = a.k.zero_point, p.zero_v = a.v.zero_point, p.zero_out = zero;
  return FOVEA_OK;
}

// The largest score times the multiplier must stay below 4,096 octaves: then octaves and their distances fit 32 bits everywhere.
bool octaves_fit(const fixed_plan& p, const fovea_fixed_scale& x) {
  const uint64_t one = p.wide ? uint64_t{1} << 30 : p.zero_q || p.zero_k ? 255 * 255 : 128 * 128;
  const uint64_t score = ((one * static_cast<uint64_t>(p.dim)) >> x.score_pre_shift) + 1;
  return score <= 0x7fffffff && (score * static_cast<uint32_t>(x.score_multiplier)) >> x.score_shift < uint64_t{fixed_octave_limit};
}

bool scale_fits(const fixed_plan& p, const fovea_fixed_scale& x) {
  if (x.score_multiplier < 1 || !within(x.score_shift, 1, 31)) return false;
  if (!within(x.score_pre_shift, 0, p.wide ? 24 : 0) || !octaves_fit(p, x)) return false;
  if (p.out_type == FOVEA_FIXED_F32) {
    const uint32_t exponent = x.f32_scale >> 23;
    return exponent > 0 && exponent < 255; // positive, finite, normal
  }
  return x.out_multiplier >= 1 && within(x.out_shift, -30, 20);
}

int32_t check_scales(const fovea_fixed_attention& a, fixed_plan& p) {
  p.scale = &a.scale, p.head_scales = a.head_scales;
  for (int32_t h = 0; h < (a.head_scales ? a.q_heads : 1); ++h)
    if (!scale_fits(p, p.scale_of(h))) return refusal(FOVEA_RANGE, FOVEA_ARG_SCALE);
  const int32_t max_keys = a.max_keys ? a.max_keys : 512;
  if (max_keys < 0 || max_keys > 1 << 17) return refusal(FOVEA_RANGE, FOVEA_ARG_KEYS);
  if (a.first_key + a.keys > max_keys) return refusal(FOVEA_SIZE, FOVEA_ARG_KEYS);
  p.spill = spill_of(max_keys, p.wide ? 32768 : 512);
  return FOVEA_OK;
}

// Tables of options, an argument to blame each.
class tables_of {
 public:
  tables_of(const fovea_fixed_attention& a, fixed_plan& p) : a_(a), p_(p) {}

  FOVEA_ONCE int32_t per_head(const void* data, size_t words, int32_t argument, byte_range& bytes) const {
    return place_table(data, {1, a_.q_heads, 0, static_cast<ptrdiff_t>(words), static_cast<ptrdiff_t>(words)}, 4, argument, bytes);
  }
  FOVEA_ONCE int32_t per_key(const fovea_fixed_per_key& x, size_t element, int32_t argument, byte_range& bytes) const {
    return place_table(x.data, {p_.kv_heads, 1, x.head_stride ? x.head_stride : a_.keys, 0, a_.keys}, element, argument, bytes);
  }
  FOVEA_ONCE int32_t per_row(const fovea_fixed_mask& x, size_t element, byte_range& bytes) const {
    return place_table(x.data, {a_.q_heads, a_.queries, x.head_stride, x.query_stride, a_.keys}, element, FOVEA_ARG_MASK, bytes);
  }

 private:
  FOVEA_ONCE static int32_t place_table(const void* data, const extent& e, size_t element, int32_t argument, byte_range& bytes) {
    if (e.head_stride < 0 || e.token_stride < 0) return refusal(FOVEA_STRIDE, argument);
    size_t size;
    if (!bytes_of(e, element, size) || !range_of(data, size, bytes)) return refusal(FOVEA_OVERFLOW, argument);
    return (bytes.begin & (element - 1)) == 0 ? int32_t{FOVEA_OK} : refusal(FOVEA_ALIGN, argument);
  }

  const fovea_fixed_attention& a_;
  const fixed_plan& p_;
};

// Most calls give none of them, and on a small core each question costs.
FOVEA_ONCE int32_t check_tables(const fovea_fixed_attention& a, fixed_plan& p) {
  using f = fixed_footprint;
  const tables_of tables(a, p);
  byte_range* in = p.bytes.in;
  int32_t s = FOVEA_OK;
  if (a.head_scales) s = tables.per_head(a.head_scales, sizeof(fovea_fixed_scale) / 4, FOVEA_ARG_SCALE, in[f::scales]);
  if (!s && a.key_multipliers.data) s = tables.per_key(a.key_multipliers, 4, FOVEA_ARG_K, in[f::multipliers]);
  if (!s && a.key_sums.data) s = tables.per_key(a.key_sums, 4, FOVEA_ARG_K, in[f::sums]);
  if (!s && a.value_weights.data) s = tables.per_key(a.value_weights, 2, FOVEA_ARG_V, in[f::value_weights]);
  if (!s && a.mask.data) s = tables.per_row(a.mask, 1, in[f::mask]);
  if (!s && a.bias.data) s = tables.per_row(a.bias, 4, in[f::bias]);
  if (!s && a.alibi) s = tables.per_head(a.alibi, 1, FOVEA_ARG_ALIBI, in[f::alibi]);
  if (!s && a.sinks) s = tables.per_head(a.sinks, 1, FOVEA_ARG_SINKS, in[f::sinks]);
  return s;
}

int32_t check_options(const fovea_fixed_attention& a, fixed_plan& p) {
  if (const int32_t s = check_visibility(a, p.see)) return s;
  p.bytes = {};
  if (const int32_t s = check_tables(a, p)) return s;
  const auto per_key = [&](const fovea_fixed_per_key& x) { return x.head_stride ? x.head_stride : ptrdiff_t{a.keys}; };
  p.multipliers = {static_cast<const int32_t*>(a.key_multipliers.data), per_key(a.key_multipliers), 0};
  p.sums = {a.q.zero_point ? static_cast<const int32_t*>(a.key_sums.data) : nullptr, per_key(a.key_sums), 0};
  p.value_weights = {static_cast<const int16_t*>(a.value_weights.data), per_key(a.value_weights), 0};
  p.mask = {static_cast<const uint8_t*>(a.mask.data), a.mask.head_stride, a.mask.query_stride};
  p.bias = {static_cast<const int32_t*>(a.bias.data), a.bias.head_stride, a.bias.query_stride};
  p.alibi = a.alibi, p.sinks = a.sinks;
  p.octaves_by_key = p.multipliers.data || p.sums.data || p.mask.data || p.bias.data || p.alibi;
  return check_part(a.part, p);
}

int32_t check_input(const fovea_fixed_in& in, int32_t argument, extent e, const fixed_plan& p, byte_rows& out, byte_range& bytes) {
  const size_t element = p.wide ? 2 : 1;
  const bool panels = in.layout == FOVEA_PANELS;
  if (panels && in.token_stride) return refusal(FOVEA_STRIDE, argument);
  if (panels) e.tokens = up_to(e.tokens, fixed_block), e.row = up_to(static_cast<int32_t>(e.row), 16);
  if (const int32_t reason = place(in.data, in.head_stride, in.token_stride, element, false, e, bytes)) return refusal(reason, argument);
  const ptrdiff_t scale = static_cast<ptrdiff_t>(element);
  out = {static_cast<const unsigned char*>(in.data), e.head_stride * scale, e.token_stride * scale};
  return FOVEA_OK;
}

int32_t check_output(const fovea_fixed_attention& a, fixed_plan& p) {
  const fovea_fixed_out& o = a.out;
  const size_t element = p.out_type == FOVEA_FIXED_S8 ? 1 : p.out_type == FOVEA_FIXED_S16 ? 2 : 4;
  extent e{a.q_heads, a.queries, 0, 0, p.v_dim};
  const int32_t reason = place(o.data, o.head_stride, o.token_stride, element, true, e, p.bytes.to[0]);
  if (reason) return refusal(reason, FOVEA_ARG_OUT);
  const ptrdiff_t scale = static_cast<ptrdiff_t>(element);
  p.out = static_cast<unsigned char*>(o.data), p.out_head = e.head_stride * scale, p.out_token = e.token_stride * scale;
  return FOVEA_OK;
}

int32_t check_tensors(const fovea_fixed_attention& a, fixed_plan& p) {
  byte_range* in = p.bytes.in;
  if (const int32_t s = check_input(a.q, FOVEA_ARG_Q, {a.q_heads, a.queries, 0, 0, p.dim}, p, p.q, in[fixed_footprint::q])) return s;
  if (const int32_t s = check_input(a.k, FOVEA_ARG_K, {p.kv_heads, a.keys, 0, 0, p.dim}, p, p.k, in[fixed_footprint::k])) return s;
  if (const int32_t s = check_input(a.v, FOVEA_ARG_V, {p.kv_heads, a.keys, 0, 0, p.v_dim}, p, p.v, in[fixed_footprint::v])) return s;
  if (const int32_t s = check_output(a, p)) return s;
  for (const byte_range& bytes : p.bytes.in)
    if (meet(bytes, p.bytes.to[0])) return refusal(FOVEA_OVERLAP, FOVEA_ARG_OUT);
  return FOVEA_OK;
}

} // namespace

int32_t make_fixed_plan(const fovea_fixed_attention* call, fixed_plan& p) {
  if (!call) return refusal(FOVEA_NULL, FOVEA_ARG_CALL);
  const fovea_fixed_attention& a = *call;
  if (const int32_t s = check_offered(a)) return s;
  if (const int32_t s = check_dims(a, p)) return s;
  if (const int32_t s = check_types(a, p)) return s;
  if (const int32_t s = check_zero_points(a, p)) return s;
  if (const int32_t s = check_scales(a, p)) return s;
  if (const int32_t s = check_options(a, p)) return s;
  if (const int32_t s = check_tensors(a, p)) return s;
  p.kernel = find_fixed_kernel(a.isa, p.wide);
  return p.kernel ? int32_t{FOVEA_OK} : refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_ISA);
}

} // namespace fovea
