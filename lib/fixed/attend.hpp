// A tile of rows goes over all keys it sees, 256 at a time: in each block of 64 scores and weights, then values of all four blocks.
// Sums of int32 are exact, so values may run over many blocks at once; only rounding shifts cut the run: a reference that rises, a spill.
#pragma once
#include <type_traits>

#include "fixed/finish.hpp"
#include "fixed/panels.hpp"
#include "fixed/tile.hpp"

namespace fovea {

constexpr int fixed_run_blocks = 4;
constexpr int score_step = fixed_block + 16; // of a row of scores; a power of two would fold rows onto few cache sets

// How many rows and panels a product takes at once: for scores, and for values.
template <int Rows, int KeyPanels, int ValueRows, int ValuePanels>
struct fixed_shape {
  static constexpr int rows = Rows, key_panels = KeyPanels, value_rows = ValueRows, value_panels = ValuePanels;
};
template <class... Shapes>
struct fixed_shapes {};

template <class Isa>
class fixed_tile {
  using keys_dot = typename Isa::keys_dot;
  using values_dot = typename Isa::values_dot;
  using reg = typename Isa::reg;
  using q_element = typename keys_dot::element;
  using p_element = typename values_dot::element;
  using arranged = typename Isa::arranged; // element of panels in scratch
  static constexpr int lanes = Isa::lanes, regs = 16 / lanes;
  static constexpr int p_step = values_dot::planes * fixed_run_blocks * fixed_block + 64 / static_cast<int>(sizeof(p_element));

 public:
  explicit fixed_tile(const fixed_job& job) : job_(job), p_(*job.p) { cut(p_, job.rows, job.scratch, *this); }
  static size_t scratch(const fixed_plan& p, int32_t rows) {
    fixed_tile measured(p);
    return cut(p, rows, nullptr, measured);
  }

  void attend() {
    begin();
    const int64_t run_keys = fixed_run_blocks * fixed_block;
    for (int64_t at = first_key() / run_keys * run_keys; at < last_; at += run_keys) visit_run(at / fixed_block);
    for (int r = 0; r < job_.rows; ++r) finish_row(p_, rows_[r], o_ + static_cast<ptrdiff_t>(r) * p_.width, sum_of(r));
  }

 private:
  explicit fixed_tile(const fixed_plan& p) : job_(), p_(p) {} // to be measured only

  static size_t cut(const fixed_plan& p, int32_t rows, unsigned char* at, fixed_tile& t) {
    size_t used = 0;
    const auto take = [&](auto*& piece, ptrdiff_t count) {
      piece = at ? reinterpret_cast<std::remove_reference_t<decltype(piece)>>(at + used) : nullptr;
      used += (sizeof(*piece) * static_cast<size_t>(count) + 63) / 64 * 64;
    };
    const ptrdiff_t n = rows;
    take(t.rows_, n);
    take(t.sum_, n * lanes);
    take(t.rise_, n * fixed_run_blocks);
    take(t.s_, n * score_step);
    take(t.p_rows_, n * p_step);
    take(t.q_, (n + keys_dot::rows - 1) * p.depth);
    take(t.o_, n * p.width);
    take(t.value_weights_, fixed_block);
    return used;
  }

  // Calls f(shape, row) for groups of rows: the largest shape that still fits, again and again.
  template <class F>
  FOVEA_INLINE void by_groups(F f) const {
    by_groups(f, typename Isa::shapes{});
  }
  template <class F, class... Shapes>
  FOVEA_INLINE void by_groups(F f, fixed_shapes<Shapes...>) const {
    int r = 0;
    ((walk(r, Shapes{}, f)), ...);
  }
  template <class F, class Shape>
  FOVEA_INLINE void walk(int& r, Shape s, F f) const {
    for (; r + Shape::rows <= job_.rows; r += Shape::rows) f(s, r);
  }

  void begin() {
    head_ = 0, from_ = INT32_MAX, last_ = 0;
    for (int r = 0; r < job_.rows; ++r) {
      fixed_row& x = rows_[r] = make_row(p_, job_.kv_head, job_.row + r);
      head_ = x.head > head_ ? x.head : head_, from_ = x.from < from_ ? x.from : from_, last_ = x.to > last_ ? x.to : last_;
      for (int i = 0; i < lanes; ++i) sum_[r * lanes + i] = 0;
      sum_[r * lanes] = static_cast<int32_t>(begin_with_sink(p_, x));
    }
    int32_t* const o = o_;
    const ptrdiff_t count = static_cast<ptrdiff_t>(job_.rows) * p_.width;
    for (ptrdiff_t i = 0; i < count; i += lanes) Isa::store(o + i, Isa::spread(0));
    by_groups([&](auto shape, int r) { pack_queries<decltype(shape)::rows>(r); });
  }
  int64_t first_key() const { return head_ > p_.see.first_key ? p_.see.first_key : from_; }

  // [depth / deep][rows][deep]: a chunk of every row, then the next chunk of every row.
  template <int M>
  void pack_queries(int r) {
    constexpr int deep = keys_dot::deep, lead = chunks<M> * keys_dot::rows * deep;
    const int depth = p_.depth, dim = p_.dim;
    q_element* const first = q_ + static_cast<ptrdiff_t>(r) * depth;
    for (int m = M; m < lead / deep; ++m) // rows that only fill a chunk
      for (int c = 0; c < depth; c += deep) take_chunk(nullptr, 0, first + c / deep * lead + m * deep);
    for (int m = 0; m < M; ++m) {
      fixed_row& x = rows_[r + m];
      const int8_t* q = reinterpret_cast<const int8_t*>(x.q);
      q_element* to = first + m * deep;
      for (int c = 0; c < depth; c += deep, to += lead) take_chunk(q + c, dim - c, to);
      int32_t sum = 0;
      for (int c = 0; c < dim && keys_dot::key_offset != 0; ++c) sum += q[c];
      x.start += keys_dot::key_offset * sum;
    }
  }
  template <int M>
  static constexpr int chunks = (M + keys_dot::rows - 1) / keys_dot::rows; // that hold M rows

  static FOVEA_INLINE void take_chunk(const int8_t* q, int left, q_element* __restrict to) {
    constexpr int deep = keys_dot::deep;
    if (left >= deep) {
      for (int i = 0; i < deep; ++i) to[i] = q[i];
    } else {
      for (int i = 0; i < deep; ++i) to[i] = static_cast<q_element>(i < left ? q[i] : 0);
    }
  }

  bool sees(int64_t at) const {
    const bool in_head = head_ > p_.see.first_key && at < head_ && at + fixed_block > p_.see.first_key;
    return in_head || (at < last_ && at + fixed_block > from_);
  }

  void visit_run(int64_t first) {
    bool live[fixed_run_blocks];
    for (int i = 0; i < job_.rows * fixed_run_blocks; ++i) rise_[i] = 0;
    for (int b = 0; b < fixed_run_blocks; ++b) {
      risen_[b] = 0;
      live[b] = sees((first + b) * fixed_block);
      if (!live[b]) continue;
      score_and_weigh(first + b, b);
      if (job_.panels->one_at_a_time()) add_values(first, b, b + 1), live[b] = false;
    }
    for (int b = 0, end; b < fixed_run_blocks; b = end) {
      end = b + 1;
      if (!live[b]) continue;
      while (end < fixed_run_blocks && live[end] && !p_.spill) ++end;
      add_values(first, b, end);
    }
  }

  void score_and_weigh(int64_t block, int b) {
    const int8_t* keys = job_.panels->keys(block);
    by_groups([&](auto shape, int r) {
      if (job_.panels->arranged())
        this->template score<decltype(shape)>(reinterpret_cast<const arranged*>(keys), r);
      else
        this->template score<decltype(shape)>(keys, r);
    });
    weigh_rows(block, b);
  }

  template <class Shape, class Byte>
  __attribute__((noinline)) void score(const Byte* keys, int r) {
    constexpr int M = chunks<Shape::rows>, N = Shape::key_panels, R = keys_dot::rows, step = R * keys_dot::deep;
    const ptrdiff_t panel = 16 * static_cast<ptrdiff_t>(p_.depth);
    for (int n = 0; n < 4; n += N) {
      tile_sums<keys_dot, M, N> acc;
#pragma GCC unroll 16
      for (int m = 0; m < M; ++m)
#pragma GCC unroll 16
        for (int i = 0; i < N; ++i)
          keys_dot::begin(acc.row[m][i].at, [&](int row) { return m * R + row < Shape::rows ? rows_[r + m * R + row].start : 0; });
      multiply<keys_dot, step>(q_ + static_cast<ptrdiff_t>(r) * p_.depth, M * step, keys + n * panel, panel, p_.depth, acc);
#pragma GCC unroll 16
      for (int m = 0; m < Shape::rows; ++m)
#pragma GCC unroll 16
        for (int i = 0; i < N; ++i) {
          reg x[regs];
          keys_dot::fold(acc.row[m / R][i].at, m % R, x);
#pragma GCC unroll 16
          for (int j = 0; j < regs; ++j) Isa::store(s_ + (r + m) * score_step + (n + i) * 16 + j * lanes, x[j]);
        }
    }
  }

  // The usual row sees the whole block, has no option that touches single keys, and its reference holds.
  __attribute__((noinline)) void weigh_rows(int64_t block, int b) {
    const int64_t at = block * fixed_block;
    const bool weighted = p_.value_weights.data;
    for (int r = 0; r < job_.rows; ++r) {
      const fixed_row& x = rows_[r];
      const bool usual = !x.by_key && !weighted && x.from <= at && at + fixed_block <= x.to;
      if (!usual)
        weigh_unusual(block, b, r);
      else if (x.reference == fixed_lowest_reference || !weigh<false>(b, r, nullptr))
        raise_and_weigh(b, r, nullptr);
    }
  }

  __attribute__((noinline)) void weigh_unusual(int64_t block, int b, int r) {
    fixed_row& x = rows_[r];
    int32_t* s = s_ + r * score_step;
    const seen_of_block seen = seen_in(p_, x, block);
    if (x.by_key)
      octaves_by_key(p_, x, job_.kv_head, block, seen, s);
    else if (!seen.all())
      hide(seen, x, s);
    const int16_t* weights = value_weights(block);
    if (!(x.by_key ? weigh<true>(b, r, weights) : weigh<false>(b, r, weights))) raise_and_weigh(b, r, weights);
  }

  __attribute__((noinline)) void raise_and_weigh(int b, int r, const int16_t* weights) {
    raise_reference(b, r);
    rows_[r].by_key ? weigh<true>(b, r, weights) : weigh<false>(b, r, weights);
  }

  template <bool Octaves>
  FOVEA_INLINE bool weigh(int b, int r, const int16_t* weights) {
    const fixed_row& x = rows_[r];
    p_element* to = p_rows_ + r * p_step + b * values_dot::block_step;
    return Isa::template weigh<Octaves>(s_ + r * score_step, *x.scale, x.reference, to, sum_ + r * lanes, weights);
  }

  // An unseen key gets the score whose octaves are -multiplier / 2: weight 0, like every absent one.
  static void hide(const seen_of_block& seen, const fixed_row& x, int32_t* s) {
    const int32_t absent = -(1 << (x.scale->score_shift - 1));
    for (int j = 0; j < fixed_block; ++j) s[j] = seen.has(j) ? s[j] : absent;
  }

  // Weights of unseen keys are 0, but the memory behind their numbers must not be read.
  const int16_t* value_weights(int64_t block) {
    const int16_t* all = value_weights_of(p_, job_.kv_head, block);
    if (!all) return nullptr;
    const int64_t at = block * fixed_block;
    for (int j = 0; j < fixed_block; ++j) value_weights_[j] = p_.see.first_key <= at + j && at + j < p_.see.end ? all[j] : int16_t{0};
    return value_weights_;
  }

  uint32_t sum_of(int r) const {
    uint32_t sum = 0;
    for (int i = 0; i < lanes; ++i) sum += static_cast<uint32_t>(sum_[r * lanes + i]);
    return sum;
  }

  void raise_reference(int b, int r) {
    fixed_row& x = rows_[r];
    const int32_t* s = s_ + r * score_step;
    int32_t top = s[0];
    for (int j = 1; j < fixed_block; ++j) top = top < s[j] ? s[j] : top;
    const int32_t t = x.by_key ? top : octaves_of(top, x.scale->score_multiplier, x.scale->score_shift);
    const int32_t wanted = reference_of(t), by = wanted - x.reference;
    const bool first = x.reference == fixed_lowest_reference; // nothing to shift yet
    x.reference = wanted;
    if (first) return;
    const uint32_t sum = shift_round_sum(sum_of(r), by);
    for (int i = 0; i < lanes; ++i) sum_[r * lanes + i] = 0;
    sum_[r * lanes] = static_cast<int32_t>(sum);
    rise_[r * fixed_run_blocks + b] = static_cast<uint8_t>(by > 31 ? 31 : by);
    risen_[b] |= uint64_t{1} << r;
  }

  // Blocks b .. end-1, for each group of rows cut where one of its references has risen.
  void add_values(int64_t first, int b, int end) {
    const int8_t* values = job_.panels->values(first + b);
    by_groups([&](auto shape, int r) {
      using Shape = decltype(shape);
      const uint64_t mine = (~uint64_t{0} >> (64 - Shape::rows)) << r;
      for (int from = b, to; from < end; from = to) {
        if (risen_[from] & mine) rescale(r, Shape::rows, from);
        for (to = from + 1; to < end && !(risen_[to] & mine);) ++to;
        const ptrdiff_t at = static_cast<ptrdiff_t>(from - b) * fixed_block * p_.width;
        for (int m = 0; m < Shape::rows; m += Shape::value_rows) {
          if (job_.panels->arranged())
            this->template add_group<Shape>(reinterpret_cast<const arranged*>(values) + at, r + m, from, to - from);
          else
            this->template add_group<Shape>(values + at, r + m, from, to - from);
        }
      }
    });
  }

  void rescale(int r, int count, int b) {
    for (int m = r; m < r + count; ++m)
      if (const int by = rise_[m * fixed_run_blocks + b]) {
        int32_t* o = o_ + static_cast<ptrdiff_t>(m) * p_.width;
        for (int c = 0; c < p_.width; c += lanes) Isa::store(o + c, by > 30 ? Isa::spread(0) : Isa::shift_round(Isa::load(o + c), by));
      }
  }

  template <class Shape, class Byte>
  __attribute__((noinline)) void add_group(const Byte* values, int r, int b, int blocks) {
    constexpr int N = Shape::value_panels;
    int c = 0;
    for (; c + 16 * N <= p_.width; c += 16 * N) add_columns<Shape::value_rows, N>(values, r, b, blocks, c);
    if constexpr (N > 1)
      for (; c < p_.width; c += 16) add_columns<Shape::value_rows, 1>(values, r, b, blocks, c);
  }

  template <int M, int N, class Byte>
  FOVEA_INLINE void add_columns(const Byte* values, int r, int b, int blocks, int c) {
    constexpr ptrdiff_t panel = 16 * fixed_block;
    tile_sums<values_dot, M, N> acc;
#pragma GCC unroll 16
    for (int m = 0; m < M; ++m)
#pragma GCC unroll 16
      for (int i = 0; i < N; ++i) values_dot::begin(acc.row[m][i].at, [](int) { return 0; });
    const p_element* a = p_rows_ + r * p_step + b * values_dot::block_step;
    values += c * fixed_block;
    for (int k = 0; k < blocks; ++k, a += values_dot::block_step, values += fixed_block * static_cast<ptrdiff_t>(p_.width))
      multiply<values_dot, p_step>(a, values_dot::block_step * values_dot::deep / fixed_block, values, panel, fixed_block, acc);
    int32_t* o = o_ + static_cast<ptrdiff_t>(r) * p_.width + c;
    if (p_.spill)
      leave<true, M, N>(acc, o);
    else
      leave<false, M, N>(acc, o);
  }

  template <bool Spill, int M, int N>
  FOVEA_INLINE void leave(const tile_sums<values_dot, M, N>& acc, int32_t* o) {
#pragma GCC unroll 16
    for (int m = 0; m < M; ++m)
#pragma GCC unroll 16
      for (int i = 0; i < N; ++i) {
        reg x[regs];
        values_dot::fold(acc.row[m][i].at, 0, x);
#pragma GCC unroll 16
        for (int j = 0; j < regs; ++j) {
          int32_t* to = o + static_cast<ptrdiff_t>(m) * p_.width + i * 16 + j * lanes;
          Isa::store(to, Isa::add(Isa::load(to), Spill ? Isa::shift_round(x[j], p_.spill) : x[j]));
        }
      }
  }

  const fixed_job job_;
  const fixed_plan& p_;
  int32_t head_ = 0, from_ = 0, last_ = 0;
  uint64_t risen_[fixed_run_blocks] = {};
  fixed_row* rows_;
  int32_t* sum_;  // [rows][lanes]
  uint8_t* rise_; // [rows][4]: octaves by which the reference rises at a block
  int32_t* s_;    // [rows][score_step]
  p_element* p_rows_;
  q_element* q_;
  int32_t* o_; // [rows][width]
  int16_t* value_weights_;
};

template <class Isa>
void attend_fixed_tile(const fixed_job& job) {
  fixed_tile<Isa>(job).attend();
}
template <class Isa>
constexpr fixed_kernel fixed_kernel_of(int32_t isa, int32_t rows) {
  return {isa, rows, fixed_tile<Isa>::scratch, attend_fixed_tile<Isa>, Isa::arrange, sizeof(typename Isa::arranged)};
}

} // namespace fovea
