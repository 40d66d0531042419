// Attention row by row with all options: the kernel of microcontrollers, in little code and scratch. A row
// goes over the blocks that it sees, and in each over scores, modifiers, softmax and values.
#pragma once
#include "common/hot.hpp"
#include "f32/kernel.hpp"
#include "f32/kernel/lane_steps.hpp"
#include "f32/kernel/modify.hpp"
#include "f32/kernel/output.hpp"
#include "f32/kernel/row_of_head.hpp"

namespace fovea::f32 {

// Of so many it is found at a time whether they are on the path of a tree: on the stack.
constexpr int path_keys = 64;

template <class Isa>
class compact_attention : row_of_head<Isa> {
  using of_run = row_of_run<Isa>;
  using of_head = row_of_head<Isa>;
  using steps = steps_of<Isa>;
  using one = plain_of<Isa>; // for single numbers
  using gathered = typename steps::gathered;
  using factors = typename steps::factors;
  using of_head::first_key;
  using of_head::k_;
  using of_head::kv_head_;
  using of_head::loaded_;
  using of_head::p_;
  using of_head::q_;
  using of_head::s_;
  using of_head::stretched_;
  using of_head::v_;
  using of_run::o_;
  using values = typename of_head::values;

 public:
  using of_head::floats_of;
  using of_head::floats_of_keys;
  // `room`: floats behind what each call needs.
  compact_attention(const plan& p, float* scratch, size_t room) : of_head(p, scratch, room) {
    may_be_run_ = !p.modify.changes_scores() && !p.tree.parents && !p.stored.k.scaled() &&
                  !p.stored.v.scaled();
    is_plain_ = may_be_run_ && p.q.data && p.k.data && p.v.data && p.out.data && !p.partials &&
                !p.modify.sinks && !p.modify.lse && !p.modify.weights.data;
  }

  FOVEA_INLINE void attend_rows(const unit_run& units) {
    const bool whole_rows = !features::partials || units.pieces.count == 0;
    kv_head_ = units.kv_head;
    this->place_head();
    if (p_.stored.any() && whole_rows && units.end - units.row > 1 && !returns_every_score())
      this->load_head(units.row, units.end);
    const int32_t group = p_.group;
    int32_t query = static_cast<int32_t>(units.row / group),
            in_group = static_cast<int32_t>(units.row - query * static_cast<ptrdiff_t>(group));
    int32_t same_to = -1; // the last query that is known to see what this one sees
    for (ptrdiff_t row = units.row; row < units.end; ++row) {
      if (query_ != query && query > same_to) {
        keys_ = seen_by(p_.see, query);
        sees_run_ = keys_.from < keys_.to && keys_.head <= first_key();
        if (row == units.row) same_to = last_that_sees_the_same(query, units);
      }
      query_ = query;
      head_ = kv_head_ * group + in_group;
      if (is_plain_ && sees_run_) {
        this->attend_run(query_row(), keys_.from, keys_.to, output_row());
      } else {
        scale_query();
        whole_rows ? attend_row() : attend_pieces(units.pieces, row);
      }
      if (++in_group < group) continue;
      in_group = 0;
      ++query;
    }
  }

 private:
  // Queries see runs that move only forward: if one sees what the last one sees, so do those between them.
  int32_t last_that_sees_the_same(int32_t query, const unit_run& units) const {
    const int32_t last = static_cast<int32_t>((units.end - 1) / p_.group);
    return query < last && keys_ == seen_by(p_.see, last) ? last : query;
  }

  int32_t head_ = 0, query_ = -1;
  seen keys_;
  bool may_be_run_; // nothing changes or hides scores
  bool is_plain_;   // there is no option at all, and all are floats
  bool sees_run_;   // the row sees one run of keys, and no kept ones

  // Scores of keys that no row sees.
  bool returns_every_score() const {
    const returned stage = static_cast<returned>(p_.modify.weights.stage);
    return features::weights && p_.modify.weights.data &&
           (stage == returned::scaled_scores || stage == returned::capped_scores);
  }
  void scale_query() {
    const float* q = query_row();
    if (p_.stored.q.differs()) {
      p_.stored.as.rows->load_query(p_, head_, query_, loaded_);
      q = loaded_;
    }
    stretched_ = steps::scale_query(p_, q, q_);
  }

  const float* query_row() const { return p_.q.data + head_ * p_.q.head + query_ * p_.q.token; }
  float* output_row() const { return p_.out.data + head_ * p_.out.head + query_ * p_.out.token; }

  // The first block from `at` on in which the row sees a key.
  static constexpr int32_t no_block = INT32_MAX;
  int32_t next_block(int32_t at) const {
    const auto from = [&](int32_t key) { return at < key ? key & -block_keys : at; };
    if (at < keys_.head && first_key() < keys_.head) return from(first_key());
    return at < keys_.to && keys_.from < keys_.to ? from(keys_.from) : no_block;
  }

  __attribute__((noinline)) void attend_row() {
    gathered all;
    all.o = o_[0];
    int32_t at = next_block(0);
    if (at == no_block) clear(all);
    for (bool opens = true; at != no_block; opens = false) {
      const int32_t end = (at | (span_keys - 1)) + 1;
      if (opens) {
        gather(at, end, all);
      } else {
        gathered span;
        span.o = o_[1];
        gather(at, end, span);
        steps::join(all, span, p_.v_dim);
      }
      at = next_block(end);
    }
    finish(all);
  }

  void clear(gathered& g) const {
    g.top = lowest;
    for (float& x : g.sum) x = 0;
    for (int c = 0; c < p_.v_dim; ++c) g.o[c] = 0;
  }

  // The keys from block `at` to the one before `end`, within a span.
  __attribute__((noinline)) void gather(int32_t at, int32_t end, gathered& span) {
    if (may_be_run_ && sees_run_ && k_.at && v_.at) {
      const int32_t from = at < keys_.from ? keys_.from : at, to = end < keys_.to ? end : keys_.to;
      if (from < to) {
        this->add_span(from, to, span);
        return;
      }
    }
    bool opens = true;
    for (; (at = next_block(at)) < end; at += block_keys, opens = false) add_block(block_at(at), span, opens);
    if (opens) clear(span);
  }

  __attribute__((noinline)) void attend_pieces(const piece_range& pieces, ptrdiff_t row) {
    for (int32_t n = pieces.first; n < pieces.first + pieces.count; ++n) {
      float* const out = slot(p_, kv_head_, row, n);
      gathered piece;
      piece.o = out + 32;
      const int32_t at = (p_.split.first_piece + n) * p_.split.piece_keys;
      gather(at, at + p_.split.piece_keys, piece);
      for (int i = 0; i < 16; ++i) {
        out[i] = piece.sum[i];
        out[16 + i] = piece.top;
      }
      fill_last_vector(piece.o);
    }
  }
  // A partial output is vectors of sixteen columns, of which the last one ends with the row.
  void fill_last_vector(float* o) const {
    const int rest = p_.v_dim & 15, whole = p_.v_dim - rest;
    for (int i = 15; rest && i >= 0; --i)
      if (whole)
        o[whole + i] = o[p_.v_dim - 16 + i];
      else if (i >= rest)
        o[i] = 0;
  }

  block_of_row block_at(int32_t first) const {
    const auto within = [=](int32_t key) {
      return key < first ? 0 : key - first < block_keys ? static_cast<int>(key - first) : block_keys;
    };
    const int from = within(first_key()), head = within(keys_.head);
    return {first,
            (features::kept_keys || features::trees) && head > from ? 0 : 1,
            {from, within(keys_.from)},
            {head, within(keys_.to)}};
  }

  // The keys of a block join the sums of its span.
  void add_block(const block_of_row& b, gathered& span, bool opens) {
    this->score(b);
    const bool by_key = p_.modify.changes_scores() || p_.in_tree(b.first, block_keys);
    if (by_key) modify(b, returned::weights);
    float of_block[16];
    const float reference = weigh_block(b, by_key, opens ? span.sum : of_block);
    const factors f = steps::join_block(span, reference, of_block, opens);
    if (p_.stored.v.scaled()) this->scale(b, false);
    steps::by_columns(p_.v_dim, [&](auto columns, int c) FOVEA_LAMBDA_INLINE {
      add_values<decltype(columns)::value>(b, c, by_key, span.o, opens ? nullptr : &f);
    });
  }

  FOVEA_HOT void modify(const block_of_row& b, returned stage) const {
    const bool all = stage != returned::capped_scores;
    const row_bias bias = all ? bias_of(p_, {head_, query_}, b.first) : row_bias{};
    tree_path<path_keys> path;
    for (int at = 0; at < block_keys; at += path_keys) {
      const bool in_tree = all && p_.in_tree(b.first + at, path_keys);
      if (in_tree) find_path(p_, query_, b.first + at, path);
      for (int run = b.first_run; run < 2; ++run) {
        const int to = b.to[run] < at + path_keys ? b.to[run] : at + path_keys;
        for (int j = b.from[run] > at ? b.from[run] : at; j < to; ++j)
          s_[j] = modified<one>(p_.modify, bias, j, s_[j], in_tree ? &path : nullptr, j - at);
      }
    }
  }

  // Calls use(from, to) for the runs of the block; with hidden keys for those stretches of them whose numbers
  // are not `hidden`.
  template <class Use>
  FOVEA_INLINE void each_stretch(const block_of_row& b, bool by_key, float hidden, Use use) const {
    for (int run = b.first_run; run < 2; ++run)
      for (int from = b.from[run], to = b.to[run], end; from < to; from = end) {
        end = to;
        if (by_key) {
          const auto is_hidden = [&](int j) FOVEA_LAMBDA_INLINE { return bits_of(s_[j]) == bits_of(hidden); };
          while (from < to && is_hidden(from)) ++from;
          for (end = from; end < to && !is_hidden(end);) ++end;
        }
        use(from, end);
      }
  }

  FOVEA_HOT float weigh_block(const block_of_row& b, bool by_key, float* sum) const {
    float peak = lowest;
    for (int run = b.first_run; run < 2; ++run) peak = steps::largest(s_ + b.from[run], s_ + b.to[run], peak);
    const float reference = steps::reference_of(peak);
    steps::clear_sum(sum);
    weigh(b, reference, by_key, sum);
    return reference;
  }
  // Scores become weights. Those of hidden keys, minus infinity, become 0.
  void weigh(const block_of_row& b, float reference, bool by_key, float* sum) const {
    float base = reference;
    if (!steps::is_exact(reference)) {
      for (int run = b.first_run; run < 2; ++run)
        steps::move_scores(s_ + b.from[run], s_ + b.to[run], reference);
      base = 0;
    }
    each_stretch(b, by_key, minus_infinity,
                 [&](int from, int to) FOVEA_LAMBDA_INLINE { steps::weigh(s_, from, to, base, sum); });
    for (int run = b.first_run; by_key && run < 2; ++run)
      for (int j = b.from[run]; j < b.to[run]; ++j)
        if (s_[j] == minus_infinity) s_[j] = 0;
  }

  template <int Columns>
  FOVEA_HOT void add_values(const block_of_row& b, int c, bool by_key, float* o, const factors* f) const {
    const int count = steps::template columns_from<Columns>(c, p_.v_dim);
    steps::template gather_columns<Columns>(o + c, count, f, [&](auto& x) FOVEA_LAMBDA_INLINE {
      each_stretch(b, by_key, 0, [&](int from, int to) FOVEA_LAMBDA_INLINE {
        while (from < to) {
          const values v = this->values_from(b.first, from, to, c, count);
          steps::template add_keys<Columns>(s_ + from, v.end - from, v.at, v.stride, count, x);
          from = v.end;
        }
      });
    });
  }

  void finish(gathered& all) {
    const float total = steps::sum_of_lanes(all.sum);
    const bool has_end = (features::sinks && p_.modify.sinks) || (features::lse && p_.modify.lse);
    const float factor = has_end ? end_with_options(total, all.top) : inverse_of<one>({{total}}).r[0];
    float* const out = p_.out.data ? output_row() : all.o;
    steps::write_output(all.o, factor, p_.v_dim, out);
    if (features::types && p_.stored.out.dtype != FOVEA_F32)
      p_.stored.as.rows->write_row(p_, head_, query_, out);
    if (features::weights && p_.modify.weights.data) write_weights(all.top, total, factor);
  }
  __attribute__((noinline)) float end_with_options(float total, float top) const {
    const modifiers& m = p_.modify;
    const auto end = end_of<one>({{total}}, {{top}}, {{m.sinks ? m.sinks[head_] : minus_infinity}});
    if (m.lse) m.lse[head_ * p_.queries + query_] = end.lse.r[0];
    return end.factor.r[0];
  }

  // Scores are computed once more, for the first pass did not keep them.
  __attribute__((noinline)) void write_weights(float top, float total, float factor) {
    const fovea_weights& wanted = p_.modify.weights;
    const int32_t head = head_ - wanted.first_head, query = query_ - wanted.first_query;
    if (head < 0 || head >= wanted.heads || query < 0 || query >= wanted.queries) return;
    const returned stage = static_cast<returned>(wanted.stage);
    const int32_t begin = first_key(), end = static_cast<int32_t>(p_.keys_end);
    float* out = wanted.data + (head * static_cast<ptrdiff_t>(wanted.queries) + query) * (end - begin);
    const float nothing = stage == returned::biased_scores ? minus_infinity : 0;
    for (int32_t j = 0; j < end - begin; ++j) out[j] = nothing;
    const seen keys = keys_;
    if (returns_every_score()) keys_ = {begin, begin, end};
    for (int32_t at = 0; (at = next_block(at)) != no_block; at += block_keys) {
      const block_of_row b = block_at(at);
      this->score(b);
      const bool by_key = p_.modify.changes_scores() || p_.in_tree(at, block_keys);
      if (by_key && stage != returned::scaled_scores) modify(b, stage);
      write_block(b, stage == returned::weights, {top, total, factor}, out + (at - begin));
    }
    keys_ = keys;
  }

  // In a row whose sum is NaN all that is seen is NaN, whichever scores were, but minus infinity; what is
  // hidden stays 0, even if the factor is NaN.
  struct end_of_row {
    float top, total, factor;
  };
  void write_block(const block_of_row& b, bool weights, const end_of_row& row, float* out) const {
    const bool broken = weights && row.total != row.total;
    float sum[16] = {}; // which nobody reads
    if (weights && !broken) weigh(b, row.top, true, sum);
    const float by = weights ? row.factor : ln_2;
    for (int run = b.first_run; run < 2; ++run)
      for (int j = b.from[run]; j < b.to[run]; ++j)
        out[j] = !broken ? s_[j] * by : s_[j] != minus_infinity ? __builtin_nanf("") : 0;
  }
};

// Scratch may begin anywhere: what is lost until the next multiple of the alignment counts.
constexpr size_t compact_alignment = 64;

constexpr size_t compact_bytes(size_t floats) { return sizeof(float) * floats + compact_alignment - 1; }

template <class Isa>
size_t compact_least_scratch(const plan& p) {
  return compact_bytes(compact_attention<Isa>::floats_of(p));
}
// With room for keys and values of another type; the heads of one query share no more than a block of them.
template <class Isa>
size_t compact_best_scratch(const plan& p) {
  const int64_t given = p.keys_end - p.see.first_key,
                shared = p.rows == p.group ? smaller(given, block_keys) : given,
                more = p.rows > 1 ? compact_attention<Isa>::floats_of_keys(p, shared + 2 * loaded_keys) : 0,
                bytes = static_cast<int64_t>(compact_least_scratch<Isa>(p)) +
                        more * static_cast<int64_t>(sizeof(float));
  return static_cast<size_t>(smaller(bytes, PTRDIFF_MAX));
}

template <class Isa>
bool attend_compact(const plan& p, void* scratch, size_t size) {
  const size_t floats = compact_attention<Isa>::floats_of(p), least = compact_bytes(floats);
  if (size < least) return false;
  const uintptr_t at = (reinterpret_cast<uintptr_t>(scratch) + compact_alignment - 1) & -compact_alignment;
  compact_attention<Isa> rows(p, reinterpret_cast<float*>(at), (size - least) / sizeof(float));
  attend_units(p, {[](void* self, const unit_run& units) {
                     static_cast<compact_attention<Isa>*>(self)->attend_rows(units);
                   },
                   &rows});
  return true;
}

} // namespace fovea::f32
