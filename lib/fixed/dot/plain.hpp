// Cores that multiply one or two numbers at a time. A Core adds some lanes of a panel by one or two rows;
// everything else is shared.
#pragma once
#include <type_traits>

#include "fixed/compact.hpp"

#if defined(__clang__)
#define FOVEA_NO_CLONE
#else
#define FOVEA_NO_CLONE __attribute__((noclone))
#endif

namespace fovea::fixed {

template <class Core>
struct plain_dot : Core {
  using element = typename Core::element;
  static constexpr int planes = 1;
  static constexpr bool takes_queries = false, begins_sums = false;
  // Keys, lanes and numbers behind the last one that counts are computed up to multiples of these.
  static constexpr int key_step = 8, lane_step = 8, depth_step = 8;

  // count: a multiple of four, not 0.
  FOVEA_HOT static void fill(int32_t* x, int32_t count, int32_t value) {
#if defined(__thumb__) // compilers would store one number at a time
    asm volatile(
        ".syntax unified\n"
        "mov r3, %[value]\n"
        "mov r4, %[value]\n"
        "mov r5, %[value]\n"
        "mov r6, %[value]\n"
        "1:\n"
        "stmia %[x]!, {r3-r6}\n"
        "cmp %[x], %[end]\n"
        "bne 1b"
        : [x] "+l"(x)
        : [value] "l"(value), [end] "l"(x + count)
        : "r3", "r4", "r5", "r6", "cc", "memory");
#else
    for (const int32_t* end = x + count; x != end; x += 4) x[0] = x[1] = x[2] = x[3] = value;
#endif
  }

  // Four elements from c on.
  static constexpr int query_step = 4;
  static FOVEA_COMPACT void put_query(element* to, int rows, int g, int c, const int8_t* q) {
    Core::put_four(to + Core::place(rows, g, c), rows, q);
  }

  FOVEA_HOT static int32_t largest(const int32_t* t, int keys) {
    int32_t top = *t;
    t = in_pairs(t);
    const int32_t* const end = t + keys;
    do {
      const int32_t a = *t++, b = *t++;
      top = top < a ? a : top;
      top = top < b ? b : top;
    } while (t != end);
    return top;
  }

  // Scores of keys that a row does not see.
  static FOVEA_COMPACT void hide_unseen(int32_t* s, const seen_of_block& seen, int keys, int32_t absent) {
    for (int key = 0;; s[key++] = absent) {
      if (key == seen.first) key = seen.head;
      if (key == seen.from) key = seen.to;
      if (key >= keys) return;
    }
  }

  // What products are added to.
  static void begin_scores(int32_t* s, int count, int32_t start) { fill(s, count, start); }
  static void score(int rows, const element* q, const int8_t* keys, int dim, int depth, int count, int32_t,
                    int32_t* s) {
    add(rows, q, keys, dim, depth, s, fixed_block, count);
  }
  // Sums begin with these values, or grow by them.
  static void add_values(bool first, int rows, const element* weights, int keys, const int8_t* values,
                         int32_t* to, int stride, int count) {
    if (first) fill(to, rows * count, 0);
    add(rows, weights, values, keys, fixed_block, to, stride, count);
  }

  // Linear layers: sixteen bytes of a row, and a row by a panel of weights.
  static void put(const int8_t (&x)[16], element* to) {
    for (int c = 0; c < 16; c += 4) put_query(to, 1, 0, c, x + c);
  }
  static void multiply(const element* x, const int8_t* panel, int depth, int32_t* sums) {
    multiply_row(x, panel, depth, 16, sums);
  }
  static void multiply_row(const element* x, const int8_t* panels, int depth, int count, int32_t* sums) {
    fill(sums, count, 0);
    add(1, x, panels, depth, depth, sums, 0, count);
  }

  // Sixteen sums, shifted and rounded.
  FOVEA_HOT static void add_shifted(int32_t* to, const int32_t* from, int down) {
#pragma GCC unroll 1
    for (int i = 0; i < 16; ++i) to[i] += ((from[i] >> (down - 1)) + 1) >> 1;
  }

  // In place: the high words of (x << up) * multiplier.
  FOVEA_HOT static void high_products(int32_t* x, int32_t count, int32_t multiplier, int up) {
    const int32_t* const end = x + count;
    do Core::high_pair(x, multiplier, up);
    while (x != end);
  }

  static FOVEA_COMPACT void write(int32_t* acc, const output_factor& f, const fixed_plan& p,
                                  unsigned char* out) {
    if (!Core::scales_and_narrows) high_products(acc, p.width, f.multiplier, f.left);
    narrow(acc, f, p, out);
  }

  // Scores become octaves in place before weights are computed: for both at once there are too few registers.
  struct mapping {
    int32_t operator()(int32_t octaves) const { return octaves; }
    static int32_t absent() { return fixed_absent; }
  };
  static mapping prepare(int32_t* s, int keys, const to_octaves& by) {
    high_products(s, keys, by.multiplier, by.up);
    return {};
  }

  // False, and nothing summed, when a key lies above the reference.
  static FOVEA_COMPACT bool weigh(const int32_t* t, int keys, mapping, int32_t base, int rows, int g,
                                  element* to, uint32_t& sum) {
    return weigh_row(t, keys, base, to + Core::place(rows, g, 0), rows, sum);
  }

  // The weight of a sink is that of a key alone.
  static uint32_t weigh_sink(const fixed_plan& p, fixed_row& r, int32_t* t, void* weights) {
    for (int i = 1; i < Core::weigh_step; ++i) t[i] = fixed_absent;
    *t = take_sink(p, r);
    uint32_t sum = 0;
    weigh_row(t, Core::weigh_step, left_shift(r.reference, 16), static_cast<element*>(weights), 1, sum);
    return sum;
  }

  // Weights of keys from .. to - 1. Those of all others are 0.
  static void scale_weights(element* weights, int rows, int g, const int16_t* by, int from, int to) {
    if constexpr (Core::scales_fours) {
      int i = from & ~3;
      element* four = weights + Core::place(rows, g, i);
      for (by += i; i < to; i += 4, by += 4, four += 4 * rows) {
        int16_t some[4];
        const int16_t* x = by;
        if (i < from || i + 4 > to) { // some factors are not there
          for (int j = 0; j < 4; ++j) some[j] = from <= i + j && i + j < to ? by[j] : int16_t{0};
          x = some;
        }
        Core::scale_four(four, x);
      }
    } else {
      for (; from < to; ++from) {
        element& weight = weights[Core::place(rows, g, from)];
        weight = static_cast<element>(multiply_round(weight, by[from]));
      }
    }
  }

 private:
  // Numbers of a row begin at a multiple of 64 bytes. Compilers that may not use unaligned access take LDRD
  // only where they know the alignment.
  template <class T>
  static FOVEA_COMPACT T* in_pairs(T* x) {
    return static_cast<T*>(__builtin_assume_aligned(x, 8));
  }

  FOVEA_HOT static bool weigh_row(const int32_t* t, int keys, int32_t base, element* to, int rows,
                                  uint32_t& total) {
    uint32_t sum = total;
    if (Core::weigh(t, keys, base, to, Core::most_rows == 1 ? 1 : rows, sum) < 0) return false;
    total = sum;
    return true;
  }

  static FOVEA_COMPACT void narrow(const int32_t* x, const output_factor& f, const fixed_plan& p,
                                   unsigned char* out) {
    const auto each = [&x, half = (1 << (f.shift - 1)) - f.zero, multiplier = f.multiplier, shift = f.shift,
                       left = f.left, zero = p.zero_out, count = p.v_dim](auto* to) FOVEA_COMPACT_INLINE {
      using number = std::remove_pointer_t<decltype(to)>;
      number* const end = to + count;
      do {
        const int32_t y = Core::scaled(*x++, left, multiplier, half);
        *to++ = static_cast<number>(Core::template saturate<8 * sizeof(number)>((y >> shift) + zero));
      } while (to != end);
    };
    if (p.out_type == FOVEA_FIXED_S8)
      each(reinterpret_cast<int8_t*>(out));
    else
      each(reinterpret_cast<int16_t*>(out));
  }

  // to[g][lane] += sum over depth of a[g] * panel[lane]; sixteen lanes a panel, which may be deeper. The
  // functions below have the same arguments, so that this one passes them on where they stand.
  FOVEA_COLD static void add(int rows, const element* a, const int8_t* panel, int depth, int panel_depth,
                             int32_t* to, int stride, int count) {
    if (Core::panel_alignment > 1 && reinterpret_cast<uintptr_t>(panel) % Core::panel_alignment)
      add_bytes(rows, a, panel, depth, panel_depth, to, stride, count);
    else
      Core::add(rows, a, panel, depth, panel_depth, to, stride, count);
  }

  // Panels at any address: eight elements of each lane at a time are copied to an aligned place.
  FOVEA_COLD static void add_bytes(int rows, const element* a, const int8_t* panel, int depth,
                                   int panel_depth, int32_t* to, int stride, int count) {
    alignas(4) int8_t piece[8 * 16];
    for (; count > 0; count -= 16, to += 16, panel += 16 * (panel_depth - depth)) {
      const element* x = a;
      for (int left = depth; left > 0; left -= 8, x += 8 * rows) {
        for (int8_t& byte : piece) {
          byte = *panel++;
          asm("" : "+r"(panel)); // else compilers call memcpy, which may load words from any address
        }
        add(rows, x, piece, 8, 8, to, stride, count < 16 ? count : 16);
      }
    }
  }
};

// What such a core adds: tiles of lanes by one row, or by as many as it takes.
template <class Core>
struct lane_tiles {
  template <class Element>
  static FOVEA_COMPACT void add(int rows, const Element* a, const int8_t* panel, int depth, int panel_depth,
                                int32_t* to, int stride, int count) {
    if (rows == 1)
      add_tiles<1>(rows, a, panel, depth, panel_depth, to, stride, count);
    else
      add_tiles<Core::most_rows>(rows, a, panel, depth, panel_depth, to, stride, count);
  }

 private:
  template <int G, class Element>
  FOVEA_HOT FOVEA_NO_CLONE static void add_tiles(int, const Element* a, const int8_t* panel, int depth,
                                                 int panel_depth, int32_t* to, int stride, int count) {
    constexpr int lanes = Core::lanes[G];
    to = static_cast<int32_t*>(__builtin_assume_aligned(to, 8));
    stride &= ~1;
    for (const int32_t* end = to + count; to != end; panel += 16 * (panel_depth - 4)) {
      const int32_t* const panel_end = end - to < 16 ? end : to + 16;
      for (; to != panel_end; to += lanes, panel += 4 * lanes) {
        int32_t o[lanes][G];
#pragma GCC unroll 8
        for (int l = 0; l < lanes; ++l)
#pragma GCC unroll 2
          for (int g = 0; g < G; ++g) o[l][g] = to[g * stride + l];
        Core::template multiply<G>(a, panel, depth, o);
#pragma GCC unroll 8
        for (int l = 0; l < lanes; ++l)
#pragma GCC unroll 2
          for (int g = 0; g < G; ++g) to[g * stride + l] = o[l][g];
      }
    }
  }
};

// Weights one key at a time.
template <class Element, class Core>
struct plain_weights {
  static constexpr bool scales_fours = false;
  static constexpr int weigh_step = 1;             // keys
  static constexpr bool scales_and_narrows = true; // output, in one loop
  static constexpr int panel_alignment = 1, query_alignment = 1;
  static FOVEA_COMPACT void high_pair(int32_t*& x, int32_t multiplier, int up) { // and moves on behind it
    x[0] = high_product(left_shift(x[0], up), multiplier);
    x[1] = high_product(left_shift(x[1], up), multiplier);
    x += 2;
  }
  // The high word of (x << left) * multiplier, plus half.
  static FOVEA_COMPACT int32_t scaled(int32_t x, int left, int32_t multiplier, int32_t half) {
    return (Core::scales_and_narrows ? high_product(left_shift(x, left), multiplier) : x) + half;
  }

  static FOVEA_COMPACT int32_t cap(int32_t u) {
    return static_cast<uint32_t>(u) > 0x1fffff ? 0x1fffff : u;
  } // below zero: `sign` tells
  template <int Bits>
  static FOVEA_COMPACT int32_t saturate(int32_t x) {
    constexpr int32_t limit = 1 << (Bits - 1);
    return x < -limit ? -limit : x >= limit ? limit - 1 : x;
  }

  static void put_four(Element* to, int rows, const int8_t* q) {
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) to[i * rows] = q[i];
  }

  // Negative when a key lies above the base.
  static FOVEA_COMPACT int32_t weigh(const int32_t* t, int keys, int32_t base, Element* to, int rows,
                                     uint32_t& sum) {
    int32_t sign = 0, c3 = -1270, c2 = summand(3672), c1 = summand(-11313), c0 = summand(16255); // exp2_cubic
    asm("" : "+r"(c3), "+r"(c2), "+r"(c1), "+r"(c0)); // compilers would make long constants anew for each key
    for (const int32_t* end = t + keys; t != end; ++t, to += rows) {
      const int32_t below = base - *t;
      sign |= below;
      const int32_t u = Core::cap(below), h = ((u >> 1) & 0x7fff) - 32768, y = (c3 * h + c2) >> 15,
                    z = (y * h + c1) >> 15;
      const int32_t weight = ((((z * h + c0) >> 15) * 2 >> (u >> 16)) + 1) >> 1; // as shift_weight
      sum += static_cast<uint32_t>(weight);
      *to = static_cast<Element>(weight);
    }
    return sign;
  }

  static constexpr int32_t summand(int32_t c) { return c * (1 << 15) + (1 << 14); }
};

} // namespace fovea::fixed
