// What a call may touch: nothing beside the rows is read, nothing beside the results and the given scratch is written.
#include <doctest/doctest.h>

#include <memory>
#include <utility>

#include "fence.hpp"
#include "isas.hpp"
#include "problem.hpp"

namespace {

std::vector<shape> ragged_shapes() {
  return {
      shape("one row, ragged everywhere").dims(13, 7).lengths(1, 37),
      shape("decode of a group").heads(6, 2).dims(20, 33).lengths(1, 261),
      shape("two rows").dims(3, 18).lengths(2, 17),
      shape("prefill").heads(4, 2).dims(17, 9).lengths(21, 35).causal(),
      shape("one key").heads(3, 1).dims(1).lengths(5, 1),
      shape("a window in the third block").dims(5).lengths(3, 600).causal().window(20, 0),
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
      shape("a short mask for all heads").heads(4, 2).dims(5).lengths(7, 40).mask(mask_kind::shown, false).mask_keys(21).weights(1),
      shape("one row of bias for all, decode").heads(6, 2).dims(20).lengths(1, 261).mask(mask_kind::bias, false, false).weights(2),
  };
}

} // namespace

TEST_CASE("any_scratch_gives_the_same_bits_and_is_not_left") {
  for (const shape& s : ragged_shapes()) {
    INFO(doctest::String(s.why));
    problem p(s);
    isas::for_each([&](int32_t isa) {
      const fovea_attention a = p.call(isa);
      const size_t least = fovea_scratch_least(&a), best = fovea_scratch_best(&a), constant = FOVEA_SCRATCH(a.dim, p.out.dim);
      const std::vector<float> expected = solve(p, a, best);
      const size_t sizes[] = {least, least + 1, constant, (least + best) / 2, 16384, 65536, best + 1000};
      for (size_t size : sizes) {
        INFO("scratch of ", size);
        if (size >= least) CHECK(data::same_bits(solve(p, a, size), expected));
      }
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

template <class T>
bool same_bytes(const data::guarded<T>& a, const data::guarded<T>& b) {
  return a.size() == b.size() && (a.size() == 0 || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}
bool same_modifiers(const modifier_memory& a, const modifier_memory& b) {
  return same_bytes(a.alibi, b.alibi) && same_bytes(a.sinks, b.sinks) && same_bytes(a.shown, b.shown) && same_bytes(a.bias, b.bias);
}

} // namespace

TEST_CASE("inputs_stay_as_they_are") {
  for (const shape& s : ragged_shapes()) {
    INFO(doctest::String(s.why));
    problem p(s), twin(s);
    isas::for_each([&](int32_t isa) {
      solve(p, p.call(isa));
      CHECK(std::memcmp(p.q_memory.data(), twin.q_memory.data(), p.q_memory.size() * sizeof(float)) == 0);
      CHECK(std::memcmp(p.k_memory.data(), twin.k_memory.data(), p.k_memory.size() * sizeof(float)) == 0);
      CHECK(std::memcmp(p.v_memory.data(), twin.v_memory.data(), p.v_memory.size() * sizeof(float)) == 0);
      CHECK(same_modifiers(p.modifiers, twin.modifiers));
      CHECK((p.q_memory.guards_hold() && p.k_memory.guards_hold() && p.v_memory.guards_hold()));
    });
  }
}

TEST_CASE("an_earlier_call_leaves_nothing_behind_in_scratch") {
  problem small(shape("small").dims(5).lengths(2, 20)), large(shape("large, with huge scores").dims(9).lengths(20, 300).scores(1e9f));
  isas::for_each([&](int32_t isa) {
    const fovea_attention a = small.call(isa), b = large.call(isa);
    const size_t size = fovea_scratch_best(&a) > fovea_scratch_best(&b) ? fovea_scratch_best(&a) : fovea_scratch_best(&b);
    const std::vector<float> expected = solve(small, a, size);
    data::guarded<unsigned char> scratch(size);
    CHECK(fovea_attend(&b, scratch.data(), size) == FOVEA_OK);
    CHECK(fovea_attend(&a, scratch.data(), size) == FOVEA_OK);
    CHECK(data::same_bits(small.results(), expected));
  });
}

#if defined(__linux__)
namespace {

// All arrays of a call, each touching an inaccessible page.
class fenced_call {
 public:
  fenced_call(const problem& p, int32_t isa, size_t scratch_size, fence::side where)
      : where_(where), out_size_(p.out_memory.size()), told_size_(p.modifiers.lse.size(), p.modifiers.weights.size()), call_(p.call(isa)) {
    call_.q.data = copy(p.q_memory), call_.k.data = copy(p.k_memory), call_.v.data = copy(p.v_memory);
    call_.out.data = copy(p.out_memory);
    const modifier_memory& m = p.modifiers;
    if (call_.alibi != nullptr) call_.alibi = copy(m.alibi);
    if (call_.sinks != nullptr) call_.sinks = copy(m.sinks);
    if (call_.mask.data != nullptr) call_.mask.data = call_.mask.is_bias != 0 ? static_cast<const void*>(copy(m.bias)) : copy(m.shown);
    if (call_.lse != nullptr) call_.lse = copy(m.lse);
    if (call_.weights.data != nullptr) call_.weights.data = copy(m.weights);
    scratch_size_ = (scratch_size + 3) / 4 * 4;
    scratch_ = memory<unsigned char>(scratch_size_);
  }

  std::vector<float> solve() {
    CHECK(fovea_attend(&call_, scratch_, scratch_size_) == FOVEA_OK);
    const float *out = static_cast<const float*>(call_.out.data), *lse = call_.lse, *weights = call_.weights.data;
    std::vector<float> all(out, out + out_size_);
    if (lse != nullptr) all.insert(all.end(), lse, lse + told_size_.first);
    if (weights != nullptr) all.insert(all.end(), weights, weights + told_size_.second);
    return all;
  }

 private:
  template <class T>
  T* memory(size_t count) {
    fences_.push_back(std::make_unique<fence>(count * sizeof(T), where_));
    return fences_.back()->data<T>();
  }
  template <class T>
  T* copy(const data::guarded<T>& from) {
    T* to = memory<T>(from.size());
    if (from.size() > 0) std::memcpy(to, from.data(), from.size() * sizeof(T));
    return to;
  }

  fence::side where_;
  size_t out_size_;
  std::pair<size_t, size_t> told_size_;
  std::vector<std::unique_ptr<fence>> fences_;
  fovea_attention call_;
  unsigned char* scratch_;
  size_t scratch_size_;
};

} // namespace

TEST_CASE("nothing_is_read_behind_or_before_any_array") {
  for (const shape& s : ragged_shapes()) {
    INFO(doctest::String(s.why));
    problem p(s);
    isas::for_each([&](int32_t isa) {
      const fovea_attention a = p.call(isa);
      const std::vector<float> expected = solve(p, a);
      for (fence::side where : {fence::behind, fence::before})
        for (size_t scratch : {fovea_scratch_least(&a), fovea_scratch_best(&a)})
          CHECK(data::same_bits(fenced_call(p, isa, scratch, where).solve(), expected));
    });
  }
}
#endif
