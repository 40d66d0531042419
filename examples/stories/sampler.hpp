// From logits to the next token: the likeliest one, or one drawn by seed. The same on each machine.
#pragma once
#include <cstdint>

#include "fovea/ops.h"

namespace stories {

struct sampler {
  float temperature = 0; // 0: the likeliest. Else 0.01 to 100: the lower, the likelier
  uint64_t seed = 0;
  int32_t isa = FOVEA_ISA_BEST;

  // Returns a status of fovea. Logits that are drawn from become probabilities.
  int32_t choose(float* logits, int32_t words, int32_t& id) {
    id = 0;
    if (temperature > 0) return draw(logits, words, id);
    id = first_largest(logits, words);
    return FOVEA_OK;
  }

 private:
  // By sixteen lanes, which compilers keep in registers.
  static int32_t first_largest(const float* x, int32_t count) {
    constexpr int32_t lanes = 16;
    float largest[lanes];
    for (float& lane : largest) lane = x[0];
    int32_t i = 0;
    for (; i + lanes <= count; i += lanes)
      for (int32_t lane = 0; lane < lanes; ++lane)
        largest[lane] = x[i + lane] > largest[lane] ? x[i + lane] : largest[lane];
    for (; i < count; ++i) largest[0] = x[i] > largest[0] ? x[i] : largest[0];
    float most = largest[0];
    for (float lane : largest) most = lane > most ? lane : most;
    int32_t id = 0;
    while (id + 1 < count && x[id] < most) ++id;
    return id;
  }

  int32_t draw(float* logits, int32_t words, int32_t& id) {
    fovea_softmax_rows s = {};
    s.in = s.out = logits;
    s.rows = 1;
    s.columns = words;
    s.flags = FOVEA_SCALE;
    s.scale = 1 / temperature;
    s.isa = isa;
    const int32_t status = fovea_softmax(&s);
    if (status != FOVEA_OK) return status;
    const float coin = static_cast<float>(random_bits() >> 40) * 0x1p-24f;
    float sum = 0;
    for (id = 0; id + 1 < words; ++id) {
      sum += logits[id];
      if (coin < sum) break;
    }
    return FOVEA_OK;
  }

  uint64_t random_bits() { // splitmix64
    uint64_t z = seed += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
  }
};

} // namespace stories
