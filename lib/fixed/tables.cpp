// Validation of tables: the numbers for heads, keys or rows that options point at.
#define FOVEA_SOURCE_FOR_SIZE 1
#include "common/build.hpp"

#include "fixed/kernel.hpp"

namespace fovea::fixed {
namespace {

enum kind_of_table : uint8_t { per_head, per_key, per_row };

// Where a call has a table: a pointer, then as many strides as its kind says. Each number has 2^shift bytes;
// a head has so many numbers, or one for each key.
struct table_kind {
  uint8_t at; // in pointers from the begin of the call
  kind_of_table kind;
  bool by_key; // it touches single keys
  uint8_t shift, numbers, argument;
};

constexpr table_kind kind_at(size_t offset, kind_of_table kind, bool by_key, int shift, int32_t argument,
                             size_t numbers = 0) {
  return {static_cast<uint8_t>(offset / sizeof(void*)),
          kind,
          by_key,
          static_cast<uint8_t>(shift),
          static_cast<uint8_t>(numbers),
          static_cast<uint8_t>(argument)};
}

using call = fovea_fixed_attention;
static_assert(sizeof(call) / sizeof(void*) <= 256);
// In the order of the plan; of several wrong ones, the first is named.
enum { scales, multipliers, weights, sums, mask, bias, alibi, sinks, table_count };
constexpr table_kind kinds[table_count] = {
    kind_at(offsetof(call, head_scales), per_head, false, 2, FOVEA_ARG_SCALE, sizeof(fovea_fixed_scale) / 4),
    kind_at(offsetof(call, key_multipliers), per_key, true, 2, FOVEA_ARG_K),
    kind_at(offsetof(call, value_weights), per_key, false, 1, FOVEA_ARG_V),
    kind_at(offsetof(call, key_sums), per_key, false, 2, FOVEA_ARG_K), // it does where q has a zero point
    kind_at(offsetof(call, mask), per_row, true, 0, FOVEA_ARG_MASK),
    kind_at(offsetof(call, bias), per_row, true, 2, FOVEA_ARG_MASK),
    kind_at(offsetof(call, alibi), per_head, true, 2, FOVEA_ARG_ALIBI, 1),
    kind_at(offsetof(call, sinks), per_head, false, 2, FOVEA_ARG_SINKS, 1)};
static_assert(offsetof(fixed_plan, sinks) ==
              offsetof(fixed_plan, head_scales) + (table_count - 1) * sizeof(tensor_place));

} // namespace

// Strides that a table has none of become 0. A stride of 0 gives all heads the same rows, or all queries the
// same row.
int32_t check_fixed_tables(const call& a, fixed_plan& p) {
  tensor_counts n;
  byte_rows rows;
  tensor_place* table = reinterpret_cast<tensor_place*>(&p.head_scales);
  for (const table_kind* t = kinds; t != kinds + table_count; ++t, ++table) {
    *table = *reinterpret_cast<const tensor_place*>(reinterpret_cast<const void* const*>(&a) + t->at);
    if (!table->data) continue;
    p.octaves_by_key |= t->by_key;
    n = {a.q_heads, 1, t->numbers ? t->numbers : a.keys, t->shift, t->argument};
    if (t->kind == per_row) {
      if (!table->head_stride) n.heads = 1;
      if (table->token_stride || a.queries == 0) n.tokens = a.queries;
    } else {
      table->token_stride = 0;
      if (t->kind == per_head) {
        table->head_stride = 0;
      } else {
        n.heads = p.kv_heads;
        table->head_stride = stride_or(table->head_stride, n.row);
        if (p.in_segments()) {
          if (t != kinds + sums) continue; // segments say where the others are
          n.argument = FOVEA_ARG_KEY_SUMS;
        }
      }
    }
    if (const int32_t s = check_tensor(*table, n, p, rows)) return s;
  }
  if (kernels_read_tables && !p.zero_q) p.sums.data = nullptr;
  if (!features::trees || !p.tree.parents) return FOVEA_OK;
  n = {1, 1, a.queries, 1, FOVEA_ARG_PARENT};
  if (const int32_t s = check_tensor({p.tree.parents, 0, 0}, n, p, rows)) return s;
  return check_parents(p.tree);
}

} // namespace fovea::fixed
