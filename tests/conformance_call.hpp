// A conformance case as calls: one for each sequence of the batch, reading and writing the tensors of the
// case in place.
#pragma once
#include "conformance.hpp"
#include "data.hpp"
#include "fovea/fovea.h"

namespace conformance {

// Strides of [batch][head][token][dim] or of [batch][token][head * dim].
inline data::tensor place(std::vector<float>& memory, const test_case& c, int32_t batch, int32_t heads,
                          int32_t tokens, int32_t dim) {
  data::tensor t{memory.data() + ptrdiff_t{batch} * heads * tokens * dim,
                 ptrdiff_t{tokens} * dim,
                 dim,
                 heads,
                 tokens,
                 dim};
  if (c.text("layout") == "bsh") t.head_stride = dim, t.token_stride = ptrdiff_t{heads} * dim;
  return t;
}

inline void copy_rows(const data::tensor& from, const data::tensor& to, int32_t first_token) {
  for (int32_t h = 0; h < from.heads; ++h)
    for (int32_t j = 0; j < from.tokens; ++j)
      std::memcpy(to.row(h, first_token + j), from.row(h, j), static_cast<size_t>(from.dim) * sizeof(float));
}

// The keys or values of one sequence: the cache first, then the new ones.
class cached {
 public:
  cached(const test_case& c, const char* now, const char* past, int32_t batch, int32_t dim)
      : now_(c.floats(now)) {
    const int32_t heads = c.whole("kv_heads"), past_len = c.whole("past_len"), now_len = c.whole("kv_len");
    rows = place(now_, c, batch, heads, now_len, dim);
    if (past_len == 0) return;
    std::vector<float> cache = c.floats(past);
    const ptrdiff_t before = ptrdiff_t{batch} * heads * past_len * dim, total = past_len + now_len;
    all_.resize(static_cast<size_t>(heads * total * dim));
    const data::tensor both{all_.data(), total * dim, dim, heads, past_len + now_len, dim};
    copy_rows({cache.data() + before, ptrdiff_t{past_len} * dim, dim, heads, past_len, dim}, both, 0);
    copy_rows(rows, both, past_len);
    rows = both;
  }
  cached(const cached&) = delete;
  cached& operator=(const cached&) = delete;

  data::tensor rows;

 private:
  std::vector<float> now_, all_;
};

inline void give(const data::tensor& t, fovea_in& in) {
  in.data = t.data, in.head_stride = t.head_stride, in.token_stride = t.token_stride;
}

// A mask of rank 1 (keys) to 4 (batch, head, query, key); a dim of 1 is shared. Ends early: the rest is
// masked.
class given_mask {
 public:
  given_mask(const test_case& c, int32_t batch, fovea_mask& to) {
    if (c.text("mask") == "none") return;
    std::vector<int32_t> dims = c.dims("attn_mask");
    dims.insert(dims.begin(), 4 - dims.size(), 1);
    const ptrdiff_t query = dims[3], head = query * dims[2], sequence = head * dims[1];
    const ptrdiff_t first = dims[0] > 1 ? batch * sequence : 0;
    to.keys = dims[3];
    to.head_stride = dims[1] > 1 ? head : 0, to.query_stride = dims[2] > 1 ? query : 0;
    to.is_bias = c.text("mask") == "float";
    if (to.is_bias != 0) bias_ = c.floats("attn_mask"), to.data = bias_.data() + first;
    if (to.is_bias == 0) shown_ = c.bytes("attn_mask"), to.data = shown_.data() + first;
  }
  given_mask(const given_mask&) = delete;
  given_mask& operator=(const given_mask&) = delete;

 private:
  std::vector<float> bias_;
  std::vector<uint8_t> shown_;
};

// One sequence of a case as a call. `scores` is qk_matmul_output, empty when the case has none.
class batch_call {
 public:
  batch_call(const test_case& c, int32_t batch, std::vector<float>& results, std::vector<float>& scores)
      : k_(c, "K", "past_key", batch, c.whole("head_dim")),
        v_(c, "V", "past_value", batch, c.whole("v_head_dim")),
        q_(c.floats("Q")),
        mask_(c, batch, call.mask) {
    call.q_heads = c.whole("q_heads"), call.kv_heads = c.whole("kv_heads");
    call.dim = c.whole("head_dim"), call.v_dim = c.whole("v_head_dim");
    call.queries = c.whole("q_len"), call.keys = k_.rows.tokens;
    if (c.whole("nonpad") == 1)
      call.keys = static_cast<int32_t>(c.counts("nonpad_kv_seqlen")[static_cast<size_t>(batch)]);
    give(place(q_, c, batch, call.q_heads, call.queries, call.dim), call.q);
    give(k_.rows, call.k);
    give(v_.rows, call.v);
    const data::tensor out = place(results, c, batch, call.q_heads, call.queries, call.v_dim);
    call.out.data = out.data, call.out.head_stride = out.head_stride,
    call.out.token_stride = out.token_stride;
    set_options(c);
    if (!scores.empty())
      ask_for_scores(c, scores.data() + scores.size() / static_cast<size_t>(c.whole("batch")) *
                                            static_cast<size_t>(batch));
  }

  fovea_attention call = {};

 private:
  void set_options(const test_case& c) {
    call.flags = FOVEA_SCALE | FOVEA_POSITION;
    call.scale = static_cast<float>(c.number("scale")),
    call.softcap = static_cast<float>(c.number("softcap"));
    const std::string align = c.text("causal_align");
    const bool top_left = align == "square" || align == "topleft";
    call.position = c.whole("nonpad") == 1 ? call.keys - call.queries : top_left ? 0 : c.whole("past_len");
    if (c.whole("causal") == 1) call.flags |= FOVEA_CAUSAL;
    call.window_left = c.whole("window_left"), call.window_right = c.whole("window_right");
    if (call.window_left >= 0 || call.window_right >= 0) call.flags |= FOVEA_WINDOW;
  }

  void ask_for_scores(const test_case& c, float* to) {
    const int32_t stages[] = {1, 2, 3, 0}; // mode 0: scaled, 1: after softcap, 2: after bias, 3: weights
    call.weights.data = to;
    call.weights.stage = stages[c.whole("qk_mode")];
  }

  cached k_, v_;
  std::vector<float> q_;
  given_mask mask_;
};

} // namespace conformance
