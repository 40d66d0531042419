// Rows of weights into panels of 16 outputs, [in][16].
#include "common/build.hpp"

#include "f32/check.hpp"
#include "linear/plan.hpp"

namespace fovea::linear {
namespace {

struct pack_job {
  void* packed;
  int32_t in, out, dtype, at, rows;
  const fovea_rows_in* w;
  ptrdiff_t stride;
};

int32_t check_pack(size_t size, pack_job& job) {
  if (job.in < 1 || job.in > FOVEA_LINEAR_MAX) return refusal(FOVEA_SIZE, FOVEA_ARG_IN);
  if (job.out < 1 || job.out > FOVEA_LINEAR_MAX) return refusal(FOVEA_SIZE, FOVEA_ARG_OUT);
  if (!is_float(job.dtype)) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_DTYPE);
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
  if (job.w->reserved || !is_float(job.w->dtype)) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_W);
  extent e{1, job.rows, 0, 0, job.in};
  const size_t element = job.w->dtype == FOVEA_F32 ? 4 : 2;
  if (const int32_t reason = place(job.w->data, 0, job.w->stride, element, false, e, from))
    return refusal(reason, FOVEA_ARG_W);
  job.stride = e.token_stride;
  return meet(from, to) ? refusal(FOVEA_OVERLAP, FOVEA_ARG_PACKED) : int32_t{FOVEA_OK};
}

// Numbers are moved and rounded by their bits, so that a core without FPU packs the same bytes.
struct f32_bits {
  using stored = uint32_t;
  static uint32_t widen(stored x) { return x; }
  static stored narrow(uint32_t x) { return x; }
};
struct bf16_bits {
  using stored = uint16_t;
  static uint32_t widen(stored x) { return uint32_t{x} << 16; }
  static stored narrow(uint32_t x) {
    if ((x & 0x7fffffffu) > 0x7f800000u) return static_cast<stored>(x >> 16 | 0x40u); // NaN
    return static_cast<stored>((x + 0x7fffu + (x >> 16 & 1)) >> 16);
  }
};
struct f16_bits {
  using stored = uint16_t;
  static uint32_t widen(stored x) {
    const uint32_t sign = uint32_t{x} << 16 & 0x80000000u;
    uint32_t exponent = x >> 10 & 31u, fraction = x & 0x3ffu;
    if (exponent == 31) return sign | 0x7f800000u | fraction << 13;
    if (exponent == 0) {
      if (fraction == 0) return sign;
      for (exponent = 1; !(fraction & 0x400u); --exponent) fraction <<= 1; // may go below 0, and wraps
      fraction &= 0x3ffu;
    }
    return sign | (exponent + 112) << 23 | fraction << 13;
  }
  static stored narrow(uint32_t x) {
    const uint32_t sign = x >> 16 & 0x8000u, size = x & 0x7fffffffu;
    if (size > 0x7f800000u) return static_cast<stored>(sign | 0x7e00u | (size >> 13 & 0x3ffu)); // NaN
    if (size >= 0x477ff000u) return static_cast<stored>(sign | 0x7c00u); // from 65,520 on infinity
    if (size < 0x33000000u) return static_cast<stored>(sign);            // below half of the least one: 0
    // Bits that are dropped: 13, and in a denormal as many more as its exponent is too small.
    const uint32_t exponent = size >> 23, drop = exponent > 112 ? 13 : 126 - exponent;
    const uint32_t whole = exponent > 112 ? size - (112u << 23) : (size & 0x7fffffu) | 0x800000u;
    const uint32_t rounded = whole + (1u << (drop - 1)) - 1 + (whole >> drop & 1);
    return static_cast<stored>(sign | rounded >> drop);
  }
};

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
  const size_t element = job.dtype == FOVEA_F32 ? 4 : 2, given = job.w->dtype == FOVEA_F32 ? 4 : 2;
  const ptrdiff_t panel = static_cast<ptrdiff_t>(16 * element) * job.in;
  const row_packer pack = packer(job.w->dtype, job.dtype);
  auto* packed = static_cast<unsigned char*>(job.packed);
  const auto* row = static_cast<const unsigned char*>(job.w->data);
  for (int32_t o = job.at; o < job.at + job.rows; ++o, row += job.stride * static_cast<ptrdiff_t>(given))
    pack(row, job.in, packed + o / 16 * panel + static_cast<size_t>(o % 16) * element);
  if (job.rows && job.at + job.rows == job.out && job.out % 16)
    clear_lanes(packed + job.out / 16 * panel, job.out % 16, job.in, element);
}

} // namespace
} // namespace fovea::linear

int32_t fovea_pack_linear(void* packed, size_t size, int32_t in, int32_t out, int32_t dtype, int32_t at,
                          const fovea_rows_in* w, int32_t rows) {
  using namespace fovea::linear;
  pack_job job = {packed, in, out, dtype, at, rows, w, 0};
  if (const int32_t status = check_pack(size, job)) return status;
  pack_floats(job);
  return FOVEA_OK;
}
