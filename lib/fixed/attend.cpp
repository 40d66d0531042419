// The public calls of integer attention: a plan, the units of work of this part, and one kernel call per tile of rows.
#include "fixed/kernel.hpp"

namespace fovea {
namespace {

constexpr size_t alignment = 64;

size_t block_bytes(const fixed_plan& p) { return static_cast<size_t>(fixed_block) * static_cast<size_t>(p.depth + p.width); }
bool packs(const fixed_plan& p) { return !p.panels && !p.wide; }

size_t least_scratch(const fixed_plan& p) { return alignment - 1 + p.kernel->scratch(p, 1) + (packs(p) ? block_bytes(p) : 0); }

// All blocks of a kv head.
size_t whole_bytes(const fixed_plan& p) {
  return block_bytes(p) * fixed_blocks_of(p) * static_cast<size_t>(p.kernel->arrange ? p.kernel->arranged_bytes : 1);
}

int32_t best_rows(const fixed_plan& p) { return static_cast<int32_t>(clamp(p.rows, 1, p.kernel->rows)); }

size_t best_scratch(const fixed_plan& p) {
  const size_t tile = alignment - 1 + p.kernel->scratch(p, best_rows(p)), blocks = fixed_blocks_of(p);
  if (!packs(p)) return tile;
  return tile + (p.rows > best_rows(p) && blocks > 1 ? whole_bytes(p) : block_bytes(p));
}

// Rows first, since they share a pass over K and V; then, when all panels of a kv head fit, they are packed once.
struct fixed_workspace {
  unsigned char* tile;
  int8_t* room;
  int32_t rows;
  bool whole;
};

bool make_workspace(const fixed_plan& p, void* scratch, size_t size, fixed_workspace& w) {
  if (size < least_scratch(p)) return false;
  unsigned char* at = static_cast<unsigned char*>(scratch);
  at += (alignment - reinterpret_cast<uintptr_t>(at) % alignment) % alignment;
  const size_t room = size - (alignment - 1), block = packs(p) ? block_bytes(p) : 0;
  w.rows = best_rows(p);
  while (w.rows > 1 && p.kernel->scratch(p, w.rows) + block > room) --w.rows;
  const size_t tile = p.kernel->scratch(p, w.rows);
  w.whole = packs(p) && whole_bytes(p) <= room - tile;
  w.tile = at, w.room = reinterpret_cast<int8_t*>(at + tile);
  return true;
}

// Units are tiles of up to 48 rows of one kv head, kv head slowest; a part takes a contiguous run of them.
void attend_units(const fixed_plan& p, const fixed_workspace& w) {
  fixed_panels panels(p, w.room, w.whole);
  const int32_t tiles = (p.rows + fixed_unit_rows - 1) / fixed_unit_rows;
  const int64_t units = static_cast<int64_t>(tiles) * p.kv_heads;
  const int32_t share = static_cast<int32_t>(units) / p.parts, rest = static_cast<int32_t>(units) % p.parts;
  const int32_t first = share * p.part + static_cast<int32_t>(smaller(p.part, rest)), past = first + share + (p.part < rest);
  for (int32_t u = first; u < past; ++u) {
    const int32_t kv_head = u / tiles, row = u % tiles * fixed_unit_rows;
    const int32_t end = static_cast<int32_t>(smaller(row + fixed_unit_rows, p.rows));
    panels.turn_to(kv_head);
    for (int32_t r = row; r < end; r += w.rows)
      p.kernel->attend({&p, &panels, w.tile, kv_head, r, static_cast<int32_t>(smaller(w.rows, end - r))});
  }
}

} // namespace
} // namespace fovea

int32_t fovea_fixed_attend(const fovea_fixed_attention* call, void* scratch, size_t scratch_size) {
  using namespace fovea;
  fixed_plan p;
  if (const int32_t s = make_fixed_plan(call, p)) return s;
  fixed_workspace w;
  if (const int32_t s = take_scratch(p, scratch, scratch_size, w)) return s;
  attend_units(p, w);
  return FOVEA_OK;
}

int32_t fovea_fixed_check(const fovea_fixed_attention* call) {
  fovea::fixed_plan p;
  return fovea::make_fixed_plan(call, p);
}

size_t fovea_fixed_scratch(const fovea_fixed_attention* call) {
  return fovea::scratch_of(call, fovea::make_fixed_plan, fovea::least_scratch);
}
size_t fovea_fixed_scratch_best(const fovea_fixed_attention* call) {
  return fovea::scratch_of(call, fovea::make_fixed_plan, fovea::best_scratch);
}
