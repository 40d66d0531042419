// Calls without work return at once, however large the counts beside the empty one are. Data that must not be
// read is given by addresses where nothing stands.
#include <doctest/doctest.h>

#include <vector>

#include "fovea/fovea.h"
#include "isas.hpp"

namespace {

constexpr int32_t many = 1 << 18;
// Where addresses have 32 bits, keys stand where no memory of the test does.
constexpr bool short_addresses = sizeof(void*) == 4;
constexpr int32_t countless = short_addresses ? 1 << 24 : 1 << 30;
float* const nowhere = reinterpret_cast<float*>(uintptr_t{short_addresses ? 0xC0000000u : 4096u});

fovea_attention no_queries() {
  fovea_attention a = {};
  a.q_heads = many, a.dim = 1, a.queries = 0, a.keys = countless;
  a.k.data = a.v.data = nowhere;
  a.k.head_stride = a.v.head_stride = 1, a.k.token_stride = a.v.token_stride = 1;
  return a;
}

} // namespace

TEST_CASE("no_queries_take_no_time") {
  // Walking these heads and spans took 16 seconds; a test of time needs no clock when a walk would outlast
  // the whole run.
  isas::for_each([&](int32_t isa) {
    fovea_attention a = no_queries();
    a.isa = isa;
    std::vector<unsigned char> scratch(fovea_scratch_least(&a));
    CHECK(fovea_attend(&a, scratch.data(), scratch.size()) == FOVEA_OK);
    for (int32_t n = 0; n < 1000; ++n) {
      a.partials = scratch.data() + (64 - reinterpret_cast<uintptr_t>(scratch.data()) % 64);
      a.partials_size = 0;
      a.part = {n % 7, 7};
      std::vector<unsigned char> own(scratch.size());
      REQUIRE(fovea_attend(&a, own.data(), own.size()) == FOVEA_OK);
      REQUIRE(fovea_merge(&a) == FOVEA_OK);
    }
  });
}
