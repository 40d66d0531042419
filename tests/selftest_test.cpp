// Known answers of float attention: right code passes, any other output is noticed.
#include "fovea/selftest.h"

#include <doctest/doctest.h>

#include "data.hpp"
#include "isas.hpp"

namespace {

#if FOVEA_SMALL // emulated boards take minutes for all bits
constexpr int bit_step = 13;
#else
constexpr int bit_step = 1;
#endif

int32_t isa_of_entry;
int32_t attend_on(const fovea_attention* a, void* scratch, size_t size) {
  fovea_attention b = *a;
  b.isa = isa_of_entry;
  return fovea_attend(&b, scratch, size);
}

// A machine that gets one bit of the output wrong.
int bad_bit, bad_keys; // of the call with so many keys
int32_t attend_badly(const fovea_attention* a, void* scratch, size_t size) {
  const int32_t status = fovea_attend(a, scratch, size);
  if (a->keys != bad_keys) return status;
  static_cast<unsigned char*>(a->out.data)[bad_bit / 8] ^= static_cast<unsigned char>(1 << bad_bit % 8);
  return status;
}

int32_t refuse(const fovea_attention*, void*, size_t) { return FOVEA_SIZE | FOVEA_ARG_DIM << 8; }

int32_t test(fovea_float_entry attend, size_t size = FOVEA_SELFTEST_SCRATCH, size_t offset = 0) {
  data::guarded<unsigned char> scratch(size, offset);
  const int32_t status = fovea_selftest(attend, scratch.data(), scratch.size());
  CHECK(scratch.guards_hold());
  return status;
}

} // namespace

TEST_CASE("float_attention_gives_the_known_answer") {
  for (fovea_float_entry attend : {fovea_attend, fovea_attend_f32, fovea_attend_plain})
    for (size_t offset : {0, 1, 2, 3, 4}) CHECK(test(attend, FOVEA_SELFTEST_SCRATCH, offset) == FOVEA_OK);
}

TEST_CASE("the_known_answer_is_that_of_every_ISA_that_promises_bits") {
  if (!isas::promises_bits(fovea_isa())) return;
  isas::for_each([](int32_t isa) {
    isa_of_entry = isa;
    CHECK((test(attend_on) == FOVEA_OK) == isas::promises_bits(isa));
  });
}

TEST_CASE("one_wrong_bit_fails_the_self_test") {
  bad_keys = 19;
  for (bad_bit = 0; bad_bit < 2 * 3 * 27 * 32; bad_bit += bit_step)
    CHECK(test(attend_badly) == (FOVEA_DAMAGED | FOVEA_ARG_OUT << 8));
  bad_keys = 300;
  for (bad_bit = 0; bad_bit < 2 * 2 * 32; bad_bit += bit_step)
    CHECK(test(attend_badly) == (FOVEA_DAMAGED | FOVEA_ARG_OUT << 8));
}

TEST_CASE("a_self_test_refuses_what_it_cannot_test") {
  CHECK(fovea_selftest(fovea_attend, nullptr, 10000) == (FOVEA_NULL | FOVEA_ARG_SCRATCH << 8));
  CHECK(test(nullptr) == (FOVEA_NULL | FOVEA_ARG_CALL << 8));
  CHECK(test(fovea_attend, 100) == (FOVEA_TOO_SMALL | FOVEA_ARG_SCRATCH << 8));
  CHECK(test(fovea_attend, 3000) == (FOVEA_TOO_SMALL | FOVEA_ARG_SCRATCH << 8));
  CHECK(test(refuse) == (FOVEA_SIZE | FOVEA_ARG_DIM << 8));
}
