// A vision transformer of integers (examples/digits): what it knows, and the same logits on every ISA and
// core.
#include <doctest/doctest.h>

#include "digest.hpp"
#include "examples/digits/digits.h"
#include "examples/digits/digits_images.h"

namespace {

const uint8_t* bytes_of(const uint32_t* words) { return reinterpret_cast<const uint8_t*>(words); }

} // namespace

TEST_CASE("digits: the pictures for testing, with the same logits on every core") {
  int8_t logits[digits_classes];
  REQUIRE(digits_begin() == FOVEA_OK);
  for (int32_t isa = FOVEA_FIXED_SCALAR; isa < FOVEA_FIXED_ISA_END; ++isa) {
    if (!fovea_fixed_has_isa(isa)) continue;
    CAPTURE(isa);
    int right = 0;
    digest seen;
    for (int i = 0; i < images; ++i) {
      const int32_t found = digits_classify(bytes_of(pixels) + digits_pixels * i, isa, logits);
      right += found == bytes_of(labels)[i];
      for (int8_t logit : logits) seen.add(logit);
    }
    CHECK(right == 355); // of 359, as many as the float model knows
    CHECK(seen.value() == 0x22331f39b304984au);
  }
}

TEST_CASE("digits: an ISA that this machine does not have is refused") {
  REQUIRE(digits_begin() == FOVEA_OK);
  CHECK(digits_classify(bytes_of(pixels), FOVEA_FIXED_ISA_END, nullptr) == -1);
  CHECK(digits_classify(bytes_of(pixels), FOVEA_FIXED_BEST, nullptr) == bytes_of(labels)[0]);
}
