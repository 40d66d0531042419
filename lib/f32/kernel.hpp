// The seam between the library and its float kernels: what an ISA offers, and one tile of rows as a job.
#pragma once
#include "f32/dispatch.hpp"
#include "f32/plan.hpp"
#include "f32/route.hpp"
#include "f32/row_jobs.hpp"

namespace fovea::f32 {

// The caller's scratch, cut into arrays for tiles of at most `rows` rows.
struct workspace {
  int rows;
  int batched_heads; // KV heads of few rows that share a tile; 1 where each head has tiles of its own
  int panel_room;    // panels of 16 keys that fit
  float* panels;     // of K; or the scratch of scores_4x4, which needs no panels
  float* values;     // [keys of a block][up16(v_dim)]: values of another type as floats; null: no room
  float* q;          // [rows][dim], scaled
  float* s;          // [rows][score_stride]: scores of a block, then its weights
  float* o;          // [rows][up16(v_dim)]: output of the span so far
  float* sum;        // [rows][16]: weights of the span so far
  float* top;        // [rows]: reference of the span so far
  float* reference;  // [rows]: of the block
  float* of_before;  // [rows]: what sums of the blocks before this one are multiplied by
  float* of_block;   // [rows]: what sums of this block are multiplied by
  float* total;      // [rows]: sums of rows that end
  float* factor;     // [rows]: what the output of rows that end is multiplied by
  float *all_o, *all_sum, *all_top; // the same as o, sum and top, of all spans before this one
  int32_t* runs;                    // 4 x [rows]: from and to of both runs of seen keys within a block
  seen* sees;                       // [rows], or one for all
  float** out_rows;                 // [rows]
};

// Up to four rows take panels of halves and bytes, and values of these types, from where they stand. More
// rows take floats that they share.
constexpr int stored_rows = 4;
constexpr int stored_row_panels = 8; // of rows of K, packed at a time

// Panels of a KV head that are packed once for all of its tiles. No tile needs a panel before those of the
// tile before it, so one range says which are there.
struct packed_panels {
  int64_t first, end; // panels (absolute key / 16) that stand in scratch: first .. end - 1
};

// Scores that take four rows of K by four numbers at a time use scratch in place of panels: queries spread
// over a register each, and two transposed steps.
constexpr int groups_4x4 = 8, step_4x4 = 4 * groups_4x4;  // groups of four keys in a step, and its keys
constexpr int scores_4x4_columns = 16;                    // numbers of a row that are transposed in one go
constexpr int floats_4x4 = step_4x4 * scores_4x4_columns; // of a transposed step
constexpr int rows_4x4 = 8;                               // most rows of a head: two sets of four
constexpr int scores_4x4_panels(int dim, int64_t rows) {
  return (rows > 4 ? 2 : 1) + (2 * floats_4x4 + 16 * dim - 1) / (16 * dim);
}

// Pieces of the keys, counted from the plan's first.
struct piece_range {
  int32_t first, count;
};

struct tile_job {
  const plan* p;
  const workspace* w;
  route chosen;
  packed_panels* packed;
  int32_t kv_head; // the first
  int32_t heads;   // from there on; where there are several, each has all its rows in this tile
  int64_t row;
  int32_t rows;       // of all heads together
  piece_range pieces; // none: all keys, and the output is written; else these, left in p->partials
};

// Row r of a tile is one query of one head. It divides, so it is not for hot loops.
struct row_place {
  ptrdiff_t head, query;
};
inline row_place place_of(const tile_job& job, int r) {
  const plan& p = *job.p;
  int64_t kv_head = job.kv_head, row = job.row + r;
  if (job.heads > 1) {
    kv_head += row / p.rows;
    row %= p.rows;
  }
  return {static_cast<ptrdiff_t>(kv_head * p.group + row % p.group), static_cast<ptrdiff_t>(row / p.group)};
}

// The places of all rows of a tile in turn.
class rows_in_order {
 public:
  row_place at;

  explicit rows_in_order(const tile_job& job)
      : at(place_of(job, 0)),
        group_(static_cast<ptrdiff_t>(job.p->group)),
        queries_(static_cast<ptrdiff_t>(job.p->rows / job.p->group)),
        in_group_(at.head % group_) {}
  void next() {
    ++at.head;
    if (++in_group_ < group_) return;
    in_group_ = 0;
    if (++at.query < queries_)
      at.head -= group_;
    else
      at.query = 0;
  }

 private:
  ptrdiff_t group_, queries_, in_group_;
};

// Joins the partials of all parts.
struct merge_job {
  const plan* p;
};

// Sixteen rows of keys, all given, become a panel.
struct pack_job {
  const float* rows;
  ptrdiff_t stride;
  int dim;
  float* panel;
};

// How an ISA attends: in tiles of rows (kernel/attend.hpp), or row by row (kernel/compact.hpp). (Other
// operations are one function each: isa/table.hpp.)
struct attention_kernel {
  size_t (*least_scratch)(const plan& p);
  size_t (*best_scratch)(const plan& p);
  // The units of one part. False: not even one row fits in so much scratch, and nothing was written.
  bool (*attend)(const plan& p, void* scratch, size_t size);
};

// Where rows are attended in tiles: what of it depends on the ISA.
struct tile_kernel {
  int8_t tile_rows[8];  // rows of the shapes, largest first, ending in 1
  int32_t rows;         // of a tile; a multiple of the largest shape
  int32_t batched_rows; // that several KV heads of few rows may fill together; 0 where it does not pay
  bool scores_4x4;      // scores three to eight rows against groups of four keys: kernel/scores_4x4.hpp
  bool four_row_shapes; // has shapes for tiles of three or four rows
  bool stored_panels;   // scores panels of another type as they stand
  bool streams;         // attends one row of each head over K and V of halves: kernel/streams.hpp
  int8_t far_rows;      // most rows that are scored against rows of K that are far apart
  int32_t key_rows;     // most rows that take row-major K
  void (*attend)(const tile_job&);
};

const attention_kernel& attention_at(int32_t place);
const tile_kernel& tiles_at(int32_t place); // of ISAs that attend in tiles

size_t least_scratch_of_tiles(const plan& p);
size_t best_scratch_of_tiles(const plan& p);
bool attend_in_tiles(const plan& p, void* scratch, size_t size);

// Units of work: rows row .. end-1 of a KV head, over all keys or over some pieces of them. Each row has an
// output in memory, so a pointer's width counts them.
struct unit_run {
  int32_t kv_head;
  piece_range pieces; // none: all keys
  ptrdiff_t row, end;
};
struct unit_taker {
  void (*take)(void* self, const unit_run& units);
  void* self;
};
// Hands out the units of a call's part, neighbouring ones together.
void attend_units(const plan& p, const unit_taker& to);

} // namespace fovea::f32
