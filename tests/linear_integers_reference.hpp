// Products with weights of int8 and int4, one number at a time, written from docs/fixed_point.md.
#pragma once
#include <cstdint>
#include <cstring>
#include <vector>

namespace linear_integers {

inline bool is_finite(float x) { return x - x == 0; }

// To nearest, halves to even.
inline int32_t nearest(float x) {
  const int32_t below = static_cast<int32_t>(x) - (x < static_cast<float>(static_cast<int32_t>(x)) ? 1 : 0);
  const float rest = x - static_cast<float>(below);
  return rest > 0.5f || (rest == 0.5f && below % 2 != 0) ? below + 1 : below;
}

struct quantized {
  float scale;
  std::vector<int32_t> numbers;
};

inline quantized quantize(const float* x, int32_t count) {
  float size = 0;
  bool finite = true;
  for (int32_t c = 0; c < count; ++c) {
    const float each = x[c] < 0 ? -x[c] : x[c];
    finite = finite && is_finite(x[c]);
    size = each > size ? each : size;
  }
  quantized q = {1, std::vector<int32_t>(static_cast<size_t>(count))};
  if (!finite) {
    const uint32_t nan = 0x7fc00000;
    std::memcpy(&q.scale, &nan, sizeof nan);
    return q;
  }
  const float least = 1.17549435e-38f;
  if (size > 0) q.scale = size / 127 < least ? least : size / 127;
  for (int32_t c = 0; c < count; ++c) q.numbers[static_cast<size_t>(c)] = nearest(x[c] / q.scale);
  return q;
}

inline uint16_t half_of(float x) { // of a size below 65,520
  const float size = x < 0 ? -x : x;
  int exponent = -14;
  float unit = 1.0f / (1 << 24); // the last bit of 2^-14
  while (size >= unit * 2048) unit *= 2, ++exponent;
  const uint32_t steps = static_cast<uint32_t>(nearest(size / unit)); // up to 2,048
  const uint32_t bits = steps + (steps >= 1024 ? static_cast<uint32_t>(exponent + 14) << 10 : 0);
  return static_cast<uint16_t>(bits | (x < 0 || (x == 0 && 1 / x < 0) ? 0x8000u : 0u));
}
inline float float_of(uint16_t half) {
  const int exponent = half >> 10 & 31;
  float x = static_cast<float>((half & 1023) + (exponent ? 1024 : 0)) / (1 << 24);
  for (int i = 1; i < exponent; ++i) x *= 2;
  return half & 0x8000 ? -x : x;
}

// 32 numbers as a block of Q4_0.
struct block {
  uint16_t scale;
  uint8_t bytes[16];
  int32_t number(int32_t c) const { return (c < 16 ? bytes[c] & 15 : bytes[c - 16] >> 4) - 8; }
};
inline block block_of(const float* x, int32_t count) {
  float largest = 0;
  for (int32_t c = 0; c < count; ++c)
    if ((x[c] < 0 ? -x[c] : x[c]) > (largest < 0 ? -largest : largest)) largest = x[c];
  const float scale = largest / -8;
  block b = {half_of(scale), {}};
  const float inverse = (b.scale & 0x7fff) != 0 ? 1 / scale : 0;
  for (int32_t c = 0; c < 32; ++c) {
    const float product = (c < count ? x[c] : 0.0f) * inverse;
    const int32_t q = static_cast<int32_t>(product + 8.5f), four = q > 15 ? 15 : q;
    b.bytes[c % 16] = static_cast<uint8_t>(b.bytes[c % 16] | four << (c < 16 ? 0 : 4));
  }
  return b;
}

// Before bias.
inline float product_of_bytes(const float* x, const float* w, int32_t in) {
  const quantized a = quantize(x, in), b = quantize(w, in);
  int32_t sum = 0;
  for (size_t c = 0; c < a.numbers.size(); ++c) sum += a.numbers[c] * b.numbers[c];
  return static_cast<float>(sum) * (a.scale * b.scale);
}
inline float product_of_groups(const float* x, const float* w, int32_t in) {
  float z = 0;
  for (int32_t from = 0; from < in; from += 32) {
    const int32_t count = in - from < 32 ? in - from : 32;
    const quantized a = quantize(x + from, count);
    const block b = block_of(w + from, count);
    int32_t sum = 0;
    for (int32_t c = 0; c < count; ++c) sum += a.numbers[static_cast<size_t>(c)] * b.number(c);
    const float scale = a.scale * float_of(b.scale), product = static_cast<float>(sum) * scale;
    z = z + product;
  }
  return z;
}

} // namespace linear_integers
