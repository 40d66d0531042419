// The known answer of float attention.
#include "common/build.hpp"

#include "fovea/selftest.h"

#include "common/checksum.hpp"
#include "common/validate.hpp"

namespace fovea::f32 {
namespace {

// Two heads share one of keys. Dims and counts are no multiples of vectors.
constexpr int32_t heads = 2, dim = 13, v_dim = 11, queries = 3, keys = 19;
constexpr int32_t q_count = heads * queries * dim, k_count = keys * dim, v_count = keys * v_dim,
                  out_count = heads * queries * v_dim;
constexpr size_t all_bytes = sizeof(float) * (q_count + k_count + v_count + out_count);

// Of ISAs with fused multiply-add, and of those without.
constexpr uint32_t expected = 0x19815b59u, expected_without_fma = 0xd3f459c4u;

} // namespace
} // namespace fovea::f32

int32_t fovea_selftest(fovea_float_entry attend, void* scratch, size_t scratch_size) {
  using namespace fovea;
  using namespace fovea::f32;
  if (!attend) return refusal(FOVEA_NULL, FOVEA_ARG_CALL);
  if (!scratch) return refusal(FOVEA_NULL, FOVEA_ARG_SCRATCH);
  const size_t lost = -reinterpret_cast<uintptr_t>(scratch) % alignof(float);
  if (scratch_size < lost + all_bytes) return refusal(FOVEA_TOO_SMALL, FOVEA_ARG_SCRATCH);
  float* const q = reinterpret_cast<float*>(static_cast<unsigned char*>(scratch) + lost);
  float *const k = q + q_count, *const v = k + k_count, *const out = v + v_count;
  pseudo_random random(1);
  for (float* x = q; x < out; ++x) *x = static_cast<float>(random.next()) * 0x1p-22f;
  for (float* x = out; x < out + out_count; ++x) *x = 0;
  fovea_attention a = {};
  a.q.data = q;
  a.k.data = k;
  a.v.data = v;
  a.out.data = out;
  a.q_heads = heads;
  a.kv_heads = 1;
  a.dim = dim;
  a.v_dim = v_dim;
  a.queries = queries;
  a.keys = keys;
  a.flags = FOVEA_CAUSAL;
  if (const int32_t s = attend(&a, out + out_count, scratch_size - lost - all_bytes)) return s;
  const int32_t isa = fovea_isa();
  const bool rounds_products = isa == FOVEA_SCALAR_NO_FMA || isa == FOVEA_SSE41;
  return checksum_of(out, sizeof(float) * out_count) == (rounds_products ? expected_without_fma : expected)
             ? int32_t{FOVEA_OK}
             : refusal(FOVEA_DAMAGED, FOVEA_ARG_OUT);
}
