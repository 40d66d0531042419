// Attention row by row with all options: the kernel of microcontrollers, in little code and scratch. A row
// goes over the spans that it sees, or over some pieces of the keys; row_of_blocks.hpp goes over blocks.
#pragma once
#include "f32/kernel.hpp"
#include "f32/kernel/output.hpp"
#include "f32/kernel/row_of_blocks.hpp"

namespace fovea::f32 {

template <class Isa>
class compact_attention : row_of_blocks<Isa> {
  using of_blocks = row_of_blocks<Isa>;
  using of_head = row_of_head<Isa>;
  using of_run = row_of_run<Isa>;
  using steps = steps_of<Isa>;
  using one = plain_of<Isa>; // for single numbers
  using gathered = typename steps::gathered;
  using of_blocks::first_key;
  using of_blocks::head_;
  using of_blocks::keys_;
  using of_blocks::may_be_run_;
  using of_blocks::no_block;
  using of_blocks::p_;
  using of_blocks::query_;
  using of_blocks::s_;
  using of_blocks::sees_run_;
  using of_head::kv_head_;
  using of_head::loaded_;
  using of_head::q_;
  using of_head::stretched_;
  using of_run::o_;

 public:
  using of_head::floats_of;
  using of_head::floats_of_keys;
  // `room`: floats behind what each call needs.
  compact_attention(const plan& p, float* scratch, size_t room) : of_blocks(p, scratch, room) {
    is_plain_ = may_be_run_ && p.q.data && p.k.data && p.v.data && p.out.data && !p.partials &&
                !p.modify.sinks && !p.modify.lse && !p.modify.weights.data;
  }

  FOVEA_INLINE void attend_rows(const unit_run& units) {
    const bool whole_rows = !features::partials || units.pieces.count == 0;
    kv_head_ = units.kv_head;
    this->place_head();
    if (p_.stored.any() && whole_rows && units.end - units.row > 1 && !p_.modify.returns_every_score())
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

  bool is_plain_; // there is no option at all, and all are floats

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

  __attribute__((noinline)) void attend_row() {
    gathered all;
    all.o = o_[0];
    int32_t at = this->next_block(0);
    if (at == no_block) this->clear(all);
    for (bool opens = true; at != no_block; opens = false) {
      const int32_t end = (at | (span_keys - 1)) + 1;
      if (opens) {
        this->gather(at, end, all);
      } else {
        gathered span;
        span.o = o_[1];
        this->gather(at, end, span);
        steps::join(all, span, p_.v_dim);
      }
      at = this->next_block(end);
    }
    finish(all);
  }

  __attribute__((noinline)) void attend_pieces(const piece_range& pieces, ptrdiff_t row) {
    for (int32_t n = pieces.first; n < pieces.first + pieces.count; ++n) {
      float* const out = slot(p_, kv_head_, row, n);
      gathered piece;
      piece.o = out + 32;
      const int32_t at = (p_.split.first_piece + n) * p_.split.piece_keys;
      this->gather(at, at + p_.split.piece_keys, piece);
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
    const returned stage = p_.modify.stage();
    const int32_t begin = first_key(), end = static_cast<int32_t>(p_.keys_end);
    float* out = wanted.data + (head * static_cast<ptrdiff_t>(wanted.queries) + query) * (end - begin);
    const float nothing = stage == returned::biased_scores ? minus_infinity : 0;
    for (int32_t j = 0; j < end - begin; ++j) out[j] = nothing;
    const seen keys = keys_;
    if (p_.modify.returns_every_score()) keys_ = {begin, begin, end};
    for (int32_t at = 0; (at = this->next_block(at)) != no_block; at += block_keys) {
      const block_of_row b = this->block_at(at);
      this->score(b);
      const bool by_key = p_.modify.changes_scores() || p_.in_tree(at, block_keys);
      if (by_key && stage != returned::scaled_scores) this->modify(b, stage);
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
    if (weights && !broken) this->weigh(b, row.top, true, sum);
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
