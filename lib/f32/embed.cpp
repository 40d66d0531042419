// Sums of rows: embeddings, and the sum of two tensors. Additions alone have the same bits on each core, so
// this needs no kernel for each ISA.
#include "common/build.hpp"

#include "f32/check_rows.hpp"
#include "fovea/ops.h"

namespace fovea::f32 {
namespace {

constexpr int most_tables = sizeof fovea_embedding::table / sizeof(fovea_embedding_table);

ptrdiff_t row_of(const fovea_embedding_table& t, int32_t r) {
  return t.index ? t.index[r] : t.first + static_cast<ptrdiff_t>(r) * t.step;
}

// out = a + b, sixteen numbers at a time: read before they are written, so that out may be a or b.
void add_row(const float* a, const float* b, int32_t columns, float* out) {
  int32_t c = 0;
  for (; c <= columns - 16; c += 16) {
    float t[16];
    for (int i = 0; i < 16; ++i) t[i] = a[c + i] + b[c + i];
    std::memcpy(out + c, t, sizeof t);
  }
  for (; c < columns; ++c) out[c] = a[c] + b[c];
}

// A table and its rows; all of them are within it.
int32_t check_table(const fovea_embedding_table& t, int32_t rows, int32_t columns, byte_range (&bytes)[2]) {
  bytes[0] = bytes[1] = {};
  if (t.reserved) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_RESERVED);
  if (!t.data) return FOVEA_OK;
  if (t.size < 0) return refusal(FOVEA_SIZE, FOVEA_ARG_TABLE);
  if (const int32_t s = check_floats({t.data, t.stride ? t.stride : columns, t.size, columns},
                                     FOVEA_ARG_TABLE, bytes[0]))
    return s;
  if (const int32_t s = check_list(t.index, rows, FOVEA_ARG_INDEX, bytes[1])) return s;
  if (!t.index && rows) { // a line: its ends are its extremes
    const int64_t last = t.first + (rows - 1) * static_cast<int64_t>(t.step);
    const bool within = t.first >= 0 && t.first < t.size && last >= 0 && last < t.size;
    return within ? int32_t{FOVEA_OK} : refusal(FOVEA_RANGE, FOVEA_ARG_INDEX);
  }
  for (int32_t r = 0; r < rows; ++r)
    if (t.index[r] < 0 || t.index[r] >= t.size) return refusal(FOVEA_RANGE, FOVEA_ARG_INDEX);
  return FOVEA_OK;
}

int32_t check_embedding(const fovea_embedding* call) {
  if (!call) return refusal(FOVEA_NULL, FOVEA_ARG_CALL);
  const fovea_embedding& e = *call;
  if (!all_zero(e.reserved, sizeof e.reserved / sizeof *e.reserved))
    return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_RESERVED);
  if (const int32_t s = check_counts(e.rows, e.columns)) return s;
  byte_range out, table[2];
  if (const int32_t s = check_written({e.out, e.out_stride ? e.out_stride : e.columns, e.rows, e.columns},
                                      FOVEA_ARG_OUT, out))
    return s;
  for (const fovea_embedding_table& t : e.table) {
    if (const int32_t s = check_table(t, e.rows, e.columns, table)) return s;
    if (meet(table[0], out) || meet(table[1], out)) return refusal(FOVEA_OVERLAP, FOVEA_ARG_OUT);
  }
  return e.table[0].data ? int32_t{FOVEA_OK} : refusal(FOVEA_NULL, FOVEA_ARG_TABLE);
}

void embed_row(const fovea_embedding& e, int32_t r) {
  float* out = e.out + r * (e.out_stride ? e.out_stride : e.columns);
  const float* sum = nullptr;
  for (int t = 0; t < most_tables; ++t) {
    const fovea_embedding_table& table = e.table[t];
    if (!table.data) continue;
    const float* row = table.data + row_of(table, r) * (table.stride ? table.stride : e.columns);
    if (sum) add_row(sum, row, e.columns, out);
    sum = sum ? out : row;
  }
  if (sum != out) std::memcpy(out, sum, static_cast<size_t>(e.columns) * sizeof(float));
}

} // namespace
} // namespace fovea::f32

int32_t fovea_embed(const fovea_embedding* call) {
  using namespace fovea::f32;
  if (const int32_t status = check_embedding(call)) return status;
  for (int32_t r = 0; r < call->rows && call->columns; ++r) embed_row(*call, r);
  return FOVEA_OK;
}

int32_t fovea_add(const float* a, ptrdiff_t a_stride, const float* b, ptrdiff_t b_stride, int32_t rows,
                  int32_t columns, float* out, ptrdiff_t out_stride) {
  using namespace fovea;
  using namespace fovea::f32;
  if (const int32_t status = check_counts(rows, columns)) return status;
  const rows_given first{a, a_stride ? a_stride : columns, rows, columns},
      second{b, b_stride ? b_stride : columns, rows, columns},
      sum{out, out_stride ? out_stride : columns, rows, columns};
  byte_range first_bytes, second_bytes, bytes;
  if (const int32_t s = check_floats(first, FOVEA_ARG_IN, first_bytes)) return s;
  if (const int32_t s = check_floats(second, FOVEA_ARG_RESIDUAL, second_bytes)) return s;
  if (const int32_t s = check_written(sum, FOVEA_ARG_OUT, bytes)) return s;
  if (meets_others(first, first_bytes, sum, bytes) || meets_others(second, second_bytes, sum, bytes))
    return refusal(FOVEA_OVERLAP, FOVEA_ARG_OUT);
  for (int32_t r = 0; r < rows && columns; ++r)
    add_row(a + r * first.stride, b + r * second.stride, columns, out + r * sum.stride);
  return FOVEA_OK;
}
