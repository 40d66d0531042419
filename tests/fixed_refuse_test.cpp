// Integer calls that are refused: the status names what is wrong and the argument to blame, and nothing is
// written.
#include <doctest/doctest.h>

#include <iterator>
#include <string>

#include "fixed_problem.hpp"
#include "fixed_reference.hpp"

namespace {

int32_t status(int32_t reason, int32_t argument) { return reason | argument << 8; }

struct bad_call {
  const char* why;
  int32_t reason, argument;
  void (*spoil)(fovea_fixed_attention& a);
};

void check_refused(const bad_call& bad) {
  INFO(std::string(bad.why));
  fixed_problem x(bad.why);
  fovea_fixed_attention a = x.heads(4, 2).dims(20, 24).lengths(3, 70).all_tables().make(FOVEA_FIXED_S8, 5);
  REQUIRE(fovea_fixed_check(&a) == FOVEA_OK);
  std::vector<unsigned char> scratch(fovea_fixed_scratch_best(&a));
  bad.spoil(a);
  const std::vector<unsigned char> before = x.out;
  CHECK(fovea_fixed_check(&a) == status(bad.reason, bad.argument));
  CHECK(fovea_fixed_scratch(&a) == 0);
  CHECK(fovea_fixed_attend(&a, scratch.data(), scratch.size()) == status(bad.reason, bad.argument));
  CHECK(x.out == before);
}

template <class T>
void point_out_at(fovea_fixed_attention& a, const T* table) {
  a.out.data = const_cast<void*>(static_cast<const void*>(table));
}

template <class T>
const T* off_by_a_byte(const T* table) {
  return reinterpret_cast<const T*>(reinterpret_cast<uintptr_t>(table) + 1);
}

} // namespace

TEST_CASE("int8: out may not overlap anything that is read") {
  const bad_call bad[] = {
      {"q", FOVEA_OVERLAP, FOVEA_ARG_OUT, [](fovea_fixed_attention& a) { point_out_at(a, a.q.data); }},
      {"k", FOVEA_OVERLAP, FOVEA_ARG_OUT, [](fovea_fixed_attention& a) { point_out_at(a, a.k.data); }},
      {"v", FOVEA_OVERLAP, FOVEA_ARG_OUT, [](fovea_fixed_attention& a) { point_out_at(a, a.v.data); }},
      {"scales of heads", FOVEA_OVERLAP, FOVEA_ARG_OUT,
       [](fovea_fixed_attention& a) { point_out_at(a, a.head_scales + 3); }},
      {"multipliers of keys", FOVEA_OVERLAP, FOVEA_ARG_OUT,
       [](fovea_fixed_attention& a) { point_out_at(a, a.key_multipliers.data); }},
      {"weights of values", FOVEA_OVERLAP, FOVEA_ARG_OUT,
       [](fovea_fixed_attention& a) { point_out_at(a, a.value_weights.data); }},
      {"the mask", FOVEA_OVERLAP, FOVEA_ARG_OUT,
       [](fovea_fixed_attention& a) { point_out_at(a, a.mask.data); }},
      {"the bias", FOVEA_OVERLAP, FOVEA_ARG_OUT,
       [](fovea_fixed_attention& a) { point_out_at(a, a.bias.data); }},
      {"slopes", FOVEA_OVERLAP, FOVEA_ARG_OUT,
       [](fovea_fixed_attention& a) { point_out_at(a, a.alibi + 3); }},
      {"sinks", FOVEA_OVERLAP, FOVEA_ARG_OUT, [](fovea_fixed_attention& a) { point_out_at(a, a.sinks + 3); }},
  };
  for (const bad_call& b : bad) check_refused(b);
}

TEST_CASE("int8: what is not offered and what cannot be is refused by name") {
  const bad_call bad[] = {
      {"a softcap", FOVEA_UNSUPPORTED, FOVEA_ARG_SOFTCAP,
       [](fovea_fixed_attention& a) { a.softcap = 1 << 20; }},
      {"a reserved word", FOVEA_UNSUPPORTED, FOVEA_ARG_RESERVED,
       [](fovea_fixed_attention& a) { a.v.reserved = 1; }},
      {"an unknown flag", FOVEA_UNSUPPORTED, FOVEA_ARG_FLAGS,
       [](fovea_fixed_attention& a) { a.flags = 1 << 20; }},
      {"more keys than max_keys", FOVEA_SIZE, FOVEA_ARG_KEYS,
       [](fovea_fixed_attention& a) { a.max_keys = 69; }},
      {"a scale whose scores are too steep", FOVEA_RANGE, FOVEA_ARG_SCALE,
       [](fovea_fixed_attention& a) { a.head_scales = nullptr, a.scale.score_shift = 1; }},
      {"a mask with a negative stride", FOVEA_STRIDE, FOVEA_ARG_MASK,
       [](fovea_fixed_attention& a) { a.mask.query_stride = -1; }},
      {"a misaligned bias", FOVEA_ALIGN, FOVEA_ARG_MASK,
       [](fovea_fixed_attention& a) {
         a.bias.data = off_by_a_byte(static_cast<const int32_t*>(a.bias.data));
       }},
      {"misaligned slopes", FOVEA_ALIGN, FOVEA_ARG_ALIBI,
       [](fovea_fixed_attention& a) { a.alibi = off_by_a_byte(a.alibi); }},
      {"rows of out that share elements", FOVEA_STRIDE, FOVEA_ARG_OUT,
       [](fovea_fixed_attention& a) { a.out.token_stride = 8; }},
      {"a scale of floats so small that it could become denormal", FOVEA_RANGE, FOVEA_ARG_SCALE,
       [](fovea_fixed_attention& a) {
         a.head_scales = nullptr, a.out.dtype = FOVEA_FIXED_F32, a.out.zero_point = 0,
         a.scale.f32_scale = 40u << 23;
       }},
      {"misaligned scales of heads", FOVEA_ALIGN, FOVEA_ARG_SCALE,
       [](fovea_fixed_attention& a) { a.head_scales = off_by_a_byte(a.head_scales); }},
      {"scales of heads of which only the first, that of the call, is one", FOVEA_RANGE, FOVEA_ARG_SCALE,
       [](fovea_fixed_attention& a) { a.head_scales = &a.scale; }},
      {"a zero point of q without sums of keys", FOVEA_NULL, FOVEA_ARG_KEY_SUMS,
       [](fovea_fixed_attention& a) { a.q.zero_point = 3; }},
      {"no query", FOVEA_NULL, FOVEA_ARG_Q, [](fovea_fixed_attention& a) { a.q.data = nullptr; }},
  };
  for (const bad_call& b : bad) check_refused(b);
}

TEST_CASE("int8: scratch may not overlap a table") {
  fixed_problem x("scratch over slopes");
  fovea_fixed_attention a = x.heads(2, 1).dims(16).lengths(2, 20).make(FOVEA_FIXED_S8);
  std::vector<int32_t> room(4096);
  a.alibi = room.data() + 100;
  CHECK(fovea_fixed_attend(&a, room.data(), room.size() * 4) == status(FOVEA_OVERLAP, FOVEA_ARG_SCRATCH));
  CHECK(fovea_fixed_attend(&a, nullptr, 0) == status(FOVEA_NULL, FOVEA_ARG_SCRATCH));
  CHECK(fovea_fixed_attend(&a, room.data() + 200, 1) == status(FOVEA_TOO_SMALL, FOVEA_ARG_SCRATCH));
}

TEST_CASE("int8: a call is refused for the same reason with scratch that overlaps it") {
  fixed_problem x("scratch over slopes, and no values");
  fovea_fixed_attention a = x.heads(2, 1).dims(16).lengths(2, 20).make(FOVEA_FIXED_S8);
  std::vector<int32_t> room(4096);
  a.alibi = room.data() + 100;
  a.v.data = nullptr;
  CHECK(fovea_fixed_check(&a) == status(FOVEA_NULL, FOVEA_ARG_V));
  CHECK(fovea_fixed_attend(&a, room.data(), room.size() * 4) == status(FOVEA_NULL, FOVEA_ARG_V));
}

TEST_CASE("int8: empty ranges overlap nothing") {
  fixed_problem x("no keys");
  fovea_fixed_attention a = x.heads(1).dims(16).lengths(2, 0).make(FOVEA_FIXED_S8);
  a.k.data = a.v.data = x.out.data() + 3;
  CHECK(fovea_fixed_check(&a) == FOVEA_OK);
}

TEST_CASE("int8: a stride without use may be any number") {
  fixed_problem x("one head, one query");
  fovea_fixed_attention a = x.heads(1).dims(16).lengths(1, 1).make(FOVEA_FIXED_F32);
  a.q.head_stride = a.k.head_stride = a.v.head_stride = a.out.head_stride = PTRDIFF_MAX;
  CHECK(fovea_fixed_check(&a) == FOVEA_OK);
}

TEST_CASE("int8: sums of hidden keys may hold anything") {
  fixed_problem x("a zero point of q");
  fovea_fixed_attention a =
      x.heads(1).dims(16).lengths(2, 70).zeros(-128, 0, 0, 0).masked().steepness(0.1).make(FOVEA_FIXED_S8);
  std::vector<int32_t> sums(static_cast<const int32_t*>(a.key_sums.data),
                            static_cast<const int32_t*>(a.key_sums.data) + 70);
  std::vector<uint8_t> mask(140, 1);
  for (size_t key : {0u, 33u, 69u})
    sums[key] = key % 2 ? INT32_MAX : INT32_MIN, mask[key] = mask[70 + key] = 0;
  a.key_sums.data = sums.data(), a.mask.data = mask.data();
  const std::vector<unsigned char> expected = fixed_reference::output(a);
  for (int32_t isa = FOVEA_FIXED_SCALAR; isa < FOVEA_FIXED_ISA_END; ++isa) {
    if (!fovea_fixed_has_isa(isa)) continue;
    a.isa = isa;
    std::vector<unsigned char> scratch(fovea_fixed_scratch_best(&a));
    CHECK(fovea_fixed_attend(&a, scratch.data(), scratch.size()) == FOVEA_OK);
    CHECK(x.out == expected);
  }
}
