// The contract of a dot: what one kind of core multiplies bytes and words with. A form of an integer kernel
// (lib/isa/fixed_*.cpp) names a dot for its keys and one for its values. This file says what each offers; the
// defaults are those of a dot that offers nothing more.
//
// The product multiplies a row of numbers `a` (a query, or weights) by columns of a panel. It takes `a` in
// chunks, and a column in pieces.
//
// Every dot has the types
//   reg         a register of int32
//   element     of `a` in scratch
//   chunk       of `a`: `rows` rows of `deep` elements each, as one product takes them
//   piece       of a column, as one product takes it
//   acc         the sums of one piece
//
// the constants
//   rows, deep  rows and elements of a chunk
//   group       elements of one step of a panel; deep is a multiple of it
//   slices      columns of a panel of sixteen lanes: 1, or 2 or 4 with fewer lanes each
//   regs        pieces of a column
//   piece_step  bytes from one piece to the next
//
// and the functions
//   take(a)                        loads a chunk
//   load_column(b, pieces)         loads the pieces of one step of a column
//   add<Step>(sum, piece, chunk)   sum += piece * step `Step` of the chunk
//   begin(sums, start)             begins the sums of a column; start(row) is added to all scores of a row
//   fold(sums, row, out)           the sums of one row as registers, a lane for each lane of the column
//
// Dots of keys also have
//   key_offset  the product takes each byte of a key minus key_offset, which it may for some of them only
//   sum(q, dim) where key_offset is not 0: the sum of the elements of q that meet such bytes. `start`
//               contains key_offset * sum, so scores are exact
//
// Dots of keys whose ISA reads two streams of weights also have
//   add_once(sum, piece, chunk)    add<0> of a chunk that is read from memory for this product alone
//
// Dots of values also have
//   planes      elements per weight: 1, or 2 where low and high bytes of weights stand apart
//   block_step  elements from the weights of one block to those of the next
#pragma once
#include <cstdint>

namespace fovea::fixed {

struct dot_defaults {
  // Keys: place(row) of a chunk and put(q, to) of one, where chunks are no plain copies of bytes.
  static constexpr bool puts_queries = false;
  // Keys: put_four_queries, store_starts and score_panel, which scores a whole panel for four rows. For dims
  // that are multiples of 64.
  static constexpr bool scores_panels = false;
  // Keys: scores of several rows become distances while they are in registers, where the weigher measures.
  static constexpr bool measures_groups = true;
  // Keys: take_rows(q, dim, depth, to, sums) for groups of at least this many rows.
  static constexpr int rows_at_once = 1 << 30;
  // Values: resume(sums, from): sums begin with those in memory or in registers.
  static constexpr bool resumes = false;
  // Values: add_blocks, add_blocks_of_one_row: whole blocks of two rows or of one row, shifted where a
  // reference rises.
  static constexpr bool adds_blocks = false;
  // Values: weights of so many rows stand side by side, chunk by chunk.
  static constexpr int rows_of_weights = 1;
};

// A weigher weighs the first Keys keys of a block, 32 or 64 of them: weigh<Octaves, Keys>(scores, ..).
// Weighers that measure offer instead
//   measure<Octaves>(scores, ..)     turns scores in registers into distances below the reference
//   hide(distances, first, end)      keys first .. end - 1 get the weight 0; end is 32 or 64
//   weigh<Keys>(distances, ..)
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
