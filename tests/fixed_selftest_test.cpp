// Known answers of integer attention: right code passes, any other output is noticed.
#include <doctest/doctest.h>

#include "data.hpp"
#include "fovea/selftest.h"

namespace {

#if FOVEA_SMALL // emulated boards take minutes for all bits
constexpr int bit_step = 13;
#else
constexpr int bit_step = 1;
#endif

int32_t isa_of_entry;
int32_t attend_on(const fovea_fixed_attention* a, void* scratch, size_t size) {
  fovea_fixed_attention b = *a;
  b.isa = isa_of_entry;
  return fovea_fixed_attend(&b, scratch, size);
}

int bad_bit, bad_type; // of the output of this type
int32_t attend_badly(const fovea_fixed_attention* a, void* scratch, size_t size) {
  const int32_t status = fovea_fixed_attend(a, scratch, size);
  if (a->out.dtype != bad_type) return status;
  static_cast<unsigned char*>(a->out.data)[bad_bit / 8] ^= static_cast<unsigned char>(1 << bad_bit % 8);
  return status;
}

int32_t test(fovea_fixed_entry attend, size_t size = FOVEA_SELFTEST_SCRATCH, size_t offset = 0) {
  data::guarded<unsigned char> scratch(size, offset);
  const int32_t status = fovea_fixed_selftest(attend, scratch.data(), scratch.size());
  CHECK(scratch.guards_hold());
  return status;
}

} // namespace

TEST_CASE("int8: attention gives the known answer") {
  for (fovea_fixed_entry attend : {fovea_fixed_attend, fovea_fixed_attend_s8, fovea_fixed_attend_plain})
    for (size_t offset : {0, 1, 2, 3, 4}) CHECK(test(attend, FOVEA_SELFTEST_SCRATCH, offset) == FOVEA_OK);
  for (isa_of_entry = 0; isa_of_entry < FOVEA_FIXED_ISA_END; ++isa_of_entry)
    if (isa_of_entry == 0 || fovea_fixed_has_isa(isa_of_entry) == 1) CHECK(test(attend_on) == FOVEA_OK);
}

TEST_CASE("int8: one wrong bit fails the self test") {
  for (int bytes : {1, 2}) {
    bad_type = bytes == 1 ? FOVEA_FIXED_S8 : FOVEA_FIXED_S16;
    for (bad_bit = 0; bad_bit < 3 * 3 * 16 * 8 * bytes; bad_bit += bit_step)
      CHECK(test(attend_badly) == (FOVEA_DAMAGED | FOVEA_ARG_OUT << 8));
  }
}

TEST_CASE("int8: a self test refuses what it cannot test") {
  CHECK(fovea_fixed_selftest(fovea_fixed_attend, nullptr, 10000) == (FOVEA_NULL | FOVEA_ARG_SCRATCH << 8));
  CHECK(test(nullptr) == (FOVEA_NULL | FOVEA_ARG_CALL << 8));
  CHECK(test(fovea_fixed_attend, 100) == (FOVEA_TOO_SMALL | FOVEA_ARG_SCRATCH << 8));
  CHECK(test(fovea_fixed_attend, 4700) == (FOVEA_TOO_SMALL | FOVEA_ARG_SCRATCH << 8));
}
