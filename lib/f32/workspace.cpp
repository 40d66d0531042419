// Scratch becomes arrays, and the route of the call is chosen. More scratch gives more speed: first rows that
// share a pass over K and V, then panels of K that need not be packed again.
#include "common/build.hpp"

#include "f32/workspace.hpp"

namespace fovea::f32 {
namespace {

constexpr size_t alignment = 64;

struct sizes {
  int rows, heads; // heads side by side
  int64_t panels;
  bool spans;     // more than one: what comes together needs a place of its own
  int64_t values; // rows of V that become floats
};

// The largest number of rows, at most `limit`, that the shapes of this ISA fill: whole groups, or one smaller
// group.
int fitting_rows(const tile_kernel& k, int limit) {
  if (limit >= k.tile_rows[0]) return limit / k.tile_rows[0] * k.tile_rows[0];
  const int8_t* rows = k.tile_rows;
  while (*rows > limit) ++rows;
  return *rows;
}
// A number of rows that holds n in whole groups: few more than n, where two groups of the second shape are
// larger than one of the first.
int holding_rows(const tile_kernel& k, int n) {
  const int largest = k.tile_rows[0], second = k.tile_rows[1],
            step = n % largest && 2 * second > largest ? second : largest;
  if (n >= largest) return (n + step - 1) / step * step;
  const int8_t* rows = k.tile_rows;
  while (*rows > 1 && rows[1] >= n) ++rows;
  return *rows;
}

// Hands out pieces of scratch one after another; with no memory behind it, it only measures.
class cutter {
 public:
  explicit cutter(unsigned char* at) : at_(at) {}
  template <class T>
  void cut(T*& piece, int64_t count) {
    piece = at_ ? reinterpret_cast<T*>(at_ + used_) : nullptr;
    used_ += static_cast<int64_t>(sizeof(T)) * count;
  }
  int64_t used() const { return used_; }

 private:
  unsigned char* at_;
  int64_t used_ = 0;
};

int64_t cut(const plan& p, const sizes& n, unsigned char* at, workspace& w) {
  const int64_t rows = n.rows, row_slots = up16(n.rows), width = up16(p.v_dim);
  cutter c(at);
  w.rows = n.rows;
  w.batched_heads = n.heads;
  w.panel_room = static_cast<int>(smaller(n.panels, greatest_count));
  c.cut(w.panels, n.panels * 16 * p.dim);
  c.cut(w.values, n.values * width);
  if (!n.values) w.values = nullptr;
  c.cut(w.s, rows * score_stride);
  c.cut(w.o, rows * width);
  c.cut(w.sum, rows * 16);
  c.cut(w.all_o, n.spans ? rows * width : 0);
  c.cut(w.all_sum, n.spans ? rows * 16 : 0);
  c.cut(w.top, row_slots);
  c.cut(w.reference, row_slots);
  c.cut(w.of_before, row_slots);
  c.cut(w.of_block, row_slots);
  c.cut(w.all_top, row_slots);
  c.cut(w.total, row_slots);
  c.cut(w.factor, row_slots);
  c.cut(w.out_rows, rows);
  c.cut(w.q, rows * p.dim);
  c.cut(w.runs, 4 * rows);
  c.cut(w.sees, rows);
  return c.used();
}

int64_t bytes(const plan& p, const sizes& n) {
  workspace w;
  return cut(p, n, nullptr, w);
}

int64_t panels_of_head(const plan& p) { return (p.see.end + 15) / 16 - p.see.first_key / 16; }

// Panels that all queries together need from one kv head.
int64_t needed_panels(const plan& p) {
  return p.packed_keys || p.see.end == p.see.first_key ? 0 : panels_of_head(p);
}

// Row-major K is scored in steps. Keys that do not fill a step are packed, two panels at a time.
constexpr int few_panels = 2;

// Panels that only one tile reads stay in the first cache: as many as the widest tile takes, or 16 KB.
int64_t near_panels(const plan& p) { return clamp(256 / p.dim, 4, block_keys / 16); }

// Few rows of queries take row-major K: packing panels would cost more than they save.
bool gives_key_rows(const plan& p) { return !p.packed_keys && p.stored.k.dtype == FOVEA_F32 && p.dim >= 4; }
bool takes_key_rows(const plan& p, int64_t rows) {
  return gives_key_rows(p) && rows <= tiles_at(p.isa).key_rows;
}
// From this distance on, in floats, the rows of a step meet in few sets of the first cache. With several rows
// of queries a step takes fewer keys, which share what is broadcast.
bool reads_far_rows(const plan& p, int64_t rows) {
  return rows <= tiles_at(p.isa).far_rows && p.k.token >= (rows == 1 ? 512 : 1024);
}
bool takes_4x4(const plan& p) {
  return tiles_at(p.isa).scores_4x4 && gives_key_rows(p) && p.rows > 2 && p.rows <= rows_4x4 &&
         p.dim % scores_4x4_columns == 0;
}

bool takes_stored_panels(const plan& p, int64_t rows) {
  return p.stored.k.dtype != FOVEA_F32 && p.stored.k.panels && rows <= stored_rows &&
         tiles_at(p.isa).stored_panels;
}
// Rows of another type become panels of that type, up to eight at a time.
bool takes_stored_rows(const plan& p, int64_t rows) {
  return p.stored.k.dtype != FOVEA_F32 && p.stored.k.words && rows <= stored_rows &&
         tiles_at(p.isa).stored_panels;
}
// Rows of V in scratch.
int64_t copied_values(const plan& p) {
  if (p.stored.v.dtype == FOVEA_F32 || p.rows <= stored_rows) return 0;
  return smaller(block_keys, p.see.end - p.see.first_key);
}

// A mask may hide keys whose values are no numbers, unless they are bytes; segments are read piece by piece.
bool takes_streams(const plan& p) {
  const modifiers& m = p.modify;
  const stored_tensor &k = p.stored.k, &v = p.stored.v;
  if (!k.differs() || !v.differs() || !k.panels || p.rows != 1 || p.segments || !tiles_at(p.isa).streams)
    return false;
  const bool halves = k.bytes == 2 && v.bytes == 2 && p.v_dim % 64 == 0 && !m.mask.bias && !m.mask.shown,
             bytes = k.bytes == 1 && v.panels && p.v_dim >= 64 && p.v_dim % 16 == 0;
  return bytes || (halves && p.core.reads_streams);
}

// May several heads share a tile over more than one block? Keys of another type are read so fast that the
// softmax of one row shows. Over several spans int8 and streams gain; other halves lose 4 %.
bool batches_blocks(const plan& p) {
  return p.stored.k.dtype != FOVEA_F32 && p.rows <= stored_rows &&
         (p.spans == 1 || p.stored.k.bytes == 1 || takes_streams(p));
}

// Where heads have few rows and keys, each phase of a tile is so short that it waits for the end of the phase
// before it. So several heads share a tile: at least four, or as many as there are. That pays only where all
// rows see the same keys. Returned weights are computed row by row, and need the panels of their own head.
int heads_in_tile(const plan& p, int rows) {
  const int room = static_cast<int>(smaller(tiles_at(p.isa).batched_rows, p.core.batched_rows));
  if (p.partials || p.modify.weights.data || p.kv_heads == 1 || p.rows > room / 4 || p.rows < 1) return 1;
  const bool one_block = p.see.first_key / block_keys == (p.see.end - 1) / block_keys;
  // Three rows take shapes of four: the fourth, of the next head, would gather this head's values in each
  // block but the first, where its own head begins with nothing.
  if (!one_block && (p.rows == 3 || !batches_blocks(p))) return 1;
  if (p.rows > p.group && !(seen_by(p.see, 0) == seen_by(p.see, (p.rows - 1) / p.group))) return 1;
  return static_cast<int>(smaller((room - rows) / static_cast<int>(p.rows) + 1, p.kv_heads));
}

sizes best_sizes(const plan& p) {
  int64_t panels = needed_panels(p);
  if (takes_4x4(p) && panels >= few_panels)
    panels = scores_4x4_panels(p.dim, p.rows);
  else if (takes_key_rows(p, p.rows))
    panels = smaller(panels, few_panels);
  if (takes_stored_rows(p, p.rows)) panels = smaller(panels, stored_row_panels * p.stored.k.bytes / 4);
  if (takes_stored_panels(p, p.rows)) panels = smaller(panels, p.modify.weights.data ? few_panels : 0);
  const tile_kernel& isa = tiles_at(p.isa);
  const int rows = holding_rows(isa, static_cast<int>(clamp(p.rows, 1, isa.rows))),
            heads = heads_in_tile(p, rows);
  return {rows + (heads - 1) * static_cast<int>(p.rows), heads,
          p.rows > rows || takes_4x4(p) ? panels : smaller(panels, near_panels(p)), p.spans > 1,
          copied_values(p)};
}

// Scratch may begin anywhere: what is lost until the next multiple of the alignment counts.
size_t with_alignment(int64_t bytes) { return static_cast<size_t>(bytes) + alignment - 1; }

} // namespace

// One row, one panel: whatever the counts of keys, queries and heads.
size_t least_scratch_of_tiles(const plan& p) {
  return with_alignment(bytes(p, {1, 1, p.packed_keys ? 0 : 1, true, 0}));
}

size_t best_scratch_of_tiles(const plan& p) {
  const int64_t n = larger(bytes(p, best_sizes(p)), bytes(p, {1, 1, p.packed_keys ? 0 : 1, true, 0}));
  return n > PTRDIFF_MAX - static_cast<int64_t>(alignment) ? PTRDIFF_MAX : with_alignment(n);
}

bool make_workspace(const plan& p, void* scratch, size_t size, workspace& w) {
  // FOVEA_SCRATCH is an upper bound, and costs nothing to compare.
  const bool enough = size >= FOVEA_SCRATCH(p.dim, p.v_dim) || size >= least_scratch_of_tiles(p);
  if (!enough) return false;
  unsigned char* at = static_cast<unsigned char*>(scratch);
  const size_t lost = (alignment - reinterpret_cast<uintptr_t>(at) % alignment) % alignment;
  const int64_t room = static_cast<int64_t>(size - (alignment - 1));
  const sizes best = best_sizes(p);
  if (cut(p, best, at + lost, w) <= room) return true;
  sizes n{best.rows, best.heads, smaller(best.panels, 4), best.spans, best.values};
  if (bytes(p, {best.rows < 8 ? best.rows : 8, 1, n.panels, n.spans, n.values}) > room) n.values = 0;
  while (n.heads > 1 && bytes(p, n) > room) {
    const int fewer = n.heads / 2;
    n.heads -= fewer;
    n.rows -= fewer * static_cast<int>(p.rows);
  }
  while (n.rows > 1 && bytes(p, n) > room) n.rows = fitting_rows(tiles_at(p.isa), n.rows - 1);
  n.panels = 0;
  const int64_t panel_bytes = 16 * static_cast<int64_t>(p.dim) * static_cast<int64_t>(sizeof(float));
  n.panels = smaller(best.panels, (room - bytes(p, n)) / panel_bytes);
  cut(p, n, at + lost, w);
  return true;
}

// Returned scores of keys that no row sees want panels beyond those that tiles come to.
route choose_route(const plan& p, const workspace& w) {
  const int64_t rows_of_tile = smaller(p.rows, w.rows);
  const bool all_fit = w.panel_room >= panels_of_head(p) && w.batched_heads == 1 &&
                       !p.modify.returns_every_score();
  route r{};
  if (p.stored.v.dtype != FOVEA_F32)
    r.values = w.values && rows_of_tile > stored_rows ? value_source::copied : value_source::stored;
  if (p.packed_keys) {
    r.keys = key_source::panel_cache;
  } else if (takes_stored_panels(p, rows_of_tile) || takes_stored_rows(p, p.rows) ||
             (takes_stored_rows(p, rows_of_tile) && !all_fit)) {
    r.keys = key_source::stored;
  } else if (takes_4x4(p) && w.rows >= larger(p.rows, 4) &&
             w.panel_room >= scores_4x4_panels(p.dim, p.rows)) {
    r.keys = key_source::rows_4x4;
  } else if (takes_key_rows(p, p.rows) || (takes_key_rows(p, rows_of_tile) && !all_fit)) {
    r.keys = reads_far_rows(p, rows_of_tile) ? key_source::far_rows : key_source::rows;
  } else {
    r.keys = all_fit ? key_source::packed_once : key_source::packed_few;
  }
  r.streams = r.keys == key_source::stored && takes_streams(p);
  r.four_row_tiles = tiles_at(p.isa).four_row_shapes && (p.rows == 3 || p.rows == 4) && w.rows >= 4 &&
                     !p.core.prefetches_blocks;
  return r;
}

} // namespace fovea::f32
