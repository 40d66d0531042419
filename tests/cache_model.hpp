// A cache of floats and its model: the same tokens in plain vectors, rounded to what the cache holds.
// Whatever has happened to the cache, attention on it has the bits of attention on the rows of the model.
#pragma once
#include <doctest/doctest.h>

#include <cstring>
#include <vector>

#include "data.hpp"
#include "fovea/cache.h"
#include "isas.hpp"
#include "linear_model.hpp"

namespace cache_test {

constexpr int32_t float_dtypes[] = {FOVEA_F32, FOVEA_F16, FOVEA_BF16};

// The number of 16 bits that is equal to a float.
inline uint16_t half_of(float x, int32_t dtype) {
  if (dtype == FOVEA_BF16) return static_cast<uint16_t>(numerics::bits_of(x) >> 16);
  const int sign = std::signbit(x) ? 0x8000 : 0;
  int exponent;
  const float part = std::frexp(std::fabs(x), &exponent); // 1/2 to 1
  if (x == 0 || exponent < -13)
    return static_cast<uint16_t>(sign + std::lround(std::ldexp(std::fabs(x), 24)));
  return static_cast<uint16_t>(sign + ((exponent + 13) << 10) + std::lround(std::ldexp(part, 11)));
}
inline std::vector<uint16_t> halves_of(const std::vector<float>& x, int32_t dtype) {
  std::vector<uint16_t> all;
  for (float each : x) all.push_back(half_of(linear_model::as_packed(each, dtype), dtype));
  return all;
}

// Memory of an image, aligned as firmware would do it, with guards.
class block {
 public:
  explicit block(size_t bytes) : memory_(bytes / 4 + 16) {}
  unsigned char* data() {
    return reinterpret_cast<unsigned char*>(memory_.data() +
                                            (16 - reinterpret_cast<uintptr_t>(memory_.data()) / 4 % 16));
  }
  const unsigned char* data() const { return const_cast<block*>(this)->data(); }
  size_t size() const { return (memory_.size() - 16) * 4; }
  bool guards_hold() const { return memory_.guards_hold(); }
  std::vector<unsigned char> bytes() const { return {data(), data() + size()}; }
  void set(const std::vector<unsigned char>& bytes) { std::memcpy(data(), bytes.data(), bytes.size()); }

 private:
  data::guarded<uint32_t> memory_;
};

inline block room_for(const fovea_cache_shape& s) {
  const size_t size = fovea_cache_size(&s);
  CHECK(size > FOVEA_CACHE_HEADER);
  return block(size);
}

struct cache_shape {
  const char* why;
  int32_t group, kv_heads, dim, v_dim; // q_heads = group * kv_heads
  int32_t capacity, window, keep_first;
  int32_t dtype = FOVEA_F32;

  cache_shape of(int32_t other_dtype) const {
    cache_shape s = *this;
    s.dtype = other_dtype;
    return s;
  }
  fovea_cache_shape shape() const {
    fovea_cache_shape s = {};
    s.kv_heads = kv_heads, s.dim = dim, s.v_dim = v_dim, s.capacity = capacity;
    s.window = window, s.keep_first = keep_first, s.dtype = dtype;
    return s;
  }
  int32_t width() const { return v_dim ? v_dim : dim; }
};

// Tokens as they come from a model: number n of a sequence has the same numbers everywhere.
class tokens {
 public:
  tokens(const cache_shape& s, uint32_t seed) : s_(s), seed_(seed) {}

  int32_t length() const { return static_cast<int32_t>(seeds_.size()); }
  void truncate(int32_t length) { seeds_.resize(static_cast<size_t>(length)); }
  void add(int32_t count) {
    while (count-- > 0) seeds_.push_back(++seed_);
  }
  void diverge(uint32_t seed) { seed_ = seed; } // from here on, other tokens
  // [head][token][dim] of tokens from .. to-1.
  std::vector<float> keys(int32_t from, int32_t to) const { return rows(from, to, s_.dim, 1); }
  std::vector<float> values(int32_t from, int32_t to) const { return rows(from, to, s_.width(), 2); }
  // As the cache holds them.
  std::vector<float> stored_keys() const { return stored(keys(0, length())); }
  std::vector<float> stored_values() const { return stored(values(0, length())); }
  // [head][query][dim] of the queries at positions from .. to-1; they do not depend on the tokens.
  std::vector<float> queries(int32_t from, int32_t to) const {
    std::vector<float> q;
    for (int32_t h = 0; h < s_.group * s_.kv_heads; ++h)
      for (int32_t p = from; p < to; ++p)
        for (int32_t c = 0; c < s_.dim; ++c)
          q.push_back(4 * data::noise(77, static_cast<uint32_t>((p * 131 + h) * s_.dim + c)));
    return q;
  }

 private:
  cache_shape s_;
  uint32_t seed_;
  std::vector<uint32_t> seeds_;

  std::vector<float> stored(std::vector<float> x) const {
    for (float& each : x) each = linear_model::as_packed(each, s_.dtype);
    return x;
  }
  std::vector<float> rows(int32_t from, int32_t to, int32_t dim, uint32_t kind) const {
    std::vector<float> all;
    for (int32_t g = 0; g < s_.kv_heads; ++g)
      for (int32_t j = from; j < to; ++j)
        for (int32_t c = 0; c < dim; ++c)
          all.push_back(
              data::noise(3 * seeds_[static_cast<size_t>(j)] + kind, static_cast<uint32_t>(g * dim + c)));
    return all;
  }
};

inline fovea_in rows_of(const std::vector<float>& x) {
  fovea_in in = {};
  in.data = x.data();
  return in;
}
inline fovea_in rows_of(const std::vector<uint16_t>& x, int32_t dtype) {
  fovea_in in = {};
  in.data = x.data();
  in.dtype = dtype;
  return in;
}

// The last `queries` tokens attend to all before them, within the window.
inline fovea_attention call_for(const cache_shape& s, const std::vector<float>& q, std::vector<float>& out,
                                int32_t queries, const fovea_pattern* pattern = nullptr) {
  fovea_attention a = {};
  a.q.data = q.data(), a.out.data = out.data();
  a.q_heads = s.group * s.kv_heads, a.kv_heads = s.kv_heads, a.dim = s.dim, a.v_dim = s.v_dim;
  a.queries = queries;
  a.flags = FOVEA_CAUSAL;
  if (s.window) a.flags |= FOVEA_WINDOW, a.window_left = s.window, a.window_right = -1;
  a.keep_first = s.keep_first, a.pattern = pattern;
  return a;
}

inline int32_t run(fovea_attention a) {
  std::vector<unsigned char> scratch(fovea_scratch_best(&a) + 1);
  return fovea_attend(&a, scratch.data(), scratch.size());
}

inline std::vector<float> attend_to_model(const cache_shape& s, const tokens& t, int32_t queries, int32_t isa,
                                          const fovea_pattern* pattern = nullptr) {
  const std::vector<float> k = t.stored_keys(), v = t.stored_values(),
                           q = t.queries(t.length() - queries, t.length());
  std::vector<float> out(static_cast<size_t>(s.group * s.kv_heads * queries * s.width()));
  fovea_attention a = call_for(s, q, out, queries, pattern);
  a.k.data = k.data(), a.v.data = v.data(), a.keys = t.length(), a.isa = isa;
  CHECK(run(a) == FOVEA_OK);
  return out;
}

// Views the images, parents first.
inline int32_t view(const std::vector<const void*>& images, fovea_segments& map, fovea_attention& a) {
  for (const void* image : images)
    if (const int32_t status = fovea_cache_view(image, &map, &a)) return status;
  return FOVEA_OK;
}

inline std::vector<float> attend_to_cache(const cache_shape& s, const tokens& t,
                                          const std::vector<const void*>& images, int32_t queries,
                                          int32_t isa, int32_t parts = 1,
                                          const fovea_pattern* pattern = nullptr) {
  const std::vector<float> q = t.queries(t.length() - queries, t.length());
  std::vector<float> out(static_cast<size_t>(s.group * s.kv_heads * queries * s.width()));
  fovea_attention a = call_for(s, q, out, queries, pattern);
  a.isa = isa;
  fovea_segments map = {};
  CHECK(view(images, map, a) == FOVEA_OK);
  for (int32_t i = 0; i < parts; ++i) {
    a.part = {i, parts};
    CHECK(run(a) == FOVEA_OK);
  }
  return out;
}

// The queries as a tree: each has two children.
struct binary_tree {
  explicit binary_tree(int32_t queries) {
    for (int32_t i = 0; i < queries; ++i) parents.push_back(static_cast<int16_t>((i + 1) / 2 - 1));
    pattern.parents = parents.data();
  }
  std::vector<int16_t> parents;
  fovea_pattern pattern = {};
};

inline bool same_tree_as_model(const cache_shape& s, const tokens& t, const std::vector<const void*>& images,
                               int32_t queries, int32_t isa) {
  const binary_tree tree(queries);
  return data::same_bits(attend_to_cache(s, t, images, queries, isa, 1, &tree.pattern),
                         attend_to_model(s, t, queries, isa, &tree.pattern));
}

inline bool same_as_model(const cache_shape& s, const tokens& t, const std::vector<const void*>& images,
                          int32_t queries, int32_t isa = FOVEA_ISA_BEST, int32_t parts = 1) {
  queries = queries < t.length() ? queries : t.length();
  if (queries > 2 && t.length() % 2 == 0 && !same_tree_as_model(s, t, images, queries, isa)) return false;
  return fovea_cache_length(images.back()) == t.length() &&
         data::same_bits(attend_to_cache(s, t, images, queries, isa, parts),
                         attend_to_model(s, t, queries, isa));
}

// The next `count` tokens of the model go into the cache; into a cache of 16 bits every other append brings
// numbers of 16 bits.
inline int32_t append(void* image, const tokens& t, int32_t count, int32_t dtype = FOVEA_F32) {
  const int32_t end = t.length();
  const std::vector<float> k = t.keys(end - count, end), v = t.values(end - count, end);
  if (dtype == FOVEA_F32 || end % 2 == 0) {
    const fovea_in in_k = rows_of(k), in_v = rows_of(v);
    return fovea_cache_append(image, &in_k, &in_v, count);
  }
  const std::vector<uint16_t> half_k = halves_of(k, dtype), half_v = halves_of(v, dtype);
  const fovea_in in_k = rows_of(half_k, dtype), in_v = rows_of(half_v, dtype);
  return fovea_cache_append(image, &in_k, &in_v, count);
}

} // namespace cache_test
