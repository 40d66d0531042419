// An integer call at work: scratch becomes a workspace, and one kernel call attends each tile of rows of this
// part.
#pragma once
#include "common/units.hpp"
#include "fixed/make_plan.hpp"

namespace fovea::fixed {
namespace {

constexpr size_t alignment = 64;

// Of K and V in scratch, as bytes or as the kernel arranges them.
size_t block_bytes(const fixed_plan& p, bool arranged) {
  const fixed_packing& x = arranged ? p.kernel->arranged : p.kernel->stored;
  const int32_t dims = p.depth * x.key_element + p.width * x.value_element;
  return static_cast<size_t>(fixed_block) * static_cast<size_t>(dims);
}

bool wants_arranged(const fixed_plan& p) { return p.kernel->least_rows && p.rows >= p.kernel->least_rows; }

template <const fixed_offer& Offer>
bool packs(const fixed_plan& p) {
  return !offered<Offer>::panels(p) && !offered<Offer>::is_s16(p);
}

int32_t best_rows(const fixed_plan& p) {
  return p.rows < 1 ? 1 : p.rows < p.kernel->rows ? p.rows : p.kernel->rows;
}

// Rows first, since they share a pass over K and V; then K and V as the kernel wants them; then, when all
// panels of a kv head fit, they are packed once.
template <const fixed_offer& Offer>
struct fixed_workspace {
  unsigned char* tile;
  int8_t* room;
  int32_t rows, blocks; // of a tile; that are packed at a time
  bool arranged;
};

template <const fixed_offer& Offer>
bool make_workspace(const fixed_plan& p, void* scratch, size_t size, fixed_workspace<Offer>& w) {
  if (size < alignment) return false;
  const size_t room = size - (alignment - 1), block = packs<Offer>(p) ? block_bytes(p, false) : 0;
  w.rows = best_rows(p);
  size_t tile;
  while ((tile = p.kernel->scratch(p, w.rows)) + block > room)
    if (--w.rows == 0) return false;
  w.arranged = packs<Offer>(p) && wants_arranged(p) && block_bytes(p, true) <= room - tile;
  w.blocks = packs<Offer>(p) ? static_cast<int32_t>(fixed_blocks_of(p)) : 0;
  if (block_bytes(p, w.arranged) * static_cast<size_t>(w.blocks) > room - tile) w.blocks = 1;
  unsigned char* at = static_cast<unsigned char*>(scratch);
  at += (alignment - reinterpret_cast<uintptr_t>(at) % alignment) % alignment;
  w.tile = at;
  w.room = reinterpret_cast<int8_t*>(at + tile);
  return true;
}

int32_t tiles_of(int32_t rows, int shift) { return (rows + (1 << shift) - 1) >> shift; }

// comes_after_work, without units of more rows than a plan takes.
bool is_idle(const fovea_fixed_attention& a) {
  if (a.part.index < 1 || a.part.index >= a.part.count) return false;
  const int32_t kv_heads = a.kv_heads ? a.kv_heads : a.q_heads;
  if (kv_heads < 1 || a.q_heads < kv_heads || a.queries < 0 || a.keys < 0) return false;
  const int32_t group = multiplies_slowly && kv_heads == a.q_heads ? 1 : quotient(a.q_heads, kv_heads);
  const int64_t rows = int64_t{a.queries} * group;
  return rows <= fixed_greatest_count &&
         int64_t{tiles_of(static_cast<int32_t>(rows), unit_shift(a.keys))} * kv_heads <= a.part.index;
}

// Units are in the order of KV heads, then of rows. A part takes a contiguous run of about as many as others.
template <const fixed_offer& Offer>
void attend_units(const fixed_plan& p, const fixed_workspace<Offer>& w) {
  if (p.rows == 0) return; // however many heads
  fixed_panels panels(p, w.room, w.blocks, w.arranged);
  int32_t kv_head = 0, row = 0, left = p.kv_heads, tiles = 1, shift = 30; // one tile is all rows of a head
  if (features::parts && p.parts > 1) {
    shift = unit_shift(p.see.end - p.see.first_key);
    int32_t units;
    while (__builtin_mul_overflow(tiles = tiles_of(p.rows, shift), p.kv_heads, &units)) ++shift;
    left = quotient(units, p.parts);
    const int32_t rest = units - left * p.parts, first = left * p.part + (p.part < rest ? p.part : rest);
    left += p.part < rest;
    if (first) {
      kv_head = quotient(first, tiles);
      row = first - kv_head * tiles;
    }
  }
  for (int32_t count; left > 0; left -= count, row = 0, ++kv_head) {
    count = left < tiles - row ? left : tiles - row;
    const int32_t end = row + count < tiles ? (row + count) << shift : p.rows;
    panels.turn_to(kv_head);
    if constexpr (!offered<Offer>::rows) panels.stay_in_place();
    for (row <<= shift; row < end; row += w.rows)
      p.kernel->attend({&p, &panels, w.tile, kv_head, row, end - row < w.rows ? end - row : w.rows});
  }
}

template <const fixed_offer& Offer>
FOVEA_ONCE int32_t attend_fixed(const fovea_fixed_attention* call, void* scratch, size_t scratch_size) {
  if (features::parts && call && is_idle(*call)) return FOVEA_OK;
  fixed_plan p;
  const uintptr_t begin = reinterpret_cast<uintptr_t>(scratch);
  // Memory that is none meets nothing.
  p.scratch = {begin, scratch && scratch_size ? begin + scratch_size : 0};
  if (const int32_t s = make_fixed_plan<Offer>(call, p)) return s;
  if (!scratch) return refusal(FOVEA_NULL, FOVEA_ARG_SCRATCH);
  if (scratch_size > PTRDIFF_MAX || begin + scratch_size < begin)
    return refusal(FOVEA_OVERFLOW, FOVEA_ARG_SCRATCH);
  if (p.meets_scratch) return refusal(FOVEA_OVERLAP, FOVEA_ARG_SCRATCH);
  fixed_workspace<Offer> w;
  if (!make_workspace(p, scratch, scratch_size, w)) return refusal(FOVEA_TOO_SMALL, FOVEA_ARG_SCRATCH);
  attend_units(p, w);
  return FOVEA_OK;
}

template <const fixed_offer& Offer>
size_t least_fixed_scratch(const fixed_plan& p) {
  return alignment - 1 + p.kernel->scratch(p, 1) + (packs<Offer>(p) ? block_bytes(p, false) : 0);
}

template <const fixed_offer& Offer>
size_t best_fixed_scratch(const fixed_plan& p) {
  const size_t tile = alignment - 1 + p.kernel->scratch(p, best_rows(p)), blocks = fixed_blocks_of(p);
  if (!packs<Offer>(p)) return tile;
  return tile + block_bytes(p, wants_arranged(p)) * (p.rows > best_rows(p) && blocks > 1 ? blocks : 1);
}

} // namespace
} // namespace fovea::fixed
