// Numbers for known answers, and the checksum of what comes of them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace fovea {

class pseudo_random {
 public:
  explicit pseudo_random(uint32_t seed) : state_(seed) {}
  // -2^23 .. 2^23 - 1
  int32_t next() {
    state_ = state_ * 1664525u + 1013904223u;
    return static_cast<int32_t>(state_) >> 8;
  }

 private:
  uint32_t state_;
};

// FNV-1a.
inline uint32_t checksum_of(const void* data, size_t bytes) {
  const unsigned char* at = static_cast<const unsigned char*>(data);
  uint32_t hash = 2166136261u;
  for (size_t i = 0; i < bytes; ++i) hash = (hash ^ at[i]) * 16777619u;
  return hash;
}

} // namespace fovea
