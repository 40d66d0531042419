// fovea::fixed_attention: a cache of fixed size that lives in .bss, one token after the other.
#include <doctest/doctest.h>

#include <cstring>
#include <type_traits>

#include "fovea/fovea.hpp"
#include "problem.hpp"

namespace {

constexpr int heads = 4, kv_heads = 2, dim = 20, capacity = 37;
using fixed = fovea::fixed_attention<float, heads, kv_heads, dim, capacity>;

static_assert(std::is_trivially_default_constructible_v<fixed>, "it may stand in .bss");
static_assert(std::is_trivially_destructible_v<fixed>, "and needs no end");
static_assert(sizeof(fixed) <= 2 * kv_heads * capacity * dim * sizeof(float) + FOVEA_SCRATCH(dim, dim) + 128,
              "keys, values, the least scratch");

fixed in_bss;

struct token {
  float q[heads * dim], k[kv_heads * dim], v[kv_heads * dim];
};

token make_token(uint32_t number) {
  token t;
  for (uint32_t i = 0; i < heads * dim; ++i) t.q[i] = data::noise(3 * number, i);
  for (uint32_t i = 0; i < kv_heads * dim; ++i)
    t.k[i] = data::noise(3 * number + 1, i), t.v[i] = data::noise(3 * number + 2, i);
  return t;
}

// What fovea_attend says about the same tokens, stored as [token][head][dim].
std::vector<float> attend_to(const std::vector<token>& tokens) {
  std::vector<float> out(heads * dim);
  fovea_attention a = {};
  a.q.data = tokens.back().q, a.k.data = tokens[0].k, a.v.data = tokens[0].v, a.out.data = out.data();
  a.k.token_stride = a.v.token_stride = sizeof(token) / sizeof(float);
  a.k.head_stride = a.v.head_stride = dim;
  a.q_heads = heads, a.kv_heads = kv_heads, a.dim = dim, a.queries = 1,
  a.keys = static_cast<int32_t>(tokens.size());
  CHECK(attend_in(a, fovea_scratch_best(&a)) == FOVEA_OK);
  return out;
}

} // namespace

TEST_CASE("a_fixed_attention_gives_the_bits_of_a_call") {
  in_bss.clear();
  std::vector<token> tokens;
  for (uint32_t n = 0; n < capacity; ++n) {
    tokens.push_back(make_token(n));
    CHECK(in_bss.count() == static_cast<int32_t>(n));
    CHECK(in_bss.append(tokens.back().k, tokens.back().v) == FOVEA_OK);
    std::vector<float> out(heads * dim);
    CHECK(in_bss.attend(tokens.back().q, out.data()) == FOVEA_OK);
    CHECK(data::same_bits(out, attend_to(tokens)));
  }
}

TEST_CASE("a_full_fixed_attention_refuses_and_stays_whole") {
  in_bss.clear();
  const token first = make_token(1), other = make_token(2);
  for (int n = 0; n < capacity; ++n) CHECK(in_bss.append(first.k, first.v) == FOVEA_OK);
  std::vector<float> before(heads * dim), after(heads * dim);
  CHECK(in_bss.attend(first.q, before.data()) == FOVEA_OK);
  CHECK(in_bss.append(other.k, other.v) != FOVEA_OK);
  CHECK(in_bss.count() == capacity);
  CHECK(in_bss.attend(first.q, after.data()) == FOVEA_OK);
  CHECK(data::same_bits(before, after));
}

TEST_CASE("an_empty_fixed_attention_sees_nothing") {
  in_bss.clear();
  CHECK(in_bss.count() == 0);
  const token t = make_token(5);
  std::vector<float> out(heads * dim, 7.0f);
  CHECK(in_bss.attend(t.q, out.data()) == FOVEA_OK);
  CHECK(data::same_bits(out, std::vector<float>(heads * dim)));
}

TEST_CASE("a_fixed_attention_refuses_null") {
  in_bss.clear();
  const token t = make_token(6);
  float out[heads * dim];
  CHECK(in_bss.append(nullptr, t.v) != FOVEA_OK);
  CHECK(in_bss.append(t.k, nullptr) != FOVEA_OK);
  CHECK(in_bss.count() == 0);
  CHECK(in_bss.append(t.k, t.v) == FOVEA_OK);
  CHECK(in_bss.attend(nullptr, out) == (FOVEA_NULL | FOVEA_ARG_Q << 8));
  CHECK(in_bss.attend(t.q, nullptr) == (FOVEA_NULL | FOVEA_ARG_OUT << 8));
}

TEST_CASE("a_fixed_attention_that_never_began_is_empty") {
  static fovea::fixed_attention<float, 1, 1, 3, 4> fresh;
  CHECK(fresh.count() == 0);
}

TEST_CASE("a_fixed_attention_takes_halves") {
  static fovea::fixed_attention<fovea::bf16, 2, 1, 4, 8> halves;
  fovea::bf16 q[2][4], k[3][4], v[3][4], out[2][4], expected[2][4];
  const auto fill = [](fovea::bf16* x, int count, int from) { // 1 to 2
    for (int i = 0; i < count; ++i) x[i].bits = static_cast<uint16_t>(0x3f80 + (from + 37 * i) % 128);
  };
  fill(q[0], 8, 1);
  fill(k[0], 12, 2);
  fill(v[0], 12, 3);
  for (int n = 0; n < 3; ++n) CHECK(halves.append(k[n], v[n]) == FOVEA_OK);
  CHECK(halves.attend(q[0], out[0]) == FOVEA_OK);
  const fovea_attention a = fovea::attention<fovea::bf16>({2, 1, 4, 1, 3}, {q[0]}, {k[0]}, {v[0]},
                                                          {expected[0]});
  CHECK(attend_in(a, FOVEA_SCRATCH(4, 4)) == FOVEA_OK);
  CHECK(std::memcmp(out, expected, sizeof out) == 0);
}
