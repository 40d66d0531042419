// Which keys a group of rows multiplies in the values of a block, and which of their weights are 0.
#pragma once
#include "f32/kernel/block.hpp"
#include "f32/kernel/kv_view.hpp"
#include "f32/kernel/shapes.hpp"

namespace fovea::f32 {

// What the tiles of one KV head share in a block.
template <class Element>
struct value_phase {
  float* s; // weights
  value_rows<Element> v;
  float* o;
  const float *of_before, *of_block, *factor;
  float* const* out;
  int v_dim, width;
  bool opens_span;
  bool masked; // a mask or a tree may hide keys within the runs

  value_phase(const tile_job& job, const block& b, const value_rows<Element>& values)
      : s(job.w->s),
        v(values),
        o(job.w->o),
        of_before(job.w->of_before),
        of_block(job.w->of_block),
        factor(job.w->factor),
        out(job.w->out_rows),
        v_dim(job.p->v_dim),
        width(up16(job.p->v_dim)),
        opens_span(b.opens_span),
        masked(job.p->modify.mask.bias || job.p->modify.mask.shown || b.in_tree) {}
};

// The keys of a group of rows: begin .. end-1 go to all rows. Where each row begins, or ends, one key after
// the row before it, as in windows and causal attention, the rows - 1 keys before begin, or from end on, are
// a stair: each goes to the rows that see it.
struct keys_of_group {
  int begin, end;
  bool stair_in, stair_out;
};

// What is the same for all columns of a group of rows.
template <class Element>
struct value_group {
  int row;
  bool finishes; // no row of the group sees keys behind this block, and the output is wanted
  bool may_leak; // some weights are 0, because a mask or the row itself hides keys that other rows see
  bool stair_in, stair_out;
  bool split;   // values stand in more than one segment
  bool fetches; // V is more than the first cache holds from one tile to the next
  int keys;
  const float* s;                    // weights of the first row for the first key
  const typename Element::stored* v; // values of the first key
};

// Sets the weights of those keys begin .. end-1 that a row does not see to 0. Were there any?
FOVEA_INLINE bool hide_unseen(const key_runs& runs, int row, int begin, int end, float* weights) {
  bool any = false;
  const auto hide = [&](int to) {
    for (; begin < to && begin < end; ++begin) {
      weights[begin] = 0;
      any = true;
    }
  };
  for (int n = runs.first; n < 2; ++n) {
    const int from = runs.from[n][row], to = runs.to[n][row];
    if (from >= to) continue;
    hide(from);
    begin = begin < to ? to : begin;
  }
  hide(end);
  return any;
}

// Does each row begin, or end, one key after the row before it?
template <int Rows>
FOVEA_INLINE bool is_stair(const int32_t* keys) {
  bool is = true;
  for (int m = 1; m < Rows; ++m) is &= keys[m] == keys[0] + m;
  return is;
}

// For rows that do not all see the same one run of keys. Where they form no stair, the group multiplies all
// keys from the first run of any row to the end of the second, and keys that a row does not see get weight 0.
// After a prefix or a chunk, runs may begin with a jump: no stair. Returns whether weights were set to 0.
template <class Isa, int Rows>
__attribute__((noinline)) bool look_at_steps(const key_runs& runs, int row, float* s, keys_of_group& keys) {
  constexpr int last = Rows - 1;
  const int32_t *from = runs.from[1] + row, *to = runs.to[1] + row;
  keys = {from[0], to[last], false, false};
  if (runs.first == 0) {
    const int begin = runs.from[0][row], end = runs.to[0][row + last];
    if (begin < end) keys = {begin, from[0] < to[last] ? to[last] : end, false, false};
  } else if (from[last] < to[0]) {
    keys.stair_in = is_stair<Rows>(from);
    keys.stair_out = is_stair<Rows>(to);
    if (keys.stair_in) keys.begin = from[last];
    if (keys.stair_out) keys.end = to[0];
  }
  bool hides = false;
  for (int m = 0; m < Rows; ++m)
    hides |= hide_unseen(runs, row + m, keys.begin, keys.end, s + (row + m) * score_stride);
  return hides;
}

template <class Isa, class Element>
FOVEA_INLINE void place_keys(const value_phase<Element>& z, const keys_of_group& keys,
                             value_group<Element>& g) {
  g.stair_in = keys.stair_in;
  g.stair_out = keys.stair_out;
  g.keys = keys.end - keys.begin;
  g.s = z.s + g.row * score_stride + keys.begin;
  g.v = z.v.row(keys.begin);
  constexpr int held = 1024 * Isa::lanes; // floats; sixteen lanes stand that up to twice as much
  g.fetches = g.keys * z.v_dim > held;
}

template <class Isa, class Shape, class Element>
__attribute__((noinline)) void find_keys(const value_phase<Element>& z, const key_runs& runs,
                                         value_group<Element>& g) {
  constexpr int last = Shape::rows - 1;
  const int32_t *from = runs.from[1] + g.row, *to = runs.to[1] + g.row;
  keys_of_group keys{from[0], to[0], false, false};
  const bool same = runs.first == 1 && from[0] == from[last] && to[0] == to[last];
  if (!same) g.may_leak |= look_at_steps<Isa, Shape::rows>(runs, g.row, z.s, keys);
  place_keys<Isa>(z, keys, g);
}

// Do the keys that rows row .. last see stand in several segments?
template <class Isa, class Element>
__attribute__((noinline)) bool is_split(const value_rows<Element>& v, const key_runs& runs, int row,
                                        int last) {
  const bool two = runs.first == 0 && runs.from[0][row] < runs.to[0][last];
  const bool second = runs.from[1][row] < runs.to[1][last];
  const int from = two ? runs.from[0][row] : runs.from[1][row],
            to = second ? runs.to[1][last] : runs.to[0][last];
  return (two || second) && v.side_by_side(from, to) < to - from;
}

template <class Isa, class Shape, class Element>
FOVEA_INLINE void find_group(const value_phase<Element>& z, const block& b, int row,
                             value_group<Element>& g) {
  g.row = row;
  g.finishes = b.writes_output && row + Shape::rows <= b.finished_after;
  g.may_leak = z.masked;
  g.split = z.v.map && is_split<Isa>(z.v, b.runs, row, row + Shape::rows - 1);
  if (b.runs.same == same_keys::all) return place_keys<Isa>(z, {b.runs.begin, b.runs.end, false, false}, g);
  find_keys<Isa, Shape>(z, b.runs, g);
}

} // namespace fovea::f32
