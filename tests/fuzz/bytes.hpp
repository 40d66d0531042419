// The input of a fuzzer as a stream of choices. Behind its end all choices are 0, the ordinary one.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace fuzz {

class bytes {
 public:
  bytes(const uint8_t* data, size_t size) : at_(data), end_(data + size) {}

  uint32_t byte() { return at_ == end_ ? 0 : *at_++; }
  uint32_t word() {
    const uint32_t low = byte();
    return low | byte() << 8;
  }
  // low when the stream has ended. Takes as many bytes as the range needs.
  int32_t between(int32_t low, int32_t high) {
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

} // namespace fuzz
