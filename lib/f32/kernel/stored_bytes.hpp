// Bytes of K and V in the panels that integer calls read: fixed/panels.hpp says where each one stands.
// Sixteen lanes of four steps are 64 bytes: each step is a shift, and a conversion that is exact.
#pragma once
#include "f32/kernel/kv_view.hpp"
#include "fovea/fixed.h"

namespace fovea::f32 {

// Rows of bytes.
struct s8_element {
  using stored = int8_t;
  static constexpr int bytes = 1;
  template <class Isa, int N>
  static FOVEA_INLINE floats<Isa, N> load(const stored* p, floats<Isa, N>) {
    return floats<Isa, N>::each([&](int i)
                                    FOVEA_LAMBDA_INLINE { return bytes_to_floats<Isa>(p + i * Isa::lanes); });
  }
  template <int Whole = 0, class Isa, int N>
  static FOVEA_INLINE floats<Isa, N> load_first(const stored* p, int n, floats<Isa, N> x) {
    if constexpr (Isa::lanes == 1) { // no copy: memcpy may read words where bytes stand
      for (int i = 0; i < N; ++i) x.r[i] = i < n ? static_cast<float>(p[i]) : 0;
      return x;
    } else {
      const sixteen_bytes t = first_bytes(p, n);
      return load(reinterpret_cast<const stored*>(&t), x);
    }
  }

 private:
  template <class Isa>
  static FOVEA_INLINE typename Isa::reg bytes_to_floats(const stored* p) {
    if constexpr (Isa::lanes == 1) {
      return static_cast<float>(*p);
    } else if constexpr (Isa::widens_s8) {
      return Isa::load_s8(p);
    } else {
      using lanes = lane_words<Isa::lanes>;
      typename lanes::bytes b;
      std::memcpy(&b, p, sizeof b);
      return same_bits<typename Isa::reg>(__builtin_convertvector(
          __builtin_convertvector(b, typename lanes::integers), typename lanes::numbers));
    }
  }
};

// Sixteen lanes, four steps of each.
template <class Isa>
struct quad {
  static_assert(Isa::lanes > 1);
  using integers = typename lane_words<Isa::lanes>::integers;
  using numbers = typename lane_words<Isa::lanes>::numbers;
  static constexpr int regs = 16 / Isa::lanes;
  integers at[regs];

  quad() = default;
  explicit FOVEA_INLINE quad(const int8_t* p) {
#pragma GCC unroll 4
    for (int i = 0; i < regs; ++i)
      if constexpr (Isa::shuffles_bytes)
        at[i] = same_bits<integers>(Isa::load_once(p + i * 4 * Isa::lanes));
      else
        std::memcpy(&at[i], p + i * 4 * Isa::lanes, sizeof at[i]);
  }
  // The numbers of a step.
  FOVEA_INLINE f32x16<Isa> step(int i) const {
    return each([&](const integers& x) FOVEA_LAMBDA_INLINE { return (x << (24 - 8 * i)) >> 24; });
  }
  // 2^24 times as much, which takes one operation less: the byte moves to the top of its lane, and no sign
  // has to come down again.
  FOVEA_INLINE f32x16<Isa> step_on_top(int i) const {
    return each([&](const integers& x) FOVEA_LAMBDA_INLINE {
      if (i == 3) return x & top_byte;
      if constexpr (Isa::shuffles_bytes)
        return same_bits<integers>(Isa::byte_on_top(same_bits<typename Isa::reg>(x), i));
      else
        return i == 0 ? x << 24 : (x << (24 - 8 * i)) & top_byte;
    });
  }

 private:
  static constexpr int32_t top_byte = -(1 << 24);
  template <class Place>
  FOVEA_INLINE f32x16<Isa> each(Place place) const {
    return f32x16<Isa>::each([&](int r) FOVEA_LAMBDA_INLINE {
      const integers x = place(at[r]);
      return same_bits<typename Isa::reg>(__builtin_convertvector(x, numbers));
    });
  }
};

// Where the steps of a lane stand in panels of either order.
struct lane_of_bytes {
  const int8_t* at;
  int mask, factor; // mask + 1 steps stand side by side; the next ones are factor times as far on
  const int8_t* step(int n) const { return at + (n & ~mask) * factor + (n & mask); }
  float operator[](int n) const { return static_cast<float>(*step(n)); }
};
// Steps from .. to-1 of a lane become floats, `stride` of them apart.
template <class Isa>
__attribute__((noinline)) void expand_lane(const lane_of_bytes& lane, int from, int to, float* out,
                                           ptrdiff_t stride) {
  for (int n = from, end; n < to; n = end) {
    end = (n | lane.mask) < to ? (n | lane.mask) + 1 : to;
    const int8_t* at = lane.step(n);
    const auto expand = [&]() FOVEA_LAMBDA_INLINE {
      *out = static_cast<float>(*at++);
      out += stride;
    };
    int left = end - n;
    for (; left >= 4; left -= 4) {
      expand();
      expand();
      expand();
      expand();
    }
    for (; left > 0; --left) expand();
  }
}
inline lane_of_bytes key_lane(const int8_t* panel, int lane, int depth) {
  if (fovea_fixed_panel_order() == 2) return {panel + lane / 4 * 4 * depth + lane % 4 * 16, 15, 4};
  return {panel + lane * 4, 3, 16};
}
inline lane_of_bytes value_lane(const int8_t* panel, int column) {
  if (fovea_fixed_panel_order() == 2) return {panel + column * 64, 63, 1};
  return {panel + column / 16 * 1024 + column % 16 * 4, 3, 16};
}

// A panel of sixteen keys becomes one of floats.
template <class Isa>
__attribute__((noinline)) void expand_key_panel(const int8_t* panel, int dim, int depth, float* out) {
  if constexpr (Isa::lanes == 1) {
    for (int l = 0; l < 16; ++l) expand_lane<Isa>(key_lane(panel, l, depth), 0, dim, out + l, 16);
  } else {
    for (int c = 0; c < dim; c += 4, panel += 64) {
      const quad<Isa> x(panel);
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i)
        if (c + i < dim) x.step(i).store(out + (c + i) * 16);
    }
  }
}

// Keys from .. to-1 of a panel of 64 become rows of floats, of which some columns are wanted.
template <class Isa>
void expand_columns(const int8_t* panel, int column, int columns, int from, int to, float* out,
                    ptrdiff_t stride) {
  for (int c = 0; c < columns; ++c)
    expand_lane<Isa>(value_lane(panel, column + c), from, to, out + c, stride);
}
// The same of all columns.
template <class Isa>
__attribute__((noinline)) void expand_values(const int8_t* panel, int v_dim, int from, int to, float* out,
                                             ptrdiff_t stride) {
  if constexpr (Isa::lanes == 1) {
    expand_columns<Isa>(panel, 0, v_dim, from, to, out, stride);
  } else {
    // Rows have room for whole vectors.
    for (int c = 0; c < v_dim; c += 16, panel += 1024)
      for (int key = from & -4; key < to; key += 4) {
        const quad<Isa> x(panel + key * 16);
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i)
          if (key + i >= from && key + i < to) x.step(i).store(out + (key + i - from) * stride + c);
      }
  }
}

} // namespace fovea::f32
