/* 16 tokens, windows of 4x4 pixels; one layer of attention and feed-forward network; the mean; ten outputs.
 * Each step is a static layer of integers, and what is added has the scale of what it is added to. */
#include "digits.h"

#include "digits_weights.h"

enum { tokens = 16, patch = 16, width = 32, heads = 2, dim = width / heads, hidden = 96 };

static int32_t embed_packed[FOVEA_FIXED_LINEAR_BYTES(patch, width) / 4];
static int32_t qkv_packed[FOVEA_FIXED_LINEAR_BYTES(width, 3 * width) / 4];
static int32_t mix_packed[FOVEA_FIXED_LINEAR_BYTES(width, width) / 4];
static int32_t up_packed[FOVEA_FIXED_LINEAR_BYTES(width, hidden) / 4];
static int32_t down_packed[FOVEA_FIXED_LINEAR_BYTES(hidden, width) / 4];
static int32_t classify_packed[FOVEA_FIXED_LINEAR_BYTES(width, digits_classes) / 4];
static int32_t begun;

static unsigned char scratch[FOVEA_FIXED_LINEAR_SCRATCH(hidden, tokens) + FOVEA_FIXED_SCRATCH(dim, dim)];
static int8_t x[tokens][width], y[tokens][width], qkv[tokens][3 * width], between[tokens][hidden];
static int8_t keys[heads][FOVEA_FIXED_PANELS(tokens, dim)], values[heads][FOVEA_FIXED_PANELS(tokens, dim)];

/* In rows of words, as the weights stand in their header. */
static int32_t pack(int32_t *packed, size_t size, int32_t in, int32_t out, const uint32_t *rows,
                    const int32_t *bias, const int32_t *multipliers, const int32_t *shifts, int32_t zero_x) {
  fovea_fixed_weights w = {0};
  w.rows = (const int8_t *)rows;
  w.bias = bias;
  w.multipliers = multipliers;
  w.shifts = shifts;
  w.zero_x = zero_x;
  return fovea_fixed_pack_linear(packed, size, in, out, &w);
}

#define PACK(name, in, out, zero_x)                                                       \
  pack(name##_packed, sizeof name##_packed, in, out, name##_rows, name##_bias, name##_multipliers, \
       name##_shifts, zero_x)

int32_t digits_begin(void) {
  int32_t status = PACK(embed, patch, width, 0);
  if (status == FOVEA_OK) status = PACK(qkv, width, 3 * width, 0);
  if (status == FOVEA_OK) status = PACK(mix, width, width, 0);
  if (status == FOVEA_OK) status = PACK(up, width, hidden, 0);
  if (status == FOVEA_OK) status = PACK(down, hidden, width, -128); /* behind a ReLU all 256 steps are used */
  if (status == FOVEA_OK) status = PACK(classify, width, digits_classes, 0);
  begun = status == FOVEA_OK;
  return status;
}

static int32_t multiply(const int32_t *packed, int32_t in, int32_t out, int32_t zero_out, const int8_t *from,
                        int8_t *to, int32_t rows, int32_t isa) {
  fovea_fixed_linear w = {0};
  fovea_fixed_product p = {0};
  w.packed = packed;
  w.in = in;
  w.out = out;
  w.zero_out = zero_out;
  p.w = &w;
  p.x = from;
  p.y = to;
  p.rows = rows;
  p.isa = isa;
  return fovea_fixed_multiply(&p, scratch, sizeof scratch);
}

static void add(int8_t *to, const int8_t *from) {
  for (int c = 0; c < width; ++c) {
    const int sum = to[c] + from[c];
    to[c] = (int8_t)(sum > 127 ? 127 : sum < -128 ? -128 : sum);
  }
}
static void add_all(int8_t (*from)[width]) {
  for (int t = 0; t < tokens; ++t) add(x[t], from[t]);
}

static int32_t attend(int32_t isa) {
  fovea_fixed_attention a = {0};
  for (int h = 0; h < heads; ++h) {
    int32_t status = fovea_fixed_pack_keys(keys[h], 0, &qkv[0][width + h * dim], 3 * width, tokens, dim);
    if (status == FOVEA_OK)
      status = fovea_fixed_pack_values(values[h], 0, &qkv[0][2 * width + h * dim], 3 * width, tokens, dim);
    if (status != FOVEA_OK) return status;
  }
  a.q.data = qkv;
  a.q.head_stride = dim;
  a.q.token_stride = 3 * width;
  a.k.data = keys;
  a.v.data = values;
  a.k.layout = a.v.layout = FOVEA_PANELS;
  a.out.data = y;
  a.out.head_stride = dim;
  a.out.token_stride = width;
  a.q_heads = heads;
  a.dim = dim;
  a.queries = a.keys = tokens;
  a.scale = attention_scale;
  a.isa = isa;
  return fovea_fixed_attend_plain(&a, scratch, sizeof scratch);
}

static int32_t embed(const uint8_t *pixels, int32_t isa) {
  static int8_t patches[tokens][patch];
  int32_t status;
  for (int t = 0; t < tokens; ++t)
    for (int i = 0; i < patch; ++i) { /* the frame around the picture is 0 */
      const int row = t / 4 * 2 + i / 4 - 1, column = t % 4 * 2 + i % 4 - 1;
      const int inside = row >= 0 && row < 8 && column >= 0 && column < 8;
      patches[t][i] = (int8_t)(inside ? pixels[8 * row + column] : 0);
    }
  status = multiply(embed_packed, patch, width, 0, &patches[0][0], &x[0][0], tokens, isa);
  for (int t = 0; t < tokens && status == FOVEA_OK; ++t) add(x[t], (const int8_t *)place + t * width);
  return status;
}

static void pool(int8_t *mean) {
  for (int c = 0; c < width; ++c) {
    int32_t sum = 0, scaled;
    for (int t = 0; t < tokens; ++t) sum += x[t][c];
    scaled = (sum * pool_multiplier + (128 << 16) + (1 << 15)) / (1 << 16) - 128; /* rounded */
    mean[c] = (int8_t)(scaled > 127 ? 127 : scaled < -128 ? -128 : scaled);
  }
}

/* x is behind the embedding, y between the steps. */
static int32_t run_layer(int32_t isa) {
  static int8_t mixed[tokens][width];
  int32_t status = multiply(qkv_packed, width, 3 * width, 0, &x[0][0], &qkv[0][0], tokens, isa);
  if (status == FOVEA_OK) status = attend(isa);
  if (status == FOVEA_OK) status = multiply(mix_packed, width, width, 0, &y[0][0], &mixed[0][0], tokens, isa);
  if (status == FOVEA_OK) add_all(mixed);
  if (status == FOVEA_OK)
    status = multiply(up_packed, width, hidden, -128, &x[0][0], &between[0][0], tokens, isa);
  if (status == FOVEA_OK)
    status = multiply(down_packed, hidden, width, 0, &between[0][0], &y[0][0], tokens, isa);
  if (status == FOVEA_OK) add_all(y);
  return status;
}

int32_t digits_classify(const uint8_t *pixels, int32_t isa, int8_t *logits) {
  int8_t mean[width], found[digits_classes];
  int32_t best = 0, status;
  if (!begun) return -1;
  status = embed(pixels, isa);
  if (status == FOVEA_OK) status = run_layer(isa);
  pool(mean);
  if (status == FOVEA_OK)
    status = multiply(classify_packed, width, digits_classes, 0, mean, found, 1, isa);
  if (status != FOVEA_OK) return -1;
  for (int32_t i = 0; i < digits_classes; ++i) {
    if (found[i] > found[best]) best = i;
    if (logits) logits[i] = found[i];
  }
  return best;
}
