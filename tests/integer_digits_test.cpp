// A vision transformer of integers (examples/digits): what it knows, and the same logits on every ISA and
// core.
#include <doctest/doctest.h>

#include "digest.hpp"
#include "examples/digits/digits.h"
#include "examples/digits/digits_images.h"

namespace {

#if FOVEA_SMALL && !defined(__ARM_FEATURE_DSP)
constexpr int shown = 60; // an emulated Cortex-M0 takes its time
#else
constexpr int shown = images;
#endif

const uint8_t* bytes_of(const uint32_t* words) { return reinterpret_cast<const uint8_t*>(words); }

} // namespace

TEST_CASE("digits: logits and digits of pictures for testing") {
  int8_t logits[digits_classes];
  REQUIRE(digits_begin() == FOVEA_OK);
  for (int32_t isa = FOVEA_FIXED_SCALAR; isa < FOVEA_FIXED_ISA_END; ++isa) {
    if (!fovea_fixed_has_isa(isa)) continue;
    CAPTURE(isa);
    int right = 0;
    digest first_pictures, all;
    for (int i = 0; i < shown; ++i) {
      const int32_t found = digits_classify(bytes_of(pixels) + digits_pixels * i, isa, logits);
      right += found == bytes_of(labels)[i];
      for (int8_t logit : logits) {
        all.add(logit);
        if (i < 60) first_pictures.add(logit);
      }
    }
    CHECK(first_pictures.value() == 0);
    if (shown < images) continue;
    CHECK(all.value() == 0);
    CHECK(right == 0);
  }
}
