// The digest of integer attention: what every core must give, whatever instruction set computes it. The table
// of ./dev test shows it.
#include <doctest/doctest.h>

#include <vector>

#include "fixed_problem.hpp"
#include "report.hpp"

namespace {

constexpr uint64_t golden_int8 = 0x505b494e9f57f7c4; // a change of it is a change of docs/fixed_point.md

std::vector<fixed_problem> digest_set() {
  const auto c = [](const char* why) { return fixed_problem(why); };
  return {
      c("a causal prefill").heads(4, 2).dims(64).lengths(20, 70).causal(),
      c("odd dims, zero points").heads(2, 1).dims(37, 19).lengths(5, 130).zeros(17, -9, 5, -3).steepness(0.3),
      c("decode of a group over 1,100 keys")
          .heads(4, 1)
          .dims(32)
          .lengths(1, 1100)
          .max_keys(4096)
          .data(filling::uniform),
      c("the reference rises in each block")
          .heads(1)
          .dims(64)
          .lengths(7, 400)
          .data(filling::rising)
          .steepness(0.2),
      c("every byte an extreme").heads(1).dims(130).lengths(2, 130).data(filling::extremes).steepness(0.01),
      c("a window, kept keys, a mask, ALiBi and sinks")
          .heads(4, 2)
          .dims(16)
          .lengths(9, 150)
          .causal()
          .window(70, 0)
          .keep_first(3)
          .masked()
          .alibi()
          .sinks(),
      c("sinks and zero points")
          .heads(4, 2)
          .dims(48, 24)
          .lengths(6, 140)
          .causal()
          .sinks()
          .zeros(0, -9, 100, 5)
          .steepness(0.3),
      c("a scale per head and per key").heads(4, 2).dims(32).lengths(6, 140).scale_per_head().scale_per_key(),
  };
}

} // namespace

TEST_CASE("int8 attention has one digest on every core") {
  for (int32_t isa = FOVEA_FIXED_SCALAR; isa < FOVEA_FIXED_ISA_END; ++isa) {
    if (!fovea_fixed_has_isa(isa)) continue;
    uint64_t digest = 0xCBF29CE484222325u;
    for (int32_t type : {FOVEA_FIXED_S8, FOVEA_FIXED_S16, FOVEA_FIXED_F32})
      for (fixed_problem& x : digest_set()) {
        INFO(doctest::String(x.why()));
        fovea_fixed_attention a = x.make(type);
        a.isa = isa;
        std::vector<unsigned char> scratch(fovea_fixed_scratch(&a));
        CHECK(fovea_fixed_attend(&a, scratch.data(), scratch.size()) == FOVEA_OK);
        for (unsigned char byte : x.out) digest = (digest ^ byte) * 0x100000001B3u;
      }
    CHECK(digest == golden_int8);
    report::digest(fovea_fixed_isa_name(isa), true, digest);
  }
}
