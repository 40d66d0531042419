// Layers have the bits of their parts: on each ISA, for any scratch and number of workers, and whatever else
// is in the batch.
#include <doctest/doctest.h>

#include "layer_problem.hpp"

using namespace layers;

namespace {

constexpr layer_case cases[] = {
    {"joined, as in BERT", 48, 0, 3, 3, 16, 16, true, true, false, false, true},
    {"joined, dims that products cannot cut", 20, 0, 2, 2, 10, 10, true, true, false, true, false, 4, 1},
    {"separate, grouped heads, norms and rotation", 40, 0, 4, 2, 16, 16, false, false, true, true, true},
    {"grouped, other values, partial rotation", 33, 0, 6, 2, 24, 8, false, true, false, true, false, 6},
    {"one head", 16, 0, 1, 1, 8, 8, false, true, false, false, false},
    {"cross-attention", 32, 24, 2, 2, 16, 16, false, true, false, false, true},
    {"cross-attention out of a joined matrix", 32, 32, 2, 2, 16, 16, true, true, false, false, false},
    {"cross-attention, norms and rotation", 32, 20, 4, 2, 8, 12, false, true, true, true, true},
};

constexpr layer_case worst_cases[] = {
    {"one number in, one head of one", 1, 0, 1, 1, 1, 1, true, true, false, false, true},
    {"seventeen heads of one, values of two", 3, 0, 17, 17, 1, 2, false, false, false, false, false},
    {"many heads on one", 5, 0, 9, 1, 3, 5, true, true, true, false, true},
    {"a head of an odd size, half rotated", 17, 0, 2, 1, 131, 3, false, true, false, true, false, 66},
    {"heads of 24 that products cut by two", 7, 0, 5, 5, 24, 24, true, false, false, true, true},
    {"a context of one number", 4, 1, 3, 1, 2, 7, false, true, false, false, true},
    {"heads of 17, whose rows take less memory side by side", 1, 0, 2, 2, 17, 17, false, false, false, false,
     false},
    {"heads of 1,024", 2, 0, 1, 1, 1024, 1, false, false, true, false, false},
};

struct batch_case {
  const char* why;
  batch b;
};
const batch_case batches[] = {
    {"one sequence", {{0, 9}, {0, 9}, {}, {}}},
    {"one token", {{0, 1}, {0, 1}, {}, {}}},
    {"no token", {{0, 0}, {0, 0}, {}, {}}},
    {"ragged, with empty ones", {{0, 0, 5, 5, 6, 19}, {0, 3, 4, 4, 4, 21}, {}, {}}},
    {"padded", {{0, 7, 14, 21}, {0, 7, 14, 21}, {7, 0, 3}, {}}},
    {"positions", {{0, 4, 7}, {0, 2, 7}, {}, {5, 0, 63, 2, 9, 8, 7}}},
};

// With all of the scratch, with the least, and with some between.
void check_call(layer_data& d, const answer& expected, int32_t isa) {
  d.call.how.isa = isa;
  const size_t best = fovea_layer_scratch_best(&d.call), least = fovea_layer_scratch_least(&d.call);
  REQUIRE(least > 64);
  REQUIRE(best >= least);
  for (const size_t size : {best, (3 * best + least) / 4, (best + 7 * least) / 8, least + 300, least}) {
    data::guarded<unsigned char> scratch(size, size % 5);
    d.y.wipe();
    REQUIRE(fovea_run_layer(&d.call, scratch.data(), size) == FOVEA_OK);
    check_same(numbers(d.y), expected.y, isa);
    CHECK((d.y.guards_hold() && scratch.guards_hold()));
  }
  data::guarded<unsigned char> scratch(least);
  CHECK(fovea_run_layer(&d.call, scratch.data(), least - 64) == (FOVEA_TOO_SMALL | FOVEA_ARG_SCRATCH << 8));
}

} // namespace

static void check_batches(const layer_case& c) {
  const layer_problem p(c);
  for (const batch_case& each : batches) {
    batch b = each.b;
    if (c.context_width == 0) b.context_starts.clear();
    INFO(doctest::String(c.why), ", ", doctest::String(each.why));
    layer_data d(p, b);
    const answer expected = model(p, b, d);
    isas::for_each([&](int32_t isa) { check_call(d, expected, isa); });
  }
}

TEST_CASE("layers_have_the_bits_of_their_parts") {
  for (const layer_case& c : cases) check_batches(c);
}

TEST_CASE("layers_of_the_worst_shapes_have_the_bits_of_their_parts") {
  for (const layer_case& c : worst_cases) check_batches(c);
}

TEST_CASE("layers_pass_the_options_of_attention_on") {
  const layer_problem p(cases[2]);
  const batch b{{0, 6, 6, 17}, {}, {}, {}};
  const floats slopes = {0.5f, 0.25f, 0.125f, 0}, sinks = {1, -1, 0, 2};
  floats bias = drawn(30, 4 * 11 * 11, 1);
  bias[5] = -std::numeric_limits<float>::infinity();
  struct option {
    const char* why;
    void (*set)(fovea_attention&, const float* slopes, const float* sinks, const float* bias);
  };
  const option options[] = {
      {"causal",
       [](fovea_attention& a, const float*, const float*, const float*) { a.flags = FOVEA_CAUSAL; }},
      {"window and kept keys",
       [](fovea_attention& a, const float*, const float*, const float*) {
         a.flags = FOVEA_WINDOW, a.window_left = 1, a.window_right = 1, a.keep_first = 1;
       }},
      {"scale, softcap, ALiBi and sinks",
       [](fovea_attention& a, const float* alibi, const float* sink, const float*) {
         a.flags = FOVEA_SCALE | FOVEA_CAUSAL, a.scale = 0.2f, a.softcap = 5, a.alibi = alibi, a.sinks = sink;
       }},
      {"a mask for each head",
       [](fovea_attention& a, const float*, const float*, const float* mask) {
         a.mask.data = mask, a.mask.is_bias = 1, a.mask.head_stride = 121, a.mask.query_stride = 11;
       }},
      {"a position", [](fovea_attention& a, const float*, const float*,
                        const float*) { a.flags = FOVEA_CAUSAL | FOVEA_POSITION, a.position = -2; }},
  };
  for (const option& o : options) {
    INFO(doctest::String(o.why));
    layer_data d(p, b);
    floats lse(4 * 17, -1), weights(4 * (36 + 121), -1);
    o.set(d.call.how, slopes.data(), sinks.data(), bias.data());
    d.call.how.lse = lse.data(), d.call.how.weights.data = weights.data();
    const answer expected = model(p, b, d);
    isas::for_each([&](int32_t isa) {
      check_call(d, expected, isa);
      check_same(lse, expected.lse, isa);
      check_same(weights, expected.weights, isa);
    });
    d.call.how.lse = d.call.how.weights.data = nullptr; // now queries may be divided
    isas::for_each([&](int32_t isa) { check_call(d, expected, isa); });
  }
}

TEST_CASE("layers_return_the_weights_of_chosen_heads") {
  const layer_problem p(cases[2]);
  const batch b{{0, 5, 8}, {}, {4, 3}, {}};
  layer_data d(p, b);
  floats all(4 * (20 + 9)), chosen(2 * (20 + 9), -1);
  d.call.how.weights.data = all.data();
  const answer expected = model(p, b, d);
  d.call.how.weights = {chosen.data(), 1, 2, 0, 0, 0, 0};
  isas::for_each([&](int32_t isa) {
    check_call(d, expected, isa);
    floats picked;
    for (const int32_t from : {20, 40, 80 + 9, 80 + 18})
      picked.insert(picked.end(), expected.weights.begin() + from,
                    expected.weights.begin() + from + (from < 80 ? 20 : 9));
    check_same(chosen, picked, isa);
  });
}

TEST_CASE("layers_of_one_sequence_return_the_weights_of_chosen_queries") {
  const layer_problem p(cases[2]);
  const batch b{{0, 6}, {}, {}, {}};
  layer_data d(p, b);
  floats all(4 * 36), chosen(4 * 2 * 6, -1);
  d.call.how.weights.data = all.data();
  const answer expected = model(p, b, d);
  d.call.how.weights = {chosen.data(), 0, 0, 3, 2, 0, 0};
  isas::for_each([&](int32_t isa) {
    check_call(d, expected, isa);
    floats picked;
    for (const int32_t from : {18, 54, 90, 126})
      picked.insert(picked.end(), expected.weights.begin() + from, expected.weights.begin() + from + 12);
    check_same(chosen, picked, isa);
  });
}

// The rows of a worker's stage are in shared memory, so its scratch is that of one call.
TEST_CASE("the_best_scratch_of_a_stage_is_that_of_its_largest_call_for_any_part") {
  const layer_problem p(cases[0]);
  const batch b{{0, 300}, {}, {}, {}};
  layer_data d(p, b);
  fovea_attention attention = {};
  attention.q.data = attention.k.data = attention.v.data = d.x.data();
  attention.out.data = d.y.data();
  attention.q_heads = attention.kv_heads = 3, attention.dim = 16;
  attention.queries = attention.keys = 300;
  d.call.stage = FOVEA_LAYER_ATTEND;
  const size_t best = fovea_layer_scratch_best(&d.call);
  CHECK(best >= fovea_scratch_best(&attention));
  for (int32_t part = 0; part < 3; ++part) {
    d.call.part = {part, 3};
    CHECK(fovea_layer_scratch_best(&d.call) == best);
  }
  d.call.shared_size = fovea_layer_shared(&d.call); // no multiple of 4, behind all other memory
  d.call.shared = reinterpret_cast<void*>(UINTPTR_MAX / 8 * 7 / 64 * 64);
  CHECK(fovea_layer_scratch_best(&d.call) == best);
  d.call.part = {3, 3};
  CHECK(fovea_layer_scratch_best(&d.call) == 0);
  CHECK(fovea_layer_scratch_least(&d.call) == 0);
  CHECK(fovea_layer_shared(&d.call) == 0);
}

TEST_CASE("layers_have_the_same_bits_for_any_number_of_workers") {
  const batch b{{0, 40, 40, 57}, {0, 3, 4, 30}, {}, {}}, few{{0, 2}, {0, 5}, {}, {}};
  for (const layer_case& c : cases)
    for (const batch* each : {&b, &few}) {
      INFO(doctest::String(c.why));
      const layer_problem p(c);
      batch some = *each;
      if (c.context_width == 0) some.context_starts.clear();
      layer_data d(p, some);
      const answer expected = model(p, some, d);
      isas::for_each([&](int32_t isa) {
        for (const int32_t workers : {1, 2, 3, 7}) {
          fovea_layer_call call = d.call;
          call.how.isa = isa;
          call.stage = FOVEA_LAYER_PROJECT;
          data::guarded<unsigned char> shared(fovea_layer_shared(&call)),
              scratch(fovea_layer_scratch_least(&call));
          CHECK(shared.size() <=
                FOVEA_LAYER_SHARED(some.tokens(), some.keys().back(), c.q_heads, c.kv_heads, c.dim, c.v_dim));
          call.shared = shared.data(), call.shared_size = shared.size();
          d.y.wipe();
          for (; call.stage < FOVEA_LAYER_END; ++call.stage)
            for (int32_t i = workers; i-- > 0;) {
              call.part = {i, workers};
              REQUIRE(fovea_run_layer(&call, scratch.data(), scratch.size()) == FOVEA_OK);
            }
          check_same(numbers(d.y), expected.y, isa);
          CHECK((shared.guards_hold() && scratch.guards_hold() && d.y.guards_hold()));
        }
      });
    }
}

TEST_CASE("keys_and_values_of_a_context_are_computed_once") {
  for (const layer_case& c : cases) {
    if (c.context_width == 0) continue;
    for (const batch_case& each : batches) {
      INFO(doctest::String(c.why), ", ", doctest::String(each.why));
      const layer_problem p(c);
      layer_data d(p, each.b);
      const answer expected = model(p, each.b, d);
      isas::for_each([&](int32_t isa) {
        fovea_layer_call call = d.call;
        call.how.isa = isa;
        const size_t size = FOVEA_LAYER_KV_BYTES(each.b.context_tokens(), each.b.sequences(), c.kv_heads,
                                                 c.dim, c.v_dim);
        for (const size_t rows : {1u, 16u}) {
          data::guarded<float> kv(size / sizeof(float));
          data::guarded<unsigned char> scratch(FOVEA_LAYER_KV_SCRATCH(64, c.kv_heads, c.dim) * rows);
          call = d.call;
          call.how.isa = isa;
          REQUIRE(fovea_project_context(&call, kv.data(), size, scratch.data(), scratch.size()) == FOVEA_OK);
          CHECK((kv.guards_hold() && scratch.guards_hold()));
          call.context.data = nullptr, call.kv = kv.data();
          data::guarded<unsigned char> own(fovea_layer_scratch_least(&call));
          d.y.wipe();
          REQUIRE(fovea_run_layer(&call, own.data(), own.size()) == FOVEA_OK);
          check_same(numbers(d.y), expected.y, isa);
          CHECK((d.y.guards_hold() && own.guards_hold()));
        }
      });
    }
  }
}

TEST_CASE("padding_may_hold_anything") {
  const layer_problem p(cases[0]);
  const batch b{{0, 4, 8}, {}, {3, 1}, {}};
  layer_data d(p, b);
  const answer expected = model(p, b, d);
  for (const int32_t t : {3, 5, 6, 7})
    for (int32_t c = 0; c < 48; ++c)
      d.x[static_cast<size_t>(t * 48 + c)] = std::numeric_limits<float>::quiet_NaN();
  isas::for_each([&](int32_t isa) {
    d.call.how.isa = isa;
    data::guarded<unsigned char> scratch(fovea_layer_scratch_best(&d.call));
    REQUIRE(fovea_run_layer(&d.call, scratch.data(), scratch.size()) == FOVEA_OK);
    for (const int32_t t : {0, 1, 2, 4}) {
      const auto from = t * 48;
      check_same(floats(d.y.data() + from, d.y.data() + from + 48),
                 floats(expected.y.begin() + from, expected.y.begin() + from + 48), isa);
    }
  });
}

TEST_CASE("results_may_replace_what_they_are_made_of") {
  const layer_problem p(cases[0]);
  const batch b{{0, 6, 9}, {}, {}, {}};
  layer_data d(p, b);
  d.residual = d.x;
  const answer expected = model(p, b, d);
  isas::for_each([&](int32_t isa) {
    for (const bool best : {true, false}) {
      floats x = d.x;
      fovea_layer_call call = d.call;
      call.how.isa = isa;
      call.x.data = call.residual.data = call.y.data = x.data();
      floats scratch((best ? fovea_layer_scratch_best(&call) : fovea_layer_scratch_least(&call)) / 4 + 1);
      REQUIRE(fovea_run_layer(&call, scratch.data(), scratch.size() * 4) == FOVEA_OK);
      check_same(x, expected.y, isa);
    }
  });
}
