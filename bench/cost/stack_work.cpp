// fovea_cost_stack: how deep the calls of the library reach into the stack, painted and measured on a board.
// Ends with code 1 if one is deeper than its limit. docs/firmware.md has the table.
#include <cstdio>
#include <cstring>

#include "fovea/cache.h"
#include "fovea/layer.h"
#include "fovea/selftest.h"
#include "stack.hpp"

namespace {

constexpr int32_t heads = 4, kv_heads = 2, dim = 16, queries = 6, keys = 80, width = heads * dim;

alignas(64) float q[heads * queries * dim], k[kv_heads * keys * dim], v[kv_heads * keys * dim],
    out[heads * queries * dim], lse[heads * queries], weights[heads * queries * keys], bias[queries * keys];
alignas(64) uint16_t half_q[heads * queries * dim], half_k[kv_heads * keys * dim],
    half_v[kv_heads * keys * dim], half_out[heads * queries * dim];
alignas(64) int8_t byte_q[heads * queries * dim], byte_k[kv_heads * 128 * dim], byte_v[kv_heads * 128 * dim],
    byte_out[heads * queries * dim];
alignas(64) unsigned char scratch[40000], memory[40000], packed[40000];
const float slopes[heads] = {0.5f, 0.25f, 0.125f, 0.0625f}, sinks[heads] = {1, 2, 3, 4};
const int16_t parents[queries] = {-1, 0, 0, 1, 1, 2};
const int32_t fixed_slopes[heads] = {100, 200, 300, 400}, fixed_sinks[heads] = {0, 0, 0, 0};
int32_t fixed_bias[queries * keys], multipliers[kv_heads * keys];
int16_t value_weights[kv_heads * keys];

size_t used; // by the last call

template <class Call>
__attribute__((noinline)) int32_t measured(Call call) {
  paint_stack();
  const int32_t status = call();
  used = stack_painted_over();
  return status;
}

template <class Call>
Call sized_call() {
  Call a = {};
  a.q_heads = heads;
  a.kv_heads = kv_heads;
  a.dim = dim;
  a.queries = queries;
  a.keys = keys;
  a.flags = FOVEA_CAUSAL;
  return a;
}
fovea_attention call_of(const float* queries_at, const float* keys_at) {
  auto a = sized_call<fovea_attention>();
  a.q.data = queries_at;
  a.k.data = keys_at;
  a.v.data = v;
  a.out.data = out;
  return a;
}
fovea_attention with_options() {
  fovea_attention a = call_of(q, k);
  a.flags |= FOVEA_WINDOW;
  a.window_left = 40;
  a.keep_first = 3;
  a.softcap = 20;
  a.alibi = slopes;
  a.sinks = sinks;
  a.mask.data = bias;
  a.mask.is_bias = 1;
  a.lse = lse;
  a.weights.data = weights;
  return a;
}
fovea_fixed_attention fixed_call() {
  auto a = sized_call<fovea_fixed_attention>();
  a.q.data = byte_q;
  a.k.data = byte_k;
  a.v.data = byte_v;
  a.out.data = byte_out;
  a.k.layout = a.v.layout = FOVEA_PANELS;
  a.scale = {1991553379, 26, 0, 1073741824, 1, 0x3d112245u};
  return a;
}

template <class Call>
void in_halves(Call& a, int32_t dtype) {
  a.q.data = half_q;
  a.k.data = half_k;
  a.v.data = half_v;
  a.out.data = half_out;
  a.q.dtype = a.k.dtype = a.v.dtype = a.out.dtype = dtype;
}

using attend_entry = decltype(fovea_attend);
int32_t attend(attend_entry* entry, const fovea_attention& call) {
  static fovea_attention a;
  a = call;
  return measured([entry] { return entry(&a, scratch, sizeof scratch); });
}
int32_t plain() { return attend(fovea_attend_plain, call_of(q, k)); }
int32_t f32() { return attend(fovea_attend_f32, call_of(q, k)); }
int32_t f32_options() { return attend(fovea_attend_f32, with_options()); }
int32_t f32_tree() {
  fovea_attention a = with_options();
  fovea_pattern tree = {};
  tree.parents = parents;
  a.pattern = &tree;
  return attend(fovea_attend_f32, a);
}
int32_t halves() {
  fovea_attention a = call_of(nullptr, nullptr);
  in_halves(a, FOVEA_F16);
  return attend(fovea_attend, a);
}
int32_t bytes() {
  fovea_attention a = with_options();
  a.k.data = byte_k;
  a.v.data = byte_v;
  a.k.dtype = a.v.dtype = FOVEA_I8;
  return attend(fovea_attend, a);
}
int32_t merge() {
  static fovea_attention a;
  a = call_of(q, k);
  a.partials = memory;
  a.partials_size = sizeof memory;
  const int32_t status = fovea_attend_f32(&a, scratch, sizeof scratch);
  return status ? status : measured([] { return fovea_merge(&a); });
}
int32_t pack() {
  return measured([] { return fovea_pack_keys(reinterpret_cast<float*>(memory), 0, k, 0, keys, dim); });
}
using fixed_entry = decltype(fovea_fixed_attend);
int32_t attend(fixed_entry* entry, const fovea_fixed_attention& call) {
  static fovea_fixed_attention a;
  a = call;
  return measured([entry] { return entry(&a, scratch, sizeof scratch); });
}
int32_t fixed_plain() { return attend(fovea_fixed_attend_plain, fixed_call()); }
int32_t fixed_rows() {
  fovea_fixed_attention a = fixed_call();
  a.k.layout = a.v.layout = FOVEA_ROWS;
  return attend(fovea_fixed_attend, a);
}
int32_t fixed_options() {
  fovea_fixed_attention a = fixed_call();
  for (int32_t& x : multipliers) x = 1 << 30;
  a.key_multipliers.data = multipliers;
  a.value_weights.data = value_weights;
  a.bias.data = fixed_bias;
  a.alibi = fixed_slopes;
  a.sinks = fixed_sinks;
  a.out.data = out;
  a.out.dtype = FOVEA_FIXED_F32;
  return attend(fovea_fixed_attend, a);
}
int32_t fixed_words() {
  fovea_fixed_attention a = fixed_call();
  in_halves(a, FOVEA_FIXED_S16);
  a.k.layout = a.v.layout = FOVEA_ROWS;
  a.scale = {1 << 24, 31, 4, 1 << 30, 1, 0x3d112245u};
  a.weight_bits = 22;
  return attend(fovea_fixed_attend, a);
}
int32_t fixed_pack() {
  return measured([] { return fovea_fixed_pack_keys(byte_k, 0, byte_q, 0, queries, dim); });
}

int32_t softmax() {
  static fovea_softmax_rows s;
  s = {};
  s.in = bias;
  s.out = weights;
  s.rows = queries;
  s.columns = keys;
  s.lse = lse;
  s.softcap = 20;
  return measured([] { return fovea_softmax(&s); });
}
int32_t dot() {
  return measured([] { return fovea_matvec(k, 0, q, 4, dim, 0, out); });
}
int32_t norm() {
  static fovea_norm_rows n;
  n = {};
  n.in = q;
  n.out = out;
  n.rows = 4;
  n.columns = dim;
  return measured([] { return fovea_norm(&n); });
}
int32_t rope_table() {
  static fovea_rope_frequencies f;
  f = {};
  f.rotary_dim = dim;
  return measured([] { return fovea_rope_table(&f, 0, 4, lse, weights); });
}

fovea_linear linear_of(int32_t dtype) {
  const fovea_rows_in rows = {bias, width, FOVEA_F32, 0}; // any numbers
  fovea_linear w = {};
  w.packed = packed;
  w.in = w.out = width;
  w.dtype = dtype;
  return fovea_pack_linear(packed, sizeof packed, width, width, dtype, 0, &rows, queries) ? fovea_linear{}
                                                                                          : w;
}
int32_t multiply(int32_t dtype) {
  static fovea_linear w;
  w = linear_of(dtype);
  static fovea_product p;
  p = {};
  p.w = &w;
  p.x.data = q;
  p.y.data = out;
  p.rows = queries;
  p.activation = FOVEA_GELU;
  return measured([] { return fovea_multiply(&p, scratch, sizeof scratch); });
}
int32_t multiply_f32() { return multiply(FOVEA_F32); }
int32_t multiply_i8() { return multiply(FOVEA_I8); }

int32_t layer(int32_t attention) {
  static fovea_layer l;
  l = {};
  l.q = l.k = l.v = l.out = linear_of(FOVEA_F32);
  l.q_heads = heads;
  l.dim = dim;
  l.attention = attention;
  static fovea_layer_call c;
  c = {};
  c.layer = &l;
  c.x.data = q;
  c.y.data = out;
  c.tokens = queries;
  return measured([] { return fovea_run_layer(&c, scratch, sizeof scratch); });
}
int32_t layer_f32() { return layer(FOVEA_F32); }
int32_t layer_i8() { return layer(FOVEA_I8); }

int32_t cache(int32_t dtype, bool scales) {
  fovea_cache_shape shape = {};
  shape.kv_heads = kv_heads;
  shape.dim = dim;
  shape.capacity = keys;
  shape.dtype = dtype;
  if (scales) shape.k_largest = shape.v_largest = 4;
  if (const int32_t status = fovea_cache_init(memory, sizeof memory, &shape)) return status;
  static fovea_in rows, values;
  rows.data = k;
  values.data = v;
  return measured([] { return fovea_cache_append(memory, &rows, &values, queries); });
}
// A ring in which old tokens have been replaced; `rows` are its keys, and its values.
int32_t make_ring(int32_t dtype, fovea_in& rows) {
  fovea_cache_shape shape = {};
  shape.kv_heads = kv_heads;
  shape.dim = dim;
  shape.window = 24;
  shape.keep_first = 2;
  shape.capacity = dtype == FOVEA_I8 ? FOVEA_CACHE_RING(24, 2, queries, FOVEA_I8)
                                     : FOVEA_CACHE_RING(24, 2, queries, FOVEA_F32);
  shape.dtype = dtype;
  rows = {};
  rows.data = dtype == FOVEA_I8 ? static_cast<const void*>(byte_k) : k;
  rows.dtype = dtype;
  int32_t status = fovea_cache_init(memory, sizeof memory, &shape);
  for (int32_t token = 0; token < 300 && !status; token += queries)
    status = fovea_cache_append(memory, &rows, &rows, queries);
  return status;
}
int32_t ring_append() {
  static fovea_in rows;
  if (const int32_t status = make_ring(FOVEA_F32, rows)) return status;
  return measured([] { return fovea_cache_append(memory, &rows, &rows, queries); });
}
int32_t attend_in_ring(int32_t dtype, attend_entry* entry) {
  fovea_in rows;
  static fovea_segments where;
  where = {};
  fovea_attention a = with_options();
  a.weights = {}; // not of a ring that has replaced tokens
  a.kv_heads = a.dim = a.keys = 0;
  a.queries = 1;
  a.window_left = 24;
  a.keep_first = 2;
  int32_t status = make_ring(dtype, rows);
  if (!status) status = fovea_cache_view(memory, &where, &a);
  return status ? status : attend(entry, a);
}
int32_t ring_f32() { return attend_in_ring(FOVEA_F32, fovea_attend_f32); }
int32_t ring_bytes() { return attend_in_ring(FOVEA_I8, fovea_attend); }
int32_t cache_f32() { return cache(FOVEA_F32, false); }
int32_t cache_i8() { return cache(FOVEA_I8, true); }

int32_t selftest() {
  return measured([] { return fovea_selftest(fovea_attend_plain, scratch, sizeof scratch); });
}
int32_t fixed_selftest() {
  return measured([] { return fovea_fixed_selftest(fovea_fixed_attend_plain, scratch, sizeof scratch); });
}

constexpr struct {
  const char* name;
  size_t limit;
  int32_t (*run)();
} entries[] = {
    {"fovea_attend_plain", 1300, plain},
    {"fovea_attend_f32, causal", 1600, f32},
    {"fovea_attend_f32, with options", 2048, f32_options},
    {"fovea_attend_f32, a tree with options", 2048, f32_tree},
    {"fovea_attend_f32, a ring with options", 2048, ring_f32},
    {"fovea_attend, float16", 1600, halves},
    {"fovea_attend, int8 with options", 2048, bytes},
    {"fovea_attend, a ring of int8 with options", 2048, ring_bytes},
    {"fovea_merge", 1088, merge},
    {"fovea_pack_keys", 256, pack},
    {"fovea_fixed_attend_plain", 960, fixed_plain},
    {"fovea_fixed_attend, rows", 960, fixed_rows},
    {"fovea_fixed_attend, with options", 1280, fixed_options},
    {"fovea_fixed_attend, 16 bits", 1280, fixed_words},
    {"fovea_fixed_pack_keys", 192, fixed_pack},
    {"fovea_softmax", 1600, softmax},
    {"fovea_matvec", 448, dot},
    {"fovea_norm", 704, norm},
    {"fovea_rope_table", 320, rope_table},
    {"fovea_multiply", 704, multiply_f32},
    {"fovea_multiply, int8", 896, multiply_i8},
    {"fovea_run_layer", 2688, layer_f32},
    {"fovea_run_layer, int8 attention", 3200, layer_i8},
    {"fovea_cache_append", 448, cache_f32},
    {"fovea_cache_append, int8 with scales", 448, cache_i8},
    {"fovea_cache_append, a full ring", 448, ring_append},
    {"fovea_selftest", 1728, selftest},
    {"fovea_fixed_selftest", 1344, fixed_selftest},
};

} // namespace

int main() {
  int deep = 0;
  for (const auto& entry : entries) {
    const int32_t status = entry.run();
    std::printf("%5d of at most %4d  %s\n", static_cast<int>(used), static_cast<int>(entry.limit),
                entry.name);
    if (status) std::printf("refused: %s: %s\n", fovea_argument_text(status), fovea_reason_text(status));
    deep |= status || used > entry.limit;
  }
  if (deep) std::printf("fovea_cost_stack: a call was refused, or takes more stack than its limit\n");
  return deep;
}
