// Validation of tables: the numbers for heads, keys or rows that options point at.
#include "common/build.hpp"

#include "fixed/kernel.hpp"

namespace fovea::fixed {
namespace {

enum kind_of_table : uint8_t { per_head, per_key, per_row };

// Where a call has a table: a pointer, then as many strides as its kind says. Each number has 2^shift
// bytes for it; a head has so many numbers.
struct table_kind {
  uint8_t at; // in pointers from the begin of the call
  kind_of_table kind;
  uint8_t shift, numbers;
  uint8_t argument;
};

constexpr table_kind kind_at(size_t offset, kind_of_table kind, int shift, int32_t argument,
                             size_t numbers = 1) {
  return {static_cast<uint8_t>(offset / sizeof(void*)), kind, static_cast<uint8_t>(shift),
          static_cast<uint8_t>(numbers), static_cast<uint8_t>(argument)};
}

using call = fovea_fixed_attention;
static_assert(sizeof(call) / sizeof(void*) <= 256);
// In the order of the plan; of several wrong ones, the first is named.
enum { scales, multipliers, sums, weights, mask, bias, alibi, sinks, table_count };
// Those that touch single keys.
constexpr uint32_t by_key = 1 << multipliers | 1 << sums | 1 << mask | 1 << bias | 1 << alibi;
constexpr table_kind kinds[table_count] = {
    kind_at(offsetof(call, head_scales), per_head, 2, FOVEA_ARG_SCALE, sizeof(fovea_fixed_scale) / 4),
    kind_at(offsetof(call, key_multipliers), per_key, 2, FOVEA_ARG_K),
    kind_at(offsetof(call, key_sums), per_key, 2, FOVEA_ARG_K),
    kind_at(offsetof(call, value_weights), per_key, 1, FOVEA_ARG_V),
    kind_at(offsetof(call, mask), per_row, 0, FOVEA_ARG_MASK),
    kind_at(offsetof(call, bias), per_row, 2, FOVEA_ARG_MASK),
    kind_at(offsetof(call, alibi), per_head, 2, FOVEA_ARG_ALIBI),
    kind_at(offsetof(call, sinks), per_head, 2, FOVEA_ARG_SINKS)};
static_assert(offsetof(fixed_plan, sinks) ==
              offsetof(fixed_plan, head_scales) + (table_count - 1) * sizeof(tensor_place));

// A stride of 0 gives all heads the same rows, or all queries the same row.
void place_rows(const call& a, tensor_place& x, tensor_counts& n) {
  if (x.token_stride || a.queries < 1) n.tokens = a.queries;
  if (x.head_stride)
    n.heads = a.q_heads;
  else
    x.head_stride = 1;
}

int32_t check_table(const call& a, fixed_plan& p, const table_kind& t, tensor_place& table,
                    int32_t argument) {
  tensor_place x{table.data, 0, 0};
  tensor_counts n{1, a.q_heads, t.numbers, t.shift, argument};
  if (t.kind != per_head) {
    n.tokens = 1, n.row = a.keys;
    if (t.kind == per_key)
      n.heads = p.kv_heads, x.head_stride = table.head_stride = stride_or(table.head_stride, a.keys);
    else
      x = table, place_rows(a, x, n);
  }
  byte_rows rows;
  return check_tensor(x, n, p, rows);
}

} // namespace

int32_t check_fixed_tables(const call& a, fixed_plan& p) {
  uint32_t given = 0;
  for (int i = 0; i < table_count; ++i) {
    const table_kind& t = kinds[i];
    tensor_place& table = reinterpret_cast<tensor_place*>(&p.head_scales)[i];
    table = *reinterpret_cast<const tensor_place*>(reinterpret_cast<const void* const*>(&a) + t.at);
    if (!table.data) continue;
    given |= 1u << i;
    const bool in_segments = features::segments && a.segments;
    if (in_segments && (i == multipliers || i == weights)) continue; // they say where
    const int32_t argument = in_segments && i == sums ? int32_t{FOVEA_ARG_KEY_SUMS} : t.argument;
    if (const int32_t s = check_table(a, p, t, table, argument)) return s;
  }
  if (!a.q.zero_point) p.sums.data = nullptr, given &= ~(1u << sums);
  p.octaves_by_key = given & by_key;
  p.tree.parents = nullptr;
  if (!features::trees || !a.pattern || !a.pattern->parents) return FOVEA_OK;
  // The parents of all queries, as a tensor.
  byte_rows rows;
  if (const int32_t s = check_tensor({a.pattern->parents, 0, 0}, {1, 1, a.queries, 1, FOVEA_ARG_PARENT}, p,
                                     rows))
    return s;
  return check_tree(a, p);
}

} // namespace fovea::fixed
