// How much integer attention loses against exact attention on the same integers: the table of
// docs/fixed_point.md, with its targets.
#include <doctest/doctest.h>

#include <cstdio>
#include <string>

#include "fixed_problem.hpp"
#include "fixed_reference.hpp"

namespace {

constexpr double unit = 4.5 / 127; // scale of q, k and v

fixed_problem problem(filling kind, double steepness, int32_t keys, int32_t dim) {
  fixed_problem x("accuracy");
  x.heads(1)
      .dims(dim)
      .lengths(keys > 1000 ? 3 : 8, keys)
      .data(kind)
      .steepness(steepness)
      .max_keys(keys > 512 ? keys : 512);
  return x;
}

void attend(fixed_problem& x) {
  const fovea_fixed_attention a = x.packed();
  std::vector<unsigned char> room(fovea_fixed_scratch_best(&a));
  REQUIRE(fovea_fixed_attend(&a, room.data(), room.size()) == FOVEA_OK);
}

// dB of signal over error, of float output.
double quality(fixed_problem& x) {
  const fovea_fixed_attention& a = x.make(FOVEA_FIXED_F32, 11);
  attend(x);
  double signal = 0, error = 0;
  for (int32_t i = 0; i < a.queries; ++i) {
    const std::vector<double> right = fixed_reference::exact({a}, 0, i);
    const float* out = reinterpret_cast<const float*>(x.out.data()) + static_cast<size_t>(i) * right.size();
    for (size_t c = 0; c < right.size(); ++c) {
      const double e = static_cast<double>(out[c]) - right[c] * unit;
      signal += right[c] * right[c] * unit * unit, error += e * e;
    }
  }
  return 10 * std::log10(signal / error);
}

// The largest error of int8 output in its own steps, where nothing was clipped.
double worst_step(fixed_problem& x) {
  const fovea_fixed_attention& a = x.make(FOVEA_FIXED_S8, 12);
  attend(x);
  double worst = 0;
  for (int32_t i = 0; i < a.queries; ++i) {
    const std::vector<double> right = fixed_reference::exact({a}, 0, i);
    for (size_t c = 0; c < right.size(); ++c) {
      const double exact = 3 * right[c]; // out has a third of the scale of v
      const int8_t out = static_cast<int8_t>(x.out[static_cast<size_t>(i) * right.size() + c]);
      if (std::fabs(exact) < 127) worst = std::max(worst, std::fabs(out - exact));
    }
  }
  return worst;
}

struct data_set {
  const char* name;
  filling kind;
  double steepness;
  double least_db; // up to 512 keys
};

} // namespace

TEST_CASE("int8 attention keeps its promise of quality") {
  const data_set sets[] = {{"N(0,1)", filling::noise, 1, 75},
                           {"peaky", filling::noise, 3, 65},
                           {"outlier channels", filling::outliers, 3.1, 70}};
  for (const data_set& set : sets)
    for (int32_t dim : {32, 64, 128}) {
      std::string line = std::string(set.name) + ", dim " + std::to_string(dim) + ":";
      for (int32_t keys : {16, 64, 128, 512, 1024, 4096}) {
#if FOVEA_SMALL
        if (keys > 128) continue;
#endif
        fixed_problem x = problem(set.kind, set.steepness, keys, dim);
        const double db = quality(x);
        CAPTURE(keys);
        if (keys <= 512) CHECK(db > set.least_db);
        char text[32];
        std::snprintf(text, sizeof text, " %.1f", db);
        line += text;
      }
      MESSAGE(line << " dB");
    }
}

TEST_CASE("int8 output is half a step from the exact result") {
  for (int32_t keys : {16, 64, 128, 512})
    for (double steepness : {1.0, 3.0}) {
#if FOVEA_SMALL
      if (keys > 128) continue;
#endif
      CAPTURE(keys);
      CAPTURE(steepness);
      fixed_problem x = problem(filling::noise, steepness, keys, 64);
      CHECK(worst_step(x) <
            (steepness > 1 ? 0.53 : 0.51)); // 15-bit weights leave 0.02 of a step when one key rules
    }
}

TEST_CASE("a sink takes mass away and adds no value, whatever the zero point of v") {
  for (int32_t zero_v : {0, 1, -100, 127, -128})
    for (int32_t keys : {1, 16, 130}) {
      CAPTURE(zero_v);
      CAPTURE(keys);
      fixed_problem x("sink");
      x.heads(1).dims(64).lengths(3, keys).sinks().zeros(0, 0, zero_v, 0);
      CHECK(worst_step(x) <
            0.52); // half a step, and the rounding of the sink's weight beside those of the keys
    }
}

TEST_CASE("one key beside a sink of the same weight: half the value, whatever the zero point of v") {
  for (int32_t zero_v : {0, 100, -100}) {
    CAPTURE(zero_v);
    std::vector<int8_t> q(16, 0), k(16, 0), v(16, static_cast<int8_t>(zero_v + 20)), out(16);
    const int32_t sink = 0;
    std::vector<unsigned char> scratch(FOVEA_FIXED_SCRATCH_ROWS(16, 16));
    fovea_fixed_attention a{};
    a.q.data = q.data(), a.k.data = k.data(), a.v.data = v.data(), a.out.data = out.data();
    a.q_heads = a.queries = a.keys = 1, a.dim = 16, a.v.zero_point = zero_v, a.sinks = &sink;
    a.scale = {1 << 30, 21, 0, 1 << 30, 1, 0x3f800000};
    CHECK(fovea_fixed_attend(&a, scratch.data(), scratch.size()) == FOVEA_OK);
    CHECK(out == std::vector<int8_t>(16, 10));
    std::vector<float> floats(16);
    a.out.data = floats.data(), a.out.dtype = FOVEA_FIXED_F32, a.keys = 0;
    CHECK(fovea_fixed_attend(&a, scratch.data(), scratch.size()) == FOVEA_OK);
    CHECK(floats == std::vector<float>(16, 0.0f));
  }
}

TEST_CASE("masked keys have no mass at all") {
  fixed_problem x("values of masked keys do not matter");
  x.heads(2, 1).dims(32).lengths(5, 200).masked().causal();
  const fovea_fixed_attention& a = x.make(FOVEA_FIXED_S16);
  attend(x);
  const std::vector<unsigned char> before = x.out;
  const fixed_reference::call call{a};
  fovea_fixed_attention changed = a;
  std::vector<int8_t> v(static_cast<const int8_t*>(a.v.data),
                        static_cast<const int8_t*>(a.v.data) + 200 * 32);
  for (int32_t key = 0; key < 200; ++key) {
    bool seen = false;
    for (int32_t h = 0; h < 2; ++h)
      for (int32_t i = 0; i < 5; ++i) seen = seen || call.sees(h, i, key);
    for (int32_t c = 0; c < 32 && !seen; ++c) v[static_cast<size_t>(key * 32 + c)] = 127;
  }
  changed.v.data = v.data();
  std::vector<unsigned char> room(fovea_fixed_scratch_best(&changed));
  REQUIRE(fovea_fixed_attend(&changed, room.data(), room.size()) == FOVEA_OK);
  CHECK(x.out == before);
}
