// Halves and bytes in segments, and scales that are integers: the bits of one piece with scales of floats.
#include "bit_set.hpp"
#include "isas.hpp"
#include "stored_problem.hpp"

namespace {

constexpr int32_t cut = 128; // of all shapes, a multiple of all panels

// Scales as the tables of integer calls: m for keys, w for values, each times a unit.
struct tables {
  std::vector<int32_t> multipliers;
  std::vector<int16_t> weights;
  std::vector<float> of_keys, of_values;
  float k_unit = 0.37f / 8191, v_unit = 1.9f / 32767;

  tables(int32_t heads, int32_t keys) {
    for (int32_t i = 0; i < heads * keys; ++i) {
      multipliers.push_back(1 + (i * 7919 & 8191) + (i % 5 == 0 ? 1 << 27 : 0));
      weights.push_back(static_cast<int16_t>(1 + (i * 104729 & 32766)));
      of_keys.push_back(static_cast<float>(multipliers.back()) * k_unit);
      of_values.push_back(static_cast<float>(weights.back()) * v_unit);
    }
  }
};

// K and V of one piece as two segments: both are parts of the same memory.
fovea_segments two_segments(const fovea_attention& a, const stored::types& t, const tables& scales) {
  const ptrdiff_t bytes = t.k == FOVEA_I8 ? 1 : 2, width = t.k == FOVEA_I8 ? (a.dim + 15) / 16 * 16 : a.dim,
                  v_dim = a.v_dim ? a.v_dim : a.dim,
                  v_width = t.k == FOVEA_I8 ? (v_dim + 15) / 16 * 16 : v_dim,
                  panel = t.k == FOVEA_I8 ? 64 : 16, tokens = (a.keys + panel - 1) / panel * panel;
  fovea_segments map = {};
  map.count = 2;
  for (int i = 0; i < 2; ++i) {
    fovea_segment& s = map.at[i];
    const ptrdiff_t first = i * cut;
    s.k = static_cast<const char*>(a.k.data) + first * width * bytes;
    s.v = static_cast<const char*>(a.v.data) + first * v_width * bytes;
    s.k_head_stride = tokens * width;
    s.v_head_stride = (t.k == FOVEA_I8 ? tokens : a.keys) * v_width;
    s.first_key = static_cast<int32_t>(first);
    s.keys = i == 0 ? cut : a.keys - cut;
    if (t.k != FOVEA_I8) continue;
    s.key_multipliers = scales.multipliers.data() + first;
    s.value_weights = scales.weights.data() + first;
    s.table_head_stride = a.keys;
  }
  return map;
}

void check_segments(const shape& s, const stored::types& t, int32_t isa) {
  INFO(doctest::String(s.why), ": ", doctest::String(t.why));
  stored::stored_problem x(s, t);
  fovea_attention a = x.call(isa);
  const tables scales(s.kv_heads(), a.keys);
  if (t.k == FOVEA_I8) a.k.scales = scales.of_keys.data(), a.v.scales = scales.of_values.data();
  const std::vector<float> expected = solve(x, a, fovea_scratch_best(&a));
  if (t.k == FOVEA_I8) {
    a.k.scales = scales.multipliers.data(), a.k.scale_unit = scales.k_unit;
    a.v.scales = scales.weights.data(), a.v.scale_unit = scales.v_unit;
    CHECK(data::same_numbers(solve(x, a, fovea_scratch_least(&a)), expected));
  }
  const fovea_segments map = two_segments(a, t, scales);
  a.segments = &map;
  a.k.data = a.v.data = a.k.scales = a.v.scales = nullptr;
  CHECK(data::same_numbers(solve(x, a, fovea_scratch_best(&a)), expected));
  CHECK(data::same_numbers(solve(x, a, fovea_scratch_least(&a)), expected));
  if (a.weights.data == nullptr) CHECK(data::same_numbers(solve_in_parts(x, a, 3), expected));
  if (t.k != FOVEA_I8) return;
  for (int32_t i = 0; i < map.count; ++i) { // all segments with keys have scales, or none
    fovea_segments some = map;
    some.at[i].key_multipliers = nullptr;
    a.segments = &some;
    CHECK(fovea_check(&a) == (FOVEA_NULL | FOVEA_ARG_SEGMENTS << 8));
    some.at[i].key_multipliers = map.at[i].key_multipliers, some.at[i].value_weights = nullptr;
    CHECK(fovea_check(&a) == (FOVEA_NULL | FOVEA_ARG_SEGMENTS << 8));
  }
}

} // namespace

TEST_CASE("stored: segments, and scales of integers") {
  const int32_t panels = FOVEA_PANELS, rows = FOVEA_ROWS;
  const stored::types types[] = {
      {"float16", FOVEA_F32, FOVEA_F16, FOVEA_F16, FOVEA_F32, panels, rows},
      {"bfloat16", FOVEA_F16, FOVEA_BF16, FOVEA_BF16, FOVEA_BF16, panels, rows},
      {"bytes", FOVEA_F32, FOVEA_I8, FOVEA_I8, FOVEA_F32, panels, panels},
      {"bytes under halves", FOVEA_F16, FOVEA_I8, FOVEA_I8, FOVEA_F16, panels, panels},
  };
  const shape shapes[] = {
      shape("decode").heads(2).dims(64).lengths(1, 300),
      shape("decode of a group").heads(8, 2).dims(20, 40).lengths(1, 300).lse(),
      shape("prefill").heads(4, 2).dims(24, 18).lengths(30, 270).causal(),
      shape("a window over the cut")
          .heads(2)
          .dims(17, 5)
          .lengths(7, 200)
          .position(120)
          .window(20, 3)
          .keep_first(5),
      shape("everything")
          .heads(4, 2)
          .dims(8)
          .lengths(5, 262)
          .causal()
          .softcap(5)
          .alibi()
          .sinks()
          .lse()
          .weights(0),
      shape("masked").heads(4, 2).dims(8, 24).lengths(3, 262).mask(mask_kind::shown).lse(),
      shape("two spans").heads(2).dims(8).lengths(2, 4200).causal(),
  };
  isas::for_each([&](int32_t isa) {
    for (const shape& s : shapes)
      for (const stored::types& t : types) check_segments(s, t, isa);
  });
}

TEST_CASE("stored: a scale of a key multiplies its score, that of a value its weight") {
  // One key: the weight is 1, and the result is the scale times the number.
  isas::for_each([&](int32_t isa) {
    const float q[4] = {1, 2, 3, 4};
    const int8_t k[4] = {1, -1, 2, 5}, v[4] = {100, -128, 0, 3};
    const float by = 0.3f, k_scale = 0.1f;
    float out[4], score = 0;
    fovea_attention a = {};
    a.q_heads = 1, a.dim = 4, a.queries = 1, a.keys = 1, a.isa = isa;
    a.q.data = q, a.k.data = k, a.v.data = v, a.out.data = out;
    a.k.dtype = a.v.dtype = FOVEA_I8;
    a.k.scales = &k_scale, a.v.scales = &by;
    a.flags = FOVEA_SCALE, a.scale = 1;
    a.weights.data = &score, a.weights.stage = 1;
    data::guarded<unsigned char> scratch(fovea_scratch_best(&a));
    REQUIRE(fovea_attend(&a, scratch.data(), scratch.size()) == FOVEA_OK);
    for (int c = 0; c < 4; ++c) CHECK(std::fabs(out[c] - static_cast<float>(v[c]) * by) < 1e-5f);
    CHECK(std::fabs(score - 2.5f) < 1e-5f);
  });
}
