// Histories of caches: each seed is one, and each step of it is drawn and checked by itself.
#pragma once
#include <doctest/doctest.h>

#include <cstdint>

template <class History>
void random_histories(int32_t count, int32_t steps) {
  for (int32_t seed = 1; seed <= count; ++seed) {
    INFO("seed ", seed);
    History h(static_cast<uint64_t>(seed));
    for (int32_t n = 0; n < steps; ++n) h.step();
  }
}
