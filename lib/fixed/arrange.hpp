// Panels of bytes in the order or the width that a kernel multiplies fastest, made in place when all of them
// are packed once.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace fovea::fixed {

enum class eight_deep : int8_t {}; // an element of panels [sixteen lanes][8]

// Bytes become 16 bits, in place. They stand in the second half of `room`; from front to back, a write never
// reaches a byte that has not been read.
static inline void widen(int8_t* room, ptrdiff_t count) {
  const int8_t* bytes = room + count;
  int16_t* to = reinterpret_cast<int16_t*>(room);
  for (ptrdiff_t i = 0; i < count; i += 16) {
    int8_t x[16];
    std::memcpy(x, bytes + i, sizeof x);
    for (int c = 0; c < 16; ++c) to[i + c] = x[c];
  }
}

} // namespace fovea::fixed
