// The blocks that a row of attention row by row sees: in each, scores, modifiers, softmax and values, which
// join what the row has gathered.
#pragma once
#include "common/hot.hpp"
#include "f32/kernel/modify.hpp"
#include "f32/kernel/row_of_head.hpp"

namespace fovea::f32 {

// Keys of a block for which it is found at a time what a tree hides. It stands on the stack.
constexpr int path_keys = 64;

template <class Isa>
class row_of_blocks : protected row_of_head<Isa> {
  using of_run = row_of_run<Isa>;
  using of_head = row_of_head<Isa>;
  using steps = steps_of<Isa>;
  using one = plain_of<Isa>; // for single numbers
  using factors = typename steps::factors;
  using values = typename of_head::values;

 protected:
  using gathered = typename steps::gathered;
  using of_head::first_key;
  using of_run::k_;
  using of_run::p_;
  using of_run::s_;
  using of_run::v_;

  int32_t head_ = 0, query_ = -1;
  seen keys_;
  bool may_be_run_; // nothing changes or hides scores
  bool sees_run_;   // the row sees one run of keys, and no kept ones

  row_of_blocks(const plan& p, float* scratch, size_t room) : of_head(p, scratch, room) {
    may_be_run_ = !p.modify.changes_scores() && !p.tree.parents && !p.stored.k.scaled() &&
                  !p.stored.v.scaled();
  }

  // The first block from `at` on in which the row sees a key.
  static constexpr int32_t no_block = INT32_MAX;
  int32_t next_block(int32_t at) const {
    const auto from = [&](int32_t key) { return at < key ? key & -block_keys : at; };
    if (at < keys_.head && first_key() < keys_.head) return from(first_key());
    return at < keys_.to && keys_.from < keys_.to ? from(keys_.from) : no_block;
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
};

} // namespace fovea::f32
