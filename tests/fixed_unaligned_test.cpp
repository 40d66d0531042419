// Bytes may stand anywhere: q, k, v, out, panels and scratch at odd addresses give the bits of aligned ones on every ISA.
#include <doctest/doctest.h>

#include <cstring>
#include <string>

#include "fixed_problem.hpp"

namespace {

// A copy of `size` bytes that begins `shift` bytes behind a multiple of 16.
class shifted_copy {
 public:
  shifted_copy(const void* data, size_t size, size_t shift) : room_(size + 32) {
    at_ = room_.data() + (16 - reinterpret_cast<uintptr_t>(room_.data()) % 16) + shift;
    if (size) std::memcpy(at_, data, size);
  }
  unsigned char* data() { return at_; }

 private:
  std::vector<unsigned char> room_;
  unsigned char* at_;
};

size_t bytes(int32_t heads, int32_t tokens, int32_t dim) {
  return static_cast<size_t>(heads) * static_cast<size_t>(tokens) * static_cast<size_t>(dim);
}

void check_shifted(fovea_fixed_attention a, const fixed_problem& x, size_t shift, const std::vector<unsigned char>& expected) {
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

} // namespace

TEST_CASE("int8: bytes at any address") {
  for (int32_t heads : {1, 3}) {
    fixed_problem x("unaligned");
    x.heads(heads, 1).dims(40, 24).lengths(1, 100).make(FOVEA_FIXED_S8, 9);
    const std::vector<unsigned char> expected = x.expected();
    for (int32_t isa = FOVEA_FIXED_SCALAR; isa < FOVEA_FIXED_ISA_END; ++isa)
      for (size_t shift : {0, 1, 2, 3, 5}) {
        if (!fovea_fixed_has_isa(isa)) continue;
        INFO(std::string(fovea_fixed_isa_name(isa)));
        CAPTURE(shift);
        for (const fovea_fixed_attention& layout : {x.call(), x.packed()}) {
          fovea_fixed_attention a = layout;
          a.isa = isa;
          check_shifted(a, x, shift, expected);
        }
      }
  }
}
