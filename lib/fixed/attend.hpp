// A tile of rows goes over all keys it sees, 256 at a time: in each block of 64, group by group, scores and
// weights; then values of all four blocks.
#pragma once
#include <new>
#include <type_traits>

#include "fixed/few_rows.hpp"
#include "fixed/finish.hpp"
#include "fixed/float_output.hpp"
#include "fixed/kernel.hpp"
#include "fixed/score.hpp"
#include "fixed/value.hpp"
#include "fixed/weigh.hpp"

namespace fovea::fixed {

// Writes integers by whole registers, and the rest one by one.
template <class Form>
struct register_writer : float_writer {
  template <class T>
  static void write(const int32_t* acc, const output_factor& f, int count, int32_t zero, T* out) {
    if (f.left) return write_integers(acc, f, count, zero, out); // a very fine output
    using reg = typename Form::reg;
    const reg multiplier = Form::spread(f.multiplier), half = Form::spread((1 << (f.shift - 1)) - f.zero),
              offset = Form::spread(zero);
    const auto shift = Form::by(f.shift);
    int c = 0;
    if constexpr (sizeof(T) == 1) { // four registers become one
      const reg words = Form::spread(
          static_cast<int32_t>(static_cast<uint32_t>(zero) << 16 | (zero & 0xffff)));
      for (constexpr int step = 4 * Form::lanes; c + step <= count; c += step) {
        reg y[4];
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) {
          const reg x = Form::mixed_high_product(Form::load(acc + c + i * Form::lanes), multiplier);
          y[i] = Form::shift_right(Form::add(x, half), shift);
        }
        Form::store_mixed(out + c, y, words);
      }
    }
    for (; c + 16 <= count; c += 16) {
      reg y[16 / Form::lanes];
#pragma GCC unroll 4
      for (int i = 0; i < 16 / Form::lanes; ++i) {
        const reg x = Form::high_product(Form::load(acc + c + i * Form::lanes), multiplier);
        y[i] = Form::add(Form::shift_right(Form::add(x, half), shift), offset);
      }
      Form::store_narrow(out + c, y);
    }
    if (c < count) write_integers(acc + c, f, count - c, zero, out + c);
  }
};

template <class Form>
fixed_row begin_row(tile_state<Form>& t, int r, int32_t head, int32_t query, const seen& keys) {
  fixed_row x = make_row_of(t.p, t.job.kv_head * t.p.group + head, query, keys);
  t.by_key |= x.by_key = in_octaves(t.p, x);
  t.set_sum(r, weigh_sink(t.p, x));
  return x;
}

// Queries of one head: what they share is computed once.
template <class Form>
void begin_queries(tile_state<Form>& t, bool same_keys) {
  const fixed_plan& p = t.p;
  seen keys = seen_by(p.see, t.job.row);
  const fixed_row x = begin_row(t, 0, 0, t.job.row, keys);
  const typename Form::reg sum = Form::load(t.sum);
  const ptrdiff_t q_step = p.q().token, out_step = p.out().token;
  const bool shifted = p.zero_k != 0;
  const unsigned char* q = x.q;
  unsigned char* out = x.out;
  fixed_row *row = t.rows, *const end = row + t.job.rows;
  int32_t *sums = t.sum, query = x.query, start = x.start;
  for (; row != end; ++row, sums += Form::lanes, q += q_step, out += out_step) {
    if (shifted) start = start_of(p, q);
    if (!same_keys) keys = seen_by(p.see, query);
    ::new (static_cast<void*>(row))
        fixed_row{keys, query++, q, out, x.scale, x.q_head, start, x.reference, x.by_key};
    Form::store(sums, sum);
  }
}

template <class Form>
void begin_heads(tile_state<Form>& t, bool same_keys) {
  int32_t query = t.job.row / t.p.group, head = t.job.row % t.p.group;
  seen keys = seen_by(t.p.see, query);
  for (int r = 0; r < t.job.rows; ++r) {
    ::new (static_cast<void*>(t.rows + r)) fixed_row(begin_row(t, r, head, query, keys));
    if (++head < t.p.group) continue;
    head = 0;
    ++query;
    if (!same_keys) keys = seen_by(t.p.see, query);
  }
}

template <class Form>
void begin_tile(tile_state<Form>& t) {
  t.p.group == 1 ? begin_queries(t, same_keys(t.p.see)) : begin_heads(t, same_keys(t.p.see));
  if constexpr (begins_sums<Form>) t.unwritten = t.p.spill ? 0 : rows_from(0, t.job.rows);
  if (!begins_sums<Form> || !t.unwritten) clear<Form>(t.o, static_cast<ptrdiff_t>(t.job.rows) * t.p.width);
  t.by_groups([&](auto shape, int r) { take_queries<Form, decltype(shape)::rows>(t, r); });
}

template <class Form>
void score_and_weigh(tile_state<Form>& t, const typename Form::key_byte* keys, int64_t block, int b,
                     int seen) {
  constexpr int lanes = 16 / Form::keys_dot::slices;
  const int64_t at = block * fixed_block;
  const bool all = t.all_see(at, at + seen);
  int32_t room[fixed_block];
  t.multipliers = multipliers_in(t, block, room);
  rows_of_block rows;
  rows.usual = usual_rows(t, at, seen, all);
  t.by_groups([&](auto shape, int r) {
    using Shape = decltype(shape);
    const int n = all ? seen : t.seen_keys(r, Shape::rows, at);
    if (n == 0) return;
    const int columns = (n + lanes - 1) / lanes;
    const uint64_t mine = rows_from(r, Shape::rows);
    rows.scored |= mine;
    if constexpr (measures_group<Form, Shape>)
      if (!(mine & ~rows.usual)) {
        if (!t.multipliers && t.one_scale()) {
          rows.measured |= mine;
          return score_group<Form, Shape, store_distances<Form>>(t, keys, r, columns);
        }
        if constexpr (Shape::rows <= 4) // more rows would take 23 KB of code more with AVX-512
          if (t.multipliers) {
            rows.measured |= mine;
            return score_group<Form, Shape, store_multiplied<Form>>(t, keys, r, columns);
          }
      }
    score_group<Form, Shape, store_scores<Form>>(t, keys, r, columns);
  });
  weigh_block(t, block, b, seen, rows);
}

template <class Form>
void attend_run(tile_state<Form>& t, int64_t first) {
  using key_byte = typename Form::key_byte;
  using value_byte = typename Form::value_byte;
  fixed_panels& panels = *t.job.panels;
  const auto values = [&](int b) { return reinterpret_cast<const value_byte*>(panels.values(first + b)); };
  clear<Form>(reinterpret_cast<int32_t*>(t.rise), up_to(t.job.rows, 2)); // whole registers: pieces end at 64
  for (uint64_t& rows : t.risen) rows = 0;
  bool live[fixed_run_blocks];
  for (int b = 0; b < fixed_run_blocks; ++b) {
    const int seen = t.seen_keys(0, t.job.rows, (first + b) * fixed_block);
    live[b] = seen != 0;
    if (!live[b]) continue;
    score_and_weigh(t, reinterpret_cast<const key_byte*>(panels.keys(first + b)), first + b, b, seen);
    if (panels.one_at_a_time()) {
      add_values(t, values(b), first, b, b + 1);
      live[b] = false;
    }
  }
  for (int b = 0, end; b < fixed_run_blocks; b = end) {
    end = b + 1;
    if (!live[b]) continue;
    while (end < fixed_run_blocks && live[end] && panels.follow(first + end)) ++end;
    add_values(t, values(b), first, b, end);
  }
}

template <class T, class Form>
void write_rows(const tile_state<Form>& t, const output_factor* factors) {
  const int32_t count = t.p.v_dim, zero = t.p.zero_out, width = t.p.width; // what a store might change
  const int32_t* acc = t.o;
  const fixed_row* const rows = t.rows;
  for (int r = 0, end = t.job.rows; r < end; ++r, acc += width)
    if (factors[r].shift)
      Form::writer::write(acc, factors[r], count, zero, reinterpret_cast<T*>(rows[r].out));
}

// The factors of all rows first: divisions take long, and nothing waits for them here.
template <class Form>
void finish_rows(const tile_state<Form>& t) {
  if (t.p.out_type == FOVEA_FIXED_F32) {
    for (int r = 0; r < t.job.rows; ++r)
      finish_row_by<typename Form::writer>(t.p, t.rows[r], t.output(r), t.sum_of(r));
    return;
  }
  output_factor factors[fixed_tile_rows];
  for (int r = 0; r < t.job.rows; ++r) {
    const uint32_t sum = t.sum_of(r);
    factors[r].shift = 0; // nothing seen
    if (sum == 0)
      write_nothing(t.p, t.rows[r].out);
    else
      factors[r] = factor_of(*t.rows[r].scale, sum, zero_sum_of(t.p, t.rows[r], sum));
  }
  t.p.out_type == FOVEA_FIXED_S8 ? write_rows<int8_t>(t, factors) : write_rows<int16_t>(t, factors);
}

template <class Form>
void attend_tile(const fixed_job& job) {
  tile_state<Form> t(job);
  begin_tile(t);
  const fixed_row &first = t.rows[0], &last = t.rows[job.rows - 1];
  for (int32_t block = 0; (block = next_block(t.p, first, last, block)) * fixed_block < last.to;
       block += fixed_run_blocks) {
    if constexpr (attends_few_rows<Form>)
      if (takes_few_rows(t, block)) {
        const int32_t end = job.panels->one_at_a_time() ? block + 1 : block_of(last.to + fixed_block - 1);
        attend_few_rows_from(t, block, end);
        block = end - fixed_run_blocks;
        continue;
      }
    if (!attends_few_rows<Form> || job.rows > 1) block -= block % fixed_run_blocks;
    attend_run(t, block);
  }
  if constexpr (begins_sums<Form>) // rows without values
    for (; t.unwritten; t.unwritten &= t.unwritten - 1)
      clear<Form>(t.output(__builtin_ctzll(t.unwritten)), t.p.width);
  finish_rows(t);
}

// An ISA has a form for panels as callers store them, and one for panels as it arranges them; they may be the
// same.
template <class Stored, class Arranged>
void attend_by_form(const fixed_job& job) {
  job.panels->arranged() ? attend_tile<Arranged>(job) : attend_tile<Stored>(job);
}
template <class Stored, class Arranged>
size_t tile_scratch(const fixed_plan& p, int32_t rows) {
  const size_t stored = tile_state<Stored>::scratch(p, rows),
               arranged = tile_state<Arranged>::scratch(p, rows);
  return stored < arranged ? arranged : stored;
}
template <class Stored, class Arranged>
constexpr fixed_kernel fixed_kernel_of(int32_t isa, const fixed_packing& stored,
                                       const fixed_packing& arranged, int32_t least_rows) {
  return {isa,      fixed_tile_rows, tile_scratch<Stored, Arranged>, attend_by_form<Stored, Arranged>, stored,
          arranged, least_rows};
}

} // namespace fovea::fixed
