// The input of a fuzzer as a stream of choices. Behind its end all choices are 0, the ordinary one.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace fuzz {

class bytes {
 public:
  bytes(const uint8_t* data, size_t size) : at_(data), end_(data + size) {}

  uint32_t byte() { return at_ == end_ ? 0 : *at_++; }
  uint32_t word() {
    const uint32_t low = byte();
    return low | byte() << 8;
  }
  // low when the stream has ended, or where nothing is between them. Takes as many bytes as the range needs.
  int32_t between(int32_t low, int32_t high) {
    if (high < low) return low;
    const uint64_t count = static_cast<uint64_t>(int64_t{high} - low + 1);
    uint64_t x = byte();
    for (uint64_t reach = 256; reach < count; reach <<= 8) x = x << 8 | byte();
    return static_cast<int32_t>(low + static_cast<int64_t>(x % count));
  }
  // Rare choices: never when the stream has ended.
  bool one_in(uint32_t n) { return byte() % n == n - 1; }
  template <class T, size_t Count>
  const T& one_of(const T (&these)[Count]) {
    return these[byte() % Count];
  }

 private:
  const uint8_t *at_, *end_;
};

struct strides {
  ptrdiff_t head, token; // as the call says them; 0 = contiguous
};

// Rows of inputs may share elements; rows of outputs may not.
inline strides draw_strides(bytes& in, int32_t heads, int32_t tokens, int32_t dim, bool written) {
  const int32_t kind = in.between(0, 5);
  if (kind == 0) return {0, 0};
  const ptrdiff_t gap = in.between(0, 9);
  if (kind == 1) return {(dim + gap) * std::max(tokens, 1) + in.between(0, 9), dim + gap};
  if (kind == 2) return {dim + gap, (dim + gap) * heads + in.between(0, 9)};
  if (kind == 3) return {0, dim + gap};
  if (kind == 4) return {ptrdiff_t{dim} * std::max(tokens, 1) + gap, 0};
  return written ? strides{0, 0} : strides{in.between(1, 20), in.between(1, dim)};
}

inline int32_t draw_length(bytes& in, int32_t usual, int32_t rare) {
  const int32_t x = in.between(0, usual);
  return in.one_in(32) ? in.between(0, rare) : x;
}

} // namespace fuzz
