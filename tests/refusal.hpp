// A float call that is refused: each function that judges it returns the same status. Scratch is not written.
#pragma once
#include <doctest/doctest.h>

#include "problem.hpp"

inline void check_refusal(const fovea_attention& a, data::guarded<unsigned char>& scratch, int32_t reason,
                          int32_t argument) {
  const int32_t status = fovea_attend(&a, scratch.data(), scratch.size());
  CHECK_MESSAGE((FOVEA_REASON(status) == reason && FOVEA_ARGUMENT(status) == argument),
                "refused as: ", status_text(status));
  CHECK(fovea_check(&a) == status);
  CHECK((fovea_scratch_least(&a) == 0 && fovea_scratch_best(&a) == 0));
  CHECK(scratch.nothing_written());
}
