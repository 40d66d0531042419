// The rows of a tile: where their queries and outputs stand, what each of them sees, and the queries times
// the scale.
#pragma once
#include <utility>

#include "f32/kernel/block.hpp"
#include "f32/kernel/pack.hpp"
#include "f32/kernel/shapes.hpp"

namespace fovea::f32 {

// How many KV heads share a tile; a constant for ISAs that never batch heads.
template <class Isa>
FOVEA_INLINE int heads_of(const tile_job& job) {
  return Isa::batched_rows > 0 ? job.heads : 1;
}

// A row of q, whatever its type. For the few numbers that are looked at one by one.
struct query_row {
  const float* floats; // null: halves
  const void* halves;
  int32_t dtype;
  float operator[](ptrdiff_t c) const { return floats ? floats[c] : number_of(halves, dtype, c); }
};

template <class Isa>
class rows_of_tile {
 public:
  int per_head, per_head_in_groups; // rows of each KV head, and with the last group rounded up
  int in_groups;                    // rows of the tile, the last group rounded up
  bool same_keys;                   // all rows see the same keys
  bool stretched;                   // the scores of some row are to be stretched
  seen any;                         // keys that some row sees
  const float* first_q;             // the query of row 0

  explicit rows_of_tile(const tile_job& job)
      : per_head(heads_of<Isa>(job) == 1 ? job.rows : static_cast<int>(job.p->rows)), job_(job), w_(*job.w) {
    const plan& p = *job.p;
    const int head_in_group = static_cast<int>(job.row % p.group);
    const int64_t query = job.row / p.group;
    const seen begins = seen_by(p.see, query), ends = seen_by(p.see, (job.row + per_head - 1) / p.group);
    same_keys = begins == ends; // runs only grow, so all rows between see the same
    any = {ends.head, begins.from, ends.to};
    find_seen(head_in_group, query, begins, ends);
    by_groups<Isa>(per_head, same_keys, [&](auto, int, int end) { per_head_in_groups = end; });
    in_groups = job.rows - per_head + per_head_in_groups;
    const float* q = p.q.data + static_cast<ptrdiff_t>(query) * p.q.token;
    float* out = p.out.data + static_cast<ptrdiff_t>(query) * p.out.token;
    first_q = q + (job.kv_head * static_cast<ptrdiff_t>(p.group) + head_in_group) * p.q.head;
    for (int h = 0; h < heads_of<Isa>(job); ++h) {
      const ptrdiff_t head = (job.kv_head + h) * static_cast<ptrdiff_t>(p.group);
      place_rows(h * per_head, head_in_group, q + head * p.q.head, out + head * p.out.head);
    }
    if (p.stored.q.dtype != FOVEA_F32) scale_stored_rows();
    if (p.stored.out.dtype != FOVEA_F32) keep_results();
    repeat_last_row();
    stretched = p.stretch != 0 && !all_finite<Isa>(w_.q, in_groups * static_cast<ptrdiff_t>(p.dim)) &&
                shrink_rows();
  }

  int64_t end() const {
    return any.to > any.from ? any.to : any.head;
  } // behind the last key that any row sees
  // Rows that only fill the last group see what the last row sees.
  const seen& seen_of(int row) const {
    return w_.sees[same_keys ? 0 : row < job_.rows ? row : job_.rows - 1];
  }

  // What the rows see of the block that begins with absolute key `first_key`. Its runs stand in the workspace
  // until the next block.
  block block_at(int64_t first_key) const {
    const plan& p = *job_.p;
    const int32_t at = static_cast<int32_t>(first_key),
                  first = static_cast<int32_t>(larger(first_key, p.see.first_key));
    const int32_t end = static_cast<int32_t>(smaller(first_key + block_keys, p.see.end));
    const auto within = [=](int32_t key) { return (key < first ? first : key < end ? key : end) - at; };
    block b{};
    b.first_key = first_key;
    b.in_tree = p.in_tree(first_key, block_keys);
    key_runs& runs = b.runs;
    for (int run = 0; run < 2; ++run) {
      runs.from[run] = w_.runs + 2 * run * w_.rows;
      runs.to[run] = runs.from[run] + w_.rows;
    }
    runs.first = any.head > first ? 0 : 1;
    const int32_t from = within(w_.sees[0].from), to = within(w_.sees[0].to);
    for (int r = 0; r < in_groups; ++r) {
      runs.from[1][r] = same_keys ? from : within(seen_of(r).from);
      runs.to[1][r] = same_keys ? to : within(seen_of(r).to);
    }
    for (int r = 0; r < in_groups && runs.first == 0; ++r) {
      runs.from[0][r] = first - at;
      runs.to[0][r] = within(seen_of(r).head);
    }
    if (runs.first == 0 &&
        runs.from[1][0] >= runs.to[1][in_groups - 1]) { // run 1 is empty: run 0 is the only one
      std::swap(runs.from[0], runs.from[1]);
      std::swap(runs.to[0], runs.to[1]);
      runs.first = 1;
    }
    runs.begin = runs.from[1][in_groups - 1];
    runs.end = runs.to[1][in_groups - 1];
    const bool begins = runs.first == 1 && runs.from[1][0] == runs.begin &&
                        runs.begin % 16 == 0; // then so do all rows between
    runs.same = !begins                     ? fovea::f32::same_keys::none
                : runs.to[1][0] == runs.end ? fovea::f32::same_keys::all
                                            : fovea::f32::same_keys::begin;
    return b;
  }

  // How many rows need no key behind this block, `before` of which needed none of it either. Rows that fill
  // the last group count when all others have finished.
  int finished_after(const block& b, int before) const {
    const int64_t end = smaller(b.first_key + block_keys, job_.p->see.end);
    int finished = same_keys && w_.sees[0].to <= end ? job_.rows : before;
    while (finished < job_.rows && seen_of(finished).to <= end) ++finished;
    return finished == job_.rows || b.first_key + block_keys >= this->end() ? in_groups : finished;
  }

  // A finite q times the scale may overflow although the scores do not: such a row got only a part of the
  // scale, and its scores get the rest, a power of two. docs/numerics.md, section 2.
  void stretch_scores(int row, float* s, int from, int to) const {
    const plan& p = *job_.p;
    if (!overflows(query_of(row))) return;
    for (int j = from; j < to; ++j) s[j] = (s[j] + s[j]) * p.stretch;
  }

 private:
  const tile_job& job_;
  const workspace& w_;

  query_row query_of(int row) const {
    const plan& p = *job_.p;
    const row_place at = place_of(job_, row < job_.rows ? row : job_.rows - 1);
    const stored_tensor& halves = p.stored.q;
    if (halves.dtype != FOVEA_F32)
      return {nullptr,
              static_cast<const uint16_t*>(halves.data) + at.head * halves.head + at.query * halves.token,
              halves.dtype};
    return {p.q.data + at.head * p.q.head + at.query * p.q.token, nullptr, FOVEA_F32};
  }
  static bool is_finite(float x) { return x - x == 0; }
  bool overflows(const query_row& q) const {
    bool found = false;
    for (int c = 0; c < job_.p->dim; ++c) found |= is_finite(q[c]) && !is_finite(q[c] * job_.p->scale);
    return found;
  }
  __attribute__((noinline)) bool shrink_rows() const {
    const plan& p = *job_.p;
    bool found = false;
    for (int r = 0; r < in_groups; ++r) {
      const query_row q = query_of(r);
      if (!overflows(q)) continue;
      found = true;
      for (int c = 0; c < p.dim; ++c) w_.q[r * static_cast<ptrdiff_t>(p.dim) + c] = q[c] * p.shrunk;
    }
    return found;
  }

  // What each row sees, or what all of them see.
  void find_seen(int head_in_group, int64_t query, const seen& begins, const seen& ends) const {
    const visibility& see = job_.p->see;
    const bool same_begin = Isa::lanes > 1 && begins.head == ends.head && begins.from == ends.from &&
                            !see.chunk; // so only the end moves
    const int group = job_.p->group, rows = same_keys ? 1 : job_.rows;
    seen s = begins, *sees = w_.sees;
    for (int r = 0; r < rows; ++r) {
      sees[r] = s;
      if (++head_in_group < group) continue;
      head_in_group = 0; // the next row is the first head of the next query
      ++query;
      if (same_begin)
        s.to = static_cast<int32_t>(clamp(see.position + query + see.right + 1, begins.to, see.end));
      else
        s = seen_by(see, query);
    }
  }

  // The rows of one KV head, from row `begin` of the tile on. q and out: of its first head and the first
  // query.
  void place_rows(int begin, int head_in_group, const float* q, float* out) const {
    const plan& p = *job_.p;
    if (p.group == 1) return place_run(begin, per_head, q, p.q.token, out, p.out.token);
    const int end = begin + per_head;
    for (ptrdiff_t query = 0, row = begin; row < end; ++query, head_in_group = 0) {
      const int r = static_cast<int>(row),
                rows = static_cast<int>(smaller(p.group - head_in_group, end - row));
      place_run(r, rows, q + query * p.q.token + head_in_group * p.q.head, p.q.head,
                out + query * p.out.token + head_in_group * p.out.head, p.out.head);
      row += rows;
    }
  }

  // Rows one step apart: the queries of a head, or the heads of a query.
  void place_run(int row, int rows, const float* q, ptrdiff_t q_step, float* out, ptrdiff_t out_step) const {
    for (int r = 0; r < rows; ++r) w_.out_rows[row + r] = out + r * out_step;
    if (q) scale(q, q_step, job_.p->scale, row, rows);
  }
  __attribute__((noinline)) void scale_stored_rows() const {
    const plan& p = *job_.p;
    for (int r = 0; r < job_.rows; ++r)
      p.stored.as.tiles->scale_query(p, query_of(r).halves, w_.q + r * static_cast<ptrdiff_t>(p.dim));
  }
  // Results of another type are complete before they are rounded: rows of floats that end go where their sums
  // were.
  __attribute__((noinline)) void keep_results() const {
    for (int r = 0; r < job_.rows; ++r)
      w_.out_rows[r] = w_.o + r * static_cast<ptrdiff_t>(up16(job_.p->v_dim));
  }
  // Where the last group is not full. What these rows give is written to their o, which nobody reads.
  void repeat_last_row() const {
    const int rows = in_groups - job_.rows;
    for (int r = job_.rows; r < in_groups; ++r) {
      w_.out_rows[r] = w_.o + r * static_cast<ptrdiff_t>(up16(job_.p->v_dim));
      w_.factor[r] = 0;
    }
    if (rows > 0) scale(w_.q + (job_.rows - 1) * static_cast<ptrdiff_t>(job_.p->dim), 0, 1, job_.rows, rows);
  }
  __attribute__((noinline)) void scale(const float* q, ptrdiff_t step, float by, int row, int rows) const {
    int length = job_.p->dim;
    float* to = w_.q + row * static_cast<ptrdiff_t>(length);
    if (step == length && length % 16 == 0) { // side by side they are one
      length *= rows;
      rows = 1;
    }
    for (ptrdiff_t r = 0; r < rows; ++r) scale_row<Isa>(q + r * step, length, by, to + r * length);
  }
};

} // namespace fovea::f32
