// Layers whose attention is int8 refuse by name what integers do not offer.
#include <doctest/doctest.h>

#include "layer_problem.hpp"

using namespace layers;

namespace {

constexpr layer_case joined_case = {"joined", 48, 0, 3, 3, 16, 16, true, true, false, false, true};
constexpr layer_case across = {"cross-attention", 32, 24, 2, 1, 32, 32, false, true, false, false, false};

} // namespace

TEST_CASE("int8_attention_refuses_contexts_that_were_projected_before") {
  layer_problem p(across);
  p.layer.attention = FOVEA_I8;
  const batch b{{0, 4}, {0, 6}, {}, {}};
  layer_data d(p, b);
  floats kv(FOVEA_LAYER_KV_BYTES(6, 1, 1, 32, 32) / sizeof(float)), scratch(10000);
  const int32_t refused = FOVEA_UNSUPPORTED | FOVEA_ARG_KV << 8;
  CHECK(fovea_project_context(&d.call, kv.data(), kv.size() * 4, scratch.data(), scratch.size() * 4) ==
        refused);
  d.call.context.data = nullptr, d.call.kv = kv.data();
  CHECK(fovea_check_layer(&d.call) == refused);
  CHECK(fovea_run_layer(&d.call, scratch.data(), scratch.size() * 4) == refused);
  CHECK(d.y.nothing_written());
}

TEST_CASE("int8_attention_refuses_what_it_does_not_offer") {
  layer_problem p(joined_case);
  p.layer.attention = FOVEA_I8;
  const batch b{{0, 4}, {}, {}, {}};
  static float numbers_of_heads[64];
  struct bad_argument {
    int32_t reason, argument;
    void (*spoil)(fovea_layer_call&);
  };
  const bad_argument bad[] = {
      {FOVEA_UNSUPPORTED, FOVEA_ARG_SOFTCAP, [](fovea_layer_call& c) { c.how.softcap = 1; }},
      {FOVEA_UNSUPPORTED, FOVEA_ARG_ALIBI, [](fovea_layer_call& c) { c.how.alibi = numbers_of_heads; }},
      {FOVEA_UNSUPPORTED, FOVEA_ARG_SINKS, [](fovea_layer_call& c) { c.how.sinks = numbers_of_heads; }},
      {FOVEA_UNSUPPORTED, FOVEA_ARG_LSE, [](fovea_layer_call& c) { c.how.lse = numbers_of_heads; }},
      {FOVEA_UNSUPPORTED, FOVEA_ARG_WEIGHTS,
       [](fovea_layer_call& c) { c.how.weights.data = numbers_of_heads; }},
      {FOVEA_UNSUPPORTED, FOVEA_ARG_MASK,
       [](fovea_layer_call& c) { c.how.mask.data = numbers_of_heads, c.how.mask.is_bias = 1; }},
      {FOVEA_RANGE, FOVEA_ARG_SCALE,
       [](fovea_layer_call& c) { c.how.flags = FOVEA_SCALE, c.how.scale = -1; }},
      {FOVEA_UNSUPPORTED, FOVEA_ARG_ISA, [](fovea_layer_call& c) { c.fixed_isa = FOVEA_FIXED_ISA_END; }},
  };
  for (const bad_argument& each : bad) {
    layer_data d(p, b);
    floats scratch(fovea_layer_scratch_best(&d.call) / 4 + 1);
    each.spoil(d.call);
    CHECK(fovea_run_layer(&d.call, scratch.data(), scratch.size() * 4) == (each.reason | each.argument << 8));
    CHECK(d.y.nothing_written());
  }
}
