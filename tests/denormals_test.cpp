// Where denormals are promised: an ISA that keeps them returns their bits, one that flushes them takes them
// for zeros, and the least normal number is no denormal to either. docs/numerics.md, section 7.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "fovea/fovea.h"
#include "isas.hpp"

namespace {

// One query of one number over two keys, scale 1.
struct row {
  const char* why;
  float q, k[2], v[2];
  float kept, flushed; // results
};
constexpr float least = std::numeric_limits<float>::min(), half = 0.5f * least;

const row table[] = {
    {"the least normal number as value", 0, {0, 0}, {least, least}, least, least},
    {"a denormal value", 0, {0, 0}, {half, half}, half, 0},
    {"a negative one", 0, {0, 0}, {-half, -half}, -half, 0},
    {"a denormal beside a normal number", 0, {0, 0}, {least, half}, 0.75f * least, 0},
    {"a value whose product with its weight of 2^-30 is denormal",
     1,
     {0, -30 * 0.693147182f},
     {0, 0x1p20f * least},
     0x1p-10f * least,
     0},
    {"a denormal key: its score is 1/2 or 0", 0x1p126f, {0, half}, {0, 1}, 0.62245935f, 0.5f},
    {"a product of query and key that is denormal: both weigh the same",
     0x1p-64f,
     {0, 0x1p-64f},
     {0, 1},
     0.5f,
     0.5f},
};

// Some cores and C libraries flush denormals whatever the ISA does.
bool machine_keeps_them() {
  volatile float x = least;
  return x / 2 != 0;
}

using entry = int32_t (*)(const fovea_attention*, void*, size_t);

float attended(const row& r, int32_t isa, entry attend) {
  float out = -1;
  fovea_attention a = {};
  a.q.data = &r.q;
  a.k.data = r.k;
  a.v.data = r.v;
  a.out.data = &out;
  a.q_heads = a.kv_heads = a.dim = a.queries = 1;
  a.keys = 2;
  a.isa = isa;
  a.flags = FOVEA_SCALE;
  a.scale = 1;
  unsigned char scratch[FOVEA_SCRATCH(1, 1)];
  CHECK(attend(&a, scratch, sizeof scratch) == FOVEA_OK);
  return out;
}

} // namespace

TEST_CASE("denormals_are_kept_or_taken_for_zeros_as_the_isa_promises") {
  if (!machine_keeps_them()) return;
  for (const row& r : table)
    isas::for_each([&](int32_t isa) {
      INFO(doctest::String(r.why));
      const float expected = isas::keeps_denormals(isa) ? r.kept : r.flushed;
      const entry entries[] = {fovea_attend, fovea_attend_f32, fovea_attend_plain};
      for (const entry attend : entries) {
        const float found = attended(r, isa, attend);
        CHECK(std::fabs(found - expected) <= 1e-6f * std::fabs(expected) + 0x1p-148f);
        CHECK((found == 0) == (expected == 0));
      }
    });
}
