// Validation of integer calls: a call either becomes a plan of plain numbers, or a status that names the argument to blame.
#include "fixed/plan.hpp"

#include "fixed/kernel.hpp"

namespace fovea {
namespace {

int32_t check_offered(const fovea_fixed_attention& a) {
  for (int32_t word : a.reserved)
    if (word) return refuse(FOVEA_UNSUPPORTED, FOVEA_ARG_RESERVED);
  if (a.q.reserved || a.k.reserved || a.v.reserved) return refuse(FOVEA_UNSUPPORTED, FOVEA_ARG_RESERVED);
  if (a.flags & ~int32_t{FOVEA_CAUSAL | FOVEA_POSITION | FOVEA_WINDOW}) return refuse(FOVEA_UNSUPPORTED, FOVEA_ARG_FLAGS);
  return FOVEA_OK;
}

int32_t check_dims(const fovea_fixed_attention& a, fixed_plan& p) {
  if (a.q_heads < 1 || a.kv_heads < 0 || a.kv_heads > a.q_heads) return refuse(FOVEA_SIZE, FOVEA_ARG_HEADS);
  p.kv_heads = a.kv_heads ? a.kv_heads : a.q_heads;
  if (a.q_heads % p.kv_heads != 0) return refuse(FOVEA_SIZE, FOVEA_ARG_HEADS);
  p.group = a.q_heads / p.kv_heads;
  if (a.dim < 1 || a.dim > fixed_greatest_dim) return refuse(FOVEA_SIZE, FOVEA_ARG_DIM);
  if (a.v_dim < 0 || a.v_dim > fixed_greatest_dim) return refuse(FOVEA_SIZE, FOVEA_ARG_V_DIM);
  p.dim = a.dim, p.v_dim = a.v_dim ? a.v_dim : a.dim;
  p.depth = up_to(p.dim, 16), p.width = up_to(p.v_dim, 16);
  if (a.queries < 0 || a.queries > fixed_greatest_count / p.group) return refuse(FOVEA_SIZE, FOVEA_ARG_QUERIES);
  p.rows = a.queries * p.group;
  if (a.keys < 0 || a.keys > fixed_greatest_count) return refuse(FOVEA_SIZE, FOVEA_ARG_KEYS);
  if (a.first_key < 0 || a.first_key > fixed_greatest_count - a.keys) return refuse(FOVEA_RANGE, FOVEA_ARG_FIRST_KEY);
  return FOVEA_OK;
}

int32_t check_types(const fovea_fixed_attention& a, fixed_plan& p) {
  p.wide = a.q.dtype == FOVEA_FIXED_S16;
  if (a.q.dtype != FOVEA_FIXED_S8 && !p.wide) return refuse(FOVEA_UNSUPPORTED, FOVEA_ARG_Q);
  if (a.k.dtype != a.q.dtype) return refuse(FOVEA_UNSUPPORTED, FOVEA_ARG_K);
  if (a.v.dtype != a.q.dtype) return refuse(FOVEA_UNSUPPORTED, FOVEA_ARG_V);
  if (a.out.dtype < FOVEA_FIXED_S8 || a.out.dtype > FOVEA_FIXED_F32) return refuse(FOVEA_UNSUPPORTED, FOVEA_ARG_OUT);
  if (p.wide && a.out.dtype == FOVEA_FIXED_S8) return refuse(FOVEA_UNSUPPORTED, FOVEA_ARG_OUT);
  p.out_type = a.out.dtype;
  p.panels = a.k.layout == FOVEA_PANELS;
  if (a.q.layout != FOVEA_ROWS) return refuse(FOVEA_UNSUPPORTED, FOVEA_ARG_Q);
  if (a.k.layout != FOVEA_ROWS && (!p.panels || p.wide)) return refuse(FOVEA_UNSUPPORTED, FOVEA_ARG_K);
  if (a.v.layout != a.k.layout) return refuse(FOVEA_UNSUPPORTED, FOVEA_ARG_V);
  if (p.panels && a.first_key % fixed_block != 0) return refuse(FOVEA_ALIGN, FOVEA_ARG_FIRST_KEY);
  p.fine_weights = a.weight_bits == 22;
  if (a.weight_bits && a.weight_bits != 15 && !(p.fine_weights && p.wide)) return refuse(FOVEA_UNSUPPORTED, FOVEA_ARG_WEIGHTS);
  return FOVEA_OK;
}

bool within(int32_t x, int32_t low, int32_t high) { return low <= x && x <= high; }

int32_t check_zero_points(const fovea_fixed_attention& a, fixed_plan& p) {
  const auto fits = [&](int32_t zero) { return p.wide ? zero == 0 : within(zero, -128, 127); };
  if (!fits(a.q.zero_point)) return refuse(FOVEA_RANGE, FOVEA_ARG_Q);
  if (!fits(a.k.zero_point)) return refuse(FOVEA_RANGE, FOVEA_ARG_K);
  if (!fits(a.v.zero_point)) return refuse(FOVEA_RANGE, FOVEA_ARG_V);
  const int32_t zero = a.out.zero_point;
  const bool right = p.out_type == FOVEA_FIXED_F32   ? zero == 0
                     : p.out_type == FOVEA_FIXED_S16 ? within(zero, -32768, 32767)
                                                     : within(zero, -128, 127);
  if (!right) return refuse(FOVEA_RANGE, FOVEA_ARG_OUT);
  if (a.q.zero_point && !a.key_sums.data) return refuse(FOVEA_NULL, FOVEA_ARG_K);
  if (a.v.zero_point && a.value_weights.data) return refuse(FOVEA_UNSUPPORTED, FOVEA_ARG_V);
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
    if (!scale_fits(p, p.scale_of(h))) return refuse(FOVEA_RANGE, FOVEA_ARG_SCALE);
  const int32_t max_keys = a.max_keys ? a.max_keys : 512;
  if (max_keys < 0 || max_keys > 1 << 17) return refuse(FOVEA_RANGE, FOVEA_ARG_KEYS);
  if (a.first_key + a.keys > max_keys) return refuse(FOVEA_SIZE, FOVEA_ARG_KEYS);
  p.spill = spill_of(max_keys, p.wide ? 32768 : 512);
  return FOVEA_OK;
}

void find_visibility(const fovea_fixed_attention& a, fixed_plan& p) {
  const bool causal = a.flags & FOVEA_CAUSAL, window = a.flags & FOVEA_WINDOW;
  visibility& s = p.see;
  s.first_key = a.first_key;
  s.end = static_cast<int64_t>(a.first_key) + a.keys;
  s.position = a.flags & FOVEA_POSITION ? a.position : s.end - a.queries;
  s.left = window && a.window_left >= 0 ? a.window_left : unbounded;
  s.right = window && a.window_right >= 0 ? a.window_right : unbounded;
  if (causal) s.right = smaller(s.right, 0);
  s.prefix = a.prefix;
  s.keep = window ? a.keep_first : 0;
  s.ending = causal ? 1 : unbounded;
}

int32_t check_options(const fovea_fixed_attention& a, fixed_plan& p) {
  if (a.prefix < 0) return refuse(FOVEA_RANGE, FOVEA_ARG_PREFIX);
  if (a.keep_first < 0) return refuse(FOVEA_RANGE, FOVEA_ARG_KEEP_FIRST);
  find_visibility(a, p);
  const auto per_key = [&](const fovea_fixed_per_key& x) { return x.head_stride ? x.head_stride : ptrdiff_t{a.keys}; };
  if (a.key_multipliers.head_stride < 0 || a.key_sums.head_stride < 0) return refuse(FOVEA_STRIDE, FOVEA_ARG_K);
  if (a.value_weights.head_stride < 0) return refuse(FOVEA_STRIDE, FOVEA_ARG_V);
  if (a.mask.head_stride < 0 || a.mask.query_stride < 0) return refuse(FOVEA_STRIDE, FOVEA_ARG_MASK);
  if (a.bias.head_stride < 0 || a.bias.query_stride < 0) return refuse(FOVEA_STRIDE, FOVEA_ARG_MASK);
  p.multipliers = {static_cast<const int32_t*>(a.key_multipliers.data), per_key(a.key_multipliers), 0};
  p.sums = {a.q.zero_point ? static_cast<const int32_t*>(a.key_sums.data) : nullptr, per_key(a.key_sums), 0};
  p.value_weights = {static_cast<const int16_t*>(a.value_weights.data), per_key(a.value_weights), 0};
  p.mask = {static_cast<const uint8_t*>(a.mask.data), a.mask.head_stride, a.mask.query_stride};
  p.bias = {static_cast<const int32_t*>(a.bias.data), a.bias.head_stride, a.bias.query_stride};
  p.alibi = a.alibi, p.sinks = a.sinks;
  p.octaves_by_key = p.multipliers.data || p.sums.data || p.mask.data || p.bias.data || p.alibi;
  const bool all = a.part.index == 0 && a.part.count == 0;
  if (!all && (a.part.index < 0 || a.part.index >= a.part.count)) return refuse(FOVEA_RANGE, FOVEA_ARG_PART);
  p.part = a.part.index, p.parts = all ? 1 : a.part.count;
  return FOVEA_OK;
}

int32_t check_input(const fovea_fixed_in& in, int32_t argument, extent e, const fixed_plan& p, byte_rows& out, byte_range& bytes) {
  const size_t element = p.wide ? 2 : 1;
  const bool panels = in.layout == FOVEA_PANELS;
  if (in.head_stride < 0 || in.token_stride < 0 || (panels && in.token_stride)) return refuse(FOVEA_STRIDE, argument);
  if (panels) e.tokens = up_to(e.tokens, fixed_block), e.row = up_to(static_cast<int32_t>(e.row), 16);
  e.token_stride = in.token_stride ? in.token_stride : e.row;
  e.head_stride = in.head_stride;
  if (!in.head_stride && __builtin_mul_overflow(static_cast<ptrdiff_t>(e.tokens), e.token_stride, &e.head_stride))
    return refuse(FOVEA_OVERFLOW, argument);
  size_t size;
  if (!bytes_of(e, element, size) || !range_of(in.data, size, bytes)) return refuse(FOVEA_OVERFLOW, argument);
  if (size && !in.data) return refuse(FOVEA_NULL, argument);
  if (bytes.begin % element != 0) return refuse(FOVEA_ALIGN, argument);
  const ptrdiff_t scale = static_cast<ptrdiff_t>(element);
  out = {static_cast<const unsigned char*>(in.data), e.head_stride * scale, e.token_stride * scale};
  return FOVEA_OK;
}

// Rows of the output must not share an element: tokens lie within heads, or heads within tokens.
bool rows_apart(const extent& e) {
  if (e.heads == 0 || e.tokens == 0) return true;
  if ((e.tokens > 1 && e.token_stride < e.row) || (e.heads > 1 && e.head_stride < e.row)) return false;
  const bool in_heads = e.heads == 1 || e.head_stride >= (e.tokens - 1) * e.token_stride + e.row;
  const bool in_tokens = e.tokens == 1 || e.token_stride >= (e.heads - 1) * e.head_stride + e.row;
  return in_heads || in_tokens;
}

int32_t check_output(const fovea_fixed_attention& a, fixed_plan& p) {
  const fovea_fixed_out& o = a.out;
  const size_t element = p.out_type == FOVEA_FIXED_S8 ? 1 : p.out_type == FOVEA_FIXED_S16 ? 2 : 4;
  if (o.head_stride < 0 || o.token_stride < 0) return refuse(FOVEA_STRIDE, FOVEA_ARG_OUT);
  extent e{a.q_heads, a.queries, o.head_stride, o.token_stride ? o.token_stride : p.v_dim, p.v_dim};
  if (!o.head_stride && __builtin_mul_overflow(static_cast<ptrdiff_t>(e.tokens), e.token_stride, &e.head_stride))
    return refuse(FOVEA_OVERFLOW, FOVEA_ARG_OUT);
  size_t size;
  if (!bytes_of(e, element, size) || !range_of(o.data, size, p.bytes_out)) return refuse(FOVEA_OVERFLOW, FOVEA_ARG_OUT);
  if (!rows_apart(e)) return refuse(FOVEA_STRIDE, FOVEA_ARG_OUT);
  if (size && !o.data) return refuse(FOVEA_NULL, FOVEA_ARG_OUT);
  if (p.bytes_out.begin % element != 0) return refuse(FOVEA_ALIGN, FOVEA_ARG_OUT);
  const ptrdiff_t scale = static_cast<ptrdiff_t>(element);
  p.out = static_cast<unsigned char*>(o.data), p.out_head = e.head_stride * scale, p.out_token = e.token_stride * scale;
  return FOVEA_OK;
}

int32_t check_tensors(const fovea_fixed_attention& a, fixed_plan& p) {
  if (const int32_t s = check_input(a.q, FOVEA_ARG_Q, {a.q_heads, a.queries, 0, 0, p.dim}, p, p.q, p.bytes_q)) return s;
  if (const int32_t s = check_input(a.k, FOVEA_ARG_K, {p.kv_heads, a.keys, 0, 0, p.dim}, p, p.k, p.bytes_k)) return s;
  if (const int32_t s = check_input(a.v, FOVEA_ARG_V, {p.kv_heads, a.keys, 0, 0, p.v_dim}, p, p.v, p.bytes_v)) return s;
  if (const int32_t s = check_output(a, p)) return s;
  const bool overlap = meet(p.bytes_out, p.bytes_q) || meet(p.bytes_out, p.bytes_k) || meet(p.bytes_out, p.bytes_v);
  return overlap ? refuse(FOVEA_OVERLAP, FOVEA_ARG_OUT) : int32_t{FOVEA_OK};
}

} // namespace

int32_t make_fixed_plan(const fovea_fixed_attention* call, fixed_plan& p) {
  if (!call) return refuse(FOVEA_NULL, FOVEA_ARG_CALL);
  const fovea_fixed_attention& a = *call;
  if (const int32_t s = check_offered(a)) return s;
  if (const int32_t s = check_dims(a, p)) return s;
  if (const int32_t s = check_types(a, p)) return s;
  if (const int32_t s = check_zero_points(a, p)) return s;
  if (const int32_t s = check_scales(a, p)) return s;
  if (const int32_t s = check_options(a, p)) return s;
  if (const int32_t s = check_tensors(a, p)) return s;
  p.kernel = find_fixed_kernel(a.isa, p.wide);
  return p.kernel ? int32_t{FOVEA_OK} : refuse(FOVEA_UNSUPPORTED, FOVEA_ARG_ISA);
}

} // namespace fovea
