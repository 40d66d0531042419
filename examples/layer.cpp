// Attention layers from the weights of PyTorch and of Hugging Face models: packed and separate matrices,
// padding, grouped heads, rotary embedding, several workers. docs/from_pytorch.md explains each part. The
// weights here are drawn; each result is compared with the same layer made of single calls.
#include "fovea/layer.hpp"

#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

namespace {

using floats = std::vector<float>;
int32_t failed = FOVEA_OK;

void check(int32_t status) {
  if (status != FOVEA_OK) failed = status;
}

floats drawn(size_t count, float size) {
  static uint32_t seed = 1;
  floats x(count);
  for (float& each : x) {
    seed = seed * 1664525u + 1013904223u;
    each = (static_cast<float>(seed >> 8) * 0x1p-23f - 1) * size;
  }
  return x;
}

// [out][in], as nn.Linear.weight stores it, becomes packed rows at .. at + rows - 1 of a matrix.
void pack_rows(floats& packed, int32_t in, int32_t out, int32_t at, const float* weight, int32_t rows) {
  packed.resize(FOVEA_LINEAR_BYTES(in, out, FOVEA_F32) / sizeof(float));
  const fovea_rows_in given = {weight, 0, FOVEA_F32, 0};
  check(
      fovea_pack_linear(packed.data(), packed.size() * sizeof(float), in, out, FOVEA_F32, at, &given, rows));
}

// ---- torch.nn.MultiheadAttention(embed_dim=64, num_heads=4, batch_first=True)

constexpr int32_t embed_dim = 64, num_heads = 4, batch = 3, longest = 10;

struct multihead_attention { // state_dict()
  floats in_proj_weight = drawn(3 * embed_dim * embed_dim, 0.2f), in_proj_bias = drawn(3 * embed_dim, 0.2f),
         out_proj_weight = drawn(embed_dim * embed_dim, 0.2f), out_proj_bias = drawn(embed_dim, 0.2f);
};

struct packed_attention {
  floats in, out;
  fovea_layer layer = {};

  explicit packed_attention(const multihead_attention& mha) {
    pack_rows(in, embed_dim, 3 * embed_dim, 0, mha.in_proj_weight.data(), 3 * embed_dim);
    pack_rows(out, embed_dim, embed_dim, 0, mha.out_proj_weight.data(), embed_dim);
    layer.q = {in.data(), mha.in_proj_bias.data(), embed_dim, 3 * embed_dim, FOVEA_F32, {}, 0};
    layer.out = {out.data(), mha.out_proj_bias.data(), embed_dim, embed_dim, FOVEA_F32, {}, 0};
    layer.q_heads = num_heads;
    layer.dim = embed_dim / num_heads;
  }
};

// y, weights = mha(x, x, x, key_padding_mask=..., average_attn_weights=False)
floats run_padded(const packed_attention& attention, const floats& x, const int32_t* lengths) {
  floats y(x.size());
  fovea_layer_call call = {};
  call.layer = &attention.layer;
  call.x.data = x.data();
  call.y.data = y.data();
  call.tokens = batch * longest; // x is [batch][longest][embed_dim]
  call.sequences = batch;
  call.lengths = lengths; // tokens behind them are padding
  floats scratch(fovea_layer_scratch_best(&call) / sizeof(float) + 1);
  check(fovea_run_layer(&call, scratch.data(), scratch.size() * sizeof(float)));
  return y;
}

// The same without padding: sequences of any length follow each other.
floats run_ragged(const packed_attention& attention, const floats& x, const int32_t* starts,
                  fovea_layer_call& call) {
  floats y(x.size());
  call = {};
  call.layer = &attention.layer;
  call.x.data = x.data();
  call.y.data = y.data();
  call.tokens = starts[batch];
  call.sequences = batch;
  call.starts = starts; // cu_seqlens
  floats scratch(fovea_layer_scratch_best(&call) / sizeof(float) + 1);
  check(fovea_run_layer(&call, scratch.data(), scratch.size() * sizeof(float)));
  return y;
}

// ---- several workers

class barrier {
 public:
  explicit barrier(int count) : count_(count) {}
  void wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    const int round = round_;
    if (++waiting_ == count_) {
      waiting_ = 0;
      ++round_;
      all_.notify_all();
    }
    all_.wait(lock, [&] { return round != round_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable all_;
  int count_, waiting_ = 0, round_ = 0;
};

void work(fovea_layer_call call, barrier& all) {
  call.stage = FOVEA_LAYER_PROJECT;
  floats scratch(fovea_layer_scratch_best(&call) / sizeof(float) + 1);
  for (; call.stage < FOVEA_LAYER_END; ++call.stage) {
    const int32_t status = fovea_run_layer(&call, scratch.data(), scratch.size() * sizeof(float));
    all.wait();
    if (status != FOVEA_OK) std::printf("layer: a worker was refused\n");
  }
}

void run_with_workers(fovea_layer_call call, int workers) {
  call.stage = FOVEA_LAYER_PROJECT;
  floats shared(fovea_layer_shared(&call) / sizeof(float) + 1);
  call.shared = shared.data();
  call.shared_size = shared.size() * sizeof(float);
  barrier all(workers);
  std::vector<std::thread> threads;
  for (int i = 0; i < workers; ++i) {
    call.part = {i, workers};
    threads.emplace_back(work, call, std::ref(all));
  }
  for (std::thread& each : threads) each.join();
}

// ---- LlamaAttention with grouped heads, and Qwen3's norms of heads

constexpr int32_t hidden_size = 48, attention_heads = 6, key_value_heads = 2, head_dim = 16, tokens = 9;

struct llama_attention { // model.layers.0.self_attn.*
  floats q_proj = drawn(attention_heads * head_dim * hidden_size, 0.2f),
         k_proj = drawn(key_value_heads * head_dim * hidden_size, 0.2f),
         v_proj = drawn(key_value_heads * head_dim * hidden_size, 0.2f),
         o_proj = drawn(hidden_size * attention_heads * head_dim, 0.2f), q_norm = drawn(head_dim, 1),
         k_norm = drawn(head_dim, 1);
};

floats run_llama(const llama_attention& weights, const floats& x) {
  constexpr int32_t q_out = attention_heads * head_dim, kv_out = key_value_heads * head_dim;
  floats packed, packed_out;
  pack_rows(packed, hidden_size, q_out + 2 * kv_out, 0, weights.q_proj.data(), q_out);
  pack_rows(packed, hidden_size, q_out + 2 * kv_out, q_out, weights.k_proj.data(), kv_out);
  pack_rows(packed, hidden_size, q_out + 2 * kv_out, q_out + kv_out, weights.v_proj.data(), kv_out);
  pack_rows(packed_out, q_out, hidden_size, 0, weights.o_proj.data(), hidden_size);

  floats cosines(tokens * head_dim / 2), sines(tokens * head_dim / 2);
  fovea_rope_frequencies rope = {};
  rope.base = 500000; // rope_theta
  rope.rotary_dim = head_dim;
  rope.scaling = FOVEA_ROPE_LLAMA3; // rope_scaling: factor 8, low_freq_factor 1, high_freq_factor 4, 8192
  check(fovea_rope_table(&rope, 0, tokens, cosines.data(), sines.data()));

  fovea_layer layer = {};
  layer.q = {packed.data(), nullptr, hidden_size, q_out + 2 * kv_out, FOVEA_F32, {}, 0};
  layer.out = {packed_out.data(), nullptr, q_out, hidden_size, FOVEA_F32, {}, 0};
  layer.q_heads = attention_heads;
  layer.kv_heads = key_value_heads;
  layer.dim = head_dim;
  layer.q_norm = weights.q_norm.data(); // Qwen3; Llama has none
  layer.k_norm = weights.k_norm.data();
  layer.rope = {cosines.data(), sines.data(), tokens, 0, 0, 0};

  floats y = x;
  fovea_layer_call call = {};
  call.layer = &layer;
  call.x.data = x.data();
  call.y.data = y.data();
  call.residual.data = x.data(); // hidden_states = residual + attention
  call.tokens = tokens;
  call.how.flags = FOVEA_CAUSAL;
  floats scratch(fovea_layer_scratch_best(&call) / sizeof(float) + 1);
  check(fovea_run_layer(&call, scratch.data(), scratch.size() * sizeof(float)));
  return y;
}

// ---- one object of fixed size, for firmware

fovea::self_attention<embed_dim, num_heads, num_heads, embed_dim / num_heads, 32> in_bss;
static_assert(FOVEA_LAYER_SCRATCH(32, 32, 64, 4, 4, 16, 16) < 16 * 1024, "a board has room for it");

bool same(const float* a, const float* b, size_t count) {
  return std::memcmp(a, b, count * sizeof(float)) == 0;
}

} // namespace

int main() {
  const multihead_attention mha;
  const packed_attention attention(mha);
  const floats x = drawn(batch * longest * embed_dim, 1);
  const int32_t lengths[batch] = {10, 4, 7}, starts[batch + 1] = {0, 10, 14, 21};

  // Padded and ragged, each token that counts has the same bits.
  const floats padded = run_padded(attention, x, lengths);
  floats tight;
  for (int32_t s = 0; s < batch; ++s)
    tight.insert(tight.end(), x.begin() + s * longest * embed_dim,
                 x.begin() + (s * longest + lengths[s]) * embed_dim);
  fovea_layer_call call;
  floats ragged = run_ragged(attention, tight, starts, call);
  bool right = true;
  for (int32_t s = 0; s < batch; ++s)
    right = right && same(&ragged[static_cast<size_t>(starts[s] * embed_dim)],
                          &padded[static_cast<size_t>(s * longest * embed_dim)],
                          static_cast<size_t>(lengths[s] * embed_dim));

  // So does any number of workers, and the object in .bss.
  floats y(tight.size());
  call.y.data = y.data();
  run_with_workers(call, 3);
  right = right && same(y.data(), ragged.data(), y.size());
  check(in_bss.pack(mha.in_proj_weight.data(), mha.in_proj_bias.data(), mha.out_proj_weight.data(),
                    mha.out_proj_bias.data()));
  check(in_bss.run(tight.data(), starts[1], y.data()));
  right = right && same(y.data(), ragged.data(), static_cast<size_t>(starts[1] * embed_dim));

  // A causal layer writes what it would write for the first tokens alone.
  const llama_attention llama;
  const floats hidden = drawn(tokens * hidden_size, 1), first = run_llama(llama, hidden);
  floats changed = hidden;
  for (size_t i = changed.size() - hidden_size; i < changed.size(); ++i) changed[i] = 0;
  const floats second = run_llama(llama, changed);
  right = right && same(first.data(), second.data(), first.size() - hidden_size) &&
          !same(first.data(), second.data(), first.size());

  if (failed != FOVEA_OK)
    std::printf("layer: %s: %s\n", fovea_argument_text(failed), fovea_reason_text(failed));
  std::printf("layer: %s\n",
              right ? "padded, ragged, by workers and in .bss: the same bits" : "the bits differ");
  return failed != FOVEA_OK || !right;
}
