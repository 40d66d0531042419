// Layers whose attention is int8: the bits of docs/fixed_point.md on each ISA, near the float result; NaN.
#include <doctest/doctest.h>

#include "fixed_reference.hpp"
#include "fovea/fixed_quantize.h"
#include "layer_problem.hpp"

using namespace layers;

namespace {

constexpr layer_case cases[] = {
    {"joined", 48, 0, 3, 3, 16, 16, true, true, false, false, true},
    {"grouped, norms and rotation", 40, 0, 4, 2, 16, 8, false, true, true, true, true},
    {"cross-attention", 32, 24, 2, 1, 32, 32, false, true, false, false, false},
    {"values six times as wide as keys", 16, 0, 2, 2, 8, 48, false, false, false, false, false},
};
const batch batches[] = {
    {{0, 9}, {0, 9}, {}, {}},
    {{0, 0, 5, 5, 6, 19}, {0, 3, 4, 4, 4, 21}, {}, {}},
    {{0, 7, 14, 21}, {0, 7, 14, 21}, {7, 0, 3}, {}},
};

// Rows of one KV head become integers with one scale.
std::vector<int8_t> quantized(const floats& rows, int32_t columns, int32_t counting, float& scale) {
  std::vector<int8_t> all(rows.size(), 0);
  const fovea_float_rows x = {rows.data(), columns, counting, columns};
  if (counting == 0) return scale = 1, all;
  REQUIRE(fovea_fixed_symmetric(&x, FOVEA_FIXED_S8, &scale) == FOVEA_OK);
  REQUIRE(fovea_fixed_quantize_s8(&x, scale, 0, all.data()) == FOVEA_OK);
  return all;
}

// Each row with a scale of its own, as a part of the largest one.
std::vector<int8_t> quantized_rows(const floats& rows, int32_t columns, float& scale,
                                   std::vector<double>& parts) {
  std::vector<int8_t> all(rows.size(), 0);
  const auto count = static_cast<int32_t>(rows.size()) / columns;
  const fovea_float_rows x = {rows.data(), columns, count, columns};
  floats scales(static_cast<size_t>(count));
  scale = 1;
  if (count == 0) return all;
  REQUIRE(fovea_fixed_symmetric(&x, FOVEA_FIXED_S8, &scale) == FOVEA_OK);
  REQUIRE(fovea_fixed_quantize_tokens(&x, scales.data(), all.data()) == FOVEA_OK);
  for (const float each : scales) {
    const float part = std::min(each, scale) / scale; // rounded to a float, then cut to 30 bits
    parts.push_back(std::floor(std::ldexp(part, 30)) / (1 << 30));
  }
  return all;
}

// Keys relative to their mean.
floats centred(const floats& keys, int32_t dim) {
  const fovea_float_rows x = {keys.data(), dim, static_cast<int32_t>(keys.size()) / dim, dim};
  floats mean(static_cast<size_t>(dim)), out(keys.size());
  if (keys.empty()) return keys;
  REQUIRE(fovea_fixed_mean(&x, mean.data()) == FOVEA_OK);
  REQUIRE(fovea_fixed_subtract(&x, mean.data(), out.data()) == FOVEA_OK);
  return out;
}

floats columns_of(const floats& rows, int32_t width, int32_t from, int32_t count, int32_t first,
                  int32_t end) {
  floats some;
  for (int32_t r = first; r < end; ++r)
    some.insert(some.end(), rows.begin() + r * width + from, rows.begin() + r * width + from + count);
  return some;
}

// docs/fixed_point.md, "Layers": the product of four mantissas, rounded three times.
fovea_fixed_scale scale_of(float q, float k, float softmax, float v, int32_t keys) {
  float mantissa = 1;
  int all = 0, exponent = 0;
  for (float x : {q, k, softmax}) {
    mantissa *= 2 * std::frexp(x, &exponent);
    all += exponent - 1;
  }
  mantissa = std::frexp(mantissa * 1.44269504f, &exponent);
  const int shift = 31 - 16 - (all + exponent);
  fovea_fixed_scale s = {};
  const int64_t multiplier = static_cast<int64_t>(std::ldexp(mantissa, 31)) >>
                             std::min(62, std::max(0, shift - 31));
  s.score_multiplier = static_cast<int32_t>(std::max(multiplier, int64_t{1}));
  s.score_shift = std::min(shift, 31);
  while (keys > 512) v *= 2, keys = (keys + 1) / 2;
  s.f32_scale = numerics::bits_of(v);
  return s;
}

floats integer_model(const layer_problem& p, const batch& b, const layer_data& d) {
  const layer_case& c = p.shape;
  projected rows = project(p, b, d);
  floats heads(static_cast<size_t>(b.tokens() * c.q_heads * c.v_dim));
  const int32_t group = c.q_heads / c.kv_heads;
  const bool token_scales = p.layer.token_scales != 0;
  for (size_t s = 0; s + 1 < b.starts.size(); ++s)
    for (int32_t h = 0; h < c.kv_heads; ++h) {
      const int32_t first = b.starts[s], end = b.starts[s + 1], key = b.keys()[s],
                    keys = b.lengths.empty() ? b.keys()[s + 1] - key : b.lengths[s],
                    counting = c.context_width != 0 ? end - first : keys;
      float q_scale = 1, k_scale = 1, v_scale = 1;
      const floats keys_of_head = centred(
                       columns_of(rows.k, c.kv_heads * c.dim, h * c.dim, c.dim, key, key + keys), c.dim),
                   values_of_head = columns_of(rows.v, c.kv_heads * c.v_dim, h * c.v_dim, c.v_dim, key,
                                               key + keys);
      std::vector<double> key_parts, value_parts;
      const std::vector<int8_t> q = quantized(columns_of(rows.q, c.q_heads * c.dim, h * group * c.dim,
                                                         group * c.dim, first, end),
                                              group * c.dim, counting, q_scale),
                                k = token_scales ? quantized_rows(keys_of_head, c.dim, k_scale, key_parts)
                                                 : quantized(keys_of_head, c.dim, keys, k_scale),
                                v = token_scales
                                        ? quantized_rows(values_of_head, c.v_dim, v_scale, value_parts)
                                        : quantized(values_of_head, c.v_dim, keys, v_scale);
      fovea_fixed_attention a = {};
      a.q.data = q.data(), a.k.data = k.data(), a.v.data = v.data();
      a.q.head_stride = c.dim, a.q.token_stride = group * c.dim;
      a.q_heads = group, a.kv_heads = 1, a.dim = c.dim, a.v_dim = c.v_dim;
      a.queries = end - first, a.keys = a.max_keys = keys;
      a.flags = (d.call.how.flags & ~FOVEA_SCALE) | (c.context_width == 0 ? FOVEA_POSITION : 0);
      a.out.dtype = FOVEA_FIXED_F32;
      const bool scaled = (d.call.how.flags & FOVEA_SCALE) != 0;
      const float softmax = scaled ? d.call.how.scale : 1 / std::sqrt(static_cast<float>(c.dim));
      a.scale = scale_of(q_scale, k_scale, softmax, v_scale, keys);
      std::vector<int32_t> multipliers;
      std::vector<int16_t> weights;
      for (const double part : key_parts)
        multipliers.push_back(
            std::max(int32_t{1}, static_cast<int32_t>(std::floor(part * a.scale.score_multiplier + 0.5))));
      for (const double part : value_parts)
        weights.push_back(static_cast<int16_t>(std::floor(part * 32767 + 0.5)));
      if (token_scales) a.key_multipliers.data = multipliers.data(), a.value_weights.data = weights.data();
      const fixed_reference::call call{a};
      for (int32_t g = 0; g < group; ++g)
        for (int32_t i = 0; i < a.queries; ++i) {
          const fixed_reference::row row = fixed_reference::sums_of(call, g, i);
          for (int32_t n = 0; n < c.v_dim; ++n)
            heads[static_cast<size_t>(((first + i) * c.q_heads + h * group + g) * c.v_dim + n)] =
                fixed_reference::float_output(call, g, row, static_cast<size_t>(n));
        }
    }
  return finish(p, b, d, heads);
}

template <class Body>
void for_each_integer_isa(const Body& body) {
  for (int32_t isa = FOVEA_FIXED_SCALAR; isa < FOVEA_FIXED_ISA_END; ++isa)
    if (fovea_fixed_has_isa(isa) == 1) body(isa);
}

double cosine_of(const floats& a, const floats& b) {
  double ab = 0, aa = 1e-30, bb = 1e-30;
  for (size_t i = 0; i < a.size(); ++i)
    ab += double{a[i]} * b[i], aa += double{a[i]} * a[i], bb += double{b[i]} * b[i];
  return ab / std::sqrt(aa * bb);
}

} // namespace

TEST_CASE("layers_of_int8_attention_have_the_specified_bits") {
  for (const layer_case& c : cases)
    for (const batch& given : batches)
      for (const int32_t options : {0, 1, 2, 3}) {
        const bool causal = options & 1;
        layer_problem p(c);
        p.layer.attention = FOVEA_I8;
        p.layer.token_scales = options >> 1;
        batch b = given;
        if (c.context_width == 0) b.context_starts.clear();
        INFO(doctest::String(c.why), ", tokens ", b.tokens(), causal ? ", causal" : "",
             p.layer.token_scales ? ", token scales" : "");
        layer_data d(p, b);
        d.call.how.flags = causal ? FOVEA_CAUSAL : 0;
        const floats expected = integer_model(p, b, d), exact = model(p, b, d).y;
        const bool padded = !b.lengths.empty();
        CHECK(fovea_layer_scratch_least(&d.call) <=
              FOVEA_LAYER_SCRATCH(21, 21, 48, c.q_heads, c.kv_heads, c.dim, c.v_dim) +
                  FOVEA_LAYER_SCRATCH_I8(21, 21, c.q_heads, c.kv_heads, c.dim, c.v_dim));
        if (!padded) CHECK(cosine_of(expected, exact) > 0.999);
        isas::for_each([&](int32_t isa) {
          if (!isas::promises_bits(isa)) return; // another last bit of q may be another integer
          for_each_integer_isa([&](int32_t fixed_isa) {
            d.call.how.isa = isa, d.call.fixed_isa = fixed_isa;
            for (const bool best : {true, false}) {
              data::guarded<unsigned char> scratch(best ? fovea_layer_scratch_best(&d.call)
                                                        : fovea_layer_scratch_least(&d.call));
              REQUIRE(scratch.size() > 0);
              d.y.wipe();
              REQUIRE(fovea_run_layer(&d.call, scratch.data(), scratch.size()) == FOVEA_OK);
              CHECK((scratch.guards_hold() && d.y.guards_hold()));
              CHECK(data::same_bits(numbers(d.y), expected));
            }
          });
          for (const int32_t workers : {1, 2, 5}) {
            fovea_layer_call call = d.call;
            call.stage = FOVEA_LAYER_PROJECT;
            floats shared(fovea_layer_shared(&call) / 4 + 1),
                scratch(fovea_layer_scratch_least(&call) / 4 + 1);
            call.shared = shared.data(), call.shared_size = shared.size() * 4;
            for (; call.stage < FOVEA_LAYER_END; ++call.stage)
              for (int32_t i = 0; i < workers; ++i) {
                call.part = {i, workers};
                REQUIRE(fovea_run_layer(&call, scratch.data(), scratch.size() * 4) == FOVEA_OK);
              }
            CHECK(data::same_bits(numbers(d.y), expected));
          }
        });
      }
}

TEST_CASE("int8_attention_of_flat_scores_has_the_specified_bits") {
  layer_problem p(cases[0]);
  p.layer.attention = FOVEA_I8;
  const batch b{{0, 9}, {}, {}, {}};
  for (const float scale : {1e-3f, 1e-5f, 1e-7f, 1e-9f, 1e-13f, 1e-20f}) { // shifts from 24 to beyond 63
    layer_data d(p, b);
    d.call.how.flags = FOVEA_SCALE, d.call.how.scale = scale;
    CAPTURE(scale);
    floats scratch(fovea_layer_scratch_best(&d.call) / 4 + 1);
    const floats expected = integer_model(p, b, d);
    REQUIRE(fovea_run_layer(&d.call, scratch.data(), scratch.size() * 4) == FOVEA_OK);
    if (isas::promises_bits(fovea_isa())) CHECK(data::same_bits(numbers(d.y), expected));
  }
}

TEST_CASE("int8_attention_of_a_scale_of_zero_is_that_of_floats") {
  layer_problem p(cases[0]);
  const batch b{{0, 9}, {}, {}, {}};
  layer_data d(p, b);
  d.call.how.flags = FOVEA_SCALE, d.call.how.scale = 0;
  floats of_floats;
  for (const int32_t attention : {FOVEA_F32, FOVEA_I8}) {
    p.layer.attention = attention;
    floats scratch(fovea_layer_scratch_best(&d.call) / 4 + 1);
    REQUIRE(fovea_run_layer(&d.call, scratch.data(), scratch.size() * 4) == FOVEA_OK);
    if (attention == FOVEA_F32)
      of_floats = numbers(d.y);
    else
      CHECK(data::same_bits(numbers(d.y), of_floats));
  }
}

TEST_CASE("int8_attention_of_nan_is_that_of_floats_and_padding_may_hold_anything") {
  const layer_problem floats_of(cases[0]);
  layer_problem p(cases[0]);
  p.layer.attention = FOVEA_I8;
  const batch b{{0, 4, 8}, {}, {3, 4}, {}};
  layer_data d(p, b);
  floats scratch(fovea_layer_scratch_best(&d.call) / 4 + 1);
  REQUIRE(fovea_run_layer(&d.call, scratch.data(), scratch.size() * 4) == FOVEA_OK);
  const floats before = numbers(d.y);
  for (int32_t c = 0; c < 48; ++c)
    d.x[static_cast<size_t>(3 * 48 + c)] = std::numeric_limits<float>::infinity();
  d.x[5 * 48] = std::numeric_limits<float>::quiet_NaN();
  REQUIRE(fovea_run_layer(&d.call, scratch.data(), scratch.size() * 4) == FOVEA_OK);
  const floats found = numbers(d.y);
  CHECK(data::same_bits(floats(found.begin(), found.begin() + 3 * 48),
                        floats(before.begin(), before.begin() + 3 * 48)));
  for (int32_t i = 4 * 48; i < 8 * 48; ++i)
    CHECK(std::isnan(found[static_cast<size_t>(i)])); // all see the NaN
}
