// The public calls: a plan, and the units of work of this part, which the kernel of its ISA takes.
#include "common/build.hpp"

#include "common/units.hpp"
#include "f32/kernel.hpp"
#include "f32/plan.hpp"
#include "f32/workspace.hpp"

namespace fovea::f32 {
namespace {

struct unit_range {
  int64_t first, end;
};

// Rows are split into pieces if there is memory for partial results.
units_of_head units_of(const plan& p) {
  const int32_t keys = static_cast<int32_t>(p.keys_end - p.see.first_key);
  return p.partials ? units_for(p.rows, p.split.keys_of_unit(keys), p.split.pieces)
                    : units_for(p.rows, keys, 1);
}

// What a unit costs: its rows, times the panels of keys that the last of them sees. Enough to balance parts.
int64_t cost_of(const plan& p, const units_of_head& units, int32_t piece, int64_t n) {
  const int64_t row = n << units.shift, end_row = smaller(p.rows, (n + 1) << units.shift);
  const seen s = seen_by(p.see, (end_row - 1) / p.group);
  const int64_t begin = p.partials ? (p.split.first_piece + piece) * int64_t{p.split.piece_keys} : 0;
  const int64_t end = p.partials ? begin + p.split.piece_keys : p.see.end;
  const auto between = [&](int64_t from, int64_t to) {
    return clamp(to, begin, end) - clamp(from, begin, end);
  };
  return (end_row - row) * (1 + (between(p.see.first_key, s.head) + between(s.from, s.to)) / 16);
}

// Adds up the costs of the units of a head while they are below `limit`. Returns how many units that are.
int64_t units_below(const plan& p, const units_of_head& units, int64_t limit, int64_t& cost) {
  int64_t n = 0;
  cost = 0;
  for (int32_t piece = 0; piece < units.pieces; ++piece)
    for (int64_t in_piece = 0; in_piece < units.per_piece; ++in_piece, ++n) {
      if (cost >= limit) return n;
      cost += cost_of(p, units, piece, in_piece);
    }
  return n;
}

// Where part `index` begins in a row of `total`: parts differ by one at most, without a product that could
// overflow.
int64_t part_begin(int64_t total, int32_t index, int32_t count) {
  return total / count * index + smaller(index, total % count);
}

// A part is a run of units of about the same cost: those whose cost begins within it. Where there are as many
// parts as units, each takes one. All heads cost the same.
unit_range units_of_part(const plan& p, const units_of_head& units) {
  const int64_t all = p.kv_heads * units.count();
  if (p.parts == 1) return {0, all};
  if (p.parts >= all) return {smaller(p.part, all), smaller(p.part + int64_t{1}, all)};
  int64_t of_head, before;
  units_below(p, units, INT64_MAX, of_head);
  const auto unit_at = [&](int64_t cost) {
    const int64_t head = cost / of_head;
    return head * units.count() + units_below(p, units, cost - head * of_head, before);
  };
  const int64_t total = p.kv_heads * of_head;
  return {unit_at(part_begin(total, p.part, p.parts)), unit_at(part_begin(total, p.part + 1, p.parts))};
}

} // namespace

void attend_units(const plan& p, const unit_taker& to) {
  if (p.rows == 0) return; // however many heads and pieces
  if (!(features::parts || features::partials) || (p.parts == 1 && !p.partials)) { // no unit is looked at
    unit_run head; // field by field: a compiler for size would call memset
    head.pieces = {0, 0};
    head.row = 0;
    head.end = static_cast<ptrdiff_t>(p.rows);
    head.kv_head = 0;
    for (; head.kv_head < p.kv_heads; ++head.kv_head) to.take(to.self, head);
    return;
  }
  const units_of_head units = units_of(p);
  if (units.count() == 0) return; // no keys, and rows are split
  const unit_range mine = units_of_part(p, units);
  int32_t kv_head = static_cast<int32_t>(mine.first / units.count());
  const int64_t in_head = mine.first - kv_head * units.count();
  int32_t piece = static_cast<int32_t>(in_head / units.per_piece);
  int64_t n = in_head - piece * units.per_piece; // unit of the piece
  for (int64_t left = mine.end - mine.first; left > 0;) {
    // Neighbouring units of a piece, or neighbouring pieces of which each is one unit.
    const int64_t count = smaller(left, units.per_piece - n);
    const int32_t pieces = units.per_piece == 1 ? static_cast<int32_t>(smaller(left, units.pieces - piece))
                                                : 1;
    to.take(to.self, {kv_head, p.partials ? piece_range{piece, pieces} : piece_range{},
                      static_cast<ptrdiff_t>(n << units.shift),
                      static_cast<ptrdiff_t>(smaller(p.rows, (n + count) << units.shift))});
    left -= units.per_piece == 1 ? pieces : count;
    n = n + count < units.per_piece ? n + count : 0;
    piece += n ? 0 : pieces;
    if (piece < units.pieces) continue;
    piece = 0;
    ++kv_head;
  }
}

namespace {

// Whether the part of a call comes after the last unit.
bool is_idle(const fovea_attention& a) {
  if (!features::parts || a.keys < 0 || a.first_key < 0) return false;
  return comes_after_work(a, [&](int64_t rows) {
    if (!a.partials) return units_for(rows, a.keys, 1);
    const split_keys split = split_of(rows, a.first_key, int64_t{a.first_key} + a.keys);
    return units_for(rows, split.keys_of_unit(a.keys), split.pieces);
  });
}

} // namespace

size_t least_scratch(const plan& p) { return attention_at(p.isa).least_scratch(p); }
size_t best_scratch(const plan& p) { return attention_at(p.isa).best_scratch(p); }

int32_t attend(const plan& p, void* scratch, size_t scratch_size) {
  if (const int32_t s = check_scratch(p, scratch, scratch_size)) return s;
  return attention_at(p.isa).attend(p, scratch, scratch_size) ? int32_t{FOVEA_OK}
                                                              : refusal(FOVEA_TOO_SMALL, FOVEA_ARG_SCRATCH);
}

} // namespace fovea::f32

int32_t fovea_attend(const fovea_attention* call, void* scratch, size_t scratch_size) {
  if (call && fovea::f32::is_idle(*call)) return FOVEA_OK;
  fovea::f32::plan p;
  if (const int32_t s = fovea::f32::make_any_plan(call, p)) return s;
  if (p.stored.any()) p.stored.as = fovea::f32::stored_forms_of(p);
  return fovea::f32::attend(p, scratch, scratch_size);
}

int32_t fovea_attend_f32(const fovea_attention* call, void* scratch, size_t scratch_size) {
  if (call && fovea::f32::is_idle(*call)) return FOVEA_OK;
  fovea::f32::plan p;
  if (const int32_t s = fovea::f32::make_plan(call, p, nullptr)) return s;
  return fovea::f32::attend(p, scratch, scratch_size);
}

int32_t fovea_merge(const fovea_attention* call) {
  using namespace fovea;
  using namespace fovea::f32;
  if (!features::partials) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_PARTIALS);
  plan p;
  if (const int32_t s = make_any_plan(call, p)) return s;
  if (!p.partials) return refusal(FOVEA_NULL, FOVEA_ARG_PARTIALS);
  run_at(p.isa, merge_job{&p});
  return FOVEA_OK;
}

int32_t fovea_check(const fovea_attention* call) {
  fovea::f32::plan p;
  return fovea::f32::make_any_plan(call, p);
}

size_t fovea_scratch_least(const fovea_attention* call) {
  return fovea::scratch_of(call, fovea::f32::make_any_plan, fovea::f32::least_scratch);
}
size_t fovea_scratch_best(const fovea_attention* call) {
  return fovea::scratch_of(call, fovea::f32::make_any_plan, fovea::f32::best_scratch);
}

size_t fovea_partials_size(const fovea_attention* call) {
  if (!call || !fovea::features::partials) return 0;
  fovea_attention a = *call;
  a.partials = nullptr;
  a.partials_size = 0;
  fovea::f32::plan p;
  size_t bytes;
  return fovea::f32::make_any_plan(&a, p) || !fovea::f32::partials_bytes(p, bytes) ? 0 : bytes;
}
