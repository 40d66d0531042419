// Calls drawn by lot, with tensors of any type; and how exact long sums of stored values are.
#include "drawn_calls.hpp"
#include "isas.hpp"
#include "stored_problem.hpp"

namespace {

#ifdef FOVEA_SMALL
constexpr int drawn_calls = 40;
#else
constexpr int drawn_calls = 400;
#endif

stored::types draw_types(const shape& s, data::lottery& lot) {
  const int32_t of_q[] = {FOVEA_F32, FOVEA_F16, FOVEA_BF16},
                of_k[] = {FOVEA_F32, FOVEA_F16, FOVEA_BF16, FOVEA_I8};
  stored::types t = {"drawn", lot.one_of(of_q), lot.one_of(of_k), lot.one_of(of_k), lot.one_of(of_q)};
  const int32_t first = s.options.first_key;
  if (t.k == FOVEA_I8 ? first % 64 == 0 : t.k != FOVEA_F32 && first % 16 == 0)
    t.k_layout = lot.one_in(2) ? FOVEA_PANELS : FOVEA_ROWS;
  if (t.v == FOVEA_I8 && first % 64 == 0) t.v_layout = lot.one_in(2) ? FOVEA_PANELS : FOVEA_ROWS;
  t.scaled = lot.one_in(2);
  return t;
}

void check_drawn(uint64_t seed, int32_t isa) {
  data::lottery lot(seed);
  const shape s = drawn::draw_shape(lot, lot.one_in(2) ? drawn::small_sizes : drawn::wide_sizes);
  if (s.score_size > 1e6f) return; // beyond float16
  const stored::types t = draw_types(s, lot);
  INFO("seed ", seed, ", q ", t.q, ", k ", t.k, ", v ", t.v, ", out ", t.out);
  stored::stored_problem x(s, t, static_cast<uint32_t>(seed));
  if (fovea_attention a = x.p.call(isa); fovea_check(&a) != FOVEA_OK) return;
  const std::vector<float> expected = x.rounded(solve(x.p, x.p.call(isa)));
  const fovea_attention a = x.call(isa);
  CHECK(data::same_numbers(solve(x, a, drawn::scratch_size(a, lot)), expected));
  if (a.weights.data == nullptr) CHECK(data::same_numbers(solve_in_parts(x, a, lot.between(1, 4)), expected));
}

// Queries of zeros weigh all keys alike: the result is the mean of the stored values.
void check_mean(int32_t isa, int32_t type, bool constant, double limit) {
  const int32_t keys = 65536, dim = 16;
  const float q[dim] = {};
  std::vector<uint16_t> halves(static_cast<size_t>(keys) * dim);
  std::vector<int8_t> bytes(halves.size()), zeros(halves.size());
  std::vector<double> mean(dim);
  const float unit = 1.0f / 64;
  for (size_t i = 0; i < halves.size(); ++i) {
    const float x = constant ? 1.0f : 1 + data::noise(9, static_cast<uint32_t>(i)) / 2;
    halves[i] = stored::nearest(x, FOVEA_F16);
    bytes[i] = static_cast<int8_t>(std::nearbyint(x / unit));
    mean[i % dim] += (type == FOVEA_F16 ? double{stored::widened(halves[i], type)}
                                        : bytes[i] * double{unit}) /
                     keys;
  }
  const std::vector<float> scales(static_cast<size_t>(keys), unit);
  float out[dim];
  fovea_attention a = {};
  a.q_heads = 1, a.dim = dim, a.queries = 1, a.keys = keys, a.isa = isa;
  a.q.data = q, a.out.data = out;
  a.k.data = zeros.data(), a.k.dtype = FOVEA_I8;
  a.v.dtype = type, a.v.data = bytes.data();
  if (type == FOVEA_F16)
    a.v.data = halves.data();
  else
    a.v.scales = scales.data();
  std::vector<unsigned char> scratch(fovea_scratch_best(&a));
  REQUIRE(fovea_attend(&a, scratch.data(), scratch.size()) == FOVEA_OK);
  for (int32_t c = 0; c < dim; ++c) CHECK(std::fabs(out[c] - mean[static_cast<size_t>(c)]) <= limit);
}

} // namespace

TEST_CASE("stored: calls drawn by lot have the bits of floats") {
  isas::for_each([&](int32_t isa) {
    for (int n = 0; n < drawn_calls; ++n) check_drawn(static_cast<uint64_t>(n) + 1, isa);
  });
}

TEST_CASE("stored: the mean of 65,536 stored values" * doctest::skip(sizeof(void*) == 4)) {
  isas::for_each([&](int32_t isa) {
    for (int32_t type : {FOVEA_F16, FOVEA_I8}) {
      check_mean(isa, type, true, 5e-6);
      check_mean(isa, type, false, 1e-6);
    }
  });
}
