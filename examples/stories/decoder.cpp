// Norm, products, rotation, attention over the cache, feed-forward network; each layer adds to x.
#include "decoder.hpp"

#include <cmath>
#include <cstring>

#include "fovea/fixed_quantize.h"
#include "fovea/ops.h"

namespace stories {
namespace {

fovea_cache_shape cache_shape(const shape& s, const decoder_memory& memory) {
  fovea_cache_shape c = {};
  c.kv_heads = s.kv_heads;
  c.dim = s.head_dim();
  c.capacity = memory.tokens;
  c.dtype = memory.cache;
  return c;
}

} // namespace

decoder::decoder(const model& m, const decoder_memory& memory, const arithmetic& how)
    : m_(m), memory_(memory), how_(how), scratch_size_(scratch_size(m.of, memory.rows, memory.cache)) {}

unsigned char* decoder::cache(int32_t layer) const {
  return memory_.caches + static_cast<uint64_t>(layer) * cache_size(m_.of, memory_.tokens, memory_.cache);
}

const unsigned char* decoder::prefix_cache(int32_t layer) const {
  return prefix_.caches + static_cast<uint64_t>(layer) * cache_size(m_.of, prefix_.tokens, memory_.cache);
}

float* decoder::largest_key(int32_t layer) const {
  return reinterpret_cast<float*>(cache(layer + 1) - image_align);
}

int32_t decoder::begin() {
  prefix_ = {};
  fovea_cache_shape s = cache_shape(m_.of, memory_);
  int32_t status = FOVEA_OK;
  for (int32_t i = 0; i < m_.of.layers && status == FOVEA_OK; ++i) {
    const cache_range largest = m_.layer(i).largest;
    if (memory_.cache == FOVEA_I8) {
      s.k_largest = largest.k;
      s.v_largest = largest.v;
      *largest_key(i) = 0;
    }
    status = fovea_cache_init(cache(i), cache_size(m_.of, memory_.tokens, memory_.cache), &s);
  }
  return status;
}

int32_t decoder::begin(const prefix& before) {
  prefix_ = before;
  const fovea_cache_shape s = cache_shape(m_.of, memory_);
  int32_t status = FOVEA_OK;
  for (int32_t i = 0; i < m_.of.layers && status == FOVEA_OK; ++i) {
    status = fovea_cache_branch(cache(i), cache_size(m_.of, memory_.tokens, memory_.cache), &s,
                                prefix_cache(i), before.tokens);
    if (memory_.cache == FOVEA_I8)
      std::memcpy(largest_key(i), prefix_cache(i + 1) - image_align, sizeof(float));
  }
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
    heads_ = take(s_.q_width());
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
    if (d_.memory_.cache == FOVEA_I8)
      attend_in_integers(index, layer.largest);
    else
      attend(index, 0, rows_);
    wait();
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
    n.epsilon = s_.norm_epsilon;
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
    r.rope.interleaved = !s_.half_pairs;
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
    const fovea_in k = heads_at(s_.q_width()), v = heads_at(s_.q_width() + s_.kv_width());
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

  // Keys and values of a layer, of which there may be a prefix.
  template <class Call>
  void view(int32_t layer, int32_t (*fill)(const void*, fovea_segments*, Call*), fovea_segments& where,
            Call& a) {
    if (d_.prefix_.caches) note(fill(d_.prefix_cache(layer), &where, &a));
    note(fill(d_.cache(layer), &where, &a));
  }

  // Queries `first` to `first + count - 1`.
  void attend(int32_t layer, int32_t first, int32_t count) {
    fovea_segments where = {};
    fovea_attention a = {};
    a.q = heads_at(first * s_.qkv_width());
    a.out.data = heads_ + static_cast<ptrdiff_t>(first) * s_.q_width();
    a.out.head_stride = s_.head_dim();
    a.out.token_stride = s_.q_width();
    a.q_heads = s_.heads;
    a.queries = count;
    a.flags = FOVEA_CAUSAL | FOVEA_POSITION;
    a.position = position_ + first;
    a.part = workers_.part;
    a.isa = d_.how_.isa;
    view(layer, fovea_cache_view, where, a);
    note(fovea_attend(&a, scratch_, static_cast<size_t>(d_.scratch_size_)));
  }

  // One query at a time: its bits depend on neither the others nor the keys behind it.
  void attend_in_integers(int32_t layer, const cache_range& range) {
    float* const stored = d_.largest_key(layer);
    float key = *stored;
    for (int32_t r = 0; r < rows_; ++r) {
      const float* const q = qkv_ + static_cast<ptrdiff_t>(r) * s_.qkv_width();
      key = std::fmax(key, largest_of(q + s_.q_width(), s_.kv_width()));
      unsigned char* const scratch = static_cast<unsigned char*>(scratch_);
      auto* const scales = reinterpret_cast<fovea_fixed_scale*>(scratch +
                                                                up64(static_cast<uint64_t>(s_.q_width())));
      if (quantize(q, range, key, static_cast<int8_t*>(scratch_), scales))
        attend_in_integers(layer, r, scales);
      else
        attend(layer, r, 1);
    }
    wait(); // until every worker has read it
    if (is_first()) *stored = key;
  }

  void attend_in_integers(int32_t layer, int32_t query, const fovea_fixed_scale* scales) {
    fovea_segments where = {};
    fovea_fixed_attention a = {};
    a.q.data = scratch_;
    a.q.head_stride = a.q.token_stride = s_.head_dim();
    a.out.data = heads_ + static_cast<ptrdiff_t>(query) * s_.q_width();
    a.out.head_stride = a.out.token_stride = s_.head_dim();
    a.out.dtype = FOVEA_FIXED_F32;
    a.q_heads = s_.heads;
    a.queries = 1;
    a.flags = FOVEA_CAUSAL | FOVEA_POSITION;
    a.position = position_ + query;
    a.max_keys = s_.positions;
    a.head_scales = scales;
    a.part = workers_.part;
    a.isa = d_.how_.fixed_isa;
    view(layer, fovea_cache_view_fixed, where, a);
    const uint64_t taken = integer_query_size(s_);
    note(fovea_fixed_attend_s8(&a, static_cast<unsigned char*>(scratch_) + taken,
                               static_cast<size_t>(d_.scratch_size_ - taken)));
  }

  // NaN, where numbers are NaN, or 0 for none.
  static float largest_of(const float* numbers, int32_t count) {
    int32_t largest = 0; // sizes of floats are ordered as their bits are
    for (int32_t i = 0; i < count; ++i) {
      int32_t bits;
      std::memcpy(&bits, numbers + i, sizeof bits);
      bits &= 0x7fffffff;
      largest = bits > largest ? bits : largest;
    }
    float number;
    std::memcpy(&number, &largest, sizeof number);
    return number;
  }

  // The heads of a query in int8. A score of integers times the multiplier of its key is shifted to octaves,
  // so a scale of queries is a power of two times that of keys. False: int8 does not hold them, or a score
  // with the largest of the keys might have more than 4,096 octaves.
  bool quantize(const float* from, const cache_range& range, float key, int8_t* q,
                fovea_fixed_scale* scales) {
    constexpr float log2_e = 1.44269504f;
    const int32_t dim = s_.head_dim();
    // The unit of multipliers is range.k / 127 / 2^30; octaves have 16 bits behind the point.
    const float unit_k = range.k / 127 / 0x1p30f,
                steps = unit_k * (0x1p16f * log2_e / std::sqrt(static_cast<float>(dim)));
    const float share = key / range.k; // docs/cache.md, section 2: the largest multiplier
    const uint32_t multiplier = share < 1 ? static_cast<uint32_t>(share * 0x1p30f) + 2 : uint32_t{1} << 30;
    const uint64_t largest = uint64_t{multiplier} * (uint64_t{128 * 128} * static_cast<uint32_t>(dim) + 1);
    float unit = range.v / 127;
    for (int32_t keys = 512; keys < s_.positions; keys *= 2) unit *= 2; // by which sums are divided
    if (!(unit >= 0x1p-80f && unit <= 0x1p120f)) return false;
    // The scales of all heads first: each takes many operations in a row, and so heads overlap.
    for (int32_t h = 0; h < s_.heads; ++h) {
      const float peak = largest_of(from + h * dim, dim);
      int exponent = 0;
      std::frexp(peak / 127 * steps, &exponent); // which is at most 2^exponent
      const int32_t shift = -exponent > 31 || peak <= 0 ? 31 : -exponent;
      const bool holds = peak <= 1e30f && shift >= 1 && largest >> shift < uint64_t{1} << 28;
      if (!holds) return false;
      scales[h] = {static_cast<int32_t>(multiplier), shift, 0, 0, 0, 0};
      std::memcpy(&scales[h].f32_scale, &unit, sizeof unit);
    }
    for (int32_t h = 0; h < s_.heads; ++h, from += dim, q += dim) {
      // As fovea_fixed_quantize_s8: to nearest, halves to even. All quotients are below 127.5.
      const float step = std::ldexp(1.0f, -scales[h].score_shift) / steps;
      for (int32_t c = 0; c < dim; ++c) {
        const float pushed = from[c] / step + 12582912.0f;
        int32_t bits;
        std::memcpy(&bits, &pushed, sizeof bits);
        q[c] = static_cast<int8_t>(bits);
      }
    }
    return true;
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
  const int32_t copied = prefix_.tokens % (branch_tokens(memory_.cache) + 1),
                own = length() - prefix_.tokens + copied;
  if (own + count > memory_.tokens) return refused(FOVEA_TOO_SMALL, FOVEA_ARG_CACHE);
  for (int32_t r = 0; r < count; ++r)
    if (ids[r] < 0 || ids[r] >= m_.of.words) return refused(FOVEA_RANGE, FOVEA_ARG_INDEX);
  return pass(*this, count, scratch, workers).run(ids, wanted, logits);
}

} // namespace stories
