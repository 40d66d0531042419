// Layers as objects of a fixed size (fovea::self_attention): the bits of fovea_run_layer, and enough scratch.
#include <doctest/doctest.h>

#include "fovea/layer.hpp"
#include "layer_problem.hpp"

using namespace layers;

TEST_CASE("a_layer_of_fixed_size_has_the_bits_of_a_call") {
  static fovea::self_attention<20, 2, 1, 16, 9> layer;
  const layer_problem p({"", 20, 0, 2, 1, 16, 16, true, true, false, false, true});
  const batch b{{0, 9}, {}, {}, {}};
  layer_data d(p, b);
  const answer expected = model(p, b, d);
  CHECK(layer.run(d.x.data(), 9, d.y.data()) == (FOVEA_SIZE | FOVEA_ARG_HEADS << 8)); // nothing is packed yet
  floats in_weight = p.q.weight, in_bias = p.q.bias;
  for (const matrix* m : {&p.k, &p.v}) {
    in_weight.insert(in_weight.end(), m->weight.begin(), m->weight.end());
    in_bias.insert(in_bias.end(), m->bias.begin(), m->bias.end());
  }
  REQUIRE(layer.pack(in_weight.data(), in_bias.data(), p.out.weight.data(), p.out.bias.data()) == FOVEA_OK);
  REQUIRE(layer.run(d.x.data(), 9, d.y.data(), d.residual.data()) == FOVEA_OK);
  for (int32_t isa = 0; isa < FOVEA_ISA_END; ++isa)
    if (isas::tested(isa) && isa == fovea_isa()) check_same(numbers(d.y), expected.y, isa);
  CHECK(layer.run(d.x.data(), 900, d.y.data()) != FOVEA_OK);
}

TEST_CASE("a_layer_of_fixed_size_has_scratch_for_heads_that_begin_anywhere") {
  static fovea::self_attention<24, 3, 3, 8, 64> layer; // W_K begins at output 24, within a panel
  const floats weights(72 * 24), x(64 * 24);
  floats y(64 * 24);
  REQUIRE(layer.pack(weights.data(), nullptr, weights.data(), nullptr) == FOVEA_OK);
  CHECK(layer.run(x.data(), 64, y.data()) == FOVEA_OK);
}
