// Caches of int8 and their model: the same tokens in plain rows. Quantising at append is written here once
// more, from docs/cache.md.
#pragma once
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "data.hpp"
#include "fovea/cache.h"
#include "fovea/fixed.hpp"

namespace fixed_cache {

struct cache_case {
  const char* why;
  int32_t group, kv_heads, dim, v_dim, capacity, window, keep_first, most; // most: tokens at once
  bool scaled;

  fovea_cache_shape shape() const {
    fovea_cache_shape s = {};
    s.kv_heads = kv_heads, s.dim = dim, s.v_dim = v_dim, s.capacity = capacity, s.dtype = FOVEA_I8;
    s.window = window, s.keep_first = keep_first;
    if (scaled) s.k_largest = 3, s.v_largest = 1.5f, s.score_multiplier = multiplier();
    return s;
  }
  int32_t width() const { return v_dim ? v_dim : dim; }
  fovea_fixed_scale scale() const {
    return fovea::make_fixed_scale({4.0 / 127, 3.0 / 127, 1.5 / 127, 1.0 / 127, 0}, dim, 1024).scale;
  }
  int32_t multiplier() const { return scale().score_multiplier; }
};

constexpr int32_t ring(int32_t window, int32_t keep_first, int32_t most) {
  return FOVEA_CACHE_RING(window, keep_first, most, FOVEA_I8);
}
const cache_case cases[] = {
    {"one token a panel does not fill", 1, 1, 8, 0, 5, 0, 0, 2, false},
    {"over a border of blocks", 2, 2, 16, 20, 150, 0, 0, 37, false},
    {"odd dims", 1, 3, 5, 19, 70, 0, 0, 16, false},
    {"with scales", 2, 2, 20, 7, 140, 0, 0, 21, true},
    {"a ring", 1, 2, 16, 16, ring(50, 0, 9), 50, 0, 9, false},
    {"a ring with kept tokens", 2, 1, 7, 33, ring(90, 5, 30), 90, 5, 30, false},
    {"a ring with scales", 2, 1, 12, 12, ring(70, 3, 8), 70, 3, 8, true},
};

// The formulas of docs/cache.md.
struct quantised_row {
  int32_t by;
  std::vector<int8_t> q;
};
inline quantised_row quantise(const float* x, int32_t dim, float largest, int32_t greatest) {
  float size = 0;
  for (int32_t c = 0; c < dim; ++c) size = std::fabs(x[c]) > size ? std::fabs(x[c]) : size;
  const volatile float share = size / largest;
  const int64_t of_2_30 = static_cast<int64_t>(share * 1073741824.0f) + 1;
  const int64_t by = ((greatest * of_2_30) >> 30) + 1;
  quantised_row row{static_cast<int32_t>(by < greatest ? by : greatest), {}};
  const volatile float a_127th = largest / 127, unit = a_127th / static_cast<float>(greatest);
  const volatile float step = static_cast<float>(row.by) * unit;
  for (int32_t c = 0; c < dim; ++c) {
    const volatile float steps = x[c] / step;
    const double y = std::nearbyint(static_cast<double>(steps));
    row.q.push_back(static_cast<int8_t>(y > 127 ? 127 : y < -127 ? -127 : y));
  }
  return row;
}

// The tokens of a sequence in plain rows: [head][token][dim].
struct model {
  const cache_case& c;
  uint32_t seed;
  int32_t length = 0;
  std::vector<uint32_t> versions = {}; // of each token
  uint32_t version_now = 0;

  float number(int32_t token, int32_t g, int32_t i, uint32_t kind) const {
    const size_t place = static_cast<size_t>(token);
    const uint32_t version = place < versions.size() ? versions[place] : 0;
    const uint32_t row = static_cast<uint32_t>(token * 3 + g) + version * 100003;
    const float size = kind == 1 ? 3.0f : 1.5f, scale = data::noise(9 + kind, row);
    return size * data::noise(seed * 5 + kind, row * 1024 + static_cast<uint32_t>(i)) * scale * scale;
  }
  template <class T>
  std::vector<T> rows(int32_t from, int32_t to, uint32_t kind) const {
    std::vector<T> all;
    const int32_t dim = kind == 1 ? c.dim : c.width();
    for (int32_t g = 0; g < c.kv_heads; ++g)
      for (int32_t j = from; j < to; ++j)
        for (int32_t i = 0; i < dim; ++i) {
          const float x = number(j, g, i, kind);
          all.push_back(static_cast<T>(sizeof(T) == 1 ? x * 42 : x));
        }
    return all;
  }
  // What is appended from here on differs from what stood there before.
  void truncate(int32_t to) { length = to, ++version_now; }
  int32_t append_to(void* image, int32_t count) {
    versions.resize(static_cast<size_t>(length));
    versions.resize(static_cast<size_t>(length + count), version_now);
    fovea_in k = {}, v = {};
    const std::vector<float> kf = rows<float>(length, length + count, 1),
                             vf = rows<float>(length, length + count, 2);
    const std::vector<int8_t> kb = rows<int8_t>(length, length + count, 1),
                              vb = rows<int8_t>(length, length + count, 2);
    k.dtype = v.dtype = c.scaled ? FOVEA_F32 : FOVEA_I8;
    k.data = c.scaled ? static_cast<const void*>(kf.data()) : kb.data();
    v.data = c.scaled ? static_cast<const void*>(vf.data()) : vb.data();
    const int32_t status = fovea_cache_append(image, &k, &v, count);
    if (!status) length += count;
    return status;
  }
};

struct call_memory {
  std::vector<int8_t> q, k, v, out;
  std::vector<int32_t> multipliers;
  std::vector<int16_t> weights, parents;
  fovea_pattern tree = {};
  fovea_fixed_attention a = {};

  call_memory(const model& m, int32_t queries) : out(size(m, queries) * static_cast<size_t>(m.c.width())) {
    for (size_t i = 0; i < size(m, queries) * static_cast<size_t>(m.c.dim); ++i)
      q.push_back(static_cast<int8_t>(
          127 * data::noise(55, static_cast<uint32_t>(i) + static_cast<uint32_t>(m.length) * 999)));
    a.q.data = q.data(), a.out.data = out.data();
    a.q_heads = m.c.group * m.c.kv_heads, a.kv_heads = m.c.kv_heads, a.dim = m.c.dim, a.v_dim = m.c.v_dim;
    a.queries = queries, a.max_keys = 1024, a.flags = FOVEA_CAUSAL, a.scale = m.c.scale();
    if (m.c.window) a.flags |= FOVEA_WINDOW, a.window_left = m.c.window, a.window_right = -1;
    a.keep_first = m.c.keep_first;
    if (queries < 4 || m.length % 2 == 1) return;
    for (int32_t i = 0; i < queries; ++i) parents.push_back(static_cast<int16_t>((i + 1) / 2 - 1));
    tree.parents = parents.data(), a.pattern = &tree; // a tree: each query has two children
  }
  call_memory(const call_memory&) = delete;
  call_memory& operator=(const call_memory&) = delete;
  static size_t size(const model& m, int32_t queries) {
    return static_cast<size_t>(m.c.group) * static_cast<size_t>(m.c.kv_heads) * static_cast<size_t>(queries);
  }
  std::vector<int8_t> run() {
    std::vector<unsigned char> scratch(fovea_fixed_scratch_best(&a) + 1);
    CHECK(fovea_fixed_attend(&a, scratch.data(), scratch.size()) == FOVEA_OK);
    return out;
  }
};

// All rows of K and V as a cache holds them, and their scales, if it has them: for calls of any type.
template <class Call>
void give_rows(const model& m, Call& x) {
  if (!m.c.scaled) {
    x.k = m.rows<int8_t>(0, m.length, 1), x.v = m.rows<int8_t>(0, m.length, 2);
    return;
  }
  const std::vector<float> kf = m.rows<float>(0, m.length, 1), vf = m.rows<float>(0, m.length, 2);
  for (int32_t row = 0; row < m.c.kv_heads * m.length; ++row) {
    const quantised_row k = quantise(&kf[static_cast<size_t>(row * m.c.dim)], m.c.dim, 3, m.c.multiplier()),
                        v = quantise(&vf[static_cast<size_t>(row * m.c.width())], m.c.width(), 1.5f, 32767);
    x.k.insert(x.k.end(), k.q.begin(), k.q.end()), x.v.insert(x.v.end(), v.q.begin(), v.q.end());
    x.multipliers.push_back(k.by), x.weights.push_back(static_cast<int16_t>(v.by));
  }
}

inline std::vector<int8_t> attend_to_rows(const model& m, int32_t queries, int32_t isa) {
  call_memory x(m, queries);
  give_rows(m, x);
  if (m.c.scaled) x.a.key_multipliers.data = x.multipliers.data(), x.a.value_weights.data = x.weights.data();
  x.a.k.data = x.k.data(), x.a.v.data = x.v.data(), x.a.keys = m.length, x.a.isa = isa;
  return x.run();
}

inline std::vector<int8_t> attend_to_cache(const model& m, const std::vector<const void*>& images,
                                           int32_t queries, int32_t isa) {
  call_memory x(m, queries);
  fovea_segments map = {};
  for (const void* image : images) CHECK(fovea_cache_view_fixed(image, &map, &x.a) == FOVEA_OK);
  x.a.isa = isa;
  return x.run();
}

template <class Body>
void each_isa(const Body& body) {
  for (int32_t isa = FOVEA_FIXED_SCALAR; isa < FOVEA_FIXED_ISA_END; ++isa) {
    if (fovea_fixed_has_isa(isa) != 1) continue;
    INFO(std::string(fovea_fixed_isa_name(isa)));
    body(isa);
  }
}

struct int8_block {
  std::vector<uint32_t> words;
  explicit int8_block(const fovea_cache_shape& s) : words(fovea_cache_size(&s) / 4, 0xA5A5A5A5u) {}
  unsigned char* data() { return reinterpret_cast<unsigned char*>(words.data()); }
  size_t size() const { return words.size() * 4; }
};

} // namespace fixed_cache
