// What a call may touch: nothing beside the rows is read, nothing beside the results and the given scratch is
// written.
#include <doctest/doctest.h>

#include "fenced_call.hpp"
#include "isas.hpp"
#include "problem.hpp"

namespace {

std::vector<shape> ragged_shapes() {
  return {
      shape("one row, ragged everywhere").dims(13, 7).lengths(1, 37),
      shape("decode of a group").heads(6, 2).dims(20, 33).lengths(1, 261),
      shape("decode of groups, by quads of keys").heads(8, 2).dims(16, 17).lengths(1, 45),
      shape("rows in dozens, a column too few for wide tiles").dims(3, 63).lengths(24, 64),
      shape("and one more than they take, three panels behind the last one").dims(3, 65).lengths(25, 100),
      shape("two rows").dims(3, 18).lengths(2, 17),
      shape("two rows of seven columns, keys that fill no step").heads(2, 1).dims(7).lengths(1, 17),
      shape("four rows of an odd dim").heads(4, 1).dims(19).lengths(1, 21),
      shape("seven rows by quads of keys").heads(14, 2).dims(16, 17).lengths(1, 45),
      shape("seven rows of an odd dim").heads(7, 1).dims(19).lengths(1, 21),
      shape("six rows").heads(6, 1).dims(19, 70).lengths(1, 66),
      shape("tokens of many heads").heads(40).dims(13, 7).lengths(1, 19).in(storage::tokens_first),
      shape("tokens of heads of whole vectors").heads(8).dims(64).lengths(1, 41).in(storage::tokens_first),
      shape("prefill").heads(4, 2).dims(17, 9).lengths(21, 35).causal(),
      shape("one key").heads(3, 1).dims(1).lengths(5, 1),
      shape("a window in the third block").dims(5).lengths(3, 600).causal().window(20, 0),
      shape("a bool mask alone").heads(2).dims(17, 14).lengths(21, 43).causal().mask(mask_kind::shown),
      shape("an additive mask alone").heads(2).dims(17, 6).lengths(14, 37).mask(mask_kind::bias),
      shape("a bool mask and a window")
          .heads(2)
          .dims(5, 3)
          .lengths(9, 70)
          .window(20, 3)
          .mask(mask_kind::shown),
      shape("all modifiers, a bool mask")
          .heads(4, 2)
          .dims(17, 9)
          .lengths(21, 35)
          .softcap(3)
          .alibi()
          .sinks()
          .mask(mask_kind::shown)
          .lse()
          .weights(0),
      shape("all modifiers, an additive mask")
          .heads(3, 1)
          .dims(9, 20)
          .lengths(2, 277)
          .causal()
          .softcap(3)
          .alibi()
          .sinks()
          .mask(mask_kind::bias)
          .lse()
          .weights(3),
      shape("a short mask for all heads")
          .heads(4, 2)
          .dims(5)
          .lengths(7, 40)
          .mask(mask_kind::shown, false)
          .mask_keys(21)
          .weights(1),
      shape("one row of bias for all, decode")
          .heads(6, 2)
          .dims(20)
          .lengths(1, 261)
          .mask(mask_kind::bias, false, false)
          .weights(2),
  };
}

} // namespace

TEST_CASE("any_scratch_gives_the_same_bits_and_is_not_left") {
  for (const shape& s : ragged_shapes()) {
    INFO(doctest::String(s.why));
    problem p(s);
    isas::for_each([&](int32_t isa) {
      const fovea_attention a = p.call(isa);
      const size_t least = fovea_scratch_least(&a), best = fovea_scratch_best(&a),
                   constant = FOVEA_SCRATCH(a.dim, p.out.dim);
      const std::vector<float> expected = solve(p, a, best);
      const size_t sizes[] = {least, least + 1, constant, (least + best) / 2, 16384, 65536, best + 1000};
      for (size_t size : sizes) {
        INFO("scratch of ", size);
        if (size >= least) CHECK(data::same_bits(solve(p, a, size), expected));
      }
    });
  }
}

// Where nothing is lost to alignment, and keys lie in two spans, the least scratch is used to its last byte.
TEST_CASE("the_least_scratch_is_not_left_where_all_of_it_is_used") {
  const shape table[] = {
      shape("one row").dims(5).lengths(1, 4200),
      shape("one row of each head, which see the same keys").heads(4, 2).dims(20, 12).lengths(1, 4200),
      shape("rows that see other keys").heads(2, 1).dims(5).lengths(3, 4200).causal(),
      shape("with modifiers").heads(2, 1).dims(5).lengths(2, 4200).causal().alibi().sinks().lse().weights(0),
  };
  for (const shape& s : table) {
    INFO(doctest::String(s.why));
    problem p(s);
    isas::for_each([&](int32_t isa) {
      const fovea_attention a = p.call(isa);
      const std::vector<float> expected = solve(p, a);
      const size_t least = fovea_scratch_least(&a);
      std::vector<unsigned char> room(least + 256, 0xa5);
      const size_t begin = 65 -
                           reinterpret_cast<uintptr_t>(room.data()) % 64; // one byte behind a multiple of 64
      p.wipe_results();
      CHECK(fovea_attend(&a, room.data() + begin, least) == FOVEA_OK);
      CHECK(data::same_bits(p.results(), expected));
      for (size_t i = 0; i < room.size(); ++i)
        if (i < begin || i >= begin + least) REQUIRE(room[i] == 0xa5);
    });
  }
}

TEST_CASE("scratch_may_stand_at_any_address") {
  problem p(shape("prefill").heads(4, 2).dims(17, 9).lengths(5, 35));
  isas::for_each([&](int32_t isa) {
    const fovea_attention a = p.call(isa);
    const std::vector<float> expected = solve(p, a);
    const size_t sizes[] = {fovea_scratch_least(&a), fovea_scratch_best(&a)};
    for (size_t size : sizes)
      for (size_t offset : {size_t{1}, size_t{3}, size_t{33}, size_t{63}}) {
        data::guarded<unsigned char> scratch(size, offset);
        p.wipe_results();
        CHECK(fovea_attend(&a, scratch.data(), scratch.size()) == FOVEA_OK);
        CHECK(scratch.guards_hold());
        CHECK(data::same_bits(p.results(), expected));
      }
  });
}

namespace {

bool same_modifiers(const modifier_memory& a, const modifier_memory& b) {
  return a.alibi == b.alibi && a.sinks == b.sinks && a.shown == b.shown && a.bias == b.bias;
}

} // namespace

TEST_CASE("inputs_stay_as_they_are") {
  for (const shape& s : ragged_shapes()) {
    INFO(doctest::String(s.why));
    problem p(s), twin(s);
    isas::for_each([&](int32_t isa) {
      solve(p, p.call(isa));
      CHECK((p.q_memory == twin.q_memory && p.k_memory == twin.k_memory && p.v_memory == twin.v_memory));
      CHECK(same_modifiers(p.modifiers, twin.modifiers));
    });
  }
}

TEST_CASE("an_earlier_call_leaves_nothing_behind_in_scratch") {
  problem small(shape("small").dims(5).lengths(2, 20)),
      large(shape("large, with huge scores").dims(9).lengths(20, 300).scores(1e9f));
  isas::for_each([&](int32_t isa) {
    const fovea_attention a = small.call(isa), b = large.call(isa);
    const size_t size = fovea_scratch_best(&a) > fovea_scratch_best(&b) ? fovea_scratch_best(&a)
                                                                        : fovea_scratch_best(&b);
    const std::vector<float> expected = solve(small, a, size);
    data::guarded<unsigned char> scratch(size);
    CHECK(fovea_attend(&b, scratch.data(), size) == FOVEA_OK);
    CHECK(fovea_attend(&a, scratch.data(), size) == FOVEA_OK);
    CHECK(data::same_bits(small.results(), expected));
  });
}

#if defined(__linux__)
TEST_CASE("nothing_is_read_behind_or_before_any_array") {
  for (const shape& s : ragged_shapes()) {
    INFO(doctest::String(s.why));
    problem p(s);
    const packed_keys panels(p);
    isas::for_each([&](int32_t isa) {
      const fovea_attention a = p.call(isa);
      const std::vector<float> expected = solve(p, a);
      for (fence::side where : {fence::behind, fence::before})
        for (size_t scratch : {fovea_scratch_least(&a), fovea_scratch_best(&a)}) {
          fenced_call rows(p, isa, scratch, where), packed(p, isa, scratch, where);
          packed.read(panels);
          CHECK(data::same_bits(rows.solve(), expected));
          CHECK(data::same_bits(packed.solve(), expected));
        }
    });
  }
}
#endif
