// Appending whatever a cache takes: numbers as they are, floats rounded to 16 bits, floats quantised to int8
// with a scale for each token and head.
#include "common/build.hpp"

#include "cache/append.hpp"
#include "cache/quantize.hpp"
#include "cache/token.hpp"
#include "f32/check.hpp"
#include "linear/element_bits.hpp"

namespace fovea::cache {
namespace {

void append_f32(appending& a) {
  const opened& c = a.c;
  const int32_t dim = c.shape().dim, v_dim = c.shape().v_dim;
  write_tokens(a, [&](int32_t g, int32_t at, int32_t i, int32_t count) {
    fovea_pack_keys(reinterpret_cast<float*>(c.keys(g)), at, a.k.row<float>(g, i), a.k.token, count, dim);
    float* values = reinterpret_cast<float*>(c.values(g)) + ptrdiff_t{at} * v_dim;
    for (int32_t j = 0; j < count; ++j)
      __builtin_memcpy(values + ptrdiff_t{j} * v_dim, a.v.row<float>(g, i + j),
                       static_cast<size_t>(v_dim) * sizeof(float));
  });
}

struct half_as_it_is {
  using taken = uint16_t;
  static uint16_t half(uint16_t x) { return x; }
};
template <class Bits>
struct rounded_to {
  using taken = float;
  static uint16_t half(float x) { return Bits::narrow(bits_of(x)); }
};

template <class Number>
void append_halves(appending& a) {
  const opened& c = a.c;
  const int32_t dim = c.shape().dim, v_dim = c.shape().v_dim;
  write_tokens(a, [&](int32_t g, int32_t at, int32_t i, int32_t count) {
    uint16_t* const keys = reinterpret_cast<uint16_t*>(c.keys(g));
    uint16_t* const values = reinterpret_cast<uint16_t*>(c.values(g)) + ptrdiff_t{at} * v_dim;
    for (int32_t j = 0; j < count; ++j) {
      const int32_t place = at + j;
      uint16_t* const lane = keys + ptrdiff_t{down_to(place, 16)} * dim + place % 16;
      const auto* const k = a.k.row<typename Number::taken>(g, i + j);
      for (int32_t n = 0; n < dim; ++n) lane[n * 16] = Number::half(k[n]);
      const auto* const v = a.v.row<typename Number::taken>(g, i + j);
      for (int32_t n = 0; n < v_dim; ++n) values[ptrdiff_t{j} * v_dim + n] = Number::half(v[n]);
    }
  });
}

// Finite numbers from `too_large` on would become infinite.
bool overflows(const appending& a, const rows& in, int32_t dim, uint32_t too_large) {
  for (int32_t g = 0; g < a.c.shape().kv_heads; ++g)
    for (int32_t i = 0; i < a.tokens; ++i)
      for (int32_t n = 0; n < dim; ++n) {
        const uint32_t size = bits_of(in.row<float>(g, i)[n]) & 0x7fffffffu;
        if (size >= too_large && size < 0x7f800000u) return true;
      }
  return false;
}

int32_t append_rounded(appending& a) {
  const fovea_cache_shape& s = a.c.shape();
  const bool bf16 = s.dtype == FOVEA_BF16;
  const uint32_t too_large = bf16 ? 0x7f7f8000u : 0x477ff000u; // of f16: 65,520
  if (overflows(a, a.k, s.dim, too_large)) return refusal(FOVEA_RANGE, FOVEA_ARG_K);
  if (overflows(a, a.v, s.v_dim, too_large)) return refusal(FOVEA_RANGE, FOVEA_ARG_V);
  if (bf16)
    append_halves<rounded_to<linear::bf16_bits>>(a);
  else
    append_halves<rounded_to<linear::f16_bits>>(a);
  return FOVEA_OK;
}

// The largest number of a row without its sign. NaN and infinity are larger than all others.
uint32_t size_bits(const float* row, int32_t dim) {
  uint32_t largest = 0;
  for (int32_t c = 0; c < dim; ++c) {
    const uint32_t bits = bits_of(row[c]) & 0x7fffffffu;
    largest = bits > largest ? bits : largest;
  }
  return largest;
}

int32_t check_sizes(const appending& a, const rows& in, int32_t dim, float largest) {
  for (int32_t g = 0; g < a.c.shape().kv_heads; ++g)
    for (int32_t i = 0; i < a.tokens; ++i) {
      const uint32_t bits = size_bits(in.row<float>(g, i), dim);
      if (bits >= 0x7f800000u) return FOVEA_NOT_FINITE;
      if (bits > bits_of(largest)) return FOVEA_RANGE;
    }
  return FOVEA_OK;
}

// A row becomes bytes at to(c); returns its multiplier.
template <class Place>
int32_t quantize_row(const float* row, int32_t dim, float largest, int32_t greatest, Place to) {
  const int32_t by = multiplier_for(float_of(size_bits(row, dim)), largest, greatest);
  const float step = static_cast<float>(by) * unit_of(largest, greatest);
  for (int32_t c = 0; c < dim; ++c) *to(c) = quantize(row[c], step);
  return by;
}

void append_quantised(appending& a) {
  const opened& c = a.c;
  const fovea_cache_shape& s = c.shape();
  write_tokens(a, [&](int32_t g, int32_t at, int32_t i, int32_t count) {
    int8_t* const keys = reinterpret_cast<int8_t*>(c.keys(g));
    int8_t* const values = reinterpret_cast<int8_t*>(c.values(g));
    for (int32_t j = 0, place = at; j < count; ++j, ++place) {
      const auto key = [&](int32_t n) { return keys + fixed::key_at(place, n, c.at().depth); };
      const auto value = [&](int32_t n) { return values + fixed::value_at(place, n, c.at().width); };
      c.multipliers(g)[place] = quantize_row(a.k.row<float>(g, i + j), s.dim, s.k_largest, s.score_multiplier,
                                             key);
      for (int32_t n = s.dim; n < c.at().depth; ++n) *key(n) = 0;
      c.weights(g)[place] = static_cast<int16_t>(
          quantize_row(a.v.row<float>(g, i + j), s.v_dim, s.v_largest, greatest_weight, value));
    }
  });
}

} // namespace
} // namespace fovea::cache

int32_t fovea_cache_append(void* image, const fovea_in* k, const fovea_in* v, int32_t tokens) {
  using namespace fovea;
  using namespace fovea::cache;
  appending a;
  const int32_t dtype = k && element_of(k->dtype) ? k->dtype : int32_t{FOVEA_F32};
  if (const int32_t status = check_append(image, k, v, tokens, dtype, a)) return status;
  const fovea_cache_shape& s = a.c.shape();
  if (a.c.scaled()) {
    if (dtype != FOVEA_F32) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_K);
    if (const int32_t reason = check_sizes(a, a.k, s.dim, s.k_largest)) return refusal(reason, FOVEA_ARG_K);
    if (const int32_t reason = check_sizes(a, a.v, s.v_dim, s.v_largest)) return refusal(reason, FOVEA_ARG_V);
    append_quantised(a);
    return FOVEA_OK;
  }
  if (dtype != s.dtype) {
    const bool rounds = dtype == FOVEA_F32 && a.c.at().element == 2;
    return rounds ? append_rounded(a) : refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_K);
  }
  if (dtype == FOVEA_F32) {
    append_f32(a);
  } else if (dtype == FOVEA_I8) {
    drop(a);
    keep(a, write_int8(a));
  } else {
    append_halves<half_as_it_is>(a);
  }
  return FOVEA_OK;
}
