// The rows of a tile: where their queries and outputs stand, what each of them sees, and the queries times the scale.
#pragma once
#include "kernel.hpp"
#include "kernel/pack.hpp"
#include "kernel/visit.hpp"

namespace fovea {

// How many KV heads go side by side. Where it is always one, compilers know.
template <class Isa>
FOVEA_INLINE int heads_of(const tile_job& job) {
  return Isa::rows_beside > 0 ? job.heads : 1;
}

template <class Isa>
class rows_of_tile {
 public:
  int of_head;              // rows of each KV head
  int in_groups;            // rows of the tile, the last group rounded up
  bool alike;               // all rows see the same keys
  int64_t head, from, last; // keys that some row sees: first_key .. head-1 and from .. last-1
  const float* first_q;     // the query of row 0

  explicit rows_of_tile(const tile_job& job)
      : of_head(heads_of<Isa>(job) == 1 ? job.rows : static_cast<int>(job.p->rows)), job_(job), w_(*job.w) {
    const plan& p = *job.p;
    const row_place first{static_cast<ptrdiff_t>(job.row % p.group), static_cast<ptrdiff_t>(job.row / p.group)};
    const seen begins = seen_by(p.see, first.query), ends = seen_by(p.see, (job.row + of_head - 1) / p.group);
    alike = begins == ends; // runs only grow, so all rows between see the same
    by_groups<Isa>(of_head, alike, [&](auto, int, int end) { in_groups = job.rows - of_head + end; });
    head = ends.head, from = begins.from, last = ends.to;
    find_seen(first, begins, ends);
    const ptrdiff_t group = p.group, first_head = job.kv_head * group + first.head;
    const float* q = first_q = p.q.data + first_head * p.q.head + first.query * p.q.token;
    float* out = p.out.data + first_head * p.out.head + first.query * p.out.token;
    for (int h = 0; h < heads_of<Isa>(job); ++h, q += group * p.q.head, out += group * p.out.head) place_rows(h * of_head, first, q, out);
    if (in_groups > job.rows) scale(w_.q + (job.rows - 1) * static_cast<ptrdiff_t>(p.dim), 0, 1, job.rows, in_groups);
  }

  int64_t end() const { return last > from ? last : head; } // behind the last key that any row sees
  // Of one head alone, its last group rounded up.
  int of_head_in_groups() const { return in_groups - job_.rows + of_head; }

 private:
  const tile_job& job_;
  const workspace& w_;

  // What each row sees, or what all of them see; `first` counts heads within the group.
  void find_seen(const row_place& first, const seen& begins, const seen& ends) const {
    const visibility& see = job_.p->see;
    const bool begin_alike = Isa::lanes > 1 && begins.head == ends.head && begins.from == ends.from; // so only the end moves
    const int group = job_.p->group, rows = alike ? 1 : job_.rows;
    int left = group - static_cast<int>(first.head); // rows of this query
    int64_t query = first.query;
    seen s = begins, *sees = w_.sees;
    for (int r = 0; r < rows; ++r) {
      sees[r] = s;
      if (--left > 0) continue;
      left = group, ++query;
      if (begin_alike)
        s.to = static_cast<int32_t>(clamp(see.position + query + see.right + 1, begins.to, see.end));
      else
        s = seen_by(see, query);
    }
  }

  // The rows of one KV head, from row `begin` of the tile on.
  void place_rows(int begin, const row_place& first, const float* q, float* out) const {
    const plan& p = *job_.p;
    if (p.group == 1) return place_run(begin, of_head, q, p.q.token, out, p.out.token);
    int head_in_group = static_cast<int>(first.head);
    for (int r = begin, end = begin + of_head, rows; r < end; r += rows, head_in_group = 0) { // of each query its heads
      rows = static_cast<int>(smaller(p.group - head_in_group, end - r));
      place_run(r, rows, q, p.q.head, out, p.out.head);
      q += p.q.token - head_in_group * p.q.head, out += p.out.token - head_in_group * p.out.head;
    }
  }

  // Rows one step apart: the queries of a head, or the heads of a query.
  void place_run(int row, int rows, const float* q, ptrdiff_t q_step, float* out, ptrdiff_t out_step) const {
    for (int r = row; r < row + rows; ++r, out += out_step) w_.out_rows[r] = out;
    scale(q, q_step, job_.p->scale, row, row + rows);
  }
  __attribute__((noinline)) void scale(const float* q, ptrdiff_t step, float by, int row, int end) const {
    const int dim = job_.p->dim;
    float* to = w_.q + row * static_cast<ptrdiff_t>(dim);
    const bool as_one = step == dim && dim % 16 == 0; // rows side by side
    const int length = as_one ? (end - row) * dim : dim;
    for (; row < end; row = as_one ? end : row + 1, q += step, to += dim) scale_row<Isa>(q, length, by, to);
  }
};

} // namespace fovea
