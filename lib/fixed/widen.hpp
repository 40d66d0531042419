// Panels of bytes become panels of 16 bits, for cores that multiply those.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace fovea {

// The bytes stand in the second half of the room. Front to back, the writer never passes the reader.
static inline void widen(int8_t* room, ptrdiff_t count) {
  const int8_t* bytes = room + count;
  int16_t* to = reinterpret_cast<int16_t*>(room);
  for (ptrdiff_t i = 0; i < count; i += 16) {
    int8_t x[16];
    std::memcpy(x, bytes + i, sizeof x);
    for (int c = 0; c < 16; ++c) to[i + c] = x[c];
  }
}

} // namespace fovea
