// The public calls: a plan, the units of work of this part, and one kernel call per tile of queries.
#include "common/build.hpp"

#include "f32/kernel.hpp"
#include "f32/plan.hpp"
#include "f32/workspace.hpp"

namespace fovea::f32 {
namespace {

// All work is cut into units that depend on nothing but the call: kv head slowest, then the span (only where
// rows are split), then unit_rows rows. A part takes a contiguous run of about the same number of visited
// keys.
struct unit {
  int32_t kv_head, span;
  int64_t row;
};

int32_t unit_row_count(const plan& p, int64_t row) {
  return static_cast<int32_t>(smaller(unit_rows, p.rows - row));
}

// What a unit costs: its rows, times the panels of keys that the last of them sees. Enough to balance parts.
int64_t cost_of(const plan& p, const unit& u) {
  const int32_t rows = unit_row_count(p, u.row);
  const seen s = seen_by(p.see, (u.row + rows - 1) / p.group);
  const int64_t begin = u.span < 0 ? 0 : (p.first_span + u.span) * static_cast<int64_t>(span_keys);
  const int64_t end = u.span < 0 ? p.see.end : begin + span_keys;
  const auto between = [&](int64_t from, int64_t to) {
    return clamp(to, begin, end) - clamp(from, begin, end);
  };
  return rows * (1 + (between(p.see.first_key, s.head) + between(s.from, s.to)) / 16);
}

template <class Visit>
void each_unit(const plan& p, Visit visit) {
  const int32_t spans = p.partials ? p.spans : 1;
  for (int32_t g = 0; g < p.kv_heads; ++g)
    for (int32_t span = 0; span < spans; ++span)
      for (int64_t row = 0; row < p.rows; row += unit_rows) visit(unit{g, p.partials ? span : -1, row});
}

// Where part `index` begins in a row of `total`: parts differ by one at most, without a product that could
// overflow.
int64_t part_begin(int64_t total, int32_t index, int32_t count) {
  return total / count * index + smaller(index, total % count);
}

// Calls visit for the units of this part: those whose cost begins within it.
template <class Visit>
void each_own_unit(const plan& p, Visit visit) {
  if (p.parts == 1) return each_unit(p, visit);
  int64_t total = 0, before = 0;
  each_unit(p, [&](const unit& u) { total += cost_of(p, u); });
  const int64_t begin = part_begin(total, p.part, p.parts), end = part_begin(total, p.part + 1, p.parts);
  each_unit(p, [&](const unit& u) {
    if (begin <= before && before < end) visit(u);
    before += cost_of(p, u);
  });
}

// One kernel call per tile: of some rows of a unit, or of several KV heads that have few rows each.
void attend_units(const plan& p, const workspace& w) {
  if (p.rows == 0) return; // however many heads and spans
  const route chosen = choose_route(p, w);
  const attention_kernel& isa = attention_at(p.isa);
  const auto attend_tile = [&](const tile_job& job) {
    isa.attend(job);
    if (p.stored.out.dtype != FOVEA_F32 && job.span < 0) p.stored.kernel->write_rows(job);
  };
  const int64_t first_panel = p.see.first_key / 16;
  packed_panels packed{first_panel, first_panel};
  int32_t kv_head = -1, heads = 0; // heads that are still to be attended, together; kv_head is the last
  const auto attend_heads = [&]() {
    if (heads)
      attend_tile(
          {&p, &w, chosen, &packed, kv_head + 1 - heads, heads, 0, heads * static_cast<int32_t>(p.rows), -1});
    heads = 0;
  };
  each_own_unit(p, [&](const unit& u) {
    if (u.kv_head != kv_head) packed.end = first_panel;
    kv_head = u.kv_head;
    if (w.batched_heads > 1) {
      if (++heads == w.batched_heads) attend_heads();
      return;
    }
    const int32_t rows = unit_row_count(p, u.row);
    for (int32_t r = 0; r < rows; r += w.rows)
      attend_tile({&p, &w, chosen, &packed, u.kv_head, 1, u.row + r,
                   static_cast<int32_t>(smaller(w.rows, rows - r)), u.span});
  });
  attend_heads();
}

} // namespace

int32_t attend(const plan& p, void* scratch, size_t scratch_size) {
  workspace w;
  if (const int32_t s = take_scratch(p, scratch, scratch_size, w)) return s;
  attend_units(p, w);
  return FOVEA_OK;
}

} // namespace fovea::f32

int32_t fovea_attend(const fovea_attention* call, void* scratch, size_t scratch_size) {
  fovea::f32::plan p;
  if (const int32_t s = fovea::f32::make_any_plan(call, p)) return s;
  if (p.stored.any()) p.stored.kernel = &fovea::f32::stored_kernel_at(p.isa);
  return fovea::f32::attend(p, scratch, scratch_size);
}

int32_t fovea_attend_f32(const fovea_attention* call, void* scratch, size_t scratch_size) {
  fovea::f32::plan p;
  if (const int32_t s = fovea::f32::make_plan(call, p, nullptr)) return s;
  return fovea::f32::attend(p, scratch, scratch_size);
}

int32_t fovea_merge(const fovea_attention* call) {
  using namespace fovea;
  using namespace fovea::f32;
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
  if (!call) return 0;
  fovea_attention a = *call;
  a.partials = nullptr;
  a.partials_size = 0;
  fovea::f32::plan p;
  size_t bytes;
  return fovea::f32::make_any_plan(&a, p) || !fovea::f32::partials_bytes(p, bytes) ? 0 : bytes;
}
