// The known answer of integer attention.
#include "common/build.hpp"

#include "fovea/selftest.h"

#include "common/checksum.hpp"
#include "common/validate.hpp"
#include "fixed/panels.hpp"

namespace fovea::fixed {
namespace {

constexpr int32_t heads = 2, dim = 16, queries = 3, keys = 19;
constexpr size_t q_bytes = heads * queries * dim, panel_bytes = 64 * dim, out_bytes = q_bytes,
                 all_bytes = q_bytes + 2 * panel_bytes + out_bytes;

// What make_fixed_scale returns for scales of 4.5 / 127.
constexpr fovea_fixed_scale scale = {1991553379, 26, 0, 1073741824, 1, 0x3d112245u};

constexpr uint32_t expected = 0xf97ecf69u;

int8_t random_byte(pseudo_random& random) { return static_cast<int8_t>(random.next() >> 17); } // -64 .. 63

} // namespace
} // namespace fovea::fixed

int32_t fovea_fixed_selftest(fovea_fixed_entry attend, void* scratch, size_t scratch_size) {
  using namespace fovea;
  using namespace fovea::fixed;
  if (!attend) return refusal(FOVEA_NULL, FOVEA_ARG_CALL);
  if (!scratch) return refusal(FOVEA_NULL, FOVEA_ARG_SCRATCH);
  if (scratch_size < all_bytes) return refusal(FOVEA_TOO_SMALL, FOVEA_ARG_SCRATCH);
  int8_t* const q = static_cast<int8_t*>(scratch);
  int8_t *const k = q + q_bytes, *const v = k + panel_bytes, *const out = v + panel_bytes;
  pseudo_random random(1);
  for (int8_t* x = q; x < k; ++x) *x = random_byte(random);
  for (int8_t* x = k; x < out + out_bytes; ++x) *x = 0;
  for (int32_t key = 0; key < keys; ++key)
    for (int32_t c = 0; c < dim; ++c) {
      k[key_at(key, c, dim)] = random_byte(random);
      v[value_at(key, c, dim)] = random_byte(random);
    }
  fovea_fixed_attention a = {};
  a.q.data = q;
  a.k.data = k;
  a.v.data = v;
  a.out.data = out;
  a.k.layout = a.v.layout = FOVEA_PANELS;
  a.q_heads = heads;
  a.kv_heads = 1;
  a.dim = dim;
  a.queries = queries;
  a.keys = keys;
  a.flags = FOVEA_CAUSAL;
  a.scale = scale;
  if (const int32_t s = attend(&a, out + out_bytes, scratch_size - all_bytes)) return s;
  return checksum_of(out, out_bytes) == expected ? int32_t{FOVEA_OK} : refusal(FOVEA_DAMAGED, FOVEA_ARG_OUT);
}
