// The random numbers of the works: the same on each machine and with every C++ library, so that digests of
// results compare between machines. The generator is Mark Overton's RomuDuoJr, seeded by SplitMix64. Nothing
// here needs an operating system.
#pragma once
#include <cstdint>

namespace bench {

class random_numbers {
 public:
  explicit random_numbers(uint64_t seed) {
    first_ = split_mix(seed);
    second_ = split_mix(seed);
    for (int i = 0; i < 10; ++i) next(); // until the seed no longer shows
  }

  uint64_t next() {
    const uint64_t before = first_, difference = second_ - first_;
    first_ = 15241094284759029579u * second_;
    second_ = difference << 27 | difference >> 37;
    return before;
  }

  // Nearly normal, mean 0 and variance 1: the sum of four 16-bit numbers.
  float normal() {
    const uint64_t bits = next();
    int32_t sum = 0;
    for (int shift = 0; shift < 64; shift += 16) sum += static_cast<int32_t>(bits >> shift & 0xffff);
    return static_cast<float>(sum - 131070) * (1.0f / 37837.2f);
  }

  // From -32768 to 32767, each as often.
  int32_t sixteen_bits() { return static_cast<int32_t>(next() >> 48) - 32768; }

 private:
  static uint64_t split_mix(uint64_t& state) {
    uint64_t mixed = state += 0x9e3779b97f4a7c15u;
    mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebu;
    return mixed ^ mixed >> 31;
  }

  uint64_t first_, second_;
};

// FNV-1a over the 32-bit words of a result.
class word_digest {
 public:
  void add(uint32_t word) { hash_ = (hash_ ^ word) * 1099511628211u; }
  uint64_t value() const { return hash_; }

 private:
  uint64_t hash_ = 14695981039346656037u;
};

} // namespace bench
