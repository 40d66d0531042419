// The known answer of integer attention.
#include "common/build.hpp"

#include "fovea/selftest.h"

#include "common/checksum.hpp"
#include "common/validate.hpp"
#include "fixed/panels.hpp"

namespace fovea::fixed {
namespace {

// A block of keys and a part of one, whose scores are larger: references rise. Three heads share one of keys,
// so that nine rows are tiles of two and one of one.
constexpr int32_t heads = 3, dim = 16, queries = 3, block = 64, keys = block + 19;
constexpr size_t q_bytes = heads * queries * dim, panel_bytes = 2 * block * dim, out_bytes = 3 * q_bytes,
                 all_bytes = q_bytes + 2 * panel_bytes + out_bytes;

// What make_fixed_scale returns for scales of 4.5 / 127, and of 4.5 / 32767 for output of 16 bits, which
// shows small changes of weights.
constexpr fovea_fixed_scale scale_of_words = {1991553379, 26, 0, 1082163458, 9, 0x3d112245u},
                            scale_of_bytes = {1991553379, 26, 0, 1073741824, 1, 0x3d112245u};

constexpr uint32_t expected = 0x99173f3fu;

int8_t random_byte(pseudo_random& random) { return static_cast<int8_t>(random.next() >> 17); } // -64 .. 63

} // namespace
} // namespace fovea::fixed

int32_t fovea_fixed_selftest(fovea_fixed_entry attend, void* scratch, size_t scratch_size) {
  using namespace fovea;
  using namespace fovea::fixed;
  if (!attend) return refusal(FOVEA_NULL, FOVEA_ARG_CALL);
  if (!scratch) return refusal(FOVEA_NULL, FOVEA_ARG_SCRATCH);
  const size_t lost = reinterpret_cast<uintptr_t>(scratch) % alignof(int16_t);
  if (scratch_size < lost + all_bytes) return refusal(FOVEA_TOO_SMALL, FOVEA_ARG_SCRATCH);
  int8_t* const q = static_cast<int8_t*>(scratch) + lost;
  int8_t *const k = q + q_bytes, *const v = k + panel_bytes, *const out = v + panel_bytes;
  pseudo_random random(1);
  for (int8_t* x = q; x < k; ++x) *x = random_byte(random);
  for (int8_t* x = k; x < out + out_bytes; ++x) *x = 0;
  for (int32_t key = 0; key < keys; ++key)
    for (int32_t c = 0; c < dim; ++c) {
      k[key_at(key, c, dim)] = static_cast<int8_t>(random_byte(random) >> (key < block));
      v[value_at(key, c, dim)] = random_byte(random);
    }
  fovea_fixed_attention a = {};
  a.q.data = q;
  a.k.data = k;
  a.v.data = v;
  a.out.data = out;
  a.k.layout = a.v.layout = FOVEA_PANELS;
  a.k.zero_point = 3;
  a.v.zero_point = -5;
  a.out.dtype = FOVEA_FIXED_S16;
  a.out.zero_point = 7;
  a.q_heads = heads;
  a.kv_heads = 1;
  a.dim = dim;
  a.queries = queries;
  a.keys = keys;
  a.flags = FOVEA_CAUSAL;
  a.scale = scale_of_words;
  const size_t room = scratch_size - lost - all_bytes;
  if (const int32_t s = attend(&a, out + out_bytes, room)) return s;
  a.out.data = out + 2 * q_bytes;
  a.out.dtype = FOVEA_FIXED_S8;
  a.scale = scale_of_bytes;
  if (const int32_t s = attend(&a, out + out_bytes, room)) return s;
  return checksum_of(out, out_bytes) == expected ? int32_t{FOVEA_OK} : refusal(FOVEA_DAMAGED, FOVEA_ARG_OUT);
}
