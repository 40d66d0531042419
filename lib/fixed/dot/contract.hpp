// The contract of a dot: what one kind of core multiplies bytes and words with. A form of an integer kernel
// (lib/isa/fixed_*.cpp) names a dot for its keys and one for its values. This file says what each offers; the
// defaults are those of a dot that offers nothing more.
//
// Every dot has
//   reg, acc, piece, chunk     a register; the sums of one piece; a piece of a column; numbers of a row as a
//   product takes them element                    of a row of queries or weights in scratch rows, group, deep
//   rows and elements of a chunk, and elements of one step of a panel: deep is a multiple of group slices,
//   regs, piece_step   a column is a panel of sixteen lanes, or one of its slices, in `regs` pieces that lie
//   piece_step apart take(a), load_column(b, pieces), add<Step>(sum, piece, chunk) begin(sums, start) sums of
//   a column; start(row) is what a row adds to all of its scores fold(sums, row, out)       the sums of one
//   row as registers, a lane for each column
// Dots of keys also have key_offset, what each byte of a key is multiplied beside, and sum(q, dim) if that is
// not 0. Dots of values also have planes and block_step: weights of one row, and how far one block of them
// stands from the next.
#pragma once
#include <cstdint>

namespace fovea::fixed {

struct dot_defaults {
  // Keys: place(row) of a chunk and put(q, to) of one, where chunks are no plain copies of bytes.
  static constexpr bool puts_queries = false;
  // Keys: put_four_queries, put_starts, score_panel: a whole panel against four rows whose dim is a multiple
  // of 64.
  static constexpr bool scores_panels = false;
  // Keys: take_rows(q, dim, depth, to, sums) for so many rows at once, or more.
  static constexpr int rows_at_once = 1 << 30;
  // Values: resume(sums, from): sums go on from what memory or registers hold.
  static constexpr bool resumes = false;
  // Values: add_blocks, add_wide_blocks: whole blocks of two rows or of one, rising references included.
  static constexpr bool adds_blocks = false;
  // Values: weights of so many rows stand side by side, chunk by chunk.
  static constexpr int rows_of_weights = 1;
};

// What a weigher offers beside weigh(): measure(), which turns scores in registers into distances below the
// reference.
struct weigher_defaults {
  static constexpr bool measures = false;
};

template <class Dot>
struct dot_contract {
  static_assert(Dot::deep % Dot::group == 0, "a chunk is a whole number of steps of a panel");
  static_assert(16 % Dot::slices == 0, "slices of a panel have the same number of lanes");
  static_assert(Dot::rows >= 1 && Dot::regs >= 1, "a chunk has rows, a column pieces");
  static_assert(!Dot::adds_blocks || Dot::resumes, "what adds whole blocks goes on from sums");
  static constexpr bool holds = true;
};

template <class Form>
struct form_contract {
  static_assert(dot_contract<typename Form::keys_dot>::holds &&
                dot_contract<typename Form::values_dot>::holds);
  static_assert(Form::lanes == 4 || Form::lanes == 8 || Form::lanes == 16,
                "sixteen lanes are whole registers");
  static_assert(!Form::weigher::measures || Form::lanes >= 8,
                "distances are 16 bits, two registers of them a block at least");
  static constexpr bool holds = true;
};

} // namespace fovea::fixed
