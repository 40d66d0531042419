// floats<Isa, N>: N lanes of float made of the registers of one ISA. All float kernels are written once over
// f32x16.
#pragma once
#include <cstddef>
#include <cstdint>

#define FOVEA_INLINE inline __attribute__((always_inline))
#define FOVEA_LAMBDA_INLINE __attribute__((always_inline))

namespace fovea::f32 {

constexpr uint32_t root_half_bits = 0x3f3504f3u; // of the float sqrt(1/2)

// gcc keeps arrays of registers in memory unless every loop over them is unrolled: hence the pragma at each
// of these loops.
template <class Isa, int Lanes>
struct floats {
  static_assert(Lanes % Isa::lanes == 0);
  static constexpr int regs = Lanes / Isa::lanes;
  typename Isa::reg r[regs];

  static FOVEA_INLINE floats load(const float* p) {
    return each([&](int i) FOVEA_LAMBDA_INLINE { return Isa::load(p + i * Isa::lanes); });
  }
  // With one instruction, where that is possible; cheaper if the numbers are only read.
  static FOVEA_INLINE floats load_together(const float* p) {
    if constexpr (Isa::by_lane && Lanes == 16) {
      const auto x = Isa::load_sixteen(p);
      return each([&](int i) FOVEA_LAMBDA_INLINE { return x.val[i]; });
    } else {
      return load(p);
    }
  }
  static FOVEA_INLINE floats all(float x) {
    const auto one = Isa::spread(x);
    return each([&](int) FOVEA_LAMBDA_INLINE { return one; });
  }
  FOVEA_INLINE void store(float* p) const {
    each_reg([&](int i) FOVEA_LAMBDA_INLINE { Isa::store(p + i * Isa::lanes, r[i]); });
  }
  template <class F>
  static FOVEA_INLINE floats each(F f) {
    floats x;
    each_reg([&](int i) FOVEA_LAMBDA_INLINE { x.r[i] = f(i); });
    return x;
  }
  // Sixteen plain floats are no array of registers: there a loop is smaller, and as fast as spills.
  template <class F>
  static FOVEA_INLINE void each_reg(F f) {
    if constexpr (regs > 8) {
#pragma GCC unroll 1
      for (int i = 0; i < regs; ++i) f(i);
    } else {
#pragma GCC unroll 8
      for (int i = 0; i < regs; ++i) f(i);
    }
  }
};
template <class Isa>
using f32x16 = floats<Isa, 16>;
template <class Isa>
using one_register = floats<Isa, Isa::lanes>; // where lanes are rows

template <class Isa, int N>
FOVEA_INLINE floats<Isa, N> fma(const floats<Isa, N>& a, const floats<Isa, N>& b, const floats<Isa, N>& c) {
  return floats<Isa, N>::each([&](int i) FOVEA_LAMBDA_INLINE { return Isa::fma(a.r[i], b.r[i], c.r[i]); });
}
// a * b + c with one a for all lanes: where the ISA can take it from a lane of a register, it does.
template <class Isa, int N>
FOVEA_INLINE floats<Isa, N> fma_by(float a, const floats<Isa, N>& b, const floats<Isa, N>& c) {
  return floats<Isa, N>::each([&](int i)
                                  FOVEA_LAMBDA_INLINE { return Isa::fma(Isa::spread(a), b.r[i], c.r[i]); });
}
// sum += a * b, where sum stays where it is.
template <class Isa, int N>
FOVEA_INLINE void add_product(floats<Isa, N>& sum, float a, const floats<Isa, N>& b) {
  floats<Isa, N>::each_reg([&](int i)
                               FOVEA_LAMBDA_INLINE { Isa::add_product(sum.r[i], Isa::spread(a), b.r[i]); });
}
template <class Isa, int N>
FOVEA_INLINE floats<Isa, N> operator*(const floats<Isa, N>& a, const floats<Isa, N>& b) {
  return floats<Isa, N>::each([&](int i) FOVEA_LAMBDA_INLINE { return Isa::mul(a.r[i], b.r[i]); });
}
template <class Isa, int N>
FOVEA_INLINE floats<Isa, N> operator+(const floats<Isa, N>& a, const floats<Isa, N>& b) {
  return floats<Isa, N>::each([&](int i) FOVEA_LAMBDA_INLINE { return Isa::add(a.r[i], b.r[i]); });
}
template <class Isa, int N>
FOVEA_INLINE floats<Isa, N> operator-(const floats<Isa, N>& a, const floats<Isa, N>& b) {
  return floats<Isa, N>::each([&](int i) FOVEA_LAMBDA_INLINE { return Isa::sub(a.r[i], b.r[i]); });
}
// The larger one; x where the two are unordered, so that a NaN score stays NaN beside a floor.
template <class Isa, int N>
FOVEA_INLINE floats<Isa, N> max(const floats<Isa, N>& x, const floats<Isa, N>& floor) {
  return floats<Isa, N>::each([&](int i) FOVEA_LAMBDA_INLINE { return Isa::max(x.r[i], floor.r[i]); });
}
template <class Isa, int N>
FOVEA_INLINE floats<Isa, N> min(const floats<Isa, N>& x, const floats<Isa, N>& ceiling) {
  return floats<Isa, N>::each([&](int i) FOVEA_LAMBDA_INLINE { return Isa::min(x.r[i], ceiling.r[i]); });
}

// Lanes from .. to-1 of a, the others of b.
template <class Isa, int N>
FOVEA_INLINE floats<Isa, N> inside(int from, int to, const floats<Isa, N>& a, const floats<Isa, N>& b) {
  alignas(64) static constexpr float lane[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  const float low = static_cast<float>(from), high = static_cast<float>(to);
  return floats<Isa, N>::each([&](int i) FOVEA_LAMBDA_INLINE {
    return Isa::inside(Isa::load(lane + i * Isa::lanes), low, high, a.r[i], b.r[i]);
  });
}

// The sum of sixteen lanes as one fixed tree: i + (i + 8), then + 4, + 2, + 1.
template <class Isa>
FOVEA_INLINE float sum_tree(f32x16<Isa> x) {
#pragma GCC unroll 16
  for (int half = f32x16<Isa>::regs / 2; half > 0; half /= 2)
#pragma GCC unroll 16
    for (int i = 0; i < half; ++i) x.r[i] = Isa::add(x.r[i], x.r[i + half]);
  return Isa::sum_tree(x.r[0]);
}
template <class Isa>
FOVEA_INLINE float largest(f32x16<Isa> x) {
#pragma GCC unroll 16
  for (int half = f32x16<Isa>::regs / 2; half > 0; half /= 2)
#pragma GCC unroll 16
    for (int i = 0; i < half; ++i) x.r[i] = Isa::max(x.r[i], x.r[i + half]);
  return Isa::largest(x.r[0]);
}
template <class Isa>
FOVEA_INLINE float smallest(const f32x16<Isa>& x) {
  return 0 - largest(f32x16<Isa>::all(0) - x);
}

// The sums of sixteen lanes, for as many rows as a register has lanes: one lane for each row. Rows stand one
// after another.
template <class Isa>
FOVEA_INLINE one_register<Isa> sums_of_rows(const float* rows) {
  return {{Isa::join_rows(rows, [](auto a, auto b) FOVEA_LAMBDA_INLINE { return Isa::add(a, b); })}};
}

// Collects the largest numbers of rows. Where an ISA does not join rows, each row is reduced on its own.
template <class Isa>
class largest_of_rows {
 public:
  FOVEA_INLINE void set(int row, const f32x16<Isa>& x) {
    if constexpr (Isa::joins_rows)
      x.store(at_ + row * 16);
    else
      at_[row] = largest(x);
  }
  FOVEA_INLINE one_register<Isa> of_first(int count) { // 0 for the other rows
    if constexpr (Isa::joins_rows) {
      for (int r = count; r < Isa::lanes; ++r) f32x16<Isa>::all(0).store(at_ + r * 16);
      return {{Isa::join_rows(at_, [](auto a, auto b) FOVEA_LAMBDA_INLINE { return Isa::max(a, b); })}};
    } else {
      for (int r = count; r < Isa::lanes; ++r) at_[r] = 0;
      return one_register<Isa>::load(at_);
    }
  }

 private:
  alignas(64) float at_[Isa::lanes * (Isa::joins_rows ? 16 : 1)];
};

// How many lanes of register i are among the first n lanes of a vector.
template <class Isa>
FOVEA_INLINE int lanes_of_first(int n, int i) {
  const int rest = n - i * Isa::lanes;
  return rest < 0 ? 0 : rest < Isa::lanes ? rest : Isa::lanes;
}

// Register by register: the first `Whole` lanes exist.
template <int Whole, class Isa, int N>
FOVEA_INLINE floats<Isa, N> load_partial(const float* p, int n, floats<Isa, N>) {
  return floats<Isa, N>::each([&](int i) FOVEA_LAMBDA_INLINE {
    const float* at = p + i * Isa::lanes;
    return (i + 1) * Isa::lanes <= Whole ? Isa::load(at) : Isa::load_first(at, lanes_of_first<Isa>(n, i));
  });
}
template <int Whole, class Isa, int N>
FOVEA_INLINE void store_partial(float* p, const floats<Isa, N>& x, int n) {
  x.each_reg([&](int i) FOVEA_LAMBDA_INLINE {
    float* at = p + i * Isa::lanes;
    if ((i + 1) * Isa::lanes <= Whole)
      Isa::store(at, x.r[i]);
    else
      Isa::store_first(at, x.r[i], lanes_of_first<Isa>(n, i));
  });
}
// Without masks this is much code for several registers: one copy serves all callers.
template <class Isa, int N>
__attribute__((noinline)) floats<Isa, N> load_shared(const float* p, int n) {
  return load_partial<0>(p, n, floats<Isa, N>{});
}
template <class Isa, int N>
__attribute__((noinline)) void store_shared(float* p, const floats<Isa, N>& x, int n) {
  store_partial<0>(p, x, n);
}

// The first n elements of a row that may end before the last lane, at least `Whole`; other lanes become 0.
// Nothing after them is read or written.
template <int Whole = 0, class Isa, int N>
FOVEA_INLINE floats<Isa, N> load_first(const float* p, int n, floats<Isa, N> x) {
  if constexpr (Isa::lanes == 1) {
    float t[N] = {};
    for (int i = 0; i < n; ++i) t[i] = p[i];
    return floats<Isa, N>::load(t);
  } else if constexpr (Isa::has_masks || Whole == N - Isa::lanes) {
    return load_partial<Whole>(p, n, x);
  } else {
    return load_shared<Isa, N>(p, n);
  }
}
template <int Whole = 0, class Isa, int N>
FOVEA_INLINE void store_first(float* p, const floats<Isa, N>& x, int n) {
  if constexpr (Isa::lanes == 1) {
    float t[N];
    x.store(t);
    for (int i = 0; i < n; ++i) p[i] = t[i];
  } else if constexpr (Isa::has_masks || Whole == N - Isa::lanes) {
    store_partial<Whole>(p, x, n);
  } else {
    store_shared(p, x, n);
  }
}

} // namespace fovea::f32
