// Validation of tables: the numbers for heads, keys or rows that options point at.
#include "common/build.hpp"

#include "fixed/kernel.hpp"

namespace fovea::fixed {
namespace {

// A table has heads, each of them rows, each of these `row` numbers.
class tables_of {
 public:
  tables_of(const fovea_fixed_attention& a, fixed_plan& p) : a_(a), p_(p) {}
  int32_t status() const { return status_; }

  FOVEA_ONCE void per_head(const void* data, int32_t words, int32_t argument) {
    place(data, 0, 0, {1, a_.q_heads, words, 2, false}, argument);
  }

  template <class T>
  void per_key(const fovea_fixed_per_key& x, int32_t argument, table_of<T>& table) {
    table.head = stride_or(x.head_stride, a_.keys);
    table.data = static_cast<const T*>(x.data);
    if (features::segments && a_.segments && argument != FOVEA_ARG_KEY_SUMS) return; // they say where
    place(x.data, x.head_stride, 0, {p_.kv_heads, 1, a_.keys, shift_of<T>, false}, argument);
  }

  // A stride of 0 gives all heads the same rows, or all queries the same row.
  template <class T>
  void per_row(const fovea_fixed_mask& x, table_of<T>& table) {
    table = {static_cast<const T*>(x.data), x.head_stride, x.query_stride};
    const int32_t heads = x.head_stride ? a_.q_heads : 1,
                  queries = x.query_stride || a_.queries < 1 ? a_.queries : 1;
    place(x.data, stride_or(x.head_stride, 1), stride_or(x.query_stride, 1),
          {heads, queries, a_.keys, shift_of<T>, false}, FOVEA_ARG_MASK);
  }

 private:
  template <class T>
  static constexpr int shift_of = sizeof(T) == 4 ? 2 : sizeof(T) - 1;

  // Of several wrong tables, the first is named.
  FOVEA_ONCE void place(const void* data, ptrdiff_t head_stride, ptrdiff_t row_stride, const tensor_counts& n,
                        int32_t argument) {
    if (!data || status_) return;
    byte_rows rows;
    if (const int32_t reason = check_tensor(data, head_stride, row_stride, n, rows,
                                            p_.memory.at[p_.memory.count++]))
      status_ = refusal(reason, argument);
  }

  const fovea_fixed_attention& a_;
  fixed_plan& p_;
  int32_t status_ = FOVEA_OK;
};

} // namespace

int32_t check_fixed_tables(const fovea_fixed_attention& a, fixed_plan& p) {
  tables_of tables(a, p);
  tables.per_head(a.head_scales, sizeof(fovea_fixed_scale) / 4, FOVEA_ARG_SCALE);
  tables.per_key(a.key_multipliers, FOVEA_ARG_K, p.multipliers);
  tables.per_key(a.key_sums, a.segments ? FOVEA_ARG_KEY_SUMS : FOVEA_ARG_K, p.sums);
  tables.per_key(a.value_weights, FOVEA_ARG_V, p.value_weights);
  if constexpr (features::masks) {
    tables.per_row(a.mask, p.mask);
    tables.per_row(a.bias, p.bias);
  }
  if constexpr (features::alibi) {
    tables.per_head(a.alibi, 1, FOVEA_ARG_ALIBI);
    p.alibi = a.alibi;
  }
  if constexpr (features::sinks) {
    tables.per_head(a.sinks, 1, FOVEA_ARG_SINKS);
    p.sinks = a.sinks;
  }
  if (!a.q.zero_point) p.sums.data = nullptr;
  p.octaves_by_key = p.multipliers.data || p.sums.data || p.mask.data || p.bias.data || p.alibi;
  if (const int32_t s = tables.status()) return s;
  if (!features::trees || !a.pattern || !a.pattern->parents) return FOVEA_OK;
  return check_tree(a, p, p.memory.at[p.memory.count++]);
}

} // namespace fovea::fixed
