// Attention from two products and a softmax.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "peer.hpp"

namespace bench {
namespace {

double seconds_of(composite& c, int32_t heads) {
  const auto start = std::chrono::steady_clock::now();
  c.run(0, heads);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

int rows_at_once(const work& w) { return std::max(w.queries, w.q_heads / w.kv_heads); }

} // namespace

composite::composite(std::unique_ptr<products> library, const tensors& of)
    : library_(std::move(library)),
      of_(of),
      block_(of.what.queries),
      scores_(static_cast<size_t>(rows_at_once(of.what)) * static_cast<size_t>(of.what.keys) * sizeof(float)),
      inverse_(static_cast<size_t>(rows_at_once(of.what))) {
  choose_block();
}

// Each library packs K again for each block, some for a high price: it gets the block it likes best.
void composite::choose_block() {
  double least = HUGE_VAL;
  int best = block_;
  for (int block : {of_.what.queries, 512, 256, 128, 64, 32}) {
    if (block > of_.what.queries) continue;
    block_ = block;
    double seconds = HUGE_VAL;
    for (int again = 0; again < 3; ++again) seconds = std::min(seconds, seconds_of(*this, 1));
    if (seconds < least) least = seconds, best = block;
  }
  block_ = best;
}

void composite::run(int32_t first_kv_head, int32_t kv_heads) {
  for (int32_t g = first_kv_head; g < first_kv_head + kv_heads; ++g) run_head(g);
}

void composite::run_head(int32_t kv_head) {
  const work& w = of_.what;
  const int group = w.q_heads / w.kv_heads;
  const ptrdiff_t head = static_cast<ptrdiff_t>(w.queries) * w.dim;
  if (w.decode())
    return run_rows(of_.q + kv_head * group * head, group, kv_head, w.keys, of_.out + kv_head * group * head);
  for (int h = kv_head * group; h < (kv_head + 1) * group; ++h)
    for (int first = 0; first < w.queries; first += block_) {
      const ptrdiff_t at = h * head + static_cast<ptrdiff_t>(first) * w.dim;
      const int rows = std::min(block_, w.queries - first);
      run_rows(of_.q + at, rows, kv_head, w.causal ? w.keys - w.queries + first + 1 : w.keys, of_.out + at);
    }
}

// The first row sees `first_keys` keys; when causal, each row sees one more than the row before it.
void composite::run_rows(const float* q, int rows, int32_t kv_head, int first_keys, float* out) {
  const work& w = of_.what;
  const ptrdiff_t cache = static_cast<ptrdiff_t>(kv_head) * w.keys * w.dim;
  const int keys = first_keys + (w.causal ? rows - 1 : 0);
  const float scale = 1 / std::sqrt(static_cast<float>(w.dim));
  library_->scores(q, rows, of_.k + cache, keys, w.dim, scores_.floats());
  for (int r = 0; r < rows; ++r) {
    float* s = scores_.floats() + static_cast<ptrdiff_t>(r) * keys;
    const int seen = first_keys + (w.causal ? r : 0);
    inverse_[static_cast<size_t>(r)] = 1 / softmax_row(s, seen, scale);
    std::fill(s + seen, s + keys, 0.0f);
  }
  library_->values(scores_.floats(), rows, keys, of_.v + cache, w.dim, out);
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < w.dim; ++c) out[r * w.dim + c] *= inverse_[static_cast<size_t>(r)];
}

} // namespace bench
