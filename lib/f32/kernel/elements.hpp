// Storage types of keys, values and weights: how memory becomes floats.
#pragma once
#include <cstring>

#include "f32/kernel/floats.hpp"

namespace fovea::f32 {

// The contract of a storage type. f32_element is the first; the others convert in their loads, exactly, so
// that sums stay floats.
//   stored                   what memory holds
//   load(p, V{})             as many elements from p on as a vector V has lanes
//   load_first<Whole>(p, n, V{})    the first n of them, at least Whole; nothing behind is read, other lanes
//                            are 0
template <class Element>
struct element_contract {
  using stored = typename Element::stored;
  static_assert(sizeof(stored) == Element::bytes,
                "an element names its size: how far one stands from the next");
};

struct f32_element {
  using stored = float;
  static constexpr int bytes = 4;
  template <class Vector>
  static FOVEA_INLINE Vector load(const stored* p, Vector) {
    return Vector::load(p);
  }
  template <int Whole = 0, class Vector>
  static FOVEA_INLINE Vector load_first(const stored* p, int n, Vector x) {
    return fovea::f32::load_first<Whole>(p, n, x);
  }
};

// Integers of 8, 16 and 32 bits, and floats, in as many lanes as a register of floats has.
template <int Lanes>
struct lane_words;
template <>
struct lane_words<1> {
  typedef uint16_t halves;
  typedef uint32_t words;
};
template <>
struct lane_words<4> {
  typedef uint16_t halves __attribute__((vector_size(8)));
  typedef uint32_t words __attribute__((vector_size(16)));
  typedef int8_t bytes __attribute__((vector_size(4)));
  typedef int32_t integers __attribute__((vector_size(16)));
  typedef float numbers __attribute__((vector_size(16)));
};
template <>
struct lane_words<8> {
  typedef uint16_t halves __attribute__((vector_size(16)));
  typedef uint32_t words __attribute__((vector_size(32)));
  typedef int8_t bytes __attribute__((vector_size(8)));
  typedef int32_t integers __attribute__((vector_size(32)));
  typedef float numbers __attribute__((vector_size(32)));
};
template <>
struct lane_words<16> {
  typedef uint16_t halves __attribute__((vector_size(32)));
  typedef uint32_t words __attribute__((vector_size(64)));
  typedef int8_t bytes __attribute__((vector_size(16)));
  typedef int32_t integers __attribute__((vector_size(64)));
  typedef float numbers __attribute__((vector_size(64)));
};
template <class Isa>
using words_of = typename lane_words<Isa::lanes>::words;

// What stands at any address. Where unaligned access may trap, gcc calls the memcpy of the C library for more
// than a byte, and from eight bytes on that loads unaligned words.
template <class T>
FOVEA_INLINE T load_unaligned(const void* p) {
#if defined(__arm__) && !defined(__ARM_FEATURE_UNALIGNED) && !defined(__clang__)
  struct __attribute__((packed, may_alias)) at_any_address {
    T x;
  };
  return static_cast<const at_any_address*>(p)->x;
#else
  T x;
  std::memcpy(&x, p, sizeof x);
  return x;
#endif
}

template <class Isa>
FOVEA_INLINE words_of<Isa> widened(const uint16_t* p) {
  if constexpr (Isa::lanes == 1)
    return *p;
  else
    return __builtin_convertvector(load_unaligned<typename lane_words<Isa::lanes>::halves>(p), words_of<Isa>);
}

template <class To, class From>
FOVEA_INLINE To same_bits(const From& x) {
  static_assert(sizeof(To) == sizeof(From));
  To y;
  std::memcpy(&y, &x, sizeof y);
  return y;
}

// float16 by integers, where no instruction converts it. Exponent and fraction move to their places in a
// float, whose exponent is then 112 too small: a product puts it right, also of infinity and NaN, as 31 + 224
// is 255. A denormal becomes the fraction of a float from 1/2 on.
template <class Isa>
FOVEA_INLINE typename Isa::reg f16_by_integers(const uint16_t* p) {
  using words = words_of<Isa>;
  using reg = typename Isa::reg;
  const words h = widened<Isa>(p), size = h & 0x7fffu, sign = (h & 0x8000u) << 16;
  const reg big = Isa::mul(same_bits<reg>(words((size << 13) + (224u << 23))), Isa::spread(0x1p-112f));
  const reg small = Isa::sub(same_bits<reg>(words(size | (126u << 23))), Isa::spread(.5f));
  if constexpr (Isa::lanes == 1) {
    return same_bits<reg>(same_bits<words>(size < 0x400u ? small : big) | sign);
  } else {
    const words is_small = words(size < 0x400u);
    return same_bits<reg>(
        words((same_bits<words>(small) & is_small) | (same_bits<words>(big) & ~is_small) | sign));
  }
}

// The first n of sixteen bytes at p, then zeros. They are put together in integers: a load of a register
// would wait for several stores.
typedef uint64_t sixteen_bytes __attribute__((vector_size(16)));

FOVEA_INLINE uint64_t first_of_eight_bytes(const uint8_t* p, int n) { // two loads overlap
  if (n >= 8) return load_unaligned<uint64_t>(p);
  if (n >= 4)
    return load_unaligned<uint32_t>(p) | uint64_t{load_unaligned<uint32_t>(p + n - 4)} << (8 * n - 32);
  if (n >= 2)
    return load_unaligned<uint16_t>(p) | uint64_t{load_unaligned<uint16_t>(p + n - 2)} << (8 * n - 16);
  return n == 1 ? *p : 0;
}
FOVEA_INLINE sixteen_bytes first_bytes(const void* p, int n) {
  const auto* bytes = static_cast<const uint8_t*>(p);
  return sixteen_bytes{first_of_eight_bytes(bytes, n), first_of_eight_bytes(bytes + 8, n - 8)};
}
// Sixteen halves. One copy of so much code serves all callers of an ISA.
template <class Isa>
struct first_halves {
  sixteen_bytes at[2];
  __attribute__((noinline)) first_halves(const uint16_t* p, int n)
      : at{first_bytes(p, 2 * n), first_bytes(p + 8, 2 * n - 16)} {}
};

// The elements of 16 bits differ in how a register is loaded.
template <class Format>
struct half_element {
  using stored = uint16_t;
  static constexpr int bytes = 2;
  template <class Isa, int N>
  static FOVEA_INLINE floats<Isa, N> load(const stored* p, floats<Isa, N>) {
    return floats<Isa, N>::each(
        [&](int i) FOVEA_LAMBDA_INLINE { return Format::template load_register<Isa>(p + i * Isa::lanes); });
  }
  template <int Whole = 0, class Isa, int N>
  static FOVEA_INLINE floats<Isa, N> load_first(const stored* p, int n, floats<Isa, N> x) {
    if constexpr (Isa::lanes == 1) { // no copy: memcpy may read words where halves stand
      for (int i = 0; i < N; ++i) x.r[i] = i < n ? Format::template load_register<Isa>(p + i) : 0;
      return x;
    } else if constexpr (Isa::has_masks) {
      alignas(64) stored t[16];
      Isa::copy_first(t, p, n);
      return load(t, x);
    } else {
      const first_halves<Isa> t(p, n);
      return load(reinterpret_cast<const stored*>(t.at), x);
    }
  }
};

struct f16_element : half_element<f16_element> {
  template <class Isa>
  static FOVEA_INLINE typename Isa::reg load_register(const stored* p) {
    if constexpr (Isa::converts_f16)
      return Isa::load_f16(p);
    else
      return f16_by_integers<Isa>(p);
  }
};

struct bf16_element : half_element<bf16_element> {
  template <class Isa>
  static FOVEA_INLINE typename Isa::reg load_register(const stored* p) {
    if constexpr (Isa::widens_bf16)
      return Isa::load_bf16(p);
    else
      return same_bits<typename Isa::reg>(words_of<Isa>(widened<Isa>(p) << 16));
  }
};

} // namespace fovea::f32
