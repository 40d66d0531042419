// BERT's encoder: embedding, then six times attention and MLP, each added to its input and normalised, then
// the mean over the tokens of a sentence.
#include "encoder.hpp"

#include <algorithm>
#include <cmath>

#include "fovea/ops.h"

namespace minilm {
namespace {

class encoder {
 public:
  encoder(const model& m, const batch& b, const arithmetic& how, batch_space& shared, worker_space& own,
          const team& workers, const insight& seen)
      : m_(m), b_(b), how_(how), shared_(shared), own_(own), workers_(workers), seen_(seen) {
    tokens_ = b.starts[b.sentences];
    first_ = share(tokens_, workers.part.index);
    rows_ = share(tokens_, workers.part.index + 1) - first_;
  }

  int32_t run(float* embeddings) {
    embed();
    show(0);
    for (int32_t i = 0; i < layers; ++i) {
      run_layer(i);
      show(i + 1);
    }
    pool(embeddings);
    return status_;
  }

 private:
  // A refusal is kept, and all workers go on to meet at the same places.
  void note(int32_t status) {
    if (status_ == FOVEA_OK) status_ = status;
  }

  void wait() const {
    if (workers_.part.count > 1) workers_.wait(workers_.context);
  }

  // Where the work of worker `index` begins when `count` things are shared.
  int32_t share(int32_t count, int32_t index) const {
    return static_cast<int32_t>(int64_t{count} * index / workers_.part.count);
  }

  // Which token of its sentence each row is.
  void embed() {
    const int32_t* const begin = b_.starts;
    for (int32_t s = 0; s < b_.sentences; ++s) {
      const int32_t from = std::max(begin[s], first_), to = std::min(begin[s + 1], first_ + rows_);
      if (from < to) embed_rows(from, to - from, from - begin[s]);
    }
    norm(m_.after_embedding, m_.layer[0].before_qkv);
  }

  void embed_rows(int32_t row, int32_t rows, int32_t position) {
    fovea_embedding e = {};
    e.table[0].data = m_.words;
    e.table[0].index = b_.ids + row;
    e.table[0].size = m_.vocabulary_size;
    e.table[1].data = m_.positions;
    e.table[1].size = positions;
    e.table[1].first = position;
    e.table[1].step = 1;
    e.table[2].data = m_.types; // all tokens are of type 0
    e.table[2].size = token_types;
    e.out = shared_.sum + row * width;
    e.rows = rows;
    e.columns = width;
    note(fovea_embed(&e));
  }

  // The rows of this worker, into x, and for a product of integers into `smoothed`.
  void norm(const norm_weights& weights, const smoothed_norm* before_product) {
    norm_rows(shared_.x, weights);
    if (before_product) norm_rows(shared_.smoothed, {before_product->weight, before_product->bias});
    wait();
  }

  void norm_rows(float* to, const norm_weights& weights) {
    fovea_norm_rows n = {};
    n.in = shared_.sum + first_ * width;
    n.out = to + first_ * width;
    n.weight = weights.weight;
    n.bias = weights.bias;
    n.rows = rows_;
    n.columns = width;
    n.epsilon = norm_epsilon;
    n.isa = how_.isa;
    note(fovea_norm(&n));
  }

  void multiply(const fovea_linear& w, const float* x, float* y, int32_t activation, const float* residual) {
    fovea_product p = {};
    p.w = &w;
    p.x.data = x;
    p.y.data = y;
    p.residual.data = residual;
    p.rows = tokens_;
    p.activation = activation;
    p.part = workers_.part;
    p.isa = how_.isa;
    p.fixed_isa = how_.fixed_isa;
    note(fovea_multiply(&p, own_.scratch, sizeof own_.scratch));
    wait();
  }

  void run_layer(int32_t index) {
    const layer_weights& layer = m_.layer[index];
    note_peaks(2 * index);
    attend(index);
    norm(layer.after_attention, layer.before_up);
    note_peaks(2 * index + 1);
    multiply(layer.up, layer.before_up ? shared_.smoothed : shared_.x, shared_.hidden, FOVEA_GELU, nullptr);
    multiply(layer.down, shared_.hidden, shared_.sum, FOVEA_NO_ACTIVATION, shared_.x);
    norm(layer.after_mlp, index + 1 < layers ? m_.layer[index + 1].before_qkv : nullptr);
  }

  void note_peaks(int32_t product) {
    if (!seen_.peaks) return;
    float* const peaks = seen_.peaks + product * width;
    for (int32_t i = 0; i < tokens_ * width; ++i)
      peaks[i % width] = std::max(peaks[i % width], std::fabs(shared_.x[i]));
  }

  // sum = x + W_O attention(x)
  void attend(int32_t index) {
    const layer_weights& weights = m_.layer[index];
    fovea_layer layer = {};
    layer.q = weights.qkv;
    layer.out = weights.out;
    layer.q_heads = heads;
    layer.dim = head_dim;
    layer.attention = how_.int8_attention ? FOVEA_I8 : FOVEA_F32;
    layer.token_scales = how_.int8_attention;
    fovea_layer_call call = {};
    call.layer = &layer;
    call.x.data = weights.before_qkv ? shared_.smoothed : shared_.x;
    call.y.data = shared_.sum;
    call.residual.data = shared_.x;
    call.tokens = tokens_;
    call.starts = b_.starts;
    call.sequences = b_.sentences;
    call.part = workers_.part;
    call.how.isa = how_.isa;
    call.fixed_isa = how_.fixed_isa;
    if (seen_.weights) call.how.weights.data = seen_.weights + index * heads * tokens_ * tokens_;
    call.shared = shared_.attention;
    call.shared_size = sizeof shared_.attention;
    for (call.stage = FOVEA_LAYER_PROJECT; call.stage < FOVEA_LAYER_END; ++call.stage) {
      note(fovea_run_layer(&call, own_.scratch, sizeof own_.scratch));
      wait();
    }
  }

  // Each worker some sentences.
  void pool(float* embeddings) {
    const int32_t from = share(b_.sentences, workers_.part.index),
                  to = share(b_.sentences, workers_.part.index + 1);
    fovea_pool_rows p = {};
    p.in = shared_.x;
    p.out = embeddings + from * width;
    p.starts = b_.starts + from;
    p.sequences = to - from;
    p.columns = width;
    p.isa = how_.isa;
    note(fovea_pool(&p));
    for (int32_t s = from; s < to; ++s) normalise(embeddings + s * width);
  }

  // To length 1. Roots and quotients are rounded in the same way on every machine.
  void normalise(float* v) {
    float squares = 0;
    note(fovea_dot(v, v, width, how_.isa, &squares));
    const float length = std::sqrt(squares);
    for (int32_t c = 0; length > 0 && c < width; ++c) v[c] /= length;
  }

  void show(int32_t layer) {
    if (!seen_.vectors) return;
    float* const to = seen_.vectors + layer * tokens_ * width;
    std::copy_n(shared_.x + first_ * width, rows_ * width, to + first_ * width);
  }

  const model& m_;
  const batch& b_;
  const arithmetic& how_;
  batch_space& shared_;
  worker_space& own_;
  const team& workers_;
  const insight& seen_;
  int32_t tokens_, first_, rows_; // of the batch, and those of this worker
  int32_t status_ = FOVEA_OK;
};

bool is_valid(const batch& b) {
  if (b.sentences < 0 || b.sentences > batch_sentences || b.starts[0] != 0) return false;
  for (int32_t s = 0; s < b.sentences; ++s)
    if (b.starts[s] >= b.starts[s + 1] || b.starts[s + 1] > batch_tokens) return false;
  return true;
}

} // namespace

int32_t encode(const model& m, const batch& b, const arithmetic& how, float* embeddings, batch_space& shared,
               worker_space& own, const team& workers, const insight& seen) {
  if (!is_valid(b)) return FOVEA_SIZE + 256 * FOVEA_ARG_ROWS;
  return encoder(m, b, how, shared, own, workers, seen).run(embeddings);
}

} // namespace minilm
