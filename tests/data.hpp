// Data for tests: numbers that differ in every place, and memory that notices when somebody reads or writes
// beside it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace data {

// What a refused call returns.
constexpr int32_t status_of(int32_t reason, int32_t argument) { return reason | argument << 8; }

// A number in [-1, 1), a multiple of 2^-23, that depends on every bit of seed and index. Integers only: the
// same on every machine.
inline float noise(uint32_t seed, uint32_t index) {
  uint32_t x = seed * 0x9E3779B1u + index;
  x = (x ^ (x >> 16)) * 0x7FEB352Du;
  x = (x ^ (x >> 15)) * 0x846CA68Bu;
  x ^= x >> 16;
  return static_cast<float>(static_cast<int32_t>(x >> 8) - (1 << 23)) / static_cast<float>(1 << 23);
}

// Whole numbers that one seed decides (SplitMix64), for calls drawn by lot.
class lottery {
 public:
  explicit lottery(uint64_t seed) : state_(seed) {}
  int32_t between(int32_t low, int32_t high) { // low where nothing is between them
    if (high < low) return low;
    return low + static_cast<int32_t>(draw() % static_cast<uint64_t>(int64_t{high} - low + 1));
  }
  bool one_in(int32_t n) { return between(1, n) == 1; }
  template <class T, size_t Count>
  const T& one_of(const T (&these)[Count]) {
    return these[between(0, static_cast<int32_t>(Count) - 1)];
  }

 private:
  uint64_t draw() {
    uint64_t x = state_ += 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
  }

  uint64_t state_;
};

constexpr unsigned char untouched = 0xFF; // four of them are a float NaN: whoever reads it shows it

inline bool all_untouched(const unsigned char* from, const unsigned char* to) {
  while (from < to)
    if (*from++ != untouched) return false;
  return true;
}

inline bool is_untouched(float x) {
  unsigned char bytes[sizeof x];
  std::memcpy(bytes, &x, sizeof x);
  return all_untouched(bytes, bytes + sizeof x);
}

// `count` elements that hold NaN until they are written, with 512 bytes of NaN before and behind them.
// `offset` moves the first element away from its natural alignment.
template <class T>
class guarded {
 public:
  explicit guarded(size_t count, size_t offset = 0)
      : bytes_(2 * margin + count * sizeof(T) + offset, untouched), count_(count), offset_(offset) {}
  T* data() { return reinterpret_cast<T*>(bytes_.data() + margin + offset_); }
  const T* data() const { return reinterpret_cast<const T*>(bytes_.data() + margin + offset_); }
  size_t size() const { return count_; }
  T& operator[](size_t i) { return data()[i]; }
  const T& operator[](size_t i) const { return data()[i]; }
  void wipe() { bytes_.assign(bytes_.size(), untouched); }
  bool guards_hold() const {
    const unsigned char *begin = bytes_.data(), *first = begin + margin + offset_;
    return all_untouched(begin, first) && all_untouched(first + count_ * sizeof(T), begin + bytes_.size());
  }
  bool operator==(const guarded& other) const { return bytes_ == other.bytes_; } // guards too
  bool nothing_written() const { return all_untouched(bytes_.data(), bytes_.data() + bytes_.size()); }

 private:
  static constexpr size_t margin = 512;
  std::vector<unsigned char> bytes_;
  size_t count_, offset_;
};

// heads x tokens x dim inside somebody's memory.
struct tensor {
  float* data = nullptr;
  ptrdiff_t head_stride = 0, token_stride = 0;
  int32_t heads = 0, tokens = 0, dim = 0;

  float* row(int32_t head, int32_t token) const { return data + head * head_stride + token * token_stride; }
  float& at(int32_t head, int32_t token, int32_t c) const { return row(head, token)[c]; }
};

// Fills a tensor with noise by its logical place: the values do not depend on the strides.
inline void fill(const tensor& t, uint32_t seed, float size) {
  for (int32_t h = 0; h < t.heads; ++h)
    for (int32_t j = 0; j < t.tokens; ++j)
      for (int32_t c = 0; c < t.dim; ++c) {
        const int64_t place = (static_cast<int64_t>(h) * t.tokens + j) * t.dim + c;
        t.at(h, j, c) = size * noise(seed, static_cast<uint32_t>(place));
      }
}

inline void fill_row(const tensor& t, int32_t head, int32_t token, float value) {
  for (int32_t c = 0; c < t.dim; ++c) t.at(head, token, c) = value;
}

inline bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

// The same, but any NaN is as good as another: their bits differ between machines.
inline bool same_numbers(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return false;
  for (size_t n = 0; n < a.size(); ++n)
    if (std::memcmp(&a[n], &b[n], sizeof(float)) != 0 && !(a[n] != a[n] && b[n] != b[n])) return false;
  return true;
}

} // namespace data
