// Norm, products, rotation, attention over the cache, feed-forward network; each layer adds to x.
#include "decoder.hpp"

#include "fovea/layer.h"
#include "fovea/ops.h"

namespace stories {
namespace {

fovea_cache_shape cache_shape(const shape& s, int32_t tokens) {
  fovea_cache_shape c = {};
  c.kv_heads = s.kv_heads;
  c.dim = s.head_dim();
  c.capacity = tokens;
  return c;
}

} // namespace

decoder::decoder(const model& m, const decoder_memory& memory, const arithmetic& how)
    : m_(m), memory_(memory), how_(how), scratch_size_(scratch_size(m.of, memory.rows)) {}

unsigned char* decoder::cache(int32_t layer) const {
  return memory_.caches + static_cast<uint64_t>(layer) * cache_size(m_.of, memory_.tokens);
}

int32_t decoder::begin() {
  prefix_ = {};
  const fovea_cache_shape s = cache_shape(m_.of, memory_.tokens);
  int32_t status = FOVEA_OK;
  for (int32_t i = 0; i < m_.of.layers && status == FOVEA_OK; ++i)
    status = fovea_cache_init(cache(i), cache_size(m_.of, memory_.tokens), &s);
  return status;
}

int32_t decoder::begin(const prefix& before) {
  prefix_ = before;
  const fovea_cache_shape s = cache_shape(m_.of, memory_.tokens);
  int32_t status = FOVEA_OK;
  for (int32_t i = 0; i < m_.of.layers && status == FOVEA_OK; ++i)
    status = fovea_cache_branch(cache(i), cache_size(m_.of, memory_.tokens), &s,
                                before.caches + static_cast<uint64_t>(i) * cache_size(m_.of, before.tokens),
                                before.tokens);
  return status;
}

int32_t decoder::length() const { return fovea_cache_length(cache(0)); }

// One call of one worker.
class pass {
 public:
  pass(const decoder& d, int32_t count, void* scratch, const team& workers)
      : d_(d), s_(d.m_.of), rows_(count), scratch_(scratch), workers_(workers), position_(d.length()) {
    const int32_t most = d.memory_.rows;
    unsigned char* at = d.memory_.numbers;
    const auto take = [&](int32_t columns) {
      float* const begin = reinterpret_cast<float*>(at);
      at += row_bytes(most, columns);
      return begin;
    };
    x_ = take(s_.width);
    normed_ = take(s_.width);
    heads_ = take(s_.width);
    qkv_ = take(s_.qkv_width());
    hidden_ = take(s_.hidden);
  }

  int32_t run(const int32_t* ids, int32_t wanted, float* logits) {
    wait(); // until every worker knows the position
    if (is_first())
      for (int32_t r = 0; r < rows_; ++r) d_.m_.embed(ids[r], row(x_, r));
    wait();
    for (int32_t i = 0; i < s_.layers; ++i) run_layer(i);
    norm(d_.m_.final_norm);
    multiply(d_.m_.classifier, row(normed_, rows_ - wanted), logits, wanted, FOVEA_NO_ACTIVATION, nullptr);
    return status_;
  }

 private:
  // A refusal is kept, and all workers go on to meet at the same places.
  void note(int32_t status) {
    if (status_ == FOVEA_OK) status_ = status;
  }
  bool is_first() const { return workers_.part.index == 0; }
  void wait() const {
    if (workers_.part.count > 1) workers_.wait(workers_.context);
  }
  float* row(float* begin, int32_t index) const { return begin + static_cast<ptrdiff_t>(index) * s_.width; }

  void run_layer(int32_t index) {
    const layer_weights layer = d_.m_.layer(index);
    norm(layer.attention_norm);
    multiply(layer.qkv, normed_, qkv_, rows_, FOVEA_NO_ACTIVATION, nullptr);
    if (is_first()) remember(index);
    wait();
    attend(index);
    multiply(layer.out, heads_, x_, rows_, FOVEA_NO_ACTIVATION, x_);
    norm(layer.mlp_norm);
    multiply(layer.up, normed_, hidden_, rows_, FOVEA_SILU_TIMES, nullptr);
    multiply(layer.down, hidden_, x_, rows_, FOVEA_NO_ACTIVATION, x_);
  }

  // Some rows of x for each worker.
  void norm(const float* weight) {
    const int32_t count = workers_.part.count, index = workers_.part.index;
    const int32_t from = static_cast<int32_t>(int64_t{rows_} * index / count),
                  to = static_cast<int32_t>(int64_t{rows_} * (index + 1) / count);
    fovea_norm_rows n = {};
    n.in = row(x_, from);
    n.out = row(normed_, from);
    n.weight = weight;
    n.rows = to - from;
    n.columns = s_.width;
    n.kind = FOVEA_RMS_NORM;
    n.isa = d_.how_.isa;
    note(fovea_norm(&n));
    wait();
  }

  void multiply(const fovea_linear& w, const float* x, float* y, int32_t rows, int32_t activation,
                const float* residual) {
    fovea_product p = {};
    p.w = &w;
    p.x.data = x;
    p.y.data = y;
    p.residual.data = residual;
    p.rows = rows;
    p.activation = activation;
    p.part = workers_.part;
    p.isa = d_.how_.isa;
    p.fixed_isa = d_.how_.fixed_isa;
    note(fovea_multiply(&p, scratch_, static_cast<size_t>(d_.scratch_size_)));
    wait();
  }

  // Queries and keys are rotated where they are, side by side; then keys and values go to the cache.
  void remember(int32_t layer) {
    fovea_rotation r = {};
    r.rope.cos = d_.m_.cosines;
    r.rope.sin = d_.m_.sines;
    r.rope.positions = s_.positions;
    r.rope.interleaved = 1;
    r.in = heads_at(0);
    r.out.data = qkv_;
    r.out.head_stride = r.in.head_stride;
    r.out.token_stride = r.in.token_stride;
    r.first_position = position_;
    r.heads = s_.heads + s_.kv_heads;
    r.tokens = rows_;
    r.dim = s_.head_dim();
    r.isa = d_.how_.isa;
    note(fovea_rotate(&r));
    const fovea_in k = heads_at(s_.width), v = heads_at(s_.width + s_.kv_width());
    if (status_ == FOVEA_OK) note(fovea_cache_append(d_.cache(layer), &k, &v, rows_));
  }

  // Heads in the rows of q, k and v.
  fovea_in heads_at(int32_t column) const {
    fovea_in heads = {};
    heads.data = qkv_ + column;
    heads.head_stride = s_.head_dim();
    heads.token_stride = s_.qkv_width();
    return heads;
  }

  void attend(int32_t layer) {
    fovea_segments where = {};
    fovea_attention a = {};
    a.q = heads_at(0);
    a.out.data = heads_;
    a.out.head_stride = s_.head_dim();
    a.out.token_stride = s_.width;
    a.q_heads = s_.heads;
    a.queries = rows_;
    a.flags = FOVEA_CAUSAL;
    a.part = workers_.part;
    a.isa = d_.how_.isa;
    const prefix& before = d_.prefix_;
    if (before.caches)
      note(fovea_cache_view(before.caches + static_cast<uint64_t>(layer) * cache_size(s_, before.tokens),
                            &where, &a));
    note(fovea_cache_view(d_.cache(layer), &where, &a));
    note(fovea_attend(&a, scratch_, static_cast<size_t>(d_.scratch_size_)));
    wait();
  }

  const decoder& d_;
  const shape& s_;
  const int32_t rows_;
  void* const scratch_;
  const team& workers_;
  const int32_t position_;
  float *x_, *normed_, *heads_, *qkv_, *hidden_;
  int32_t status_ = FOVEA_OK;
};

int32_t decoder::run(const int32_t* ids, int32_t count, int32_t wanted, float* logits, void* scratch,
                     const team& workers) {
  const auto refused = [](int32_t reason, int32_t argument) { return reason + 256 * argument; };
  if (count < 1 || count > memory_.rows || wanted < 0 || wanted > count)
    return refused(FOVEA_SIZE, FOVEA_ARG_ROWS);
  if (length() < 0 || length() > m_.of.positions - count) return refused(FOVEA_RANGE, FOVEA_ARG_POSITIONS);
  const int32_t copied = prefix_.tokens % (branch_tokens + 1), own = length() - prefix_.tokens + copied;
  if (own + count > memory_.tokens) return refused(FOVEA_TOO_SMALL, FOVEA_ARG_CACHE);
  for (int32_t r = 0; r < count; ++r)
    if (ids[r] < 0 || ids[r] >= m_.of.words) return refused(FOVEA_RANGE, FOVEA_ARG_INDEX);
  return pass(*this, count, scratch, workers).run(ids, wanted, logits);
}

} // namespace stories
