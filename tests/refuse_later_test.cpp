// What this version does not offer is refused by name, not ignored; the packing of keys and the texts have
// refusals of their own.
#include <doctest/doctest.h>

#include <cstring>
#include <iterator>
#include <limits>

#include "problem.hpp"

namespace {

float some_floats[4096]; // zeros that an option may point to

struct later_feature {
  const char* why;
  int32_t argument;
  void (*ask_for)(fovea_attention&);
};

const later_feature later_features[] = {
    {"an unknown flag", FOVEA_ARG_FLAGS, [](fovea_attention& a) { a.flags |= 16; }},
    {"the highest flag", FOVEA_ARG_FLAGS, [](fovea_attention& a) { a.flags |= INT32_MIN; }},
    {"int8 q", FOVEA_ARG_Q, [](fovea_attention& a) { a.q.dtype = FOVEA_I8; }},
    {"int8 out", FOVEA_ARG_OUT, [](fovea_attention& a) { a.out.dtype = FOVEA_I8; }},
    {"int16 k", FOVEA_ARG_K, [](fovea_attention& a) { a.k.dtype = FOVEA_I16; }},
    {"a dtype without a name", FOVEA_ARG_Q, [](fovea_attention& a) { a.q.dtype = 77; }},
    {"q in panels", FOVEA_ARG_Q, [](fovea_attention& a) { a.q.layout = FOVEA_PANELS; }},
    {"v in panels", FOVEA_ARG_V, [](fovea_attention& a) { a.v.layout = FOVEA_PANELS; }},
    {"a layout without a name", FOVEA_ARG_K, [](fovea_attention& a) { a.k.layout = 2; }},
    {"a negative layout", FOVEA_ARG_K, [](fovea_attention& a) { a.k.layout = -1; }},
    {"scales of q", FOVEA_ARG_Q, [](fovea_attention& a) { a.q.scales = some_floats; }},
    {"scales of k", FOVEA_ARG_K, [](fovea_attention& a) { a.k.scales = some_floats; }},
    {"scales of v", FOVEA_ARG_V, [](fovea_attention& a) { a.v.scales = some_floats; }},
    {"a stride of scales", FOVEA_ARG_K, [](fovea_attention& a) { a.k.scale_token_stride = 1; }},
    {"a zero point of q", FOVEA_ARG_Q, [](fovea_attention& a) { a.q.zero_point = 1; }},
    {"a zero point of k", FOVEA_ARG_K, [](fovea_attention& a) { a.k.zero_point = -1; }},
    {"a zero point of v", FOVEA_ARG_V, [](fovea_attention& a) { a.v.zero_point = 1; }},
    {"a zero point of out", FOVEA_ARG_OUT, [](fovea_attention& a) { a.out.zero_point = 1; }},
    {"a scale of out", FOVEA_ARG_OUT, [](fovea_attention& a) { a.out.scale = 0.5f; }},
    {"a ring", FOVEA_ARG_RING, [](fovea_attention& a) { a.ring = 1; }},
#if UINTPTR_MAX <= 0xffffffff
    {"a reserved word of the call", FOVEA_ARG_RESERVED, [](fovea_attention& a) { a.reserved[0] = 1; }},
    {"the last reserved word of the call", FOVEA_ARG_RESERVED,
     [](fovea_attention& a) { *(std::end(a.reserved) - 1) = -1; }},
#endif
    {"a unit of scales of q", FOVEA_ARG_Q, [](fovea_attention& a) { a.q.scale_unit = 1; }},
    {"a unit of scales of k", FOVEA_ARG_K, [](fovea_attention& a) { a.k.scale_unit = 1; }},
    {"a unit of scales of v", FOVEA_ARG_V, [](fovea_attention& a) { a.v.scale_unit = 1; }},
    {"a reserved word of out", FOVEA_ARG_RESERVED, [](fovea_attention& a) { a.out.reserved = 1; }},
    {"a reserved word of the weights", FOVEA_ARG_RESERVED,
     [](fovea_attention& a) { a.weights.reserved = 1; }},
    {"an ISA without a name", FOVEA_ARG_ISA, [](fovea_attention& a) { a.isa = FOVEA_ISA_END; }},
    {"a negative ISA", FOVEA_ARG_ISA, [](fovea_attention& a) { a.isa = -1; }},
};

} // namespace

TEST_CASE("refuses_what_comes_later") {
  problem p(shape("a good call").heads(4, 2).lengths(3, 20));
  const fovea_attention good = p.call();
  data::guarded<unsigned char> scratch(fovea_scratch_best(&good));
  for (const later_feature& later : later_features) {
    INFO(doctest::String(later.why));
    fovea_attention a = good;
    later.ask_for(a);
    const int32_t status = fovea_attend(&a, scratch.data(), scratch.size());
    CHECK_MESSAGE(status == (FOVEA_UNSUPPORTED | later.argument << 8), status_text(status));
    CHECK(fovea_check(&a) == status);
    CHECK((p.out_memory.nothing_written() && scratch.nothing_written()));
  }
}

TEST_CASE("an_isa_that_this_machine_has_not_is_refused") {
  problem p(shape("a good call").lengths(3, 20));
  for (int32_t isa = FOVEA_SCALAR; isa < FOVEA_ISA_END; ++isa) {
    const fovea_attention a = p.call(isa);
    const int32_t expected = fovea_has_isa(isa) == 1 ? int32_t{FOVEA_OK}
                                                     : FOVEA_UNSUPPORTED | FOVEA_ARG_ISA << 8;
    CHECK(fovea_check(&a) == expected);
  }
  CHECK(fovea_has_isa(fovea_isa()) == 1);
  CHECK((fovea_has_isa(-1) == 0 && fovea_has_isa(FOVEA_ISA_END) == 0 && fovea_has_isa(INT32_MAX) == 0));
}

TEST_CASE("arrays_without_elements_may_be_null") {
  problem p(shape("a good call").lengths(3, 20));
  fovea_attention no_keys = p.call(), no_queries = p.call();
  no_keys.keys = 0, no_keys.k.data = no_keys.v.data = nullptr;
  CHECK(fovea_check(&no_keys) == FOVEA_OK);
  no_queries.queries = 0, no_queries.q.data = no_queries.out.data = nullptr;
  CHECK(fovea_check(&no_queries) == FOVEA_OK);
  CHECK(attend_in(no_queries, fovea_scratch_best(&no_queries)) == FOVEA_OK);
}

TEST_CASE("strides_without_use_are_not_looked_at_twice") {
  problem p(shape("one head, one token: strides are never walked").dims(6).lengths(1, 1));
  fovea_attention a = p.call();
  a.q.token_stride = a.k.token_stride = a.v.head_stride = a.out.token_stride =
      std::numeric_limits<ptrdiff_t>::max();
  CHECK(fovea_check(&a) == FOVEA_OK);
}

TEST_CASE("packing_refuses_bad_arguments") {
  constexpr ptrdiff_t highest = std::numeric_limits<ptrdiff_t>::max();
  constexpr int32_t most = INT32_MAX - 4 * 4096; // keys
  data::guarded<float> panels(32 * 4), rows(20 * 4);
  float* const to = panels.data();
  const float* const from = rows.data();
  const auto refused = [&](int32_t status, int32_t reason) {
    return FOVEA_REASON(status) == reason && panels.nothing_written();
  };
  CHECK(refused(fovea_pack_keys(nullptr, 0, from, 0, 20, 4), FOVEA_NULL));
  CHECK(refused(fovea_pack_keys(to, 0, nullptr, 0, 20, 4), FOVEA_NULL));
  CHECK(refused(fovea_pack_keys(to, -1, from, 0, 20, 4), FOVEA_RANGE));
  CHECK(refused(fovea_pack_keys(to, 0, from, 0, -1, 4), FOVEA_SIZE));
  CHECK(refused(fovea_pack_keys(nullptr, 0, from, 0, most + 1, 4), FOVEA_SIZE));
  CHECK(refused(fovea_pack_keys(nullptr, 0, from, 0, most, 4), FOVEA_NULL)); // not too many
  CHECK(refused(fovea_pack_keys(to, 0, from, 0, 20, 0), FOVEA_SIZE));
  CHECK(refused(fovea_pack_keys(to, 0, from, 0, 20, 1025), FOVEA_SIZE));
  CHECK(refused(fovea_pack_keys(to, 0, from, -4, 20, 4), FOVEA_STRIDE));
  CHECK(refused(fovea_pack_keys(to, 0, from + 4, -4, 2, 4), FOVEA_STRIDE)); // the fewest rows that walk it
  CHECK(refused(fovea_pack_keys(to, 0, from, highest, 20, 4), FOVEA_OVERFLOW));
  CHECK(refused(fovea_pack_keys(to, INT32_MAX, from, 0, 20, 4), FOVEA_RANGE));
  CHECK(refused(fovea_pack_keys(to, 0, to + 5, 0, 20, 4), FOVEA_OVERLAP));
  CHECK(fovea_pack_keys(nullptr, 0, nullptr, 0, 0, 4) == FOVEA_OK);
}

TEST_CASE("packing_refuses_panels_that_leave_the_address_space") {
  // Nothing may be written, not even where an address that has wrapped around would lead.
  struct row {
    const char* why;
    uintptr_t panels; // 0: of the array below
    int32_t at, count, dim;
  };
  const row table[] = {
      {"the last addresses", UINTPTR_MAX - 63, 1 << 20, 1, 1024},
      {"the last addresses, first panel", UINTPTR_MAX - 63, 0, 1, 1024},
      {"so many panels that 32 bits wrap to the first", sizeof(void*) == 4 ? 0 : UINTPTR_MAX - 4095, 4194304,
       1, 1024},
  };
  data::guarded<float> panels(16 * 1024), rows(1024);
  for (const row& r : table) {
    INFO(doctest::String(r.why));
    float* to = r.panels == 0 ? panels.data() : reinterpret_cast<float*>(r.panels & ~uintptr_t{3});
    CHECK(fovea_pack_keys(to, r.at, rows.data(), 0, r.count, r.dim) == (FOVEA_OVERFLOW | FOVEA_ARG_OUT << 8));
    CHECK(panels.nothing_written());
  }
}

TEST_CASE("empty_ranges_overlap_nothing") {
  data::guarded<float> panels(32 * 4);
  float* const p = panels.data();
  CHECK(fovea_pack_keys(p, 5, p + 3, 4, 0, 4) == FOVEA_OK);
  problem x(shape("no keys").lengths(3, 0).mask(mask_kind::bias));
  fovea_attention a = x.call();
  a.k.data = a.v.data = a.mask.data = x.out.data + 2; // no element of theirs is there
  CHECK(fovea_check(&a) == FOVEA_OK);
  CHECK(attend_in(a, fovea_scratch_best(&a)) == FOVEA_OK);
}

TEST_CASE("packing_misaligned_memory_is_refused") {
  data::guarded<float> panels(32 * 4), rows(20 * 4);
  auto* odd_panels = reinterpret_cast<float*>(reinterpret_cast<char*>(panels.data()) + 1);
  const auto* odd_rows = reinterpret_cast<const float*>(reinterpret_cast<const char*>(rows.data()) + 2);
  CHECK(FOVEA_REASON(fovea_pack_keys(odd_panels, 0, rows.data(), 0, 19, 4)) == FOVEA_ALIGN);
  CHECK(FOVEA_REASON(fovea_pack_keys(panels.data(), 0, odd_rows, 0, 19, 4)) == FOVEA_ALIGN);
  CHECK((panels.nothing_written() && rows.nothing_written()));
}

TEST_CASE("every_status_has_a_text") {
  for (int32_t reason = 0; reason < FOVEA_REASON_END; ++reason)
    for (int32_t other = 0; other < reason; ++other)
      CHECK(std::strcmp(fovea_reason_text(reason), fovea_reason_text(other)) != 0);
  for (int32_t argument = 0; argument < FOVEA_ARG_END; ++argument)
    for (int32_t other = 0; other < argument; ++other)
      CHECK(std::strcmp(fovea_argument_text(argument << 8), fovea_argument_text(other << 8)) != 0);
  for (int32_t isa = FOVEA_SCALAR; isa < FOVEA_ISA_END; ++isa)
    for (int32_t other = FOVEA_SCALAR; other < isa; ++other)
      CHECK(std::strcmp(fovea_isa_name(isa), fovea_isa_name(other)) != 0);
  const int32_t strays[] = {-1, FOVEA_REASON_END, FOVEA_ARG_END << 8, 0xFFFF, INT32_MAX, INT32_MIN};
  for (int32_t stray : strays) {
    CHECK((fovea_reason_text(stray) != nullptr && fovea_reason_text(stray)[0] != 0));
    CHECK((fovea_argument_text(stray) != nullptr && fovea_argument_text(stray)[0] != 0));
    CHECK((fovea_isa_name(stray) != nullptr && fovea_isa_name(stray)[0] != 0));
  }
  CHECK(std::strcmp(fovea_isa_name(FOVEA_AVX2), "avx2") == 0);
  CHECK(fovea_version() == FOVEA_VERSION);
}
