/* A program of somebody else's in C99: one attention in floats and one in integers, and the bits that come out.
   The numbers are those of consumer.cpp. */
#include <stdio.h>

#include "fovea/fixed.h"
#include "fovea/fovea.h"
#include "fovea/ops.h"

enum { HEADS = 4, KV_HEADS = 2, DIM = 40, QUERIES = 9, KEYS = 300 };
enum { Q_NUMBERS = HEADS * QUERIES * DIM, KV_NUMBERS = KV_HEADS * KEYS * DIM };

static float q[Q_NUMBERS], k[KV_NUMBERS], v[KV_NUMBERS], out[Q_NUMBERS], lse[HEADS * QUERIES], weights[KEYS];
static int8_t q8[Q_NUMBERS], k8[KV_NUMBERS], v8[KV_NUMBERS], out8[Q_NUMBERS];
static unsigned char scratch[FOVEA_SCRATCH(DIM, DIM)], scratch8[1 << 16];

static uint32_t seed = 1;
static int32_t number(void) { /* -128 .. 127 */
  seed = seed * 1664525u + 1013904223u;
  return (int32_t)(seed >> 24) - 128;
}
static void fill(float *x, int count) {
  for (int i = 0; i < count; ++i) {
    const int32_t high = number();
    x[i] = (float)(high * 256 + number()) / 16384;
  }
}
static void fill8(int8_t *x, int count) {
  for (int i = 0; i < count; ++i) x[i] = (int8_t)number();
}

static unsigned long long digest_of(const void *results, size_t size) {
  unsigned long long digest = 0xCBF29CE484222325u;
  for (size_t i = 0; i < size; ++i) digest = (digest ^ ((const unsigned char *)results)[i]) * 0x100000001B3u;
  return digest;
}

int main(void) {
  static const float slopes[HEADS] = {0.5f, 0.25f, 0.125f, 0.0625f}, sinks[HEADS] = {0.5f, -1, 2, 0};
  fill(q, Q_NUMBERS);
  fill(k, KV_NUMBERS);
  fill(v, KV_NUMBERS);
  const fovea_attention a = {.q.data = q,
                             .k.data = k,
                             .v.data = v,
                             .out.data = out,
                             .q_heads = HEADS,
                             .kv_heads = KV_HEADS,
                             .dim = DIM,
                             .queries = QUERIES,
                             .keys = KEYS,
                             .flags = FOVEA_CAUSAL,
                             .softcap = 3,
                             .alibi = slopes,
                             .sinks = sinks,
                             .lse = lse};
  const int32_t status = fovea_attend(&a, scratch, sizeof scratch);
  const fovea_softmax_rows row = {.in = q, .out = weights, .rows = 1, .columns = KEYS};
  const unsigned long long floats = digest_of(out, sizeof out) ^ digest_of(lse, sizeof lse);
  if (status != FOVEA_OK || fovea_softmax(&row) != FOVEA_OK) return 2;

  seed = 1;
  fill8(q8, Q_NUMBERS);
  fill8(k8, KV_NUMBERS);
  fill8(v8, KV_NUMBERS);
  fovea_fixed_attention b = {.q.data = q8,
                             .k.data = k8,
                             .v.data = v8,
                             .out.data = out8,
                             .q_heads = HEADS,
                             .kv_heads = KV_HEADS,
                             .dim = DIM,
                             .queries = QUERIES,
                             .keys = KEYS,
                             .flags = FOVEA_CAUSAL};
  b.scale.score_multiplier = 1 << 30;
  b.scale.score_shift = 29;
  b.scale.out_multiplier = 1 << 30;
  b.scale.out_shift = 1;
  if (fovea_fixed_attend(&b, scratch8, sizeof scratch8) != FOVEA_OK) return 3;
  const unsigned long long all = floats ^ digest_of(weights, sizeof weights), bytes = digest_of(out8, sizeof out8);
  printf("C99: floats, %s: digest %016llx; integers, %s: digest %016llx; version %d\n", fovea_isa_name(fovea_isa()), all,
         fovea_fixed_isa_name(fovea_fixed_isa()), bytes, (int)fovea_version());
  return all == 0x9e4ea5fec08e937fu && bytes == 0x7bdd5243a82224b6u && fovea_version() == FOVEA_VERSION ? 0 : 1;
}
