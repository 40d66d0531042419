// Keys into panels, as a cache does at append: whole panels by the kernel of this machine, single keys one by
// one.
#include "common/build.hpp"

#include "f32/kernel.hpp"

namespace {

void scatter(float* panel, int lane, const float* row, int32_t dim) {
  for (int32_t c = 0; c < dim; ++c) panel[c * 16 + lane] = row[c];
}

int32_t check(const float* panels, int32_t at, const float* rows, ptrdiff_t stride, int32_t count,
              int32_t dim) {
  using fovea::refusal;
  if (dim < 1 || dim > fovea::f32::greatest_dim) return refusal(FOVEA_SIZE, FOVEA_ARG_DIM);
  if (count < 0 || count > fovea::f32::greatest_count) return refusal(FOVEA_SIZE, FOVEA_ARG_KEYS);
  if (at < 0 || at > fovea::f32::greatest_count - count) return refusal(FOVEA_RANGE, FOVEA_ARG_FIRST_KEY);
  if (count > 1 && stride < 0) return refusal(FOVEA_STRIDE, FOVEA_ARG_K);
  if (count && !rows) return refusal(FOVEA_NULL, FOVEA_ARG_K);
  if (count && !panels) return refusal(FOVEA_NULL, FOVEA_ARG_OUT);
  if (reinterpret_cast<uintptr_t>(rows) % alignof(float)) return refusal(FOVEA_ALIGN, FOVEA_ARG_K);
  if (reinterpret_cast<uintptr_t>(panels) % alignof(float)) return refusal(FOVEA_ALIGN, FOVEA_ARG_OUT);
  return FOVEA_OK;
}

// The bytes that are written and read must not meet. All panels up to the last one written must fit the
// address space.
int32_t check_overlap(const float* panels, int32_t at, const float* rows, ptrdiff_t stride, int32_t count,
                      int32_t dim) {
  using namespace fovea;
  using namespace fovea::f32;
  if (count == 0) return FOVEA_OK;
  const int32_t first = at / 16, end = (at + count + 15) / 16;
  const ptrdiff_t panel = 16 * static_cast<ptrdiff_t>(dim);
  size_t in, all;
  byte_range read, written;
  if (!bytes_of({1, count, 0, stride, dim}, sizeof(float), in) || !range_of(rows, in, read))
    return refusal(FOVEA_OVERFLOW, FOVEA_ARG_K);
  if (!bytes_of({1, end, 0, panel, panel}, sizeof(float), all) || !range_of(panels, all, written))
    return refusal(FOVEA_OVERFLOW, FOVEA_ARG_OUT);
  written.begin += static_cast<uintptr_t>(first) * static_cast<uintptr_t>(panel) * sizeof(float);
  return meet(read, written) ? refusal(FOVEA_OVERLAP, FOVEA_ARG_OUT) : int32_t{FOVEA_OK};
}

} // namespace

int32_t fovea_pack_keys(float* panels, int32_t at, const float* rows, ptrdiff_t row_stride, int32_t count,
                        int32_t dim) {
  const ptrdiff_t stride = row_stride ? row_stride : dim;
  if (const int32_t s = check(panels, at, rows, stride, count, dim)) return s;
  if (const int32_t s = check_overlap(panels, at, rows, stride, count, dim)) return s;
  const int32_t isa = fovea::f32::find_isa(FOVEA_ISA_BEST);
  for (int32_t i = 0; i < count;) {
    const int32_t key = at + i, left = count - i;
    float* panel = panels + static_cast<ptrdiff_t>(key / 16) * 16 * dim;
    const float* row = rows + i * stride;
    if (isa >= 0 && key % 16 == 0 && left >= 16) {
      fovea::f32::run_at(isa, fovea::f32::pack_job{row, stride, dim, panel});
      i += 16;
    } else {
      scatter(panel, key % 16, row, dim);
      ++i;
    }
  }
  return FOVEA_OK;
}
