// A decoder of two layers writes 24 tokens, and prints a digest of every number on the way. Each step is RMS
// norm, projections, RoPE, attention and a feed-forward network. Compiled with -ffp-contract=off, this
// program prints the same digest on every core with fused multiply-add; `tools/check/integration decoder`
// compares a PC with a Cortex-A72, RISC-V and a Cortex-M4F. docs/numerics.md, section 13, says what an
// application has to observe.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "fovea/fovea.h"
#include "fovea/ops.h"

namespace {

constexpr int layers = 2, heads = 4, kv_heads = 2, dim = 16, width = heads * dim, kv_width = kv_heads * dim;
constexpr int hidden = 2 * width, words = 48, capacity = 24;

struct layer_weights {
  float norm[width], q[width][width], k[kv_width][width], v[kv_width][width], out[width][width];
  float hidden_norm[width], up[hidden][width], down[width][hidden];
};
struct model_weights {
  float embedding[words][width]; // the output projection, too
  layer_weights layer[layers];
  float norm[width];
};
struct cache {
  float k[kv_heads][capacity][dim], v[kv_heads][capacity][dim];
};

model_weights model;
cache caches[layers];
unsigned char scratch[FOVEA_SCRATCH(dim, dim)];
int32_t isa = FOVEA_ISA_BEST;
int32_t failed = FOVEA_OK;

void check(int32_t status) {
  if (status != FOVEA_OK) failed = status;
}

// Seeded numbers of 24 bits between -scale and scale. They are the same on every machine, because an integer
// of 24 bits and its product with a power of two are exact.
struct numbers {
  uint32_t seed = 1;
  template <class T>
  void fill(T& array, float offset, float scale) {
    float* x = reinterpret_cast<float*>(&array);
    for (size_t i = 0; i < sizeof array / sizeof *x; ++i) {
      seed = seed * 1664525u + 1013904223u;
      x[i] = offset + (static_cast<float>(seed >> 8) - 0x1p23f) * (scale * 0x1p-23f);
    }
  }
};

void make_model() {
  numbers n;
  n.fill(model.embedding, 0, 1);
  n.fill(model.norm, 1, 0.125f);
  for (layer_weights& layer : model.layer) {
    n.fill(layer.norm, 1, 0.125f);
    n.fill(layer.q, 0, 0.5f);
    n.fill(layer.k, 0, 0.5f);
    n.fill(layer.v, 0, 0.25f);
    n.fill(layer.out, 0, 0.25f);
    n.fill(layer.hidden_norm, 1, 0.125f);
    n.fill(layer.up, 0, 0.25f);
    n.fill(layer.down, 0, 0.25f);
  }
}

// The application's own arithmetic: plain loops. A compiler that joins x * x + sum into one fused
// multiply-add rounds once where another one rounds twice; -ffp-contract=off forbids it.
void rms_norm(const float* x, const float* weight, float* out) {
  float sum = 0;
  for (int c = 0; c < width; ++c) sum += x[c] * x[c];
  const float scale = 1 / std::sqrt(sum / width + 1e-5f);
  for (int c = 0; c < width; ++c) out[c] = x[c] * scale * weight[c];
}

// Rotations by multiplication, without sinf and cosf: those of two C libraries differ in their last bit.
struct rotation {
  float cosine[dim / 2], sine[dim / 2];
};
rotation first_rotation() { // no rotation at all
  rotation r{};
  for (float& x : r.cosine) x = 1;
  return r;
}
rotation next_rotation(const rotation& r) {
  // Of 10^(-i/2): the frequencies 10000^(-2i/dim).
  static const float cosine[dim / 2] = {0.540302306f, 0.95041528f, 0.995004165f, 0.999500042f,
                                        0.99995f,     0.999995f,   0.9999995f,   0.99999995f};
  static const float sine[dim / 2] = {0.841470985f,   0.310983593f,   0.0998334166f,   0.0316175064f,
                                      0.00999983333f, 0.00316227239f, 0.000999999833f, 0.000316227761f};
  rotation next{};
  for (int i = 0; i < dim / 2; ++i) {
    next.cosine[i] = r.cosine[i] * cosine[i] - r.sine[i] * sine[i];
    next.sine[i] = r.sine[i] * cosine[i] + r.cosine[i] * sine[i];
  }
  return next;
}
void rotate(float* x, int count, const rotation& r) {
  for (int h = 0; h < count; ++h, x += dim)
    for (int i = 0; i < dim / 2; ++i) {
      const float a = x[i], b = x[i + dim / 2];
      x[i] = a * r.cosine[i] - b * r.sine[i];
      x[i + dim / 2] = a * r.sine[i] + b * r.cosine[i];
    }
}

void project(const float* weights, const float* x, int rows, int columns, float* out) {
  check(fovea_matvec(weights, 0, x, rows, columns, isa, out));
}

void attend(const cache& memory, const float* q, int tokens, float* out) {
  fovea_attention call = {};
  call.q.data = q;
  call.k.data = memory.k;
  call.v.data = memory.v;
  call.out.data = out;
  call.k.head_stride = call.v.head_stride = capacity * dim;
  call.q_heads = heads;
  call.kv_heads = kv_heads;
  call.dim = dim;
  call.queries = 1;
  call.keys = tokens;
  call.isa = isa;
  check(fovea_attend(&call, scratch, sizeof scratch));
}

void add(float* x, const float* y) {
  for (int c = 0; c < width; ++c) x[c] += y[c];
}

void run_layer(const layer_weights& layer, cache& memory, const rotation& r, int token, float* x) {
  float normed[width], q[width], k[kv_width], v[kv_width], mixed[width], back[width], inner[hidden];
  rms_norm(x, layer.norm, normed);
  project(&layer.q[0][0], normed, width, width, q);
  project(&layer.k[0][0], normed, kv_width, width, k);
  project(&layer.v[0][0], normed, kv_width, width, v);
  rotate(q, heads, r);
  rotate(k, kv_heads, r);
  for (int g = 0; g < kv_heads; ++g) {
    std::memcpy(memory.k[g][token], k + g * dim, dim * sizeof(float));
    std::memcpy(memory.v[g][token], v + g * dim, dim * sizeof(float));
  }
  attend(memory, q, token + 1, mixed);
  project(&layer.out[0][0], mixed, width, width, back);
  add(x, back);

  rms_norm(x, layer.hidden_norm, normed);
  project(&layer.up[0][0], normed, hidden, width, inner);
  for (float& y : inner) y = y > 0 ? y * y : 0;
  project(&layer.down[0][0], inner, width, hidden, back);
  add(x, back);
}

struct digest { // FNV-1a over the bits
  uint64_t value = 0xcbf29ce484222325u;
  void add(const float* x, int count) {
    for (int i = 0; i < count; ++i) {
      uint32_t bits;
      std::memcpy(&bits, x + i, sizeof bits);
      for (int byte = 0; byte < 4; ++byte) value = (value ^ (bits >> 8 * byte & 255)) * 0x100000001b3u;
    }
  }
};

// Each token is the most probable one after the token before it.
uint64_t decode() {
  digest seen;
  rotation r = first_rotation();
  for (int token = 0, word = 0; token < capacity; ++token, r = next_rotation(r)) {
    float x[width], normed[width], probability[words];
    std::memcpy(x, model.embedding[word], sizeof x);
    for (int i = 0; i < layers; ++i) run_layer(model.layer[i], caches[i], r, token, x);
    rms_norm(x, model.norm, normed);
    project(&model.embedding[0][0], normed, words, width, probability);
    fovea_softmax_rows softmax = {};
    softmax.in = softmax.out = probability;
    softmax.rows = 1;
    softmax.columns = words;
    softmax.isa = isa;
    check(fovea_softmax(&softmax));
    seen.add(x, width);
    seen.add(probability, words);
    for (int i = word = 0; i < words; ++i)
      if (probability[i] > probability[word]) word = i;
  }
  return seen.value;
}

} // namespace

int main() {
  make_model();
  bool same = true;
  uint64_t common = 0;
  for (int32_t i = FOVEA_ISA_BEST + 1; i < FOVEA_ISA_END; ++i) {
    const bool promised = i != FOVEA_SSE41 && i != FOVEA_NEON && i != FOVEA_SCALAR_NO_FMA;
    if (!promised || !fovea_has_isa(i)) continue;
    isa = i;
    const uint64_t found = decode();
    std::printf("decoder_step: %08lx%08lx on %s\n", static_cast<unsigned long>(found >> 32),
                static_cast<unsigned long>(found & 0xffffffffu), fovea_isa_name(i));
    same = same && (common == 0 || common == found);
    common = found;
  }
  if (failed != FOVEA_OK)
    std::printf("decoder_step: %s: %s\n", fovea_argument_text(failed), fovea_reason_text(failed));
  if (!same) std::printf("decoder_step: the digests differ\n");
  return failed != FOVEA_OK || !same;
}
