// Validation of tables: the numbers for heads, keys or rows that options point at.
#include "common/build.hpp"

#include "fixed/kernel.hpp"

namespace fovea::fixed {
namespace {

// A table has heads, each of them rows, each of these `row` numbers. Sizes and strides count elements of
// `element` bytes.
class tables_of {
 public:
  tables_of(const fovea_fixed_attention& a, fixed_plan& p) : a_(a), p_(p) {}
  int32_t status() const { return status_; }

  FOVEA_ONCE void per_head(const void* data, ptrdiff_t words, int32_t argument) {
    place(data, {1, a_.q_heads, 0, words, words}, 4, argument);
  }

  template <class T>
  void per_key(const fovea_fixed_per_key& x, int32_t argument, table_of<T>& table) {
    table.head = key_stride(x);
    table.data = static_cast<const T*>(x.data);
    if (a_.segments && argument != FOVEA_ARG_KEY_SUMS) return; // they say where
    place_keys(x.data, table.head, sizeof(T), argument);
  }

  template <class T>
  void per_row(const fovea_fixed_mask& x, table_of<T>& table) {
    table = {static_cast<const T*>(x.data), x.head_stride, x.query_stride};
    place(x.data, {a_.q_heads, a_.queries, x.head_stride, x.query_stride, a_.keys}, sizeof(T),
          FOVEA_ARG_MASK);
  }

 private:
  ptrdiff_t key_stride(const fovea_fixed_per_key& x) const { return x.head_stride ? x.head_stride : a_.keys; }
  FOVEA_ONCE void place_keys(const void* data, ptrdiff_t head_stride, size_t element, int32_t argument) {
    place(data, {p_.kv_heads, 1, head_stride, 0, a_.keys}, element, argument);
  }

  // Of several wrong tables, the first is named.
  FOVEA_ONCE void place(const void* data, const extent& e, size_t element, int32_t argument) {
    if (!data || status_) return;
    byte_range& bytes = p_.tables.at[p_.tables.count++];
    size_t size;
    int32_t reason = FOVEA_OK;
    if (e.head_stride < 0 || e.token_stride < 0) {
      reason = FOVEA_STRIDE;
    } else if (!bytes_of(e, element, size) || !range_of(data, size, bytes)) {
      reason = FOVEA_OVERFLOW;
    } else if (bytes.begin & (element - 1)) {
      reason = FOVEA_ALIGN;
    }
    if (reason) status_ = refusal(reason, argument);
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
  tables.per_row(a.mask, p.mask);
  tables.per_row(a.bias, p.bias);
  tables.per_head(a.alibi, 1, FOVEA_ARG_ALIBI);
  tables.per_head(a.sinks, 1, FOVEA_ARG_SINKS);
  p.alibi = a.alibi, p.sinks = a.sinks;
  if (!a.q.zero_point) p.sums.data = nullptr;
  p.octaves_by_key = p.multipliers.data || p.sums.data || p.mask.data || p.bias.data || p.alibi;
  if (const int32_t s = tables.status()) return s;
  if (!a.pattern || !a.pattern->parents) return FOVEA_OK;
  return check_tree(a, p, p.tables.at[p.tables.count++]);
}

} // namespace fovea::fixed
