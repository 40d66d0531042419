// The seam between the library and its kernels: what an ISA offers, and one tile of queries as a job.
#pragma once
#include "plan.hpp"
#include "row_jobs.hpp"

namespace fovea {

// The caller's scratch, cut into pieces for tiles of at most `rows` rows.
struct workspace {
  int rows;
  int heads;                                  // of few rows that fill such a tile side by side; 1 where heads have tiles of their own
  int panel_room;                             // panels of 16 keys that fit
  float* panels;                              // of K; or what four queries need beside its rows, which want no panels
  float* q;                                   // [rows][dim], scaled
  float* s;                                   // [rows][score_stride]
  float *o, *total_o;                         // [rows][up16(v_dim)]: of the span, and of all spans before it
  float *sum, *total_sum;                     // [rows][16]
  float *top, *rescale, *total_top, *inverse; // [rows]
  int32_t* runs;                              // 4 x [rows]: from and to of both runs of seen keys within a block
  seen* sees;                                 // [rows], or one for all
  float** out_rows;                           // [rows]
};

// K of one kv head as panels, in the caller's scratch. When all of them fit they are packed once, as queries need them;
// queries ask for keys in a never falling order, so one mark is enough to know what is there.
struct key_panels {
  bool all_fit;
  int64_t first, packed; // panels (absolute key / 16): the one that stands first in scratch, and the first not yet packed
};

// So few rows of queries, with nobody after them, use rows of K as they stand: panels would cost more than they save.
inline bool takes_rows(const plan& p, int64_t rows) { return !p.packed_keys && rows <= 4 && p.dim % 4 == 0; }

// Four of them, where registers have quarters, use scratch of their own on the way: queries spread over their quarters, and twice what is
// transposed in one go.
constexpr int quads_a_step = 8, quad_keys = 4 * quads_a_step, quad_columns = 16, quad_floats = quad_keys * quad_columns;
inline bool takes_quads(const plan& p, int64_t rows) { return takes_rows(p, rows) && rows > 2 && p.dim % quad_columns == 0; }
constexpr int quads_panels(int dim) { return 1 + (2 * quad_floats + 16 * dim - 1) / (16 * dim); }

struct tile_job {
  const plan* p;
  const workspace* w;
  key_panels* keys;
  int32_t kv_head; // the first
  int32_t heads;   // side by side: several only if each has all its rows here, and its keys in one block
  int64_t row;
  int32_t rows; // of all heads together
  int32_t span; // all spans if negative; else only this one (counted from first_span), left in p->partials
};

// Row r of a tile is one query of one head. Divides: for the paths that need to know, not for the hot one.
struct row_place {
  ptrdiff_t head, query;
};
inline row_place place_of(const tile_job& job, int r) {
  const plan& p = *job.p;
  int64_t kv_head = job.kv_head, row = job.row + r;
  if (job.heads > 1) kv_head += row / p.rows, row %= p.rows;
  return {static_cast<ptrdiff_t>(kv_head * p.group + row % p.group), static_cast<ptrdiff_t>(row / p.group)};
}

struct kernel {
  int32_t isa;
  int8_t tile_rows[8]; // rows of the shapes, largest first, ending in 1
  int32_t rows;        // of a tile of queries; a multiple of the largest shape
  int32_t rows_beside; // that heads of few rows fill together; 0 where it does not pay
  bool has_quarters;   // registers of sixteen, which take four rows of queries by quads of keys
  void (*attend)(const tile_job&);
  void (*merge)(const plan&);
  void (*pack_panel)(const float* rows, ptrdiff_t stride, int dim, float* panel);
  void (*softmax)(const softmax_job&);
  void (*matvec)(const matvec_job&);
};

const kernel* find_kernel(int32_t isa); // null: this machine or this build has it not

// What pays on one vendor's cores does not on another's: measured on Zen 4, Zen 5 and Emerald Rapids, in docs/speed.md.
#if defined(__x86_64__) || defined(__i386__)
bool core_of_amd();
#else
constexpr bool core_of_amd() { return false; }
#endif

} // namespace fovea
