// The optional tables of integer calls: their strides, and what of them is refused.
#include <doctest/doctest.h>

#include <cstring>
#include <limits>
#include <string>

#include "fixed_problem.hpp"
#include "fixed_reference.hpp"

namespace {

constexpr int32_t heads = 4, kv_heads = 2, queries = 3, keys = 70;

fixed_problem all_tables() {
  return fixed_problem("all tables").heads(heads, kv_heads).dims(20, 24).lengths(queries, keys).all_tables();
}

// Rows of a table, so far apart that numbers of nobody stand between them.
template <class T>
std::vector<T> spread(const void* from, int32_t rows, ptrdiff_t stride, T between) {
  std::vector<T> to(static_cast<size_t>(rows * stride), between);
  for (int32_t r = 0; r < rows; ++r)
    std::memcpy(&to[static_cast<size_t>(r * stride)], static_cast<const T*>(from) + r * keys,
                keys * sizeof(T));
  return to;
}

template <class T>
const T* a_byte_behind(const T* p) {
  return reinterpret_cast<const T*>(reinterpret_cast<uintptr_t>(p) + 1);
}

void check_bits(fixed_problem& x, fovea_fixed_attention a, const char* why) {
  INFO(std::string(why));
  const std::vector<unsigned char> expected = fixed_reference::output(a);
  for (a.isa = FOVEA_FIXED_SCALAR; a.isa < FOVEA_FIXED_ISA_END; ++a.isa) {
    if (!fovea_fixed_has_isa(a.isa)) continue;
    INFO(std::string(fovea_fixed_isa_name(a.isa)));
    std::vector<unsigned char> scratch(fovea_fixed_scratch_best(&a));
    x.out.assign(x.out.size(), 0x55);
    CHECK(fovea_fixed_attend(&a, scratch.data(), scratch.size()) == FOVEA_OK);
    CHECK(x.out == expected);
  }
}

} // namespace

TEST_CASE("int8: tables with strides") {
  fixed_problem x = all_tables();
  const fovea_fixed_attention good = x.make(FOVEA_FIXED_S8, 5);
  const std::vector<uint8_t> mask = spread<uint8_t>(good.mask.data, heads * queries, keys + 3, 1);
  const std::vector<int32_t> bias = spread<int32_t>(good.bias.data, heads * queries, keys + 5, 1 << 20);
  const std::vector<int32_t> multipliers = spread<int32_t>(good.key_multipliers.data, kv_heads, keys + 7, 1);
  const std::vector<int16_t> value_weights = spread<int16_t>(good.value_weights.data, kv_heads, keys + 9, 1);
  fovea_fixed_attention a = good;
  a.mask = {mask.data(), queries * (keys + 3), keys + 3};
  a.bias = {bias.data(), queries * (keys + 5), keys + 5};
  a.key_multipliers = {multipliers.data(), keys + 7};
  a.value_weights = {value_weights.data(), keys + 9};
  check_bits(x, a, "gaps between rows");
  a = good, a.mask.head_stride = 0, a.bias.head_stride = 0;
  check_bits(x, a, "the same rows for all heads");
  a = good, a.mask.query_stride = 0, a.bias.query_stride = 0;
  check_bits(x, a, "the same row for all queries of a head");
  a = good, a.mask = {good.mask.data, 0, 0}, a.bias = {good.bias.data, 0, 0};
  check_bits(x, a, "one row for all");
}

TEST_CASE("int8: sums of keys with a stride") {
  fixed_problem x("a zero point of q");
  fovea_fixed_attention a = x.heads(heads, kv_heads)
                                .dims(20)
                                .lengths(queries, keys)
                                .zeros(7, 3, 0, 0)
                                .steepness(0.3)
                                .make(FOVEA_FIXED_S8, 5);
  check_bits(x, a, "contiguous");
  const std::vector<int32_t> sums = spread<int32_t>(a.key_sums.data, kv_heads, keys + 7, 12345);
  a.key_sums = {sums.data(), keys + 7};
  check_bits(x, a, "gaps between heads");
}

TEST_CASE("int8: tables that cannot be are refused by name") {
  struct bad_table {
    const char* why;
    int32_t reason, argument;
    void (*spoil)(fovea_fixed_attention& a);
  };
  constexpr ptrdiff_t huge = std::numeric_limits<ptrdiff_t>::max();
  const bad_table bad[] = {
      {"mask heads backwards", FOVEA_STRIDE, FOVEA_ARG_MASK,
       [](fovea_fixed_attention& a) { a.mask.head_stride = -1; }},
      {"mask rows backwards", FOVEA_STRIDE, FOVEA_ARG_MASK,
       [](fovea_fixed_attention& a) { a.mask.query_stride = -1; }},
      {"bias heads backwards", FOVEA_STRIDE, FOVEA_ARG_MASK,
       [](fovea_fixed_attention& a) { a.bias.head_stride = -1; }},
      {"bias rows backwards", FOVEA_STRIDE, FOVEA_ARG_MASK,
       [](fovea_fixed_attention& a) { a.bias.query_stride = -1; }},
      {"multipliers backwards", FOVEA_STRIDE, FOVEA_ARG_K,
       [](fovea_fixed_attention& a) { a.key_multipliers.head_stride = -1; }},
      {"weights of values backwards", FOVEA_STRIDE, FOVEA_ARG_V,
       [](fovea_fixed_attention& a) { a.value_weights.head_stride = -1; }},
      {"mask heads beyond all memory", FOVEA_OVERFLOW, FOVEA_ARG_MASK,
       [](fovea_fixed_attention& a) { a.mask.head_stride = huge; }},
      {"mask rows beyond all memory", FOVEA_OVERFLOW, FOVEA_ARG_MASK,
       [](fovea_fixed_attention& a) { a.mask.query_stride = huge; }},
      {"bias beyond all memory", FOVEA_OVERFLOW, FOVEA_ARG_MASK,
       [](fovea_fixed_attention& a) { a.bias.query_stride = huge / 4; }},
      {"multipliers beyond all memory", FOVEA_OVERFLOW, FOVEA_ARG_K,
       [](fovea_fixed_attention& a) { a.key_multipliers.head_stride = huge / 2; }},
      {"a misaligned bias", FOVEA_ALIGN, FOVEA_ARG_MASK,
       [](fovea_fixed_attention& a) { a.bias.data = a_byte_behind(a.bias.data); }},
      {"misaligned multipliers", FOVEA_ALIGN, FOVEA_ARG_K,
       [](fovea_fixed_attention& a) { a.key_multipliers.data = a_byte_behind(a.key_multipliers.data); }},
      {"misaligned weights of values", FOVEA_ALIGN, FOVEA_ARG_V,
       [](fovea_fixed_attention& a) { a.value_weights.data = a_byte_behind(a.value_weights.data); }},
      {"misaligned slopes", FOVEA_ALIGN, FOVEA_ARG_ALIBI,
       [](fovea_fixed_attention& a) { a.alibi = a_byte_behind(a.alibi); }},
      {"misaligned sinks", FOVEA_ALIGN, FOVEA_ARG_SINKS,
       [](fovea_fixed_attention& a) { a.sinks = a_byte_behind(a.sinks); }},
      {"a weight of values beside a zero point", FOVEA_UNSUPPORTED, FOVEA_ARG_V,
       [](fovea_fixed_attention& a) { a.v.zero_point = 1; }},
      {"two that are wrong: the first counts", FOVEA_STRIDE, FOVEA_ARG_K,
       [](fovea_fixed_attention& a) { a.key_multipliers.head_stride = -1, a.mask.query_stride = -1; }},
  };
  fixed_problem x = all_tables();
  const fovea_fixed_attention good = x.make(FOVEA_FIXED_S8, 5);
  CHECK(fovea_fixed_check(&good) == FOVEA_OK);
  for (const bad_table& b : bad) {
    INFO(std::string(b.why));
    fovea_fixed_attention a = good;
    b.spoil(a);
    CHECK(fovea_fixed_check(&a) == (b.reason | b.argument << 8));
  }
}
