// A digest of results: FNV-1a over the bits of floats, lowest byte first on every machine.
#pragma once
#include <cstdint>
#include <cstring>
#include <vector>

class digest {
 public:
  void add(const std::vector<float>& results) {
    for (float x : results) add(x);
  }
  void add(float x) {
    uint32_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    for (int shift = 0; shift < 32; shift += 8) value_ = (value_ ^ (bits >> shift & 0xFF)) * 0x100000001B3u;
  }
  uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 0xCBF29CE484222325u;
};
