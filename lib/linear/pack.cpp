// Rows of weights into panels of 16 outputs, [in][16].
#include "common/build.hpp"

#include "f32/check.hpp"
#include "linear/element_bits.hpp"
#include "linear/integers.hpp"

namespace fovea::linear {
namespace {

struct pack_job {
  void* packed;
  int32_t in, out, dtype, at, rows;
  const fovea_rows_in* w;
  ptrdiff_t stride;
  size_t element; // bytes of what w holds
};

int32_t check_pack(size_t size, pack_job& job) {
  if (job.in < 1 || job.in > FOVEA_LINEAR_MAX) return refusal(FOVEA_SIZE, FOVEA_ARG_IN);
  if (job.out < 1 || job.out > FOVEA_LINEAR_MAX) return refusal(FOVEA_SIZE, FOVEA_ARG_OUT);
  if (!is_float(job.dtype) && !is_integer(job.dtype)) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_DTYPE);
  if (job.dtype == FOVEA_I8 && job.in > greatest_in_of_bytes) return refusal(FOVEA_SIZE, FOVEA_ARG_IN);
  const size_t needed = packed_bytes(job.in, job.out, job.dtype);
  if (!needed) return refusal(FOVEA_OVERFLOW, FOVEA_ARG_PACKED);
  if (!job.packed) return refusal(FOVEA_NULL, FOVEA_ARG_PACKED);
  if (f32::misaligned(job.packed)) return refusal(FOVEA_ALIGN, FOVEA_ARG_PACKED);
  if (size < needed) return refusal(FOVEA_TOO_SMALL, FOVEA_ARG_PACKED);
  byte_range to, from;
  if (!range_of(job.packed, needed, to)) return refusal(FOVEA_OVERFLOW, FOVEA_ARG_PACKED);
  if (job.rows < 0 || job.rows > job.out) return refusal(FOVEA_SIZE, FOVEA_ARG_ROWS);
  if (job.at < 0 || job.at > job.out - job.rows) return refusal(FOVEA_RANGE, FOVEA_ARG_AT);
  if (!job.w) return refusal(FOVEA_NULL, FOVEA_ARG_W);
  if (job.w->reserved) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_W);
  const bool blocks = job.dtype == FOVEA_I4 && job.w->dtype == FOVEA_I4;
  if (!is_float(job.w->dtype) && !blocks) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_W);
  if (blocks && job.in % q4_0_numbers) return refusal(FOVEA_SIZE, FOVEA_ARG_IN);
  if (blocks && job.w->stride % q4_0_numbers) return refusal(FOVEA_STRIDE, FOVEA_ARG_W);
  // A block of Q4_0 is nine elements of two bytes.
  const ptrdiff_t stride = blocks ? job.w->stride / q4_0_numbers * q4_0_halves : job.w->stride;
  extent e{1, job.rows, 0, 0, blocks ? job.in / q4_0_numbers * q4_0_halves : job.in};
  job.element = job.w->dtype == FOVEA_F32 ? 4 : 2;
  if (const int32_t reason = place(job.w->data, 0, stride, job.element, false, e, from))
    return refusal(reason, FOVEA_ARG_W);
  job.stride = job.rows > 1 ? e.token_stride : 0; // of one row it may be any number
  return meet(from, to) ? refusal(FOVEA_OVERLAP, FOVEA_ARG_PACKED) : int32_t{FOVEA_OK};
}

// One row becomes a lane of a panel.
template <class From, class To>
void pack_row(const void* row, int32_t in, void* lane) {
  const auto* from = static_cast<const typename From::stored*>(row);
  auto* to = static_cast<typename To::stored*>(lane);
  for (int32_t k = 0; k < in; ++k, to += 16) *to = To::narrow(From::widen(from[k]));
}

using row_packer = void (*)(const void*, int32_t, void*);
template <class To>
row_packer packer_from(int32_t dtype) {
  if (dtype == FOVEA_F16) return pack_row<f16_bits, To>;
  if (dtype == FOVEA_BF16) return pack_row<bf16_bits, To>;
  return pack_row<f32_bits, To>;
}
row_packer packer(int32_t from, int32_t to) {
  if (to == FOVEA_F16) return packer_from<f16_bits>(from);
  if (to == FOVEA_BF16) return packer_from<bf16_bits>(from);
  return packer_from<f32_bits>(from);
}

// Lanes behind the last output become 0, so that packed weights are the same bytes each time.
void clear_lanes(unsigned char* panel, int32_t lanes, int32_t in, size_t element) {
  for (int32_t k = 0; k < in; ++k, panel += 16 * element)
    std::memset(panel + static_cast<size_t>(lanes) * element, 0, static_cast<size_t>(16 - lanes) * element);
}

void pack_floats(const pack_job& job) {
  const size_t element = job.dtype == FOVEA_F32 ? 4 : 2;
  const ptrdiff_t panel = static_cast<ptrdiff_t>(16 * element) * job.in;
  const row_packer pack = packer(job.w->dtype, job.dtype);
  auto* packed = static_cast<unsigned char*>(job.packed);
  const auto* row = static_cast<const unsigned char*>(job.w->data);
  for (int32_t o = job.at; o < job.at + job.rows;
       ++o, row += job.stride * static_cast<ptrdiff_t>(job.element))
    pack(row, job.in, packed + o / 16 * panel + static_cast<size_t>(o % 16) * element);
  if (job.rows && job.at + job.rows == job.out && job.out % 16)
    clear_lanes(packed + job.out / 16 * panel, job.out % 16, job.in, element);
}

int32_t pack_integers(const pack_job& job) {
  const integer_rows rows = {static_cast<const unsigned char*>(job.w->data),
                             job.stride * static_cast<ptrdiff_t>(job.element),
                             job.w->dtype,
                             job.rows,
                             job.in,
                             job.out,
                             job.at};
  if (const int32_t reason = check_numbers(rows, job.dtype)) return refusal(reason, FOVEA_ARG_W);
  auto* const packed = static_cast<unsigned char*>(job.packed);
  job.dtype == FOVEA_I8 ? pack_bytes(rows, packed) : pack_groups(rows, packed);
  return FOVEA_OK;
}

} // namespace
} // namespace fovea::linear

int32_t fovea_pack_linear(void* packed, size_t size, int32_t in, int32_t out, int32_t dtype, int32_t at,
                          const fovea_rows_in* w, int32_t rows) {
  using namespace fovea::linear;
  pack_job job = {packed, in, out, dtype, at, rows, w, 0, 0};
  if (const int32_t status = check_pack(size, job)) return status;
  if (is_integer(dtype)) return pack_integers(job);
  pack_floats(job);
  return FOVEA_OK;
}
