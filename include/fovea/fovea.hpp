// fovea.hpp: fovea for C++17. Header only: types become dtypes, sizes become constants, and each call ends in
// the C interface.
#pragma once
#include <cstddef>
#include <cstdint>

#include "fovea/cache.h"
#include "fovea/fovea.h"

namespace fovea {

// A tensor of heads x tokens x dim. Strides in elements; 0 = contiguous [head][token][dim].
template <class T>
struct view {
  T* data = nullptr;
  std::ptrdiff_t head_stride = 0, token_stride = 0;
};

// Numbers of 16 bits, by their bits.
struct f16 {
  std::uint16_t bits;
};
struct bf16 {
  std::uint16_t bits;
};

template <class T>
struct dtype_of;
template <>
struct dtype_of<float> {
  static constexpr std::int32_t value = FOVEA_F32;
};
template <>
struct dtype_of<f16> {
  static constexpr std::int32_t value = FOVEA_F16;
};
template <>
struct dtype_of<bf16> {
  static constexpr std::int32_t value = FOVEA_BF16;
};
template <>
struct dtype_of<std::int8_t> {
  static constexpr std::int32_t value = FOVEA_I8;
};

template <class T>
constexpr fovea_in input(view<const T> x) {
  fovea_in in{};
  in.data = x.data;
  in.head_stride = x.head_stride;
  in.token_stride = x.token_stride;
  in.dtype = dtype_of<T>::value;
  return in;
}
template <class T>
constexpr fovea_out output(view<T> x) {
  fovea_out out{};
  out.data = x.data;
  out.head_stride = x.head_stride;
  out.token_stride = x.token_stride;
  out.dtype = dtype_of<T>::value;
  return out;
}

struct shape {
  std::int32_t q_heads, kv_heads, dim, queries, keys;
  std::int32_t v_dim = 0; // 0 = dim
};

// A call with all options at their defaults. Set options on the returned struct, then pass it to
// fovea_attend.
template <class T>
constexpr fovea_attention attention(shape s, view<const T> q, view<const T> k, view<const T> v, view<T> out) {
  fovea_attention a{};
  a.q = input(q);
  a.k = input(k);
  a.v = input(v);
  a.out = output(out);
  a.q_heads = s.q_heads;
  a.kv_heads = s.kv_heads;
  a.dim = s.dim;
  a.v_dim = s.v_dim;
  a.queries = s.queries;
  a.keys = s.keys;
  return a;
}

// Scratch that suffices for Dim and VDim on each ISA, with all options.
template <int Dim, int VDim = Dim>
struct alignas(64) scratch {
  unsigned char bytes[FOVEA_SCRATCH(Dim, VDim)];
};

// All that decoding one sequence needs, in one object for .bss: keys and values of up to Capacity tokens, and
// scratch. T is float, f16 or bf16.
template <class T, int Heads, int KvHeads, int Dim, int Capacity>
class fixed_attention {
  static_assert(Heads > 0 && KvHeads > 0 && Heads % KvHeads == 0,
                "each kv head serves the same number of query heads");
  static_assert(Dim >= 1 && Dim <= 1024, "a head has 1 to 1024 dimensions");
  static_assert(Capacity > 0, "room for at least one token");
  static_assert(dtype_of<T>::value != FOVEA_I8, "queries and outputs are float, f16 or bf16");

 public:
  // One token: k and v are [KvHeads][Dim]. When the object is full, the status is FOVEA_TOO_SMALL and nothing
  // changes.
  std::int32_t append(const T* k, const T* v) {
    if (!k) return FOVEA_NULL | FOVEA_ARG_K << 8;
    if (!v) return FOVEA_NULL | FOVEA_ARG_V << 8;
    if (count_ == Capacity) return FOVEA_TOO_SMALL | FOVEA_ARG_KEYS << 8;
    for (int g = 0; g < KvHeads; ++g)
      for (int c = 0; c < Dim; ++c) {
        k_[g][count_][c] = k[g * Dim + c];
        v_[g][count_][c] = v[g * Dim + c];
      }
    ++count_;
    return FOVEA_OK;
  }

  // One query that sees all tokens so far: q and out are [Heads][Dim]. Without tokens, out becomes zeros.
  std::int32_t attend(const T* q, T* out) {
    const fovea_attention a = call(q, out);
    if constexpr (dtype_of<T>::value == FOVEA_F32)
      return fovea_attend_f32(&a, scratch_.bytes, sizeof scratch_.bytes); // links no other type
    else
      return fovea_attend(&a, scratch_.bytes, sizeof scratch_.bytes);
  }

  // The call that attend makes, for callers who want to change it.
  fovea_attention call(const T* q, T* out) const {
    constexpr std::ptrdiff_t head = std::ptrdiff_t{Capacity} * Dim;
    return attention<T>({Heads, KvHeads, Dim, 1, count_}, {q}, {&k_[0][0][0], head, Dim},
                        {&v_[0][0][0], head, Dim}, {out});
  }

  std::int32_t count() const { return count_; }
  void clear() { count_ = 0; }

 private:
  using rows = T[static_cast<std::size_t>(Capacity)][static_cast<std::size_t>(Dim)];
  rows k_[static_cast<std::size_t>(KvHeads)];
  rows v_[static_cast<std::size_t>(KvHeads)];
  scratch<Dim> scratch_;
  std::int32_t count_;
};

// A cache of fixed size (cache.h), with float, f16, bf16, or int8 under one scale. It begins with init, or
// with a restore into bytes.
template <class T, int KvHeads, int Dim, int Capacity, int VDim = Dim>
struct alignas(64) kv_cache {
  static_assert(KvHeads > 0 && Capacity > 0, "at least one KV head, and room for one token");
  static_assert(Dim >= 1 && Dim <= 1024 && VDim >= 1 && VDim <= 1024, "a head has 1 to 1024 dimensions");

  unsigned char bytes[FOVEA_CACHE_BYTES(KvHeads, Dim, VDim, Capacity, dtype_of<T>::value)];

  // window 0: it grows until it is full. Else a ring: FOVEA_CACHE_RING gives its Capacity.
  static constexpr fovea_cache_shape shape(std::int32_t window = 0, std::int32_t keep_first = 0) {
    fovea_cache_shape s{};
    s.kv_heads = KvHeads;
    s.dim = Dim;
    s.v_dim = VDim;
    s.capacity = Capacity;
    s.dtype = dtype_of<T>::value;
    s.window = window;
    s.keep_first = keep_first;
    return s;
  }
  std::int32_t init(std::int32_t window = 0, std::int32_t keep_first = 0) {
    const fovea_cache_shape s = shape(window, keep_first);
    return fovea_cache_init(bytes, sizeof bytes, &s);
  }
  // Behind the first `tokens` of another cache of the same heads and dims.
  std::int32_t branch(const void* parent, std::int32_t tokens, std::int32_t window = 0,
                      std::int32_t keep_first = 0) {
    const fovea_cache_shape s = shape(window, keep_first);
    return fovea_cache_branch(bytes, sizeof bytes, &s, parent, tokens);
  }
  // k is [KvHeads][tokens][Dim], v is [KvHeads][tokens][VDim], where no strides say otherwise. Caches of f16
  // and bf16 take floats, too.
  template <class X = T>
  std::int32_t append(fovea::view<const X> k, fovea::view<const X> v, std::int32_t tokens = 1) {
    const fovea_in in_k = input(k), in_v = input(v);
    return fovea_cache_append(bytes, &in_k, &in_v, tokens);
  }
  std::int32_t truncate(std::int32_t length) { return fovea_cache_truncate(bytes, length); }
  std::int32_t reset() { return fovea_cache_reset(bytes); }
  std::int32_t length() const { return fovea_cache_length(bytes); }
  std::int32_t view(fovea_attention& a, fovea_segments* segments = nullptr) const {
    return fovea_cache_view(bytes, segments, &a);
  }
  std::int32_t view(fovea_fixed_attention& a, fovea_segments* segments = nullptr) const {
    return fovea_cache_view_fixed(bytes, segments, &a);
  }
};

} // namespace fovea
