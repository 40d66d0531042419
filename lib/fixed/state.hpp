// What a tile of rows holds from block to block, and how it is cut from scratch.
#pragma once
#include <type_traits>

#include "fixed/rows.hpp"
#include "fixed/shapes.hpp"

namespace fovea::fixed {

constexpr int fixed_run_blocks = 4; // blocks whose values are added in one go
// From a row of scores to the next: at a power of two, rows would share few cache sets.
constexpr int score_step = fixed_block + 16;

// A bit for each of rows r .. r + count - 1.
constexpr uint64_t rows_from(int r, int count) { return (~uint64_t{0} >> (64 - count)) << r; }

// A Form is an ISA on one kind of panels: its registers, `key_byte` and `value_byte` (the elements of
// panels), its dots, shapes, weigher and writer.
template <class Form>
struct tile_state {
  using keys_dot = typename Form::keys_dot;
  using values_dot = typename Form::values_dot;
  using q_element = typename keys_dot::element;
  using p_element = typename values_dot::element;
  static constexpr int lanes = Form::lanes;
  static_assert(form_contract<Form>::holds);
  // Weights of `side` rows stand side by side, chunk by chunk.
  static constexpr int side = values_dot::rows_of_weights, p_chunk = values_dot::planes * values_dot::deep;
  static constexpr int p_step = side * values_dot::planes * fixed_run_blocks * fixed_block +
                                64 / static_cast<int>(sizeof(p_element));
  // From the weights of a row to those of the next, and from one chunk to the next.
  static constexpr int row_step = side == 1 ? p_step : p_chunk, chunk_step = side * p_chunk;

  explicit tile_state(const fixed_job& j) : job(j), p(*j.p) { cut(j.rows, j.scratch); }
  static size_t scratch(const fixed_plan& p, int32_t rows) { return tile_state(p).cut(rows, nullptr); }

  // Calls f(shape, row) for groups of rows: the largest shape that still fits, again and again.
  template <class F>
  FOVEA_INLINE void by_groups(F f) const {
    by_groups_of(job.rows, f, typename Form::shapes{});
  }

  // Keys at .. at + n - 1 of a block are all that rows r .. r + count - 1 see of it; n is 0 .. 64. Rows stand
  // in the order of queries, and what they see only moves forward.
  int seen_keys(int r, int count, int64_t at) const {
    const fixed_row &first = rows[r], &last = rows[r + count - 1];
    const auto meet = [&](int64_t from, int64_t to) {
      return from < to && at < to && at + fixed_block > from;
    };
    if (meet(first.from, last.to)) return static_cast<int>(smaller(last.to - at, fixed_block));
    return meet(p.see.first_key, last.head) ? static_cast<int>(smaller(last.head - at, fixed_block)) : 0;
  }

  // What rows see only moves forward.
  bool all_see(int64_t from, int64_t to) const { return rows[job.rows - 1].from <= from && to <= rows[0].to; }

  bool one_scale() const { return p.group == 1 || !p.head_scales.data; }

  uint32_t sum_of(int r) const { return Form::total(Form::load(sum + r * lanes)); }
  void set_sum(int r, uint32_t x) { Form::store(sum + r * lanes, Form::first(static_cast<int32_t>(x))); }
  uint8_t* rise_of(int r, int b) const { return rise + (r & ~1) * fixed_run_blocks + 2 * b + (r & 1); }
  int32_t* scores(int r) const { return s + r * score_step; }
  p_element* weights_of(int r, int b) const {
    const unsigned row = static_cast<unsigned>(r);
    return weights + row / side * p_step + row % side * p_chunk + b * side * values_dot::block_step;
  }
  int32_t* output(int r) const { return o + static_cast<ptrdiff_t>(r) * p.width; }

  const fixed_job job;
  const fixed_plan& p;
  uint64_t risen[fixed_run_blocks] = {}; // bit r: the reference of row r rises at this block of the run
  uint64_t unwritten;                    // bit r: nothing has been written to the output of row r
  bool by_key = false;                   // of any row
  const int32_t* multipliers = nullptr;  // of the keys of this block, where nothing else touches single keys
  fixed_row* rows;
  int32_t* sum;       // [rows][lanes]
  uint8_t* rise;      // [rows / 2][4][2]: octaves by which the reference rises at a block; 32: sums become 0
  int32_t* s;         // [rows][score_step]: scores of a block, or its distances
  p_element* weights; // [rows / side][p_step]
  q_element* q;       // queries, as take_queries leaves them
  int32_t* o;         // [rows][width]: sums of values
  int16_t* value_weights;

 private:
  explicit tile_state(const fixed_plan& plan) : job(), p(plan) {} // to be measured only

  size_t cut(int32_t row_count, unsigned char* at) {
    size_t used = 0;
    const auto take = [&](auto*& piece, ptrdiff_t count) {
      piece = at ? reinterpret_cast<std::remove_reference_t<decltype(piece)>>(at + used) : nullptr;
      used += (sizeof(*piece) * static_cast<size_t>(count) + 63) / 64 * 64;
    };
    const ptrdiff_t n = row_count;
    take(rows, n);
    take(sum, n * lanes);
    take(rise, (n + 1) / 2 * 2 * fixed_run_blocks);
    take(s, n * score_step);
    take(weights, (n + side - 1) / side * p_step);
    take(q, (n + keys_dot::rows - 1) * p.depth);
    take(o, n * p.width);
    take(value_weights, fixed_block);
    return used;
  }
};

} // namespace fovea::fixed
