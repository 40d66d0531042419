/* Weights that are packed once: W_Q, W_K and W_V become one product, and a feed-forward block adds its input
 * on the way out. Plain loops check both. */
#include "fovea/linear.h"

#include <math.h>
#include <stdio.h>

enum { tokens = 3, width = 24, hidden = 40 };

/* Memory for packed weights is static: its size is a constant. */
static float packed_qkv[FOVEA_LINEAR_BYTES(width, 3 * width, FOVEA_F32) / sizeof(float)];
static float packed_up[FOVEA_LINEAR_BYTES(width, hidden, FOVEA_F16) / sizeof(float)];
static float packed_down[FOVEA_LINEAR_BYTES(hidden, width, FOVEA_F16) / sizeof(float)];

static float w_q[width][width], w_k[width][width], w_v[width][width]; /* [out][in], as PyTorch stores them */
static float w_up[hidden][width], w_down[width][hidden], b_up[hidden];
static float x[tokens][width], qkv[tokens][3 * width], inner[tokens][hidden], y[tokens][width];

static void fill(float* numbers, int count, unsigned seed) { /* of 8 bits: float16 holds them exactly */
  for (int i = 0; i < count; ++i) {
    seed = seed * 1664525u + 1013904223u;
    numbers[i] = (float)((int)(seed >> 24) - 128) / 256;
  }
}

/* Packs `rows` outputs of a matrix of `in` columns, from output `at` on. */
static int pack(void* packed, size_t size, int in, int out, int dtype, int at, const float* w, int rows) {
  fovea_rows_in given = {0};
  given.data = w;
  return fovea_pack_linear(packed, size, in, out, dtype, at, &given, rows) == FOVEA_OK;
}

static int pack_all(void) {
  return pack(packed_qkv, sizeof packed_qkv, width, 3 * width, FOVEA_F32, 0, &w_q[0][0], width) &&
         pack(packed_qkv, sizeof packed_qkv, width, 3 * width, FOVEA_F32, width, &w_k[0][0], width) &&
         pack(packed_qkv, sizeof packed_qkv, width, 3 * width, FOVEA_F32, 2 * width, &w_v[0][0], width) &&
         pack(packed_up, sizeof packed_up, width, hidden, FOVEA_F16, 0, &w_up[0][0], hidden) &&
         pack(packed_down, sizeof packed_down, hidden, width, FOVEA_F16, 0, &w_down[0][0], width);
}

static int multiply(const fovea_linear* w, const float* in, float* out, int activation,
                    const float* residual) {
  fovea_product p = {0};
  int32_t status;
  p.w = w;
  p.x.data = in;
  p.y.data = out;
  p.residual.data = residual;
  p.rows = tokens;
  p.activation = activation;
  status = fovea_multiply(&p, NULL, 0);
  if (status != FOVEA_OK) printf("linear: %s: %s\n", fovea_argument_text(status), fovea_reason_text(status));
  return status == FOVEA_OK;
}

static double gelu(double z) { return z * 0.5 * erfc(-z / sqrt(2.0)); }

/* The largest difference to plain loops in double. */
static double error_of_qkv(void) {
  const float* const parts[3] = {&w_q[0][0], &w_k[0][0], &w_v[0][0]};
  double worst = 0;
  for (int t = 0; t < tokens; ++t)
    for (int o = 0; o < 3 * width; ++o) {
      double sum = 0;
      for (int k = 0; k < width; ++k)
        sum += (double)x[t][k] * (double)parts[o / width][o % width * width + k];
      worst = fmax(worst, fabs(sum - (double)qkv[t][o]));
    }
  return worst;
}

static double error_of_block(void) {
  double worst = 0;
  for (int t = 0; t < tokens; ++t) {
    double expected[width], middle[hidden];
    for (int h = 0; h < hidden; ++h) {
      double sum = (double)b_up[h];
      for (int k = 0; k < width; ++k) sum += (double)x[t][k] * (double)w_up[h][k];
      middle[h] = gelu(sum);
    }
    for (int o = 0; o < width; ++o) {
      expected[o] = (double)x[t][o];
      for (int h = 0; h < hidden; ++h) expected[o] += middle[h] * (double)w_down[o][h];
      worst = fmax(worst, fabs(expected[o] - (double)y[t][o]));
    }
  }
  return worst;
}

int main(void) {
  const fovea_linear w_qkv = {packed_qkv, NULL, width, 3 * width, FOVEA_F32, {0, 0}, 0};
  const fovea_linear up = {packed_up, b_up, width, hidden, FOVEA_F16, {0, 0}, 0};
  const fovea_linear down = {packed_down, NULL, hidden, width, FOVEA_F16, {0, 0}, 0};
  fill(&w_q[0][0], width * width, 1);
  fill(&w_k[0][0], width * width, 2);
  fill(&w_v[0][0], width * width, 3);
  fill(&w_up[0][0], hidden * width, 4);
  fill(&w_down[0][0], width * hidden, 5);
  fill(b_up, hidden, 6);
  fill(&x[0][0], tokens * width, 7);
  if (!pack_all()) return 1;

  if (!multiply(&w_qkv, &x[0][0], &qkv[0][0], FOVEA_NO_ACTIVATION, NULL)) return 1;
  if (!multiply(&up, &x[0][0], &inner[0][0], FOVEA_GELU, NULL)) return 1;
  if (!multiply(&down, &inner[0][0], &y[0][0], FOVEA_NO_ACTIVATION, &x[0][0])) return 1;

  printf(
      "linear: q, k and v by one product, largest error %.1e; x + down(gelu(up(x))) with float16 weights, "
      "%.1e\n",
      error_of_qkv(), error_of_block());
  return error_of_qkv() < 1e-5 && error_of_block() < 1e-5 ? 0 : 1;
}
