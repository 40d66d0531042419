// Appending whatever a cache takes: numbers as they are, floats rounded to 16 bits, floats quantised to int8
// with a scale for each token and head.
#include "common/build.hpp"

#include "cache/append.hpp"
#include "cache/quantize.hpp"
#include "cache/token.hpp"
#include "common/system.hpp"
#include "f32/check.hpp"
#include "linear/element_bits.hpp"

namespace fovea::cache {
namespace {

// A row of keys less the mean key.
struct smoothed_row {
  const float *row, *mean;
  float operator[](int32_t n) const { return row[n] - mean[n]; }
};
auto floats_of(const rows& in) {
  return [&in](int32_t g, int32_t i) { return in.row<float>(g, i); };
}
// Calls use(keys) with rows of floats as they come, or of floats less the mean key.
template <class Use>
int32_t with_keys(const appending& a, Use use) {
  if (!a.c.smoothed()) return use(floats_of(a.k));
  return use([&a](int32_t g, int32_t i) { return smoothed_row{a.k.row<float>(g, i), a.c.mean(g)}; });
}

// narrow(row[n]) goes to to[n * step] and, as words of 32 bits, into the checksum.
template <class Stored, class Row, class Narrow>
uint32_t put_numbers(Row row, int32_t count, Narrow narrow, Stored* to, ptrdiff_t step, uint32_t sum) {
  constexpr int32_t of_word = 4 / sizeof(Stored);
  for (int32_t n = 0; n < count; n += of_word) {
    uint32_t word = 0;
    for (int32_t i = 0; i < of_word && n + i < count; ++i, to += step) {
      *to = narrow(row[n + i]);
      word |= uint32_t{*to} << 16 * i;
    }
    sum = mix_word(sum, word);
  }
  return sum;
}

// Writes the rows key(head, token) and value(head, token), each number as narrow(number).
template <class Stored, class Key, class Value, class Narrow>
void append_numbers(appending& a, Key key, Value value, Narrow narrow) {
  const opened& c = a.c;
  const int32_t dim = c.shape().dim, v_dim = c.shape().v_dim;
  drop(a);
  uint32_t sum = 0;
  for (int32_t i = 0; i < a.tokens; ++i) {
    const int32_t token = c.now.length + i, place = c.at().place(token);
    const ptrdiff_t of_key = ptrdiff_t{down_to(place, 16)} * dim + place % 16;
    uint32_t of_token = static_cast<uint32_t>(token);
    for (int32_t g = 0; g < c.shape().kv_heads; ++g) {
      Stored* const keys = reinterpret_cast<Stored*>(c.keys(g)) + of_key;
      Stored* const values = reinterpret_cast<Stored*>(c.values(g)) + ptrdiff_t{place} * v_dim;
      of_token = put_numbers(key(g, i), dim, narrow, keys, 16, of_token);
      of_token = put_numbers(value(g, i), v_dim, narrow, values, 1, of_token);
    }
    sum += end_of_token(of_token);
  }
  keep(a, sum);
}

// A float in memory, whose bits are copied.
struct __attribute__((may_alias)) float_word {
  uint32_t bits;
  operator uint32_t() const { return bits; }
};
void append_f32(appending& a) {
  append_numbers<float_word>(
      a, [&](int32_t g, int32_t i) { return a.k.row<float_word>(g, i); },
      [&](int32_t g, int32_t i) { return a.v.row<float_word>(g, i); }, [](float_word x) { return x; });
}

void append_halves(appending& a) {
  append_numbers<uint16_t>(
      a, [&](int32_t g, int32_t i) { return a.k.row<uint16_t>(g, i); },
      [&](int32_t g, int32_t i) { return a.v.row<uint16_t>(g, i); }, [](uint16_t x) { return x; });
}

template <class Bits, class Key>
void append_rounded(appending& a, Key key) {
  append_numbers<typename Bits::stored>(a, key, floats_of(a.v),
                                        [](float x) { return Bits::narrow(bits_of(x)); });
}

uint32_t size_bits(float x) { return bits_of(x) & 0x7fffffffu; }

// Is a number that came finite kept as an infinite one?
template <class Rows>
bool overflows(const appending& a, const rows& in, Rows kept, int32_t dim, uint32_t too_large) {
  for (int32_t g = 0; g < a.c.shape().kv_heads; ++g)
    for (int32_t i = 0; i < a.tokens; ++i)
      for (int32_t n = 0; n < dim; ++n)
        if (size_bits(kept(g, i)[n]) >= too_large && is_finite(in.row<float>(g, i)[n])) return true;
  return false;
}

template <class Key>
int32_t append_floats(appending& a, Key key) {
  const fovea_cache_shape& s = a.c.shape();
  uint32_t too_large = 0x7f800000u;
  if (s.dtype == FOVEA_F16) too_large = 0x477ff000u; // 65,520
  if (s.dtype == FOVEA_BF16) too_large = 0x7f7f8000u;
  if (overflows(a, a.k, key, s.dim, too_large)) return refusal(FOVEA_RANGE, FOVEA_ARG_K);
  if (overflows(a, a.v, floats_of(a.v), s.v_dim, too_large)) return refusal(FOVEA_RANGE, FOVEA_ARG_V);
  if (s.dtype == FOVEA_F32) append_rounded<linear::f32_bits>(a, key);
  if (s.dtype == FOVEA_F16) append_rounded<linear::f16_bits>(a, key);
  if (s.dtype == FOVEA_BF16) append_rounded<linear::bf16_bits>(a, key);
  return FOVEA_OK;
}

// The largest number of a row without its sign. NaN and infinity are larger than all others.
template <class Row>
uint32_t size_bits(Row row, int32_t dim) {
  uint32_t twice = 0; // a shift drops the sign
  const auto see = [&](float x) __attribute__((always_inline)) {
    const uint32_t bits = bits_of(x) << 1;
    twice = bits > twice ? bits : twice;
  };
  int32_t c = 0;
  for (; c + 4 <= dim; c += 4) see(row[c]), see(row[c + 1]), see(row[c + 2]), see(row[c + 3]);
  for (; c < dim; ++c) see(row[c]);
  return twice >> 1;
}

// Of the first rows of a call, head by head: what has been checked is not looked through again.
struct sizes_of_rows {
  static constexpr int32_t count = 8; // one token of most decoders
  uint32_t bits[count];
};
template <class Rows>
int32_t check_sizes(const appending& a, Rows kept, int32_t dim, float largest, sizes_of_rows& sizes) {
  int32_t row = 0;
  for (int32_t g = 0; g < a.c.shape().kv_heads; ++g)
    for (int32_t i = 0; i < a.tokens; ++i) {
      const uint32_t bits = size_bits(kept(g, i), dim);
      if (bits >= 0x7f800000u) return FOVEA_NOT_FINITE;
      if (bits > bits_of(largest)) return FOVEA_RANGE;
      if (row < sizes_of_rows::count) sizes.bits[row++] = bits;
    }
  return FOVEA_OK;
}

// A row becomes words of four bytes, put(i, word), with zeros behind its end; returns its multiplier.
template <class Row, class Put>
__attribute__((always_inline)) inline int32_t quantize_row(Row row, uint32_t size, int32_t dim, float largest,
                                                           int32_t greatest, Put put) {
  const int32_t by = multiplier_for(float_of(size), largest, greatest);
  const float step = static_cast<float>(by) * unit_of(largest, greatest);
  const auto byte = [&](int32_t n) __attribute__((always_inline)) {
    return uint32_t{static_cast<uint8_t>(quantize(row[n], step))};
  };
  int32_t c = 0;
  for (; c + 4 <= dim; c += 4) put(c / 4, byte(c) | byte(c + 1) << 8 | byte(c + 2) << 16 | byte(c + 3) << 24);
  uint32_t rest = 0;
  for (int32_t n = c; n < dim; ++n) rest |= byte(n) << 8 * (n - c);
  if (c < dim) put(c / 4, rest);
  return by;
}

// What a decode waits for is prefetched: the lines over which a token is scattered, before its numbers are
// looked through, and the first keys and values, with which an attention begins, while it is quantised.
#if FOVEA_HAS_SYSTEM
class append_prefetch {
 public:
  append_prefetch(const opened& c, int32_t tokens) : keys_(c.keys(0)), values_(c.values(0)) {
    if (tokens != 1) return;
    left_ = 6144 / line;
    const layout& at = c.at();
    const int32_t place = at.place(c.now.length);
    for (int32_t g = 0; g < c.shape().kv_heads; ++g) {
      unsigned char* const key = c.keys(g) + key_begin(place, at.depth);
      unsigned char* const value = c.values(g) + value_begin(place, at.width);
      for (int32_t i = 0; i < at.depth / 4; ++i) __builtin_prefetch(word_at<false>(key, i), 1);
      for (int32_t i = 0; i < at.width / 4; i += 4) __builtin_prefetch(word_at<true>(value, i), 1);
      __builtin_prefetch(c.multipliers(g) + place, 1);
      __builtin_prefetch(c.weights(g) + place, 1);
    }
  }
  __attribute__((always_inline)) void next() { // a line of both
    if (left_ == 0) return;
    __builtin_prefetch(keys_);
    __builtin_prefetch(values_);
    keys_ += line;
    values_ += line;
    --left_;
  }

 private:
  static constexpr int32_t line = 64;
  const unsigned char *keys_, *values_;
  int32_t left_ = 0; // lines
};
#else
struct append_prefetch { // microcontrollers have nothing to wait for
  append_prefetch(const opened&, int32_t) {}
  __attribute__((always_inline)) void next() {}
};
#endif

// Each word goes into its panel and into the checksum at once, in the order of sum_of_tokens.
template <class Key>
int32_t append_quantised(appending& a, Key k) {
  const opened& c = a.c;
  const fovea_cache_shape& s = c.shape();
  const layout& at = c.at();
  const auto v = floats_of(a.v);
  append_prefetch prefetch(c, a.tokens);
  sizes_of_rows k_sizes, v_sizes;
  if (const int32_t reason = check_sizes(a, k, s.dim, s.k_largest, k_sizes))
    return refusal(reason, FOVEA_ARG_K);
  if (const int32_t reason = check_sizes(a, v, s.v_dim, s.v_largest, v_sizes))
    return refusal(reason, FOVEA_ARG_V);
  drop(a);
  uint32_t sum = 0;
  for (int32_t i = 0; i < a.tokens; ++i) {
    const int32_t token = c.now.length + i, place = at.place(token);
    uint32_t of_token = static_cast<uint32_t>(token);
    for (int32_t g = 0; g < s.kv_heads; ++g) {
      unsigned char* const keys = c.keys(g) + key_begin(place, at.depth);
      unsigned char* const values = c.values(g) + value_begin(place, at.width);
      const auto key = [&](int32_t n, uint32_t word) __attribute__((always_inline)) {
        prefetch.next();
        put_word<false>(keys, n, word);
        of_token = mix_word(of_token, word);
      };
      const auto value = [&](int32_t n, uint32_t word) __attribute__((always_inline)) {
        prefetch.next();
        put_word<true>(values, n, word);
        of_token = mix_word(of_token, word);
      };
      const int64_t row = int64_t{g} * a.tokens + i;
      const bool known = row < sizes_of_rows::count;
      const uint32_t k_size = known ? k_sizes.bits[row] : size_bits(k(g, i), s.dim),
                     v_size = known ? v_sizes.bits[row] : size_bits(v(g, i), s.v_dim);
      const int32_t multiplier = quantize_row(k(g, i), k_size, s.dim, s.k_largest, s.score_multiplier, key);
      for (int32_t n = (s.dim + 3) / 4; n < at.depth / 4; ++n) key(n, 0);
      const int32_t weight = quantize_row(v(g, i), v_size, s.v_dim, s.v_largest, greatest_weight, value);
      c.multipliers(g)[place] = multiplier;
      c.weights(g)[place] = static_cast<int16_t>(weight);
      of_token = mix_word(mix_word(of_token, static_cast<uint32_t>(multiplier)),
                          static_cast<uint32_t>(weight));
    }
    sum += end_of_token(of_token);
  }
  keep(a, sum);
  return FOVEA_OK;
}

void append_int8(appending& a) {
  drop(a);
  uint32_t sum = 0;
  for (int32_t i = 0; i < a.tokens; ++i) sum += write_int8(a, i, a.c.at().place(a.c.now.length + i));
  keep(a, sum);
}

} // namespace
} // namespace fovea::cache

int32_t fovea_cache_append(void* image, const fovea_in* k, const fovea_in* v, int32_t tokens) {
  using namespace fovea;
  using namespace fovea::cache;
  appending a;
  const int32_t dtype = k && element_of(k->dtype) ? k->dtype : int32_t{FOVEA_F32};
  if (const int32_t status = check_append(image, k, v, tokens, dtype, a)) return status;
  const opened& c = a.c;
  if (dtype == FOVEA_F32) {
    if (c.scaled()) return with_keys(a, [&](auto key) { return append_quantised(a, key); });
    if (c.holds_int8()) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_K);
    if (c.shape().dtype != FOVEA_F32 || c.smoothed())
      return with_keys(a, [&](auto key) { return append_floats(a, key); });
    append_f32(a);
    return FOVEA_OK;
  }
  if (dtype != c.shape().dtype || c.scaled() || c.smoothed()) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_K);
  if (dtype == FOVEA_I8) {
    append_int8(a);
  } else {
    append_halves(a);
  }
  return FOVEA_OK;
}
