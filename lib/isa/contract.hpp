// The contract of an ISA of floats: what lib/isa/<name>.cpp must offer so that the kernels of lib/f32/kernel,
// written once, run on it. An ISA derives from isa_defaults and states what differs. The compiler names what
// is missing or has another type.
#pragma once
#include <type_traits>
#include <utility>

#include "f32/kernel/floats.hpp"

namespace fovea::f32 {

// Flags for what some ISAs offer. An ISA that sets a flag has the operations named with it. No flag changes
// results.
struct isa_defaults {
  static constexpr int never = 1000;

  // Rows of a tile that one address register reaches: 3 where an address may add another register once or
  // twice.
  static constexpr int rows_a_pointer = 1;
  // Columns that rows of K are transposed by. With 8 also columns(row, t) of eight registers and column(t,
  // i). With sixteen lanes also columns(row, t) of sixteen registers, which loads each row once.
  static constexpr int columns_at_once = 4;
  // One instruction loads a column of rows that are equally far apart: columns_apart(p, stride, t), as
  // columns with rows at p + i * stride.
  static constexpr bool loads_columns = false;
  // Registers in use from which on compilers would move sums about. There add_product(sum, a, b) keeps each
  // in its place.
  static constexpr int pin_sums_from = never;
  // A product may take one factor from any lane of a register: fma_by_lane(a, lane, b, c), add_product,
  // load_pair(p, x, y), load_sixteen(p), load_sixteen(p, step), add_products(z, x, y) and the type sixteen.
  static constexpr bool by_lane = false;
  // Where rows see different keys, tiles begin with the second shape: the first is larger than is needed.
  static constexpr bool smaller_stairs = false;
  // join_rows(rows, op): a lane for each row, its sixteen numbers joined by the fixed tree.
  static constexpr bool joins_rows = false;
  // Three to eight rows of queries against four rows of K at a time: spread_within_quarters(row, t),
  // transpose_quarters(row, t), spread_four(p) and store_quarters(p, stride, x). Wants sixteen lanes.
  static constexpr bool scores_4x4 = false;
  // Tiles of three or four rows that prefetch: the shapes four_row_scores and four_row_values.
  static constexpr bool four_row_shapes = false;
  // fraction(x): x - its nearest integer, 0 for infinity, in one instruction.
  static constexpr bool tells_fraction = false;
  // load_first and store_first are one instruction, and a mask. copy_first(to, p, n): the first n of sixteen
  // halves, 0 to all, then zeros. if_shown(p, a, b): a where a byte is not 0, else b.
  static constexpr bool has_masks = false;
  // load_f16(p): a register of float16 numbers, by an instruction.
  static constexpr bool converts_f16 = false;
  // load_bf16(p): the same of bfloat16, where the compiler makes too much of it.
  static constexpr bool widens_bf16 = false;
  // load_mixed(p, x): two registers of bfloat16 numbers, in an order that takes fewer operations. unmix(x)
  // puts them in order.
  static constexpr bool mixes_bf16 = false;
  // store_f16(p, x): a register rounded to float16 numbers, by an instruction.
  static constexpr bool narrows_f16 = false;
  // load_s8(p): a register of bytes as floats, where the compiler makes too much of it.
  static constexpr bool widens_s8 = false;
  // Plain floats: add_eight(by, p, x) adds eight products to eight sums; add_eight_products(q, rows, x) goes
  // on with the chains of four rows.
  static constexpr bool loads_eight = false;
  // Plain floats: weigh_fours(s, end, sum, shift, terms) makes weights of scores, four at a time.
  static constexpr bool weighs_fours = false;
  // Plain floats: silu_fours(x, end, y) is SiLU of four numbers at a time.
  static constexpr bool activates_fours = false;
  // Plain floats: add_fours(a, b, to, end) and multiply_fours(y, x, end), by numbers, four at a time.
  static constexpr bool joins_fours = false;
  // Plain floats: largest_of_fours(s, end, peak) is Isa::max of them all, four at a time.
  static constexpr bool compares_fours = false;
  // Plain floats: multiply_panel(q, end, k, s) writes the scores of sixteen keys.
  static constexpr bool multiplies_panels = false;
  // Plain floats: sum_of_sixteen(x) is what sum_tree is of the same sixteen numbers.
  static constexpr bool sums_lanes = false;
  // Plain floats: sum_columns<8 or 16>(weights, count, v, stride, to) writes the sums of so many columns of
  // V.
  static constexpr bool sums_columns = false;
  // byte_on_top(x, i): byte i of each lane moves to its top, the others become 0. store_halves(p, x): the
  // lower halves of all lanes as integers, and from p + 16 on the upper ones. load_once(p): a register of
  // bytes, which the compiler does not load again for each use.
  static constexpr bool shuffles_bytes = false;
  // The largest tiles prefetch values.
  static constexpr bool fetches_values = false;
  // Attention takes rows one by one, in little code: kernel/compact.hpp. Wants one lane; or four, and
  // zero(), larger_first(a, b, n), which drops a NaN, weigh(s, count, sum, lane, shift, floor, terms),
  // add_sixteens(by, count, row, stride, x) and multiply_rows(q, dim, k, stride, s, count):
  // kernel/lane_steps.hpp.
  static constexpr bool by_row = false;
  // Rows of several KV heads that may share a tile; 0 where that does not pay.
  static constexpr int batched_rows = 0;
  // Four products in turn cost less than a quotient, and fma rounds once.
  static constexpr bool divides_by_products = false;
  // store_nearest also takes thirty-two numbers.
  static constexpr bool narrows_32 = false;
  // Only these need max_signed, max_unsigned and store_nearest.
  static constexpr bool keeps_denormals = true;
};

// Numbers of a row that loops over rows take together.
template <class Isa>
constexpr int numbers_at_once = Isa::lanes == 1 ? 1 : 16;

// Every ISA has
//   reg, lanes           a register of 1, 4, 8 or 16 floats
//   shapes               its tiles, largest first; the last has one row
//   product_shapes       the same for products with packed weights
//   rows                 of a tile: a multiple of the largest shape
//   load(p), store(p, x), spread(float)
//   load_first(p, n), store_first(p, x, n)   with several lanes: the first n of them, 0 to all. Others become
//                        0, and nothing else is read or written
//   fma(a, b, c)         a * b + c, rounded once; without such an instruction the ISA carries no bit promise
//   add, sub, mul, div (a, b), abs(x)
//   max(x, floor), min(x, ceiling)   x where the two are unordered: a NaN stays
//   sum_tree(x), largest(x)          over all lanes, i and i + lanes / 2 first
//   inside(lane, from, to, a, b)     a where from <= lane < to, else b
//   if_equal(x, value, a, b)         a where x == value, else b
//   any_nan(x)
//   split(x, m, n)       x = m * 2^n with m in [sqrt(1/2), sqrt(2))
//   power(t)             2^n, where n + 127 stands in the low bits of the float t
//   columns(row, t)      four columns of as many rows as a register has lanes; row(i) is where row i stands
//   max_signed(a, b), max_unsigned(a, b)   of the bits of each lane as integers
//   store_nearest(p, x, zero)        as int8_t or int16_t: nearest integers, halves to even, plus zero; what
//                                    does not fit is clipped, up to 2^20. x is an array of registers
template <class Isa>
constexpr bool keeps_contract() {
  using reg = typename Isa::reg;
  using of_one = reg (*)(reg);
  using of_two = reg (*)(reg, reg);
  static_assert(std::is_base_of_v<isa_defaults, Isa>, "an ISA derives from isa_defaults");
  static_assert(Isa::lanes == 1 || Isa::lanes == 4 || Isa::lanes == 8 || Isa::lanes == 16,
                "sixteen floats are whole registers");
  static_assert(sizeof(reg) == Isa::lanes * sizeof(float), "a register is its lanes and nothing else");
  static_assert(Isa::rows % largest_rows(typename Isa::shapes{}) == 0, "rows are groups of the first shape");
  static_assert(smallest_rows(typename Isa::shapes{}) == 1, "the last shape has one row");
  static_assert(!Isa::by_row || Isa::lanes == 1 || Isa::lanes == 4, "row by row is for small cores");
  static_assert(smallest_rows(typename Isa::product_shapes{}) == 1, "here, too");

  static_assert(std::is_same_v<decltype(&Isa::load), reg (*)(const float*)>, "load");
  static_assert(std::is_same_v<decltype(&Isa::store), void (*)(float*, reg)>, "store");
  static_assert(std::is_same_v<decltype(&Isa::spread), reg (*)(float)>, "spread");
  if constexpr (Isa::lanes > 1) {
    static_assert(std::is_same_v<decltype(&Isa::load_first), reg (*)(const float*, int)>, "load_first");
    static_assert(std::is_same_v<decltype(&Isa::store_first), void (*)(float*, reg, int)>, "store_first");
  }
  static_assert(std::is_same_v<decltype(&Isa::fma), reg (*)(reg, reg, reg)>, "fma");
  static_assert(std::is_same_v<decltype(&Isa::add), of_two>, "add");
  static_assert(std::is_same_v<decltype(&Isa::sub), of_two>, "sub");
  static_assert(std::is_same_v<decltype(&Isa::mul), of_two>, "mul");
  static_assert(std::is_same_v<decltype(&Isa::div), of_two>, "div");
  static_assert(std::is_same_v<decltype(&Isa::abs), of_one>, "abs");
  static_assert(std::is_same_v<decltype(&Isa::max), of_two>, "max");
  static_assert(std::is_same_v<decltype(&Isa::min), of_two>, "min");
  static_assert(std::is_same_v<decltype(&Isa::sum_tree), float (*)(reg)>, "sum_tree");
  static_assert(std::is_same_v<decltype(&Isa::largest), float (*)(reg)>, "largest");
  static_assert(std::is_same_v<decltype(&Isa::inside), reg (*)(reg, float, float, reg, reg)>, "inside");
  static_assert(std::is_same_v<decltype(&Isa::if_equal), reg (*)(reg, float, reg, reg)>, "if_equal");
  static_assert(std::is_same_v<decltype(&Isa::any_nan), bool (*)(reg)>, "any_nan");
  static_assert(std::is_same_v<decltype(&Isa::split), void (*)(reg, reg&, reg&)>, "split");
  static_assert(std::is_same_v<decltype(&Isa::power), of_one>, "power");

  if constexpr (Isa::keeps_denormals) {
    using regs = reg[numbers_at_once<Isa> / Isa::lanes];
    static_assert(std::is_same_v<decltype(&Isa::max_signed), of_two>, "max_signed");
    static_assert(std::is_same_v<decltype(&Isa::max_unsigned), of_two>, "max_unsigned");
    static_assert(std::is_void_v<decltype(Isa::store_nearest(static_cast<int8_t*>(nullptr),
                                                             std::declval<const regs&>(), int32_t{}))>,
                  "store_nearest");
    static_assert(std::is_void_v<decltype(Isa::store_nearest(static_cast<int16_t*>(nullptr),
                                                             std::declval<const regs&>(), int32_t{}))>,
                  "store_nearest");
  }

  // What a flag promises.
  if constexpr (Isa::by_row && Isa::lanes > 1) {
    using sums = reg(&)[16 / Isa::lanes];
    static_assert(std::is_same_v<decltype(&Isa::add_sixteens),
                                 void (*)(const float*, int, const float*, ptrdiff_t, sums)>,
                  "add_sixteens");
    static_assert(std::is_same_v<decltype(&Isa::multiply_rows),
                                 void (*)(const float*, int, const float*, ptrdiff_t, float*, int)>,
                  "multiply_rows");
    static_assert(std::is_same_v<decltype(&Isa::weigh),
                                 void (*)(float*, int, float*, int, float, float, const float(&)[5])>,
                  "weigh");
  }
  if constexpr (Isa::pin_sums_from != Isa::never || Isa::by_lane)
    static_assert(std::is_same_v<decltype(&Isa::add_product), void (*)(reg&, reg, reg)>, "add_product");
  if constexpr (Isa::by_lane)
    static_assert(std::is_same_v<decltype(&Isa::fma_by_lane), reg (*)(reg, int, reg, reg)>, "fma_by_lane");
  if constexpr (Isa::loads_columns)
    static_assert(std::is_same_v<decltype(&Isa::columns_apart), void (*)(const float*, ptrdiff_t, reg(&)[4])>,
                  "columns_apart");
  if constexpr (Isa::tells_fraction)
    static_assert(std::is_same_v<decltype(&Isa::fraction), of_one>, "fraction");
  if constexpr (Isa::has_masks) {
    static_assert(std::is_same_v<decltype(&Isa::copy_first), void (*)(uint16_t*, const uint16_t*, int)>,
                  "copy_first");
    static_assert(std::is_same_v<decltype(&Isa::if_shown), reg (*)(const uint8_t*, reg, reg)>, "if_shown");
  }
  if constexpr (Isa::converts_f16)
    static_assert(std::is_same_v<decltype(&Isa::load_f16), reg (*)(const uint16_t*)>, "load_f16");
  if constexpr (Isa::narrows_f16)
    static_assert(std::is_same_v<decltype(&Isa::store_f16), void (*)(uint16_t*, reg)>, "store_f16");
  if constexpr (Isa::widens_bf16)
    static_assert(std::is_same_v<decltype(&Isa::load_bf16), reg (*)(const uint16_t*)>, "load_bf16");
  if constexpr (Isa::mixes_bf16) {
    static_assert(std::is_same_v<decltype(&Isa::load_mixed), void (*)(const uint16_t*, reg(&)[2])>,
                  "load_mixed");
    static_assert(std::is_same_v<decltype(&Isa::unmix), void (*)(reg(&)[2])>, "unmix");
  }
  if constexpr (Isa::widens_s8)
    static_assert(std::is_same_v<decltype(&Isa::load_s8), reg (*)(const int8_t*)>, "load_s8");
  if constexpr (Isa::shuffles_bytes) {
    static_assert(std::is_same_v<decltype(&Isa::byte_on_top), reg (*)(reg, int)>, "byte_on_top");
    static_assert(std::is_same_v<decltype(&Isa::load_once), reg (*)(const int8_t*)>, "load_once");
    static_assert(std::is_same_v<decltype(&Isa::store_halves), void (*)(uint16_t*, reg)>, "store_halves");
  }
  if constexpr (Isa::columns_at_once == 8)
    static_assert(std::is_same_v<decltype(&Isa::column), reg (*)(const reg(&)[8], int)>, "column");
  if constexpr (Isa::scores_4x4) {
    static_assert(Isa::lanes == 16, "four groups of four keys are one register");
    static_assert(std::is_same_v<decltype(&Isa::spread_four), reg (*)(const float*)>, "spread_four");
    static_assert(std::is_same_v<decltype(&Isa::store_quarters), void (*)(float*, ptrdiff_t, const reg*)>,
                  "store_quarters");
  }
  if constexpr (Isa::four_row_shapes)
    static_assert(Isa::four_row_scores::rows == 4 && Isa::four_row_values::rows == 4, "they have four rows");
  return true;
}

} // namespace fovea::f32
