// What an integer call may touch: nothing beside its arrays is read, nothing beside its results and its
// scratch is written, and parts write each row once.
#include <doctest/doctest.h>

#include <cstring>
#include <memory>
#include <string>

#include "fence.hpp"
#include "fixed_problem.hpp"

#if defined(__linux__)
namespace {

std::vector<fixed_problem> cases() {
  const auto c = [](const char* why) { return fixed_problem(why); };
  return {
      c("one row, ragged everywhere").heads(1).dims(13, 7).lengths(1, 37),
      c("decode of a group").heads(6, 2).dims(20, 33).lengths(1, 133),
      c("rows that end with a whole group").heads(1).dims(13, 7).lengths(12, 20),
      c("prefill").heads(4, 2).dims(17, 9).lengths(21, 70).causal(),
      c("whole blocks").heads(2, 1).dims(16, 32).lengths(3, 128),
      c("rows that begin inside a block").heads(2, 1).dims(16).lengths(5, 90).causal().first_key(37),
      c("a window in the third block").heads(1).dims(5).lengths(3, 200).causal().window(20, 0),
      c("one key").heads(3, 1).dims(1).lengths(5, 1),
      c("many rows").heads(3, 1).dims(8).lengths(50, 20),
      c("a zero point of q").heads(2, 1).dims(20).lengths(3, 70).zeros(5, 3, -4, 2).steepness(0.3),
      c("a bias alone").heads(2, 1).dims(20).lengths(3, 70).biased(),
      c("a mask alone").heads(2, 1).dims(20).lengths(3, 70).masked(),
      c("ALiBi alone").heads(2, 1).dims(20).lengths(3, 70).alibi(),
      c("a scale per key alone, from inside a block on")
          .heads(2, 1)
          .dims(20)
          .lengths(3, 70)
          .scale_per_key()
          .first_key(37),
      c("all tables").heads(4, 2).dims(20, 24).lengths(9, 70).causal().all_tables(),
  };
}

size_t count(int32_t a, int32_t b, int32_t c) {
  return static_cast<size_t>(a) * static_cast<size_t>(b) * static_cast<size_t>(c);
}

// All arrays of a call without strides, each touching a page that nobody may touch.
class fenced_call {
 public:
  fenced_call(const fixed_problem& x, const fovea_fixed_attention& from, fence::side where)
      : where_(where), call_(from) {
    fovea_fixed_attention& a = call_;
    const size_t element = a.q.dtype == FOVEA_FIXED_S16 ? 2 : 1;
    const int32_t kv = x.kv_heads();
    const bool panels = a.k.layout == FOVEA_PANELS;
    move(a.q.data, count(a.q_heads, a.queries, a.dim) * element);
    move(a.k.data, panels ? x.key_panels.size() : count(kv, a.keys, a.dim) * element);
    move(a.v.data, panels ? x.value_panels.size() : count(kv, a.keys, x.v_dim()) * element);
    move(a.key_multipliers.data, count(kv, a.keys, 4));
    move(a.key_sums.data, count(kv, a.keys, 4));
    move(a.value_weights.data, count(kv, a.keys, 2));
    move(a.mask.data, count(a.q_heads, a.queries, a.keys));
    move(a.bias.data, count(a.q_heads, a.queries, a.keys) * 4);
    move(a.alibi, count(a.q_heads, 4, 1));
    move(a.sinks, count(a.q_heads, 4, 1));
    move(a.head_scales, count(a.q_heads, 1, 1) * sizeof(fovea_fixed_scale));
    const void* out = x.out.data();
    move(out, x.out.size());
    a.out.data = const_cast<void*>(out);
  }
  void check(const std::vector<unsigned char>& expected) {
    for (size_t size : {fovea_fixed_scratch(&call_), fovea_fixed_scratch_best(&call_)}) {
      CAPTURE(size);
      const fence scratch(size, where_);
      std::memset(call_.out.data, 0x55, expected.size());
      CHECK(fovea_fixed_attend(&call_, scratch.data<void>(), size - 1) ==
            (size == fovea_fixed_scratch(&call_) ? FOVEA_TOO_SMALL | FOVEA_ARG_SCRATCH << 8
                                                 : int32_t{FOVEA_OK}));
      CHECK(fovea_fixed_attend(&call_, scratch.data<void>(), size) == FOVEA_OK);
      CHECK(std::memcmp(call_.out.data, expected.data(), expected.size()) == 0);
    }
  }

 private:
  template <class T>
  void move(const T*& data, size_t size) {
    if (data == nullptr) return;
    fences_.push_back(std::make_unique<fence>(size, where_));
    if (size > 0) std::memcpy(fences_.back()->data<void>(), data, size);
    data = fences_.back()->data<const T>();
  }

  fence::side where_;
  fovea_fixed_attention call_;
  std::vector<std::unique_ptr<fence>> fences_;
};

void check_fenced(fixed_problem& x, const fovea_fixed_attention& a,
                  const std::vector<unsigned char>& expected) {
  for (fence::side where : {fence::behind, fence::before}) fenced_call(x, a, where).check(expected);
}

} // namespace

TEST_CASE("integers: nothing is read or written beside any array") {
  for (int32_t type : {FOVEA_FIXED_S8, FOVEA_FIXED_S16, FOVEA_FIXED_F32})
    for (fixed_problem& x : cases()) {
      INFO(std::string(x.why()));
      CAPTURE(type);
      fovea_fixed_attention a = x.make(type, 3);
      const std::vector<unsigned char> expected = x.expected();
      for (a.isa = FOVEA_FIXED_SCALAR; a.isa < FOVEA_FIXED_ISA_END; ++a.isa) {
        if (!fovea_fixed_has_isa(a.isa)) continue;
        INFO(std::string(fovea_fixed_isa_name(a.isa)));
        check_fenced(x, a, expected);
        if (a.first_key % 64 != 0) continue;
        fovea_fixed_attention panels = x.packed();
        panels.isa = a.isa;
        check_fenced(x, panels, expected);
      }
    }
}

TEST_CASE("Q15: nothing is read or written beside any array") {
  for (int32_t bits : {15, 22})
    for (fixed_problem& x : cases()) {
      INFO(std::string(x.why()));
      if (x.call().q.zero_point) continue;
      const fovea_fixed_attention& a = x.s16(bits).make(FOVEA_FIXED_S16, 3);
      std::vector<unsigned char> scratch(fovea_fixed_scratch(&a));
      REQUIRE(fovea_fixed_attend(&a, scratch.data(), scratch.size()) == FOVEA_OK);
      const std::vector<unsigned char> expected = x.out;
      check_fenced(x, a, expected);
    }
}

// Queries see the keys of the segment only. Behind it the call has keys that stand nowhere.
TEST_CASE("integers: nothing is read behind the tables of a segment that ends inside a block") {
  for (int32_t queries : {1, 3, 9}) {
    CAPTURE(queries);
    fixed_problem x = fixed_problem("a scale per key").heads(2, 1).dims(16).lengths(queries, 19);
    x.causal().scale_per_key().make(FOVEA_FIXED_S8, 3);
    const std::vector<unsigned char> expected = x.expected();
    fovea_fixed_attention a = x.packed();
    const fence multipliers(19 * sizeof(int32_t), fence::behind),
        weights(19 * sizeof(int16_t), fence::behind);
    std::memcpy(multipliers.data<void>(), a.key_multipliers.data, 19 * sizeof(int32_t));
    std::memcpy(weights.data<void>(), a.value_weights.data, 19 * sizeof(int16_t));
    fovea_segments where = {};
    where.count = 1;
    where.at[0].k = a.k.data;
    where.at[0].v = a.v.data;
    where.at[0].keys = 19;
    where.at[0].key_multipliers = multipliers.data<const int32_t>();
    where.at[0].value_weights = weights.data<const int16_t>();
    a.segments = &where;
    a.keys = 43;
    a.flags |= FOVEA_POSITION;
    a.position = 19 - queries;
    for (a.isa = FOVEA_FIXED_SCALAR; a.isa < FOVEA_FIXED_ISA_END; ++a.isa) {
      if (!fovea_fixed_has_isa(a.isa)) continue;
      INFO(std::string(fovea_fixed_isa_name(a.isa)));
      std::vector<unsigned char> scratch(fovea_fixed_scratch(&a));
      std::memset(a.out.data, 0x55, expected.size());
      CHECK(fovea_fixed_attend(&a, scratch.data(), scratch.size()) == FOVEA_OK);
      CHECK(std::memcmp(a.out.data, expected.data(), expected.size()) == 0);
    }
  }
}
#endif

TEST_CASE("integers: parts write each row once") {
  const auto c = [](const char* why) { return fixed_problem(why); };
  fixed_problem all[] = {
      c("one head, rows for several units").heads(1).dims(8).lengths(150, 20),
      c("a group, rows for several units").heads(6, 2).dims(8).lengths(50, 20),
      c("many heads of one row").heads(12, 4).dims(8).lengths(1, 20),
      c("one row").heads(1).dims(8).lengths(1, 20),
      c("32 rows, one unit").heads(1).dims(8).lengths(32, 20),
      c("33 rows").heads(2).dims(8).lengths(33, 20),
      c("more keys: fewer rows a unit").heads(2).dims(8).lengths(9, 1025).max_keys(1025),
  };
  for (fixed_problem& x : all) {
    INFO(std::string(x.why()));
    fovea_fixed_attention a = x.make(FOVEA_FIXED_S8, 2);
    const std::vector<unsigned char> expected = x.expected();
    std::vector<unsigned char> scratch(fovea_fixed_scratch_best(&a));
    for (int32_t parts : {1, 2, 3, 4, 5, 7, 200}) {
      CAPTURE(parts);
      std::vector<int> writers(x.out.size());
      size_t most = 0;
      for (int32_t part = 0; part < parts; ++part) {
        a.part = {part, parts};
        std::vector<unsigned char> once;
        size_t written = 0;
        for (unsigned char before : {0x55, 0xaa}) {
          x.out.assign(x.out.size(), before);
          REQUIRE(fovea_fixed_attend(&a, scratch.data(), scratch.size()) == FOVEA_OK);
          if (before == 0x55) once = x.out;
        }
        for (size_t i = 0; i < x.out.size(); ++i) {
          if (once[i] != x.out[i]) continue; // nobody wrote it
          ++writers[i], ++written;
          REQUIRE(once[i] == expected[i]);
        }
        most = std::max(most, written);
      }
      for (int n : writers) REQUIRE(n == 1);
      const int32_t kv = x.kv_heads(), rows = a.queries * a.q_heads / kv, of_unit = a.keys > 1000 ? 2 : 32,
                    units = (rows + of_unit - 1) / of_unit * kv;
      CHECK(most <= static_cast<size_t>((units + parts - 1) / parts * of_unit) *
                        x.row_bytes()); // as even as units allow
    }
  }
}
