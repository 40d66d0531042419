// The known answers of float attention.
#include "common/build.hpp"

#include "fovea/selftest.h"

#include "common/checksum.hpp"
#include "common/validate.hpp"

namespace fovea::f32 {
namespace {

// Two heads share one of keys. Expected checksums: of ISAs with fused multiply-add, and of those without.
constexpr int32_t heads = 2;
struct known_answer {
  int32_t dim, v_dim, queries, keys, layout;
  uint32_t expected, expected_without_fma;
};

// Keys in rows, and values of all widths that kernels take at a time. Then panels, and a second block of keys
// with larger scores than the first.
constexpr known_answer answers[] = {{13, 27, 3, 19, FOVEA_ROWS, 0x9eef3c3du, 0x2df81045u},
                                    {2, 2, 1, 300, FOVEA_PANELS, 0xe2c4fc67u, 0x99bb0b68u}};
constexpr int32_t first_block = 256;

struct numbers_of_test {
  float *q, *k, *v, *out, *end;
};
numbers_of_test numbers_for(const known_answer& x, float* at) {
  float *const k = at + heads * x.queries * x.dim, *const v = k + (x.keys + 15) / 16 * 16 * x.dim,
               *const out = v + x.keys * x.v_dim;
  return {at, k, v, out, out + heads * x.queries * x.v_dim};
}

// Few operations on floats: cores without FPU do them by software.
void fill_numbers(const known_answer& x, const numbers_of_test& to) {
  pseudo_random random(1);
  const ptrdiff_t later = to.k - to.q + first_block * x.dim, values = to.v - to.q;
  float* at = to.q;
  for (ptrdiff_t i = 0; at < to.out; ++at, ++i)
    *at = static_cast<float>(random.next()) * (later <= i && i < values ? 0x1p-21f : 0x1p-22f);
  for (; at < to.end; ++at) *at = 0;
}

int32_t try_answer(const known_answer& x, fovea_float_entry attend, float* scratch, size_t size) {
  const numbers_of_test to = numbers_for(x, scratch);
  const size_t bytes = sizeof(float) * static_cast<size_t>(to.end - scratch);
  if (size < bytes) return refusal(FOVEA_TOO_SMALL, FOVEA_ARG_SCRATCH);
  fill_numbers(x, to);
  fovea_attention a = {};
  a.q.data = to.q;
  a.k.data = to.k;
  a.k.layout = x.layout;
  a.v.data = to.v;
  a.out.data = to.out;
  a.q_heads = heads;
  a.kv_heads = 1;
  a.dim = x.dim;
  a.v_dim = x.v_dim;
  a.queries = x.queries;
  a.keys = x.keys;
  a.flags = FOVEA_CAUSAL;
  if (const int32_t s = attend(&a, to.end, size - bytes)) return s;
  const int32_t isa = fovea_isa();
  const bool rounds_products = isa == FOVEA_SCALAR_NO_FMA || isa == FOVEA_SSE41;
  return checksum_of(to.out, sizeof(float) * static_cast<size_t>(to.end - to.out)) ==
                 (rounds_products ? x.expected_without_fma : x.expected)
             ? int32_t{FOVEA_OK}
             : refusal(FOVEA_DAMAGED, FOVEA_ARG_OUT);
}

} // namespace
} // namespace fovea::f32

int32_t fovea_selftest(fovea_float_entry attend, void* scratch, size_t scratch_size) {
  using namespace fovea;
  using namespace fovea::f32;
  if (!attend) return refusal(FOVEA_NULL, FOVEA_ARG_CALL);
  if (!scratch) return refusal(FOVEA_NULL, FOVEA_ARG_SCRATCH);
  const size_t lost = -reinterpret_cast<uintptr_t>(scratch) % alignof(float);
  if (scratch_size < lost) return refusal(FOVEA_TOO_SMALL, FOVEA_ARG_SCRATCH);
  float* const aligned = reinterpret_cast<float*>(static_cast<unsigned char*>(scratch) + lost);
  for (const known_answer& x : answers)
    if (const int32_t s = try_answer(x, attend, aligned, scratch_size - lost)) return s;
  return FOVEA_OK;
}
