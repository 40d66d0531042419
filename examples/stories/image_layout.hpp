// Every byte of an image: its header, and where each tensor stands.
#pragma once
#include <cstddef>
#include <cstring>

#include "image.hpp"

namespace stories {

struct image_header {
  uint32_t magic, format;
  int32_t dtype, panel_order; // of floats 0
  shape of;
  uint32_t size_low, size_high, check;
  uint32_t unused[13];
};
static_assert(sizeof(image_header) == 128, "the first tensor stands at 128");
constexpr uint32_t image_magic = 0x54535646; // "FVST"

inline uint32_t check_of(const image_header& h) { // FNV-1a over what stands before it
  unsigned char bytes[offsetof(image_header, check)];
  std::memcpy(bytes, &h, sizeof bytes);
  uint32_t hash = 0x811c9dc5u;
  for (unsigned char byte : bytes) hash = (hash ^ byte) * 0x01000193u;
  return hash;
}

// Matrices that lose more in four bits than others: W_Q W_K W_V and W_2. Of stories260K, W_O, W_1 and W_3 in
// four bits cost 3 percent of the loss, all matrices 7, because its rows have little to spare.
inline int32_t finer(const shape& s, int32_t dtype) {
  return dtype == FOVEA_I4 && s.width < 256 ? int32_t{FOVEA_I8} : dtype;
}
// The classifier has 8 bits at least.
inline int32_t of_classifier(int32_t dtype) { return dtype == FOVEA_I4 ? int32_t{FOVEA_I8} : dtype; }

inline uint64_t linear_bytes(int64_t in, int64_t out, int32_t dtype) {
  const int64_t row = dtype == FOVEA_F32  ? 4 * in
                      : dtype == FOVEA_I8 ? (in + 15) / 16 * 16 + 4
                                          : (in + 31) / 32 * 18;
  return static_cast<uint64_t>((out + 15) / 16 * 16 * row);
}

struct layout {
  uint64_t final_norm, cosines, sines, embedding, embedding_scales, classifier, layers, size;
  uint64_t attention_norm, mlp_norm, largest, qkv_bias, qkv, out, up, down, layer_size; // in a layer

  layout(const shape& s, int32_t dtype) {
    const auto n = [](int32_t count) { return static_cast<uint64_t>(count); };
    const auto floats = [](uint64_t count) { return sizeof(float) * count; };
    uint64_t at = sizeof(image_header);
    const auto take = [&](uint64_t bytes) {
      const uint64_t begin = at;
      at += (bytes + image_align - 1) / image_align * image_align;
      return begin;
    };
    const bool is_float = dtype == FOVEA_F32;
    final_norm = take(floats(n(s.width)));
    cosines = take(floats(n(s.positions) * n(s.head_dim() / 2)));
    sines = take(floats(n(s.positions) * n(s.head_dim() / 2)));
    embedding = take(is_float ? linear_bytes(s.width, s.words, dtype) : n(s.words) * n(s.width));
    embedding_scales = take(is_float ? 0 : floats(n(s.words)));
    classifier = is_float && !s.own_classifier ? embedding
                                               : take(linear_bytes(s.width, s.words, of_classifier(dtype)));
    layers = at;
    at = 0;
    attention_norm = take(floats(n(s.width)));
    mlp_norm = take(floats(n(s.width)));
    largest = take(sizeof(cache_range));
    qkv_bias = take(s.qkv_bias ? floats(n(s.qkv_width())) : 0);
    qkv = take(linear_bytes(s.width, s.qkv_width(), finer(s, dtype)));
    out = take(linear_bytes(s.q_width(), s.width, dtype));
    up = take(linear_bytes(s.width, 2 * s.hidden, dtype));
    down = take(linear_bytes(s.hidden, s.width, finer(s, dtype)));
    layer_size = at;
    size = layers + n(s.layers) * layer_size;
  }
};

} // namespace stories
