// Attention in tiles of rows: the units of a part become one kernel call per tile.
#include "common/build.hpp"

#include "f32/workspace.hpp"

namespace fovea::f32 {
namespace {

// One kernel call per tile: of rows of one KV head, or of several KV heads that have few rows each.
class tiles {
 public:
  tiles(const plan& p, const workspace& w)
      : p_(p),
        w_(w),
        chosen_(choose_route(p, w)),
        first_panel_(p.see.first_key / 16),
        packed_{first_panel_, first_panel_} {}

  // Rows row .. end-1 of a KV head, over all keys or over some pieces.
  void attend(int32_t kv_head, piece_range pieces, int64_t row, int64_t end) {
    if (kv_head != kv_head_) packed_.end = first_panel_;
    const bool whole = row == 0 && end == p_.rows;
    if (w_.batched_heads > 1 && whole) {
      kv_head_ = kv_head;
      if (++heads_ == w_.batched_heads) attend_heads();
      return;
    }
    attend_heads();
    kv_head_ = kv_head;
    for (; row < end; row += w_.rows)
      call({&p_, &w_, chosen_, &packed_, kv_head, 1, row, static_cast<int32_t>(smaller(w_.rows, end - row)),
            pieces});
  }

  // Those that still wait to be attended together; kv_head_ is the last of them.
  void attend_heads() {
    if (heads_)
      call({&p_,
            &w_,
            chosen_,
            &packed_,
            kv_head_ + 1 - heads_,
            heads_,
            0,
            heads_ * static_cast<int32_t>(p_.rows),
            {}});
    heads_ = 0;
  }

 private:
  // A part may leave one or two rows of three or four. Shapes of four would read what the others see, which
  // nobody wrote.
  void call(tile_job job) const {
    if (job.rows < 3) job.chosen.four_row_tiles = false;
    tiles_at(p_.isa).attend(job);
    if (p_.stored.out.dtype != FOVEA_F32 && !job.pieces.count) p_.stored.as.tiles->write_rows(job);
  }

  const plan& p_;
  const workspace& w_;
  const route chosen_;
  const int64_t first_panel_;
  packed_panels packed_;
  int32_t kv_head_ = -1, heads_ = 0;
};

} // namespace

bool attend_in_tiles(const plan& p, void* scratch, size_t size) {
  workspace w;
  if (!make_workspace(p, scratch, size, w)) return false;
  tiles of_call(p, w);
  attend_units(p, {[](void* self, const unit_run& units) {
                     static_cast<tiles*>(self)->attend(units.kv_head, units.pieces, units.row, units.end);
                   },
                   &of_call});
  of_call.attend_heads();
  return true;
}

} // namespace fovea::f32
