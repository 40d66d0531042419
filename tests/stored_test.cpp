// Halves and bytes: the bits of the float call on the same numbers, for all that a call may ask for.
#include <algorithm>
#include <iterator>

#include "bit_set.hpp"
#include "isas.hpp"
#include "spoilt.hpp"
#include "stored_problem.hpp"

namespace {

constexpr int32_t f32 = FOVEA_F32, f16 = FOVEA_F16, bf16 = FOVEA_BF16, i8 = FOVEA_I8, rows = FOVEA_ROWS,
                  panels = FOVEA_PANELS;

const stored::types all_types[] = {
    {"everything in float16", f16, f16, f16, f16},
    {"everything in bfloat16", bf16, bf16, bf16, bf16},
    {"float queries of float16 keys and values", f32, f16, f16, f32},
    {"bfloat16 keys, float16 values", f16, bf16, f16, f32},
    {"float keys, bfloat16 values", f32, f32, bf16, f16},
    {"float16 keys, float values", bf16, f16, f32, bf16},
    {"only q is stored", f16, f32, f32, f32},
    {"only out is stored", f32, f32, f32, bf16},
    {"bytes", f32, i8, i8, f32},
    {"bytes with scales", f32, i8, i8, f32, rows, rows, true},
    {"keys of bytes, values of halves, queries and results, too", f16, i8, f16, f16, rows, rows, true},
    {"panels of float16", f32, f16, f16, f32, panels},
    {"panels of bfloat16, all in it", bf16, bf16, bf16, bf16, panels},
    {"panels of bytes", f32, i8, i8, f32, panels, panels},
    {"panels of bytes with scales", f16, i8, i8, f16, panels, panels, true},
    {"panels of bytes with scales side by side", f32, i8, i8, f32, panels, panels, true, 1},
    {"panels of keys of bytes, values of floats", f32, i8, f32, f32, panels, rows, true},
    {"float keys, panels of values", f32, f32, i8, f32, rows, panels, true},
};

bool may_begin(const shape& s, const stored::types& t) {
  const bool bytes = (t.k == i8 && t.k_layout == panels) || t.v_layout == panels;
  return s.options.first_key % (bytes ? 64 : t.k_layout == panels ? 16 : 1) == 0;
}

void check_stored(const shape& s, const stored::types& t, int32_t isa, uint32_t seed = 1) {
  if (!may_begin(s, t)) return;
  INFO(doctest::String(s.why), ": ", doctest::String(t.why));
  stored::stored_problem x(s, t, seed);
  const std::vector<float> expected = x.rounded(solve(x.p, x.p.call(isa)));
  const bool tells_hidden = s.options.weights.stage == 1 || s.options.weights.stage == 2;
  if (t.k != i8 && t.v != i8 && !tells_hidden) {
    const fovea_attention a = x.p.call(isa);
    spoilt::fill_hidden(x.p, a, 0x7fc00000u);
    x.read_floats();
  }
  const fovea_attention a = x.call(isa);
  const size_t least = fovea_scratch_least(&a), best = fovea_scratch_best(&a);
  CHECK(least <= FOVEA_SCRATCH(a.dim, a.v_dim ? a.v_dim : a.dim));
  CHECK(data::same_numbers(solve(x, a, best), expected));
  CHECK(data::same_numbers(solve(x, a, least), expected));
  CHECK(data::same_numbers(solve(x, a, least + (best - least) / 3), expected));
  if (a.weights.data == nullptr) CHECK(data::same_numbers(solve_in_parts(x, a, 3), expected));
}

std::vector<shape> more_shapes() {
  return {
      shape("decode").heads(4).dims(64).lengths(1, 300),
      shape("one row of each head, an odd dim, values in two passes").heads(3).dims(21, 128).lengths(1, 537),
      shape("one row of each head, tokens first")
          .heads(5)
          .dims(32, 64)
          .lengths(1, 523)
          .in(storage::tokens_first),
      shape("one row of each head, a window that begins inside a panel")
          .heads(3)
          .dims(24, 64)
          .lengths(1, 700)
          .window(300, 0)
          .keep_first(20)
          .alibi(),
      shape("one row of each head, a window that begins with a panel")
          .heads(2)
          .dims(24, 64)
          .lengths(1, 700)
          .window(299, 0),
      shape("one row of each head, keys from inside a block")
          .heads(3)
          .dims(20, 64)
          .lengths(1, 150)
          .first_key(48),
      shape("one row of each head, a mask").heads(3).dims(24, 64).lengths(1, 300).mask(mask_kind::shown),
      shape("one row of each head, a bias").heads(2).dims(16, 64).lengths(1, 270).mask(mask_kind::bias),
      shape("one row of each head, values of 96 columns").heads(2).dims(16, 96).lengths(1, 100),
#if !defined(FOVEA_SMALL)
      shape("one row of each head over two spans").heads(3).dims(20, 64).lengths(1, 4219),
#endif
      shape("decode of a group of two").heads(4, 2).dims(64).lengths(1, 300),
      shape("decode of a group of three").heads(6, 2).dims(40, 24).lengths(1, 70),
      shape("decode of a group of four").heads(8, 2).dims(64).lengths(1, 530),
      shape("three rows of each head over several blocks").heads(6, 2).dims(21, 15).lengths(1, 700),
      shape("two rows of each head over several blocks").heads(10, 5).dims(16, 24).lengths(1, 520),
      shape("decode of a group of five").heads(5, 1).dims(64, 80).lengths(1, 330),
      shape("short heads that share a tile").heads(8).dims(16).lengths(1, 60),
      shape("three rows of heads that share a tile").heads(24, 8).dims(16, 21).lengths(1, 60).lse(),
      shape("prefill").heads(2).dims(64).lengths(60, 60).causal(),
      shape("a group that ends with a block, before the next query")
          .heads(42, 1)
          .dims(24, 40)
          .lengths(2, 257)
          .causal(),
      shape("prefill of a group over two blocks").heads(6, 2).dims(24, 40).lengths(70, 270).causal(),
      shape("v of 80, a window and kept keys")
          .heads(2)
          .dims(16, 80)
          .lengths(4, 530)
          .causal()
          .window(90, -1)
          .keep_first(7),
      shape("a tree of drafts").heads(6, 2).dims(24, 40).lengths(9, 270).tree(5).window(262, 0),
      shape("a tree with ALiBi").heads(2).dims(24, 40).lengths(6, 70).tree(6).alibi(),
      shape("chunks").heads(4, 2).dims(24, 40).lengths(30, 300).chunk(9, 3),
      shape("rows apart").heads(4, 2).dims(20, 12).lengths(18, 40).causal().in(storage::padded_rows),
      shape("tokens first").heads(4, 2).dims(33, 7).lengths(1, 70).in(storage::tokens_first),
      shape("the widest values under the narrowest keys").dims(1, 1024).lengths(2, 18),
      shape("the largest head").dims(1024).lengths(2, 18),
      shape("a window that begins inside a panel")
          .heads(2, 1)
          .dims(8, 18)
          .lengths(3, 700)
          .causal()
          .window(100, 0),
  };
}

} // namespace

TEST_CASE("stored: the bits of floats") {
  std::vector<shape> all = more_shapes();
  for (const shape& s : plain_bit_set()) all.push_back(s);
  for (const shape& s : modified_bit_set()) all.push_back(s);
#if defined(FOVEA_SMALL)
  constexpr size_t every =
      3; // emulated boards: each shape meets a third of the types, the next shape another
#else
  constexpr size_t every = 1;
#endif
  isas::for_each([&](int32_t isa) {
    size_t first = 0;
    for (const shape& s : all) {
      for (size_t t = first % every; t < std::size(all_types); t += every) check_stored(s, all_types[t], isa);
      ++first;
    }
  });
}

namespace {

// Rows of bytes as panels, every row and column different.
std::vector<int8_t> byte_panels(bool keys, int32_t heads, int32_t tokens, int32_t dim) {
  const int32_t head = (tokens + 63) / 64 * 64 * dim;
  std::vector<int8_t> panels_of_heads(static_cast<size_t>(heads * head)), row(static_cast<size_t>(dim));
  for (int32_t h = 0; h < heads; ++h)
    for (int32_t j = 0; j < tokens; ++j) {
      for (int32_t c = 0; c < dim; ++c)
        row[static_cast<size_t>(c)] = static_cast<int8_t>((37 * j + 11 * c + 71 * h + j / 7 * c) % 255 - 127);
      if (keys) row[1] = row[0];
      int8_t* const to = panels_of_heads.data() + h * head;
      CHECK((keys ? fovea_fixed_pack_keys : fovea_fixed_pack_values)(to, j, row.data(), 0, 1, dim) ==
            FOVEA_OK);
    }
  return panels_of_heads;
}

} // namespace

// Tiles of one row take bytes 2^24 times as large. Sums that become infinite by that, and sums that are
// denormal, have the bits of the scalar ISA, which does not.
TEST_CASE("stored: sums of bytes of all sizes") {
  constexpr int32_t dim = 64, v_dim = 208, kv_heads = 5; // columns of tiles of each width, and some more
  for (const int32_t keys : {70, 300, 512})
    for (const int32_t group : {1, 4}) {
      const std::vector<int8_t> k = byte_panels(true, kv_heads, keys, dim),
                                v = byte_panels(false, kv_heads, keys, v_dim);
      const int32_t heads = kv_heads * group;
      for (const float large : {0.0f, 0x1p+90f, 0x1p+112f})
        for (const int exponent : {-140, -120, -20, 70, 98, 106}) {
          std::vector<float> q(static_cast<size_t>(heads * dim)),
              scales(static_cast<size_t>(kv_heads * keys)), out(static_cast<size_t>(heads * v_dim)), expected;
          for (size_t i = 0; i < q.size(); ++i) q[i] = 0.002f * static_cast<float>(i * 29 % 53) - 0.05f;
          for (size_t h = 0; h < q.size(); h += dim) q[h] = large, q[h + 1] = -large; // both products cancel
          for (size_t j = 0; j < scales.size(); ++j)
            scales[j] = std::ldexp(1.0f + static_cast<float>(j % 9) / 16, exponent - static_cast<int>(j % 3));
          fovea_attention a = {};
          a.q.data = q.data(), a.k.data = k.data(), a.v.data = v.data(), a.out.data = out.data();
          a.k.dtype = a.v.dtype = i8;
          a.k.layout = a.v.layout = panels;
          a.v.scales = scales.data();
          a.q_heads = heads, a.kv_heads = kv_heads, a.dim = dim, a.v_dim = v_dim;
          a.queries = 1, a.keys = keys;
          isas::for_each([&](int32_t isa) {
            const int32_t scalar = isas::promises_bits(isa) ? FOVEA_SCALAR : FOVEA_SCALAR_NO_FMA;
            if (!fovea_has_isa(scalar) || (!isas::keeps_denormals(isa) && exponent < -100))
              return; // no denormals there
            a.isa = scalar;
            CHECK(attend_in(a, fovea_scratch_best(&a)) == FOVEA_OK);
            expected = out;
            a.isa = isa;
            std::fill(out.begin(), out.end(), 7.0f);
            CHECK(attend_in(a, fovea_scratch_best(&a)) == FOVEA_OK);
            CHECK(data::same_numbers(out, expected));
          });
        }
    }
}

// A batch of blocks computes the weights of each as if it were the first one.
TEST_CASE("stored: blocks of bytes that a mask hides as a whole") {
  constexpr int32_t dim = 64, heads = 4, keys = 700;
  const std::vector<int8_t> k = byte_panels(true, heads, keys, dim), v = byte_panels(false, heads, keys, dim);
  std::vector<float> q(heads * dim), out(q.size()), lse(heads);
  for (size_t i = 0; i < q.size(); ++i) q[i] = 0.002f * static_cast<float>(i * 29 % 53) - 0.05f;
  const int32_t hidden[heads][2] = {{0, 256}, {256, 512}, {512, keys}, {0, keys}};
  std::vector<unsigned char> shown(heads * keys, 1);
  for (int32_t h = 0; h < heads; ++h)
    for (int32_t j = hidden[h][0]; j < hidden[h][1]; ++j) shown[static_cast<size_t>(h * keys + j)] = 0;
  fovea_attention a = {};
  a.q.data = q.data(), a.k.data = k.data(), a.v.data = v.data(), a.out.data = out.data(), a.lse = lse.data();
  a.k.dtype = a.v.dtype = i8;
  a.k.layout = a.v.layout = panels;
  a.mask.data = shown.data(), a.mask.head_stride = keys;
  a.q_heads = heads, a.dim = dim, a.queries = 1, a.keys = keys;
  isas::for_each([&](int32_t isa) {
    const int32_t scalar = isas::promises_bits(isa) ? FOVEA_SCALAR : FOVEA_SCALAR_NO_FMA;
    if (!fovea_has_isa(scalar)) return;
    a.isa = scalar;
    CHECK(attend_in(a, fovea_scratch_best(&a)) == FOVEA_OK);
    const std::vector<float> expected = out, expected_lse = lse;
    a.isa = isa;
    std::fill(out.begin(), out.end(), 7.0f);
    CHECK(attend_in(a, fovea_scratch_best(&a)) == FOVEA_OK);
    CHECK(data::same_numbers(out, expected));
    CHECK(data::same_numbers(lse, expected_lse));
  });
}

// Few queries pack rows of K as words of 32 bits; where rows are not such words, each number for itself.
TEST_CASE("stored: rows of keys at any address") {
  constexpr int32_t dim = 64, keys = 90, heads = 2;
  for (const int32_t dtype : {f16, bf16, i8})
    for (const ptrdiff_t stride : {64, 65, 66, 68})
      for (size_t place = 0; place < 4; ++place)
        for (const int32_t queries : {1, 3}) {
          const size_t bytes = dtype == i8 ? 1 : 2, numbers = static_cast<size_t>(heads * keys * stride);
          std::vector<unsigned char> memory((numbers + 4) * bytes);
          std::vector<float> floats(numbers), q(heads * queries * dim), out(q.size()), expected;
          for (size_t i = 0; i < numbers; ++i) {
            floats[i] = static_cast<float>(static_cast<int>(i * 7919 % 251) - 125);
            unsigned char* const to = memory.data() + (place + i) * bytes;
            const auto byte = static_cast<int8_t>(floats[i]);
            const uint16_t half = stored::nearest(floats[i], dtype);
            dtype == i8 ? std::memcpy(to, &byte, 1) : std::memcpy(to, &half, 2);
          }
          for (size_t i = 0; i < q.size(); ++i) q[i] = 0.003f * static_cast<float>(i * 31 % 61) - 0.08f;
          fovea_attention a = {};
          a.q.data = q.data(), a.k.data = a.v.data = floats.data(), a.out.data = out.data();
          a.k.token_stride = a.v.token_stride = stride;
          a.q_heads = heads, a.dim = dim, a.queries = queries, a.keys = keys;
          isas::for_each([&](int32_t isa) {
            a.isa = isa;
            a.k.dtype = FOVEA_F32;
            a.k.data = floats.data();
            CHECK(attend_in(a, fovea_scratch_best(&a)) == FOVEA_OK);
            expected = out;
            a.k.dtype = dtype;
            a.k.data = memory.data() + place * bytes;
            std::fill(out.begin(), out.end(), 7.0f);
            CHECK(attend_in(a, fovea_scratch_best(&a)) == FOVEA_OK);
            CHECK(data::same_numbers(out, expected));
          });
        }
}
