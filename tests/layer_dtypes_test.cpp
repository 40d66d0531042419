// Layers with packed weights of each dtype: the same bits for any scratch and number of workers, near floats.
#include <doctest/doctest.h>

#include "layer_problem.hpp"

using namespace layers;

// The heads are computed by one product, one after another (little scratch), and by five workers.
TEST_CASE("layers_take_narrow_weights") {
  const layer_case c{"", 64, 0, 4, 2, 16, 16, true, true, false, false, true};
  const batch b{{0, 5, 30}, {}, {}, {}};
  for (const int32_t dtype : {FOVEA_F16, FOVEA_BF16, FOVEA_I8, FOVEA_I4}) {
    layer_problem p(c);
    layer_data d(p, b);
    floats matrices[2];
    for (packed_matrix* m : {&p.packed_q, &p.packed_out}) {
      const bool first = m == &p.packed_q;
      floats rows = p.out.weight;
      if (first) rows = p.q.weight;
      for (const matrix* more : {&p.k, &p.v})
        if (first) rows.insert(rows.end(), more->weight.begin(), more->weight.end());
      floats& packed = matrices[first ? 0 : 1];
      packed.resize(fovea_linear_size(64, m->linear.out, dtype) / sizeof(float));
      const fovea_rows_in w = {rows.data(), 0, FOVEA_F32, 0};
      REQUIRE(fovea_pack_linear(packed.data(), packed.size() * sizeof(float), 64, m->linear.out, dtype, 0, &w,
                                m->linear.out) == FOVEA_OK);
      fovea_linear& linear = first ? p.layer.q : p.layer.out;
      linear.packed = packed.data(), linear.dtype = dtype;
    }
    const floats exact = model(p, b, d).y;
    floats expected;
    isas::for_each([&](int32_t isa) {
      INFO("dtype ", dtype);
      d.call.how.isa = isa;
      for (const size_t size : {fovea_layer_scratch_best(&d.call), fovea_layer_scratch_least(&d.call)}) {
        data::guarded<unsigned char> scratch(size);
        d.y.wipe();
        REQUIRE(fovea_run_layer(&d.call, scratch.data(), size) == FOVEA_OK);
        CHECK((scratch.guards_hold() && d.y.guards_hold()));
        if (expected.empty() && isas::promises_bits(isa)) expected = numbers(d.y);
        if (isas::promises_bits(isa)) CHECK(data::same_bits(numbers(d.y), expected));
        double worst = 0;
        for (size_t i = 0; i < exact.size(); ++i)
          worst = std::fmax(worst, std::fabs(double{d.y[i]} - exact[i]));
        CHECK(worst < (dtype == FOVEA_I4   ? 0.8
                       : dtype == FOVEA_I8 ? 0.08
                                           : 0.04)); // steps of 1/14, 1/254, 1/512
      }
      fovea_layer_call call = d.call;
      call.stage = FOVEA_LAYER_PROJECT;
      floats shared(fovea_layer_shared(&call) / 4 + 1), scratch(fovea_layer_scratch_least(&call) / 4 + 1);
      call.shared = shared.data(), call.shared_size = shared.size() * 4;
      for (; call.stage < FOVEA_LAYER_END; ++call.stage)
        for (int32_t i = 0; i < 5; ++i) {
          call.part = {i, 5};
          REQUIRE(fovea_run_layer(&call, scratch.data(), scratch.size() * 4) == FOVEA_OK);
        }
      if (isas::promises_bits(isa)) CHECK(data::same_bits(numbers(d.y), expected));
    });
  }
}
