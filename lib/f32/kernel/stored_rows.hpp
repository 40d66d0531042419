// Tensors of another type become floats, and floats become halves: rows of q, panels of K, rows of V,
// results.
#pragma once
#include "f32/kernel/block.hpp"
#include "f32/kernel/pack.hpp"
#include "f32/kernel/scores_from_rows.hpp"
#include "f32/kernel/stored_bytes.hpp"

namespace fovea::f32 {

// Calls use(element) for the type of a tensor of rows, or of panels of halves.
template <class Use>
FOVEA_INLINE void with_element(int32_t dtype, Use use) {
  if (dtype == FOVEA_F16) return use(f16_element{});
  if (dtype == FOVEA_BF16) return use(bf16_element{});
  use(s8_element{});
}
template <class Use>
FOVEA_INLINE void with_halves(int32_t dtype, Use use) {
  if (dtype == FOVEA_F16) return use(f16_element{});
  use(bf16_element{});
}

template <class Isa, class Element>
FOVEA_INLINE void to_floats(const typename Element::stored* from, ptrdiff_t count, float* to) {
  constexpr int lanes = Isa::lanes == 1 ? 4 : 16;
  using vector = floats<Isa, lanes>;
  ptrdiff_t c = 0;
  for (; c <= count - lanes; c += lanes) Element::load(from + c, vector{}).store(to + c);
  if constexpr (Isa::lanes == 1)
    for (; c < count; ++c) Element::load(from + c, floats<Isa, 1>{}).store(to + c);
  else if (c < count)
    store_first(to + c, Element::load_first(from + c, static_cast<int>(count - c), vector{}),
                static_cast<int>(count - c));
}
template <class Isa>
__attribute__((noinline)) void to_floats(int32_t dtype, const void* from, ptrdiff_t count, float* to) {
  with_element(dtype, [&](auto element) FOVEA_LAMBDA_INLINE {
    using type = decltype(element);
    to_floats<Isa, type>(static_cast<const typename type::stored*>(from), count, to);
  });
}

template <class Isa>
void scale_stored_query(const plan& p, const void* row, float* out) {
  to_floats<Isa>(p.stored.q.dtype, row, p.dim, out);
  const float scale = p.scale;
  int c = 0;
  for (; c <= p.dim - 16; c += 16) (f32x16<Isa>::load(out + c) * f32x16<Isa>::all(scale)).store(out + c);
  for (; c < p.dim; ++c) out[c] = out[c] * scale;
}

// Sixteen rows of K, some columns at a time: converted, they are transposed as rows of floats are. Rows that
// are not given repeat the nearest one.
template <class Isa>
__attribute__((noinline)) void pack_stored_rows(const plan& p, int32_t kv_head, int64_t first, float* out) {
  constexpr int columns = Isa::lanes == 1 ? 4 : 16;
  const stored_tensor& k = p.stored.k;
  alignas(64) float piece[16 * columns];
  for (int c = 0; c < p.dim; c += columns) {
    const int count = p.dim - c < columns ? p.dim - c : columns;
    const char* row = static_cast<const char*>(stored_keys(p, kv_head, larger(first, p.see.first_key)).at) +
                      c * k.bytes;
    for (int l = 0; l < 16; ++l) {
      to_floats<Isa>(k.dtype, row, count, piece + l * columns);
      const int64_t next = first + l + 1;
      if (next > p.see.first_key && next < p.keys_end) row += k.token * k.bytes;
    }
    pack_panel<Isa>(piece, columns, 0, 0, 16, count, out + c * 16);
  }
}

// The lower halves of words go to `out`, the upper ones to the next sixteen.
template <class Isa>
FOVEA_INLINE void store_halves(uint16_t* out, typename Isa::reg x) {
  if constexpr (Isa::shuffles_bytes) {
    Isa::store_halves(out, x);
  } else {
    using halves = typename lane_words<Isa::lanes>::halves;
    const auto words = same_bits<words_of<Isa>>(x);
    const halves low = __builtin_convertvector(words, halves),
                 high = __builtin_convertvector(words >> 16, halves);
    std::memcpy(out, &low, sizeof low);
    std::memcpy(out + 16, &high, sizeof high);
  }
}

// Sixteen rows of K become a panel of their own type. They move as words of 32 bits, by the transposition of
// floats: a word of bytes is what a panel of bytes has for each key, and one of halves is two steps.
template <class Isa>
__attribute__((noinline)) void pack_words(const plan& p, int32_t kv_head, int64_t first, void* panel) {
  constexpr int lanes = Isa::lanes;
  const stored_tensor& k = p.stored.k;
  const bool bytes = k.bytes == 1;
  const ptrdiff_t stride = k.token * k.bytes / 4;
  const int words = p.dim * k.bytes / 4;
  const float* row = static_cast<const float*>(stored_keys(p, kv_head, larger(first, p.see.first_key)).at);
  const bool goes_on = first + 32 <= p.keys_end;
  for (int l = 0; l < 16; l += lanes) {
    const float* at[lanes];
    for (int i = 0; i < lanes; ++i) {
      at[i] = row;
      if (goes_on) prefetch(row + 16 * stride, words);
      const int64_t next = first + l + i + 1;
      if (next > p.see.first_key && next < p.keys_end) row += stride;
    }
    float* out = static_cast<float*>(panel) + (bytes ? l : l / 2);
    int c = 0;
    const auto move = [&](auto& t) FOVEA_LAMBDA_INLINE {
      constexpr int count = sizeof t / sizeof t[0];
      Isa::columns([&](int i) FOVEA_LAMBDA_INLINE { return at[i] + c; }, t);
#pragma GCC unroll 8
      for (int i = 0; i < count; ++i, out += 16) {
        const auto x = column_of<Isa>(t, i);
        if (bytes)
          Isa::store(out, x);
        else
          store_halves<Isa>(reinterpret_cast<uint16_t*>(out), x);
      }
      c += count;
    };
    typename Isa::reg t[Isa::columns_at_once], four[4];
    while (c <= words - Isa::columns_at_once) move(t);
    while (c < words) move(four);
  }
}

// Sixteen keys become a panel of floats. Rows of words are first packed in its end, and expanded from there:
// no number is overwritten before it has been read.
template <class Isa>
void pack_stored_keys(const plan& p, int32_t kv_head, int64_t panel, float* out) {
  const stored_tensor& k = p.stored.k;
  const ptrdiff_t numbers = 16 * static_cast<ptrdiff_t>(p.dim);
  const void* at;
  if (k.panels) {
    at = stored_keys(p, kv_head, panel * 16).at;
  } else {
    if (Isa::lanes == 1 || !k.words) return pack_stored_rows<Isa>(p, kv_head, panel * 16, out);
    void* const end = reinterpret_cast<char*>(out) + numbers * (4 - k.bytes);
    if constexpr (Isa::lanes > 1) pack_words<Isa>(p, kv_head, panel * 16, end);
    at = end;
  }
  if (k.bytes == 1) return expand_key_panel<Isa>(static_cast<const int8_t*>(at), p.dim, k.width, out);
  to_floats<Isa>(k.dtype, at, numbers, out);
}

// Keys of a block that some row sees: at most two runs. Calls use(from, to) for both.
template <class Use>
FOVEA_INLINE void each_run(const key_runs& runs, int row, int rows, Use use) {
  for (int run = runs.first; run < 2; ++run) {
    const int from = runs.from[run][row], to = runs.to[run][row + rows - 1];
    if (from < to) use(from, to);
  }
}

// Rows that nobody sees, between the runs, become 0. Their weights are 0, and so are the products.
template <class Isa>
int copy_stored_values(const tile_job& job, const block& b, int32_t kv_head, int row, int rows) {
  const plan& p = *job.p;
  const stored_tensor& v = p.stored.v;
  const ptrdiff_t width = up16(p.v_dim);
  int first = -1, done = 0;
  const auto at = [&](int key) { return job.w->values + (key - first) * width; };
  each_run(b.runs, row, rows, [&](int from, int to) {
    if (first < 0) done = first = from;
    for (float* gap = at(done); gap < at(from); ++gap) *gap = 0;
    if (from < done) from = done;
    for (int key = from; key < to;) {
      const stored_place place = stored_values(p, kv_head, (b.first_key + key) & (v.panels ? -64 : -1));
      if (v.panels) {
        const int end = (key | 63) + 1 < to ? (key | 63) + 1 : to;
        expand_values<Isa>(static_cast<const int8_t*>(place.at), p.v_dim, key & 63, end - (key & ~63),
                           at(key), width);
        key = end;
      } else {
        to_floats<Isa>(v.dtype, place.at, p.v_dim, at(key));
        ++key;
      }
    }
    done = done < to ? to : done;
  });
  return first < 0 ? 0 : first;
}

// Integers as floats, times the unit of the scales.
template <class Isa, class Integer>
FOVEA_INLINE f32x16<Isa> load_scaled(const Integer* p, float unit) {
  const auto by = Isa::spread(unit);
  return f32x16<Isa>::each([&](int i) FOVEA_LAMBDA_INLINE {
    typedef Integer given __attribute__((vector_size(sizeof(Integer) * Isa::lanes)));
    given x;
    std::memcpy(&x, p + i * Isa::lanes, sizeof x);
    const auto numbers = __builtin_convertvector(
        __builtin_convertvector(x, typename lane_words<Isa::lanes>::integers),
        typename lane_words<Isa::lanes>::numbers);
    return Isa::mul(same_bits<typename Isa::reg>(numbers), by);
  });
}

// The scales of sixteen keys from `first` on.
template <class Isa>
FOVEA_INLINE f32x16<Isa> load_scales(const scale_place& s, int64_t first) {
  if constexpr (Isa::lanes > 1)
    if (s.token == 1 && first >= s.begin && first + 16 <= s.end) {
      const int64_t at = first - s.begin;
      if (s.unit == 0) return f32x16<Isa>::load(static_cast<const float*>(s.at) + at);
      if (s.of_keys) return load_scaled<Isa>(static_cast<const int32_t*>(s.at) + at, s.unit);
      return load_scaled<Isa>(static_cast<const int16_t*>(s.at) + at, s.unit);
    }
  float scales[16];
  fetch_scales(s, first, scales);
  return f32x16<Isa>::load(scales);
}

// Scores or weights of the keys that rows see, times the scales of these keys.
template <class Isa, class Product>
FOVEA_INLINE void scale_scores(const tile_job& job, const block& b, int32_t kv_head, int row, int rows,
                               bool of_keys, Product product) {
  int done = 0;
  each_run(b.runs, row, rows, [&](int from, int to) {
    int key = from & -16;
    if (key < done) key = done;
    while (key < to) {
      const scale_place scales = place_of_scales(*job.p, of_keys, kv_head, b.first_key + key);
      do {
        const auto by = load_scales<Isa>(scales, b.first_key + key);
        for (int r = row; r < row + rows; ++r) {
          float* s = job.w->s + r * score_stride + key;
          product(f32x16<Isa>::load(s), by).store(s);
        }
        key += 16;
      } while (key < to && b.first_key + key < scales.end);
    }
    done = key;
  });
}
template <class Isa>
void scale_by_keys(const tile_job& job, const block& b, int32_t kv_head, int row, int rows) {
  using vector = f32x16<Isa>;
  scale_scores<Isa>(job, b, kv_head, row, rows, true,
                    [](const vector& score, const vector& by) FOVEA_LAMBDA_INLINE { return score * by; });
}
// A weight of 0 stays 0, whatever the scale of a hidden key is.
template <class Isa>
void scale_by_values(const tile_job& job, const block& b, int32_t kv_head, int row, int rows) {
  using vector = f32x16<Isa>;
  scale_scores<Isa>(job, b, kv_head, row, rows, false,
                    [](const vector& weight, const vector& by) FOVEA_LAMBDA_INLINE {
                      const auto product = weight * by;
                      return vector::each([&](int i) FOVEA_LAMBDA_INLINE {
                        return Isa::if_equal(weight.r[i], 0, weight.r[i], product.r[i]);
                      });
                    });
}

// Rounded to nearest even; a NaN stays one. `words` are as many as a register has lanes.
template <class Isa>
FOVEA_INLINE void store_bf16(uint16_t* p, typename Isa::reg x) {
  using words = words_of<Isa>;
  const words bits = same_bits<words>(x), rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16,
              quiet = bits >> 16 | 0x40u, is_nan = words((bits & 0x7fffffffu) > 0x7f800000u);
  const auto halves = __builtin_convertvector((quiet & is_nan) | (rounded & ~is_nan),
                                              typename lane_words<Isa::lanes>::halves);
  std::memcpy(p, &halves, sizeof halves);
}

// Results, which stand in o as floats, are rounded to halves.
template <class Isa>
void write_stored_rows(const tile_job& job) {
  const plan& p = *job.p;
  const stored_out& out = p.stored.out;
  const int width = up16(p.v_dim);
  for (int r = 0; r < job.rows; ++r) {
    const row_place at = place_of(job, r);
    uint16_t* to = static_cast<uint16_t*>(out.data) + at.head * out.head + at.query * out.token;
    const float* from = job.w->o + r * static_cast<ptrdiff_t>(width);
    int c = 0;
    if constexpr (Isa::lanes > 1) {
      if (out.dtype == FOVEA_BF16)
        for (; c <= p.v_dim - Isa::lanes; c += Isa::lanes) store_bf16<Isa>(to + c, Isa::load(from + c));
    }
    if constexpr (Isa::narrows_f16) {
      if (out.dtype == FOVEA_F16)
        for (; c <= p.v_dim - Isa::lanes; c += Isa::lanes) Isa::store_f16(to + c, Isa::load(from + c));
    }
    for (; c < p.v_dim; ++c) to[c] = rounded_half(from[c], out.dtype);
  }
}

} // namespace fovea::f32
