// Loads and stores of other types for attention row by row. Panels of bytes have the order of the integer
// kernel of the core, and become floats one by one.
#pragma once
#include "f32/kernel/stored_rows.hpp"
#include "isa/scalar_isa.hpp"

namespace fovea::f32 {

template <class Isa>
void load_stored_query(const plan& p, int32_t head, int32_t query, float* out) {
  const stored_tensor& q = p.stored.q;
  to_floats<Isa>(q.dtype, static_cast<const uint16_t*>(q.data) + head * q.head + query * q.token, p.dim, out);
}

template <class Isa>
void load_stored_keys(const plan& p, int32_t kv_head, int64_t key, int count, float* out) {
  const stored_tensor& k = p.stored.k;
  const char* at = static_cast<const char*>(stored_keys(p, kv_head, k.panels ? key & -16 : key).at);
  if (k.panels && k.bytes == 1)
    return expand_key_panel<plain_of<Isa>>(reinterpret_cast<const int8_t*>(at), p.dim, k.width, out);
  if (k.panels) return to_floats<Isa>(k.dtype, at, 16 * static_cast<ptrdiff_t>(p.dim), out);
  for (; count > 0; --count, at += k.token * k.bytes, out += p.dim) to_floats<Isa>(k.dtype, at, p.dim, out);
}

template <class Isa>
void load_stored_values(const plan& p, int32_t kv_head, int64_t key, int count, column_range columns,
                        float* out, ptrdiff_t stride) {
  const stored_tensor& v = p.stored.v;
  if (v.panels) {
    const int first = static_cast<int>(key & 63);
    const auto* panel = static_cast<const int8_t*>(stored_values(p, kv_head, key - first).at);
    return expand_columns<plain_of<Isa>>(panel, columns.first, columns.count, first, first + count, out,
                                         stride);
  }
  while (count > 0) {
    const stored_place place = stored_values(p, kv_head, key);
    const char* at = static_cast<const char*>(place.at) + columns.first * v.bytes;
    const int there = static_cast<int>(smaller(count, place.end - key));
    for (int i = 0; i < there; ++i, at += v.token * v.bytes, out += stride)
      to_floats<Isa>(v.dtype, at, columns.count, out);
    count -= there;
    key += there;
  }
}

// A weight of 0 stays 0, whatever the scale of a hidden key is.
template <class Isa>
void scale_row_by(const plan& p, bool by_keys, int32_t kv_head, int64_t block, int from, int to, float* s) {
  scale_place place{};
  float scales[16];
  for (int j = from; j < to; ++j) {
    if (j == from || j % 16 == 0) {
      const int64_t first = block + (j & -16);
      if (first >= place.end) place = place_of_scales(p, by_keys, kv_head, first);
      fetch_scales(place, first, scales);
    }
    if (by_keys || s[j] != 0) s[j] = plain_of<Isa>::mul(s[j], scales[j % 16]);
  }
}

template <class Isa>
void write_stored_row(const plan& p, int32_t head, int32_t query, const float* row) {
  const stored_out& out = p.stored.out;
  uint16_t* to = static_cast<uint16_t*>(out.data) + head * out.head + query * out.token;
  for (int c = 0; c < p.v_dim; ++c) to[c] = rounded_half(row[c], out.dtype);
}

} // namespace fovea::f32
