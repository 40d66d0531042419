// Calls drawn by lot: any shape, any options, any scratch and parts, against the textbook and against the written arithmetic.
#include <doctest/doctest.h>

#include "isas.hpp"
#include "numerics.hpp"
#include "problem.hpp"
#include "reference.hpp"

namespace {

int32_t draw_length(data::lottery& lot) {
  const int32_t usual[] = {0, 1, 2, 15, 16, 17, 31, 33, 48, 49, 255, 256, 257};
  return lot.one_in(2) ? lot.between(1, 70) : usual[lot.between(0, 12)];
}

void draw_weights(shape& s, data::lottery& lot) {
  s.weights(lot.between(0, 3));
  fovea_weights& w = s.options.weights;
  w.first_head = lot.between(0, s.options.q_heads - 1);
  if (s.options.queries > 0) w.first_query = lot.between(0, s.options.queries - 1);
  if (lot.one_in(2)) w.heads = lot.between(0, s.options.q_heads - w.first_head);
  if (lot.one_in(2)) w.queries = lot.between(0, s.options.queries - w.first_query);
}

void draw_modifiers(shape& s, data::lottery& lot) {
  const float caps[] = {0.01f, 0.5f, 5, 30, 1e4f, 1e30f};
  const float sizes[] = {1e-3f, 0.3f, 4, 1e5f};
  if (lot.one_in(2)) s.softcap(caps[lot.between(0, 5)]);
  if (lot.one_in(2)) s.alibi(sizes[lot.between(0, 3)]);
  if (lot.one_in(2)) s.sinks(sizes[lot.between(0, 3)]);
  if (lot.one_in(2)) s.mask(lot.one_in(2) ? mask_kind::shown : mask_kind::bias, lot.one_in(2), lot.one_in(2));
  if (lot.one_in(4)) s.mask_keys(lot.between(0, s.options.keys + 5));
  if (lot.one_in(2)) s.lse();
  if (lot.one_in(3)) draw_weights(s, lot);
}

shape draw_shape(data::lottery& lot) {
  const int32_t groups[] = {1, 1, 2, 3, 4, 7, 13};
  const float sizes[] = {1, 1, 1, 30, 1e4f, 4e6f, 1e9f};
  const storage places[] = {storage::heads_first, storage::tokens_first, storage::padded_rows};
  shape s("drawn by lot");
  const int32_t kv_heads = lot.between(1, 2), keys = draw_length(lot), queries = lot.one_in(3) ? 1 : lot.between(0, 30);
  s.heads(kv_heads * groups[lot.between(0, 6)], kv_heads).dims(lot.between(1, 40), lot.between(1, 40)).lengths(queries, keys);
  s.scores(sizes[lot.between(0, 6)]).in(places[lot.between(0, 2)]);
  if (lot.one_in(2)) s.causal();
  if (lot.one_in(2)) s.first_key(lot.one_in(2) ? lot.between(0, 300) : lot.between(3900, 4100));
  if (lot.one_in(2)) s.position(s.options.first_key + lot.between(-20, keys + 20));
  if (lot.one_in(2)) s.window(lot.between(-3, 40), lot.between(-3, 40));
  if (lot.one_in(3)) s.prefix(s.options.first_key + lot.between(0, 40));
  if (lot.one_in(3)) s.keep_first(s.options.first_key + lot.between(0, 40));
  if (lot.one_in(4)) s.scale(data::noise(5, static_cast<uint32_t>(lot.between(0, 9999))));
  if (lot.one_in(2)) draw_modifiers(s, lot);
  return s;
}

std::vector<float> solve_in_parts(problem& p, fovea_attention a, int32_t parts, bool split_rows, data::lottery& lot) {
  a.part = {0, parts};
  const size_t partials_size = split_rows && a.weights.data == nullptr ? fovea_partials_size(&a) : 0;
  data::guarded<unsigned char> partials(partials_size);
  if (partials_size > 0) a.partials = partials.data(), a.partials_size = partials_size;
  p.wipe_results();
  for (a.part.index = 0; a.part.index < parts; ++a.part.index) {
    const auto least = static_cast<int32_t>(fovea_scratch_least(&a)), best = static_cast<int32_t>(fovea_scratch_best(&a));
    CHECK(attend_in(a, static_cast<size_t>(lot.between(least, best))) == FOVEA_OK);
  }
  a.part.index = 0;
  if (partials_size > 0) CHECK(fovea_merge(&a) == FOVEA_OK);
  CHECK((p.only_results_written() && partials.guards_hold()));
  return p.results();
}

void draw_calls(uint32_t first_seed, uint32_t count) {
  for (uint32_t seed = first_seed; seed < first_seed + count; ++seed) {
    INFO("seed ", seed);
    data::lottery lot(seed);
    problem p(draw_shape(lot), seed);
    const reference::answer expected = reference::attend(p.call());
    const std::vector<float> bits = numerics::attend(p.call());
    isas::for_each([&](int32_t isa) {
      const std::vector<float> got = solve_in_parts(p, p.call(isa), lot.between(1, 6), lot.one_in(2), lot);
      reference::check_results(expected, got);
      if (isas::promises_bits(isa)) CHECK(data::same_bits(got, bits));
    });
  }
}

} // namespace

TEST_CASE("calls_drawn_by_lot") {
#if defined(FOVEA_SMALL)
  draw_calls(1, 12);
#elif defined(__x86_64__)
  draw_calls(1, 2000);
#else
  draw_calls(1, 100); // mostly emulated
#endif
}

TEST_CASE("prove_many_calls_drawn_by_lot" * doctest::skip()) { draw_calls(1000, 5000); }
