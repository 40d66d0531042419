// The public headers as a compiler sees them: constant expressions, plain structs, objects in .bss, the C99
// face.
#include <doctest/doctest.h>

#include <type_traits>

#include "fovea/fovea.h"
#include "fovea/fovea.hpp"

extern "C" int fovea_header_c99(void);

namespace {

static_assert(FOVEA_SCRATCH(64, 64) <= 7 * 1024, "about 6 KB at dim 64");
static_assert(FOVEA_SCRATCH(1024, 1024) <= 80 * 1024, "the widest row fits into a small controller");
static_assert(FOVEA_SCRATCH(8, 64) < FOVEA_SCRATCH(64, 64) && FOVEA_SCRATCH(64, 8) < FOVEA_SCRATCH(64, 64),
              "smaller rows need less");
static_assert(FOVEA_SCRATCH_FAST(64, 64, 1, 0) >= FOVEA_SCRATCH(64, 64), "speed never needs less");

static_assert(std::is_trivial_v<fovea_attention> && std::is_standard_layout_v<fovea_attention>,
              "a plain struct");
static_assert(std::is_trivial_v<fovea_in> && std::is_trivial_v<fovea_out>, "plain structs");
static_assert(std::is_trivial_v<fovea_mask> && std::is_trivial_v<fovea_weights> &&
                  std::is_trivial_v<fovea_part>,
              "plain structs");
static_assert(std::is_same_v<decltype(fovea_in::dtype), int32_t>,
              "an enum would change its size between compilers");

unsigned char static_scratch[FOVEA_SCRATCH(64, 64)];

constexpr fovea_attention zeroed = {};
static_assert(zeroed.q_heads == 0 && zeroed.part.count == 0 && zeroed.q.dtype == FOVEA_F32 &&
                  zeroed.k.layout == FOVEA_ROWS,
              "zero is default");

} // namespace

FOVEA_ASSERT_FITS(static_scratch, 64, 64);

TEST_CASE("the_header_works_in_c99") { CHECK(fovea_header_c99() == 0); }

TEST_CASE("a_zeroed_call_is_understood") {
  CHECK(fovea_check(&zeroed) != FOVEA_OK); // no heads yet: refused, not crashed
  CHECK(FOVEA_ARGUMENT(fovea_check(&zeroed)) == FOVEA_ARG_HEADS);
  CHECK(static_scratch[0] == 0);
}
