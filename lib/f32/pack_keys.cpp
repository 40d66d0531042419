// Keys into panels, as a cache does at append. Panels of floats: whole ones by the kernel of this machine,
// single keys one by one. Panels of halves: key by key, by their bits.
#include "common/build.hpp"

#include "common/bits.hpp"
#include "f32/kernel.hpp"

namespace fovea::f32 {
namespace {

// What is packed, with the sizes of both elements.
struct packing {
  void* panels;
  const void* rows;
  ptrdiff_t stride;
  int32_t at, count, dim;
  uint32_t out_bytes, in_bytes;
};

int32_t check(const packing& p) {
  if (p.dim < 1 || p.dim > greatest_dim) return refusal(FOVEA_SIZE, FOVEA_ARG_DIM);
  if (p.count < 0 || p.count > greatest_count) return refusal(FOVEA_SIZE, FOVEA_ARG_KEYS);
  if (p.at < 0 || p.at > greatest_count - p.count) return refusal(FOVEA_RANGE, FOVEA_ARG_FIRST_KEY);
  if (p.count > 1 && p.stride < 0) return refusal(FOVEA_STRIDE, FOVEA_ARG_K);
  if (p.count && !p.rows) return refusal(FOVEA_NULL, FOVEA_ARG_K);
  if (p.count && !p.panels) return refusal(FOVEA_NULL, FOVEA_ARG_OUT);
  if (reinterpret_cast<uintptr_t>(p.rows) & (p.in_bytes - 1)) return refusal(FOVEA_ALIGN, FOVEA_ARG_K);
  if (reinterpret_cast<uintptr_t>(p.panels) & (p.out_bytes - 1)) return refusal(FOVEA_ALIGN, FOVEA_ARG_OUT);
  return FOVEA_OK;
}

// The bytes that are written and read must not meet. All panels up to the last one written must fit the
// address space.
int32_t check_overlap(const packing& p) {
  if (p.count == 0) return FOVEA_OK;
  const int32_t first = p.at / 16, end = (p.at + p.count + 15) / 16;
  const ptrdiff_t panel = 16 * static_cast<ptrdiff_t>(p.dim);
  size_t in, all;
  byte_range read, written;
  if (!bytes_of({1, p.count, 0, p.stride, p.dim}, p.in_bytes, in) || !range_of(p.rows, in, read))
    return refusal(FOVEA_OVERFLOW, FOVEA_ARG_K);
  if (!bytes_of({1, end, 0, panel, panel}, p.out_bytes, all) || !range_of(p.panels, all, written))
    return refusal(FOVEA_OVERFLOW, FOVEA_ARG_OUT);
  written.begin += static_cast<uintptr_t>(first) * static_cast<uintptr_t>(panel) * p.out_bytes;
  return meet(read, written) ? refusal(FOVEA_OVERLAP, FOVEA_ARG_OUT) : int32_t{FOVEA_OK};
}

// Calls move(element of the panels, element of the rows) for all numbers of one key.
template <class Move>
void scatter(const packing& p, int32_t i, Move move) {
  const int32_t key = p.at + i;
  ptrdiff_t to = static_cast<ptrdiff_t>(key / 16) * 16 * p.dim + key % 16, from = i * p.stride;
  for (int32_t c = 0; c < p.dim; ++c, to += 16, ++from) move(to, from);
}

} // namespace
} // namespace fovea::f32

int32_t fovea_pack_keys(float* panels, int32_t at, const float* rows, ptrdiff_t row_stride, int32_t count,
                        int32_t dim) {
  using namespace fovea::f32;
  const packing p{panels, rows, row_stride ? row_stride : dim, at, count, dim, sizeof(float), sizeof(float)};
  if (const int32_t s = check(p)) return s;
  if (const int32_t s = check_overlap(p)) return s;
  const int32_t isa = find_isa(FOVEA_ISA_BEST);
  for (int32_t i = 0; i < count;) {
    const int32_t key = at + i, left = count - i;
    if (isa >= 0 && key % 16 == 0 && left >= 16) {
      run_at(isa, pack_job{rows + i * p.stride, p.stride, dim,
                           panels + static_cast<ptrdiff_t>(key / 16) * 16 * dim});
      i += 16;
    } else {
      scatter(p, i, [&](ptrdiff_t to, ptrdiff_t from) { panels[to] = rows[from]; });
      ++i;
    }
  }
  return FOVEA_OK;
}

int32_t fovea_pack_keys_as(int32_t dtype, void* panels, int32_t at, int32_t row_dtype, const void* rows,
                           ptrdiff_t row_stride, int32_t count, int32_t dim) {
  using namespace fovea;
  using namespace fovea::f32;
  if (dtype != FOVEA_F16 && dtype != FOVEA_BF16) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_DTYPE);
  if (row_dtype != FOVEA_F32 && row_dtype != dtype) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_K);
  const bool narrows = row_dtype == FOVEA_F32;
  const packing p{panels, rows, row_stride ? row_stride : dim, at, count, dim, 2, narrows ? 4u : 2u};
  if (const int32_t s = check(p)) return s;
  if (const int32_t s = check_overlap(p)) return s;
  uint16_t* const out = static_cast<uint16_t*>(panels);
  for (int32_t i = 0; i < count; ++i) {
    if (narrows)
      scatter(p, i, [&](ptrdiff_t to, ptrdiff_t from) {
        out[to] = rounded_half(static_cast<const float*>(rows)[from], dtype);
      });
    else
      scatter(p, i,
              [&](ptrdiff_t to, ptrdiff_t from) { out[to] = static_cast<const uint16_t*>(rows)[from]; });
  }
  return FOVEA_OK;
}
