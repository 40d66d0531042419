// The numbers of an integer call that must lie in a range, as a table: a word of the call, its range, and the
// status when it lies outside. 0 says that an option is not used, so it is refused only where a range begins
// with 1. On cores such as Cortex-M4 a loop walks the table, which takes a third of the flash of a condition
// for each row; elsewhere, where calls take less time or loops more, rows become conditions.
#pragma once
#include <cstddef>
#include <utility>

#include "common/validate.hpp"
#include "fixed/kernel.hpp"

namespace fovea::fixed {
namespace {

// The widths of ranges: the greatest number minus the least one.
constexpr uint32_t range_widths[] = {0,
                                     1,
                                     2,
                                     22 - 15,
                                     24,
                                     30,
                                     50,
                                     255,
                                     fixed_greatest_dim - 1,
                                     fixed_greatest_dim,
                                     fixed_most_keys,
                                     fixed_greatest_count - 1,
                                     fixed_greatest_count,
                                     INT32_MAX - 1,
                                     INT32_MAX};

struct number_range {
  uint8_t at; // in words from the begin of the call
  int8_t least;
  uint8_t width_and_reason; // four bits each
  uint8_t argument;
};

constexpr uint8_t width_of(int64_t least, int64_t greatest) {
  uint8_t i = 0;
  while (range_widths[i] != static_cast<uint64_t>(greatest - least)) ++i;
  return i;
}

struct number_ranges {
  number_range at[64] = {};
  int count = 0;

  constexpr void in(size_t offset, int32_t least, int32_t greatest, int32_t reason, int32_t argument) {
    at[count++] = {static_cast<uint8_t>(offset / 4), static_cast<int8_t>(least),
                   static_cast<uint8_t>(width_of(least, greatest) | reason << 4),
                   static_cast<uint8_t>(argument)};
  }
  // Zero, or null: of all words that it has.
  constexpr void none(size_t offset, size_t bytes, int32_t argument, int32_t reason = FOVEA_UNSUPPORTED) {
    for (; bytes >= 4; bytes -= 4, offset += 4) in(offset, 0, 0, reason, argument);
  }
};

// Words of a call are numbers, pointers or parts of these.
using any_word = int32_t __attribute__((may_alias));
static_assert(sizeof(fovea_fixed_attention) / sizeof(any_word) <= 256);

inline bool is_in_range(const any_word* words, const number_range& x) {
  if (words[x.at] == 0 && x.least != 1) return true; // as most are, so sooner
  const uint32_t above = static_cast<uint32_t>(words[x.at]) - static_cast<uint32_t>(int32_t{x.least});
  return above <= range_widths[x.width_and_reason & 15];
}
constexpr int32_t refusal_by(const number_range& x) { return refusal(x.width_and_reason >> 4, x.argument); }

#if FOVEA_WITH_FIXED_DSP || FOVEA_WITH_FIXED_COMPACT || FOVEA_WITH_FIXED_THUMB
FOVEA_ONCE int32_t walk(const any_word* words, const number_range* x, const number_range* end) {
  do {
    if (!is_in_range(words, *x)) return refusal_by(*x);
  } while (++x != end);
  return FOVEA_OK;
}
template <class Table, size_t... Row>
int32_t check_rows(const any_word* words, int count, std::index_sequence<Row...>) {
  return walk(words, Table::rows.at, Table::rows.at + count);
}
#else
template <class Table, int Row>
int32_t check_row(const any_word* words) {
  constexpr number_range x = Table::rows.at[Row];
  return is_in_range(words, x) ? int32_t{FOVEA_OK} : refusal_by(x);
}
template <class Table, size_t... Row>
int32_t check_rows(const any_word* words, int count, std::index_sequence<Row...>) {
  int32_t s = FOVEA_OK;
  static_cast<void>(((static_cast<int>(Row) == count || (s = check_row<Table, Row>(words))) || ...));
  return s;
}
#endif

template <number_ranges (&Make)()>
struct ranges_of {
  static constexpr number_ranges made = Make();
  struct exactly {
    number_range at[made.count];
  };
  static constexpr exactly cut() {
    exactly x{};
    for (int i = 0; i < made.count; ++i) x.at[i] = made.at[i];
    return x;
  }
  static constexpr exactly rows = cut();
};

// Of so many rows of a table.
template <number_ranges (&Make)()>
int32_t check_numbers(const void* of, int count = ranges_of<Make>::made.count) {
  return check_rows<ranges_of<Make>>(static_cast<const any_word*>(of), count,
                                     std::make_index_sequence<ranges_of<Make>::made.count>());
}

template <class Pointer>
constexpr bool given(Pointer x) {
  return x != nullptr;
}

template <const fixed_offer& Offer>
struct offered {
  static constexpr bool s16 = given(Offer.s16), tables = given(Offer.check_tables),
                        floats = given(Offer.write_floats), rows = given(Offer.find_piece),
                        segments = given(Offer.check_segments);
  static bool is_s16(const fixed_plan& p) { return s16 && p.s16; }
  static bool panels(const fixed_plan& p) { return !rows || p.panels; }
};

// What each number may be, whatever the others are.
template <const fixed_offer& Offer>
constexpr number_ranges make_ranges() {
  using call = fovea_fixed_attention;
  using has = offered<Offer>;
  number_ranges x;
  const auto none = [&x](size_t at, int32_t argument, size_t bytes = 4) { x.none(at, bytes, argument); };
  const auto no_pointer = [&x](size_t at, int32_t argument) { x.none(at, sizeof(void*), argument); };
  none(offsetof(call, softcap), FOVEA_ARG_SOFTCAP);
  none(offsetof(call, q.reserved), FOVEA_ARG_RESERVED);
  none(offsetof(call, k.reserved), FOVEA_ARG_RESERVED);
  none(offsetof(call, v.reserved), FOVEA_ARG_RESERVED);
#if UINTPTR_MAX <= 0xffffffff
  none(offsetof(call, reserved), FOVEA_ARG_RESERVED);
#endif
  x.in(offsetof(call, flags), 0, FOVEA_CAUSAL | FOVEA_POSITION | FOVEA_WINDOW, FOVEA_UNSUPPORTED,
       FOVEA_ARG_FLAGS);
  if (!features::parts) none(offsetof(call, part), FOVEA_ARG_PART, sizeof(fovea_part));

  const int32_t most = fixed_greatest_count;
  x.in(offsetof(call, q_heads), 1, most, FOVEA_SIZE, FOVEA_ARG_HEADS);
  x.in(offsetof(call, dim), 1, fixed_greatest_dim, FOVEA_SIZE, FOVEA_ARG_DIM);
  x.in(offsetof(call, v_dim), 0, fixed_greatest_dim, FOVEA_SIZE, FOVEA_ARG_V_DIM);
  x.in(offsetof(call, queries), 0, most, FOVEA_SIZE, FOVEA_ARG_QUERIES);
  x.in(offsetof(call, keys), 0, most, FOVEA_SIZE, FOVEA_ARG_KEYS);
  x.in(offsetof(call, first_key), 0, most, FOVEA_RANGE, FOVEA_ARG_FIRST_KEY);
  x.in(offsetof(call, weight_bits), 15, has::s16 ? 22 : 15, FOVEA_UNSUPPORTED, FOVEA_ARG_WEIGHTS);
  x.in(offsetof(call, max_keys), 0, fixed_most_keys, FOVEA_RANGE, FOVEA_ARG_KEYS);
  if (features::kept_keys) {
    x.in(offsetof(call, prefix), 0, INT32_MAX, FOVEA_RANGE, FOVEA_ARG_PREFIX);
    x.in(offsetof(call, keep_first), 0, INT32_MAX, FOVEA_RANGE, FOVEA_ARG_KEEP_FIRST);
  } else {
    none(offsetof(call, prefix), FOVEA_ARG_PREFIX);
    none(offsetof(call, keep_first), FOVEA_ARG_KEEP_FIRST);
  }

  const int32_t widest = has::s16 ? FOVEA_FIXED_S16 : FOVEA_FIXED_S8;
  x.in(offsetof(call, q.dtype), FOVEA_FIXED_S8, widest, FOVEA_UNSUPPORTED, FOVEA_ARG_Q);
  if (!has::s16) { // else they are what q is
    none(offsetof(call, k.dtype), FOVEA_ARG_K);
    none(offsetof(call, v.dtype), FOVEA_ARG_V);
  }
  x.in(offsetof(call, out.dtype), FOVEA_FIXED_S8, has::floats ? FOVEA_FIXED_F32 : FOVEA_FIXED_S16,
       FOVEA_UNSUPPORTED, FOVEA_ARG_OUT);
  const int32_t layout = has::rows ? FOVEA_ROWS : FOVEA_PANELS;
  x.in(offsetof(call, q.layout), FOVEA_ROWS, FOVEA_ROWS, FOVEA_UNSUPPORTED, FOVEA_ARG_Q);
  x.in(offsetof(call, k.layout), layout, FOVEA_PANELS, FOVEA_UNSUPPORTED, FOVEA_ARG_K);
  if (!has::rows) // else it is that of k
    x.in(offsetof(call, v.layout), layout, FOVEA_PANELS, FOVEA_UNSUPPORTED, FOVEA_ARG_V);
  x.in(offsetof(call, q.zero_point), -128, 127, FOVEA_RANGE, FOVEA_ARG_Q);
  x.in(offsetof(call, k.zero_point), -128, 127, FOVEA_RANGE, FOVEA_ARG_K);
  x.in(offsetof(call, v.zero_point), -128, 127, FOVEA_RANGE, FOVEA_ARG_V);
  if (!has::rows) {
    x.none(offsetof(call, k.token_stride), sizeof(ptrdiff_t), FOVEA_ARG_K, FOVEA_STRIDE);
    x.none(offsetof(call, v.token_stride), sizeof(ptrdiff_t), FOVEA_ARG_V, FOVEA_STRIDE);
  }

  if (!has::tables) {
    no_pointer(offsetof(call, head_scales), FOVEA_ARG_SCALE);
    no_pointer(offsetof(call, key_multipliers.data), FOVEA_ARG_K);
    no_pointer(offsetof(call, key_sums.data), FOVEA_ARG_K);
    no_pointer(offsetof(call, value_weights.data), FOVEA_ARG_V);
  }
  if (!has::tables || !features::masks) {
    no_pointer(offsetof(call, mask.data), FOVEA_ARG_MASK);
    no_pointer(offsetof(call, bias.data), FOVEA_ARG_MASK);
  }
  if (!has::tables || !features::alibi) no_pointer(offsetof(call, alibi), FOVEA_ARG_ALIBI);
  if (!has::tables || !features::sinks) no_pointer(offsetof(call, sinks), FOVEA_ARG_SINKS);
  if (!has::segments) no_pointer(offsetof(call, segments), FOVEA_ARG_SEGMENTS);
  return x;
}

// Of a scale; those of integer output come last.
template <const fixed_offer& Offer>
constexpr number_ranges make_scale_ranges() {
  using scale = fovea_fixed_scale;
  number_ranges x;
  const auto in = [&x](size_t at, int32_t least, int32_t most) {
    x.in(at, least, most, FOVEA_RANGE, FOVEA_ARG_SCALE);
  };
  in(offsetof(scale, score_multiplier), 1, INT32_MAX);
  in(offsetof(scale, score_shift), 1, 31);
  in(offsetof(scale, score_pre_shift), 0, offered<Offer>::s16 ? 24 : 0);
  in(offsetof(scale, out_multiplier), 1, INT32_MAX);
  in(offsetof(scale, out_shift), -30, 20);
  return x;
}

} // namespace
} // namespace fovea::fixed
