// Rows that see nothing are zero on every ISA, whatever the row beside them sees, and whatever the first of
// their blocks holds.
#include <doctest/doctest.h>

#include <cstring>
#include <string>

#include "fixed_problem.hpp"
#include "fixed_reference.hpp"

namespace {

// Every ISA, from rows and from panels, gives what the specification says.
void check_bits(fixed_problem& x, const fovea_fixed_attention& call,
                const std::vector<unsigned char>& expected) {
  for (int32_t isa = FOVEA_FIXED_SCALAR; isa < FOVEA_FIXED_ISA_END; ++isa) {
    if (!fovea_fixed_has_isa(isa)) continue;
    for (const bool packed : {false, true}) {
      fovea_fixed_attention a = call;
      if (packed) {
        const fovea_fixed_attention panels = x.packed();
        a.k = panels.k, a.v = panels.v;
      }
      a.isa = isa;
      std::vector<unsigned char> scratch(fovea_fixed_scratch_best(&a));
      x.out.assign(x.out.size(), 0x55);
      INFO(std::string(x.why()));
      INFO(std::string(fovea_fixed_isa_name(isa)));
      CAPTURE(packed);
      CHECK(fovea_fixed_attend(&a, scratch.data(), scratch.size()) == FOVEA_OK);
      CHECK(x.out == expected);
    }
  }
}

// The mask is the problem's but for some rows and blocks that see nothing; as a bias it says the same.
struct holes {
  std::vector<uint8_t> mask;
  std::vector<int32_t> bias;
  holes(const fovea_fixed_attention& a, bool (*open)(int32_t query, int32_t key)) {
    for (int32_t i = 0; i < a.queries; ++i)
      for (int32_t j = 0; j < a.keys; ++j) {
        mask.push_back(open(i, j));
        bias.push_back(open(i, j) ? 1000 * (j % 7) : INT32_MIN);
      }
  }
};

void check_holes(const char* why, bool (*open)(int32_t, int32_t)) {
  for (int32_t type : {FOVEA_FIXED_S8, FOVEA_FIXED_S16, FOVEA_FIXED_F32}) {
    fixed_problem x(why);
    fovea_fixed_attention a = x.heads(2, 1).dims(24).lengths(5, 150).make(type, 3);
    const holes h(a, open);
    a.mask = {h.mask.data(), 0, a.keys};
    check_bits(x, a, fixed_reference::output(a));
    a.mask = {};
    a.bias = {h.bias.data(), 0, a.keys};
    check_bits(x, a, fixed_reference::output(a));
  }
}

} // namespace

TEST_CASE("int8: a row whose keys are all masked is zero") {
  check_holes("every row masked", [](int32_t, int32_t) { return false; });
  check_holes("one row of a pair masked", [](int32_t query, int32_t) { return query % 2 == 0; });
  check_holes("the first block masked", [](int32_t, int32_t key) { return key >= 64; });
  check_holes("the first two blocks masked for some",
              [](int32_t query, int32_t key) { return query % 2 == 0 || key >= 128; });
  check_holes("a block between others masked", [](int32_t, int32_t key) { return key / 64 != 1; });
}

TEST_CASE("int8: a row that begins before all keys is zero, the row beside it is not") {
  for (int32_t type : {FOVEA_FIXED_S8, FOVEA_FIXED_S16, FOVEA_FIXED_F32})
    for (int32_t position : {-5, -4, -3, -1}) {
      fixed_problem x("causal, from before the keys");
      const fovea_fixed_attention& a = x.dims(16).lengths(6, 70).causal().position(position).make(type, 5);
      check_bits(x, a, x.expected());
    }
}

TEST_CASE(
    "int8: without keys every row is zero and scratch ends where it should, wherever keys would begin") {
  for (int32_t first : {0, 53, 64}) {
    fixed_problem x("no keys");
    fovea_fixed_attention a = x.heads(4, 2).dims(59, 10).lengths(3, 0).first_key(first).make(FOVEA_FIXED_S8,
                                                                                             7);
    for (a.isa = FOVEA_FIXED_SCALAR; a.isa < FOVEA_FIXED_ISA_END; ++a.isa) {
      if (!fovea_fixed_has_isa(a.isa)) continue;
      CAPTURE(first);
      CAPTURE(a.isa);
      const size_t size = fovea_fixed_scratch(&a);
      std::vector<unsigned char> scratch(size + 4096, 0x55);
      CHECK(fovea_fixed_attend(&a, scratch.data(), size) == FOVEA_OK);
      CHECK(x.out == std::vector<unsigned char>(x.out.size(), 0));
      CHECK(std::vector<unsigned char>(scratch.begin() + static_cast<ptrdiff_t>(size), scratch.end()) ==
            std::vector<unsigned char>(4096, 0x55));
    }
  }
}
