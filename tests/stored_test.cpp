// Halves and bytes: the bits of the float call on the same numbers, for all that a call may ask for.
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
      shape("decode of a group of two").heads(4, 2).dims(64).lengths(1, 300),
      shape("decode of a group of three").heads(6, 2).dims(40, 24).lengths(1, 70),
      shape("decode of a group of four").heads(8, 2).dims(64).lengths(1, 530),
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
  isas::for_each([&](int32_t isa) {
    for (const shape& s : all)
      for (const stored::types& t : all_types) check_stored(s, t, isa);
  });
}
