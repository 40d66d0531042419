// Options that touch single keys, where they leave 32 bits: every ISA limits octaves as the specification does.
#include <doctest/doctest.h>

#include <string>

#include "fixed_problem.hpp"

namespace {

void check_bits(fixed_problem& x, fovea_fixed_attention a, const char* why) {
  const std::vector<unsigned char> expected = fixed_reference::output(a);
  for (int32_t isa = FOVEA_FIXED_SCALAR; isa < FOVEA_FIXED_ISA_END; ++isa) {
    if (!fovea_fixed_has_isa(isa)) continue;
    INFO(std::string(why));
    INFO(std::string(fovea_fixed_isa_name(isa)));
    a.isa = isa;
    std::vector<unsigned char> scratch(fovea_fixed_scratch_best(&a));
    x.out.assign(x.out.size(), 0x55);
    CHECK(fovea_fixed_attend(&a, scratch.data(), scratch.size()) == FOVEA_OK);
    CHECK(x.out == expected);
  }
}

} // namespace

TEST_CASE("int8: slopes and biases beyond 32 bits are limited alike") {
  constexpr int32_t least = INT32_MIN + 1, greatest = INT32_MAX;
  const int32_t slopes[] = {0, 1, -1, 70000, -70000, greatest, least};
  const int32_t positions[] = {0, 69, 5000, greatest, INT32_MIN};
  fixed_problem x("far positions");
  fovea_fixed_attention a = x.heads(2, 1).dims(16).lengths(3, 70).biased().alibi().make(FOVEA_FIXED_S8, 3);
  std::vector<int32_t> bias(static_cast<const int32_t*>(a.bias.data), static_cast<const int32_t*>(a.bias.data) + 2 * 3 * 70);
  for (size_t i = 0; i < bias.size(); i += 5) bias[i] = i % 2 ? greatest : least;
  for (const bool biased : {true, false})
    for (const int32_t slope : slopes)
      for (const int32_t position : positions) {
        const int32_t both[] = {slope, -slope / 3};
        a.bias.data = biased ? bias.data() : nullptr;
        a.alibi = both;
        a.flags = FOVEA_POSITION, a.position = position;
        check_bits(x, a, biased ? "slope and bias" : "slope");
      }
}

TEST_CASE("int8: a bias beyond 32 bits is limited") {
  fixed_problem x("great biases");
  fovea_fixed_attention a = x.heads(2, 1).dims(16).lengths(3, 130).biased().masked().steepness(3).make(FOVEA_FIXED_S8, 4);
  std::vector<int32_t> bias(static_cast<size_t>(2 * 3 * 130));
  const int32_t numbers[] = {INT32_MAX, INT32_MIN, INT32_MIN + 1, 0, 1 << 28, -(1 << 28), (1 << 28) - 1, 1 - (1 << 28), 65536};
  for (size_t i = 0; i < bias.size(); ++i) bias[i] = numbers[i * 7 % 9];
  a.bias.data = bias.data();
  check_bits(x, a, "a bias of every size");
}
