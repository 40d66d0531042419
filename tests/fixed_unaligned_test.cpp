// Bytes may stand anywhere: q, k, v, out, panels and scratch at odd addresses give the bits of aligned ones
// on every ISA. On boards each unaligned load or store of the library faults
// (platforms/cortex-m/unaligned_trap.cpp).
#include <doctest/doctest.h>

#include <cstring>
#include <string>

#include "fixed_problem.hpp"
#include "fovea/fixed_softmax.hpp"

namespace {

// A copy of `size` bytes that begins `shift` bytes behind a multiple of 16.
class shifted_copy {
 public:
  shifted_copy(const void* data, size_t size, size_t shift) : room_(size + 32) {
    at_ = room_.data() + (16 - reinterpret_cast<uintptr_t>(room_.data()) % 16) + shift;
    for (size_t i = 0; i < size; ++i) at_[i] = static_cast<const unsigned char*>(data)[i];
  }
  unsigned char* data() { return at_; }
  int8_t* bytes() { return reinterpret_cast<int8_t*>(at_); }

 private:
  std::vector<unsigned char> room_;
  unsigned char* at_;
};

size_t bytes(int32_t heads, int32_t tokens, int32_t dim) {
  return static_cast<size_t>(heads) * static_cast<size_t>(tokens) * static_cast<size_t>(dim);
}

void check_shifted(fovea_fixed_attention a, const fixed_problem& x, size_t shift,
                   const std::vector<unsigned char>& expected) {
  const bool panels = a.k.layout == FOVEA_PANELS;
  shifted_copy q(a.q.data, bytes(a.q_heads, a.queries, a.dim), shift);
  shifted_copy k(a.k.data, panels ? x.key_panels.size() : bytes(x.kv_heads(), a.keys, a.dim), shift);
  shifted_copy v(a.v.data, panels ? x.value_panels.size() : bytes(x.kv_heads(), a.keys, x.v_dim()), shift);
  shifted_copy out(a.out.data, expected.size(), shift);
  a.q.data = q.data(), a.k.data = k.data(), a.v.data = v.data(), a.out.data = out.data();
  const size_t size = fovea_fixed_scratch(&a);
  std::vector<unsigned char> room(size + shift);
  CHECK(fovea_fixed_attend(&a, room.data() + shift, size) == FOVEA_OK);
  CHECK(std::memcmp(out.data(), expected.data(), expected.size()) == 0);
}

void check_all_shifts(const fixed_problem& x, const fovea_fixed_attention& layout,
                      const std::vector<unsigned char>& expected) {
  for (int32_t isa = FOVEA_FIXED_SCALAR; isa < FOVEA_FIXED_ISA_END; ++isa)
    for (size_t shift : {0, 1, 2, 3, 5}) {
      if (!fovea_fixed_has_isa(isa)) continue;
      INFO(std::string(fovea_fixed_isa_name(isa)));
      CAPTURE(shift);
      fovea_fixed_attention a = layout;
      a.isa = isa;
      check_shifted(a, x, shift, expected);
    }
}

} // namespace

#if defined(__arm__) && !defined(__linux__)
extern "C" uint32_t board_trapped_calls;
TEST_CASE("int8: this board faults at unaligned access while the library runs") {
#if defined(__thumb2__)
  const uint32_t before = board_trapped_calls;
  fovea_fixed_isa();
  CHECK(board_trapped_calls == before + 1);
#else
  const volatile uint32_t* const configuration = reinterpret_cast<const volatile uint32_t*>(0xE000ED14);
  const uint32_t unaligned_trap = 1u << 3;
  CHECK((*configuration & unaligned_trap) != 0);
#endif
}
#endif

TEST_CASE("int8: bytes at any address") {
  struct row {
    const char* why;
    int32_t heads, dim, v_dim;
  };
  const row rows[] = {
      {"whole groups of four, one row at a time", 1, 40, 24},
      {"whole groups of four, three rows", 3, 40, 24},
      {"rows of 15: only each fourth can be aligned, and all end with three bytes", 1, 15, 15},
      {"rows of 17 and 13, three rows: one byte behind sixteen", 3, 17, 13},
  };
  for (const row& r : rows) {
    INFO(std::string(r.why));
    fixed_problem x(r.why);
    x.heads(r.heads, 1).dims(r.dim, r.v_dim).lengths(1, 100).make(FOVEA_FIXED_S8, 9);
    const std::vector<unsigned char> expected = x.expected();
    check_all_shifts(x, x.call(), expected);
    check_all_shifts(x, x.packed(), expected);
  }
}

TEST_CASE("int8: rows and panels at any address are packed alike") {
  for (int32_t dim : {15, 16, 18, 40}) {
    fixed_problem x("pack");
    x.dims(dim).lengths(1, 70).make(FOVEA_FIXED_S8, 3);
    x.packed();
    const size_t size = bytes(1, 70, dim);
    const auto check = [&](auto pack, const void* data, const std::vector<int8_t>& expected, size_t from,
                           size_t to) {
      CAPTURE(dim);
      CAPTURE(from);
      CAPTURE(to);
      shifted_copy rows(data, size, from);
      std::vector<unsigned char> blank(expected.size(), 0x5a);
      shifted_copy panels(blank.data(), blank.size(), to);
      CHECK(pack(panels.bytes(), 0, rows.bytes(), 0, 70, dim) == FOVEA_OK);
      CHECK(std::memcmp(panels.bytes(), expected.data(), expected.size()) == 0);
    };
    for (size_t from : {0, 1, 2})
      for (size_t to : {0, 1, 2}) {
        check(fovea_fixed_pack_keys, x.call().k.data, x.key_panels, from, to);
        check(fovea_fixed_pack_values, x.call().v.data, x.value_panels, from, to);
      }
  }
}

TEST_CASE("int8: sums of keys and softmax of bytes at any address") {
  constexpr int32_t count = 11;
  alignas(4) const int8_t row[count] = {1, -2, 3, 100, -128, 127, 7, 8, 9, 10, 11};
  const fovea_tflite_softmax scale = fovea::tflite_softmax_scale(0.1, 1);
  uint16_t expected[count];
  alignas(4) int8_t expected_bytes[count];
  CHECK(fovea_fixed_softmax_s8(row, nullptr, count, 1 << 30, 16, expected) == FOVEA_OK);
  CHECK(fovea_tflite_softmax_s8(row, count, &scale, expected_bytes) == FOVEA_OK);
  for (size_t shift : {1, 2, 3}) {
    CAPTURE(shift);
    shifted_copy x(row, sizeof row, shift), out(row, sizeof row, shift + 1);
    int32_t sum = 0;
    CHECK(fovea_fixed_sum_keys(&sum, x.bytes(), 0, 1, count) == FOVEA_OK);
    CHECK(sum == 146);
    uint16_t weights[count];
    CHECK(fovea_fixed_softmax_s8(x.bytes(), nullptr, count, 1 << 30, 16, weights) == FOVEA_OK);
    CHECK(std::memcmp(weights, expected, sizeof expected) == 0);
    CHECK(fovea_tflite_softmax_s8(x.bytes(), count, &scale, out.bytes()) == FOVEA_OK);
    CHECK(std::memcmp(out.bytes(), expected_bytes, sizeof expected_bytes) == 0);
  }
}
