// One row of queries for each KV head, as in a decode with one query per head: K and V of halves or bytes are
// read once. A head reads the keys of several blocks, then their values, so memory is read in long runs. The
// chains are those of the tile.
#pragma once
#include "f32/kernel/softmax.hpp"
#include "f32/kernel/stored_scores.hpp"

namespace fovea::f32 {

// Four panels of halves at once, or 64 columns. With sixteen lanes these are four chains, whose latency takes
// as long as reading: so 128 columns go together, where the registers of AVX-512 hold them. More
// panels gain nothing.
using stream_shape = shape<1, 4>;
using wide_stream_shape = shape<1, 8>;
constexpr int stream_width = 16 * stream_shape::vectors;

// A block of a head. Those of a batch are scored before the first of them reads its values: as many as
// scratch has rows of scores, head by head. Unit i has row i of the scores, of the references and of the
// factors.
struct stream_unit {
  int row;                   // of the tile: each head has one
  bool opens_span;           // nothing has been gathered before it
  int64_t first_key;         // of the block
  const void *keys, *values; // of the run; keys begin with a panel, and so do values in panels
};
constexpr int most_units = 16;
struct stream_batch {
  int count;
  stream_unit at[most_units];
  int32_t from[most_units], to[most_units]; // the run of keys that each unit sees
  const void* next;                         // what is read behind the last value

  key_runs runs() {
    bool begins = from[0] % 16 == 0, all = true;
    for (int i = 1; i < count; ++i) {
      begins &= from[i] == from[0];
      all &= to[i] == to[0];
    }
    const same_keys same = !begins ? same_keys::none : all ? same_keys::all : same_keys::begin;
    return {{nullptr, from}, {nullptr, to}, 1, same, from[count - 1], to[count - 1]};
  }
};

// Sums of units, each at its own reference, join those of the rows in order, and become the factors by which
// their outputs will.
template <class Isa>
FOVEA_INLINE void join_units(const workspace& w, const stream_batch& batch, const float* sums) {
  using registers = one_register<Isa>;
  const int count = batch.count;
  for (int i = 0; i < count; ++i) {
    float& top = w.top[batch.at[i].row];
    w.of_before[i] = top;
    if (!(top > w.reference[i])) top = w.reference[i];
    w.of_block[i] = top;
  }
  for (int i = 0; i < count; i += Isa::lanes) {
    const auto old = registers::load(w.of_before + i), top = registers::load(w.of_block + i);
    exp2_below(old - top).store(w.of_before + i);
    exp2_below(registers::load(w.reference + i) - top).store(w.of_block + i);
  }
  for (int i = 0; i < count; ++i) {
    float* const of_row = w.sum + batch.at[i].row * 16;
    auto sum = f32x16<Isa>::load(sums + 16 * i);
    if (!batch.at[i].opens_span) sum = join_block(sum, of_row, w.of_before[i], w.of_block[i]);
    sum.store(of_row);
  }
}

// Softmax of all units: that of a tile whose rows are the units, for each of which this block is the first.
template <class Isa>
__attribute__((noinline)) void weigh_units(const tile_job& job, stream_batch& batch) {
  const workspace w = *job.w; // a copy that no store of a vector can change
  const modifiers& modify = job.p->modify;
  alignas(64) float tops[most_units], sums[16 * most_units];
  f32x16<Isa>::all(lowest).store(tops);
  workspace of_units = w;
  of_units.top = tops;
  of_units.sum = sums;
  tile_job units = job;
  units.w = &of_units;
  units.rows = batch.count;
  block b{};
  b.runs = batch.runs();
  b.opens_span = true;
  if (modify.changes_scores()) { // by the head and the keys of a unit, which no tile of units could tell
    const bool moved = raise_tops<Isa>(units, b, [&](int from, int to) FOVEA_LAMBDA_INLINE {
      largest_of_rows<Isa> peaks;
      for (int i = from; i < to; ++i) {
        const stream_unit& u = batch.at[i];
        peaks.set(i - from, modify_row<Isa>(modify, b.runs, w.s, i,
                                            bias_of(*job.p, place_of(job, u.row), u.first_key)));
      }
      return peaks.of_first(to - from);
    });
    weigh<Isa, true, same_keys::none>(units, b, nullptr, moved);
  } else {
    softmax_step<Isa>(units, b, nullptr);
  }
  join_units<Isa>(w, batch, sums);
}

} // namespace fovea::f32
