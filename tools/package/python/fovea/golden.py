"""python -m fovea.golden FOLDER: a header with golden vectors for float32 and int8, and the program that
checks them on a board.
"""

import pathlib
import sys

import numpy as np

import fovea
from fovea.header import Header

HEADS, KV_HEADS, QUERIES, KEYS, DIM = 4, 2, 5, 70, 24

PROGRAM = """/* Computes what golden.h holds, and compares the bytes. */
#include <stdio.h>
#include <string.h>

#include "fovea/fixed.h"
#include "fovea/fovea.h"
#include "fovea/linear.h"
#include "golden.h"

int main(void) {
  static unsigned char scratch[FOVEA_SCRATCH(GOLDEN_DIM, GOLDEN_DIM)];
  static unsigned char scratch8[FOVEA_FIXED_SCRATCH_ROWS(GOLDEN_DIM, GOLDEN_DIM)];
  static float out[GOLDEN_HEADS * GOLDEN_QUERIES * GOLDEN_DIM], y[GOLDEN_HEADS * GOLDEN_QUERIES * GOLDEN_DIM];
  static int8_t out8[GOLDEN_HEADS * GOLDEN_QUERIES * GOLDEN_DIM];
  fovea_attention a = {0};
  fovea_fixed_attention b = {0};
  const fovea_linear w = {golden_w_packed, golden_w_bias, GOLDEN_W_INPUTS, GOLDEN_W_OUTPUTS, GOLDEN_W_DTYPE,
                          {0}, 0};
  const fovea_fixed_scale scale = GOLDEN_SCALE;
  fovea_product p = {0};
  a.q.data = golden_q;
  a.k.data = golden_k;
  a.v.data = golden_v;
  a.out.data = out;
  a.q_heads = GOLDEN_HEADS;
  a.kv_heads = GOLDEN_KV_HEADS;
  a.dim = GOLDEN_DIM;
  a.queries = GOLDEN_QUERIES;
  a.keys = GOLDEN_KEYS;
  a.flags = FOVEA_CAUSAL;
  b.q.data = golden_q8;
  b.k.data = golden_k8;
  b.v.data = golden_v8;
  b.out.data = out8;
  b.q_heads = GOLDEN_HEADS;
  b.kv_heads = GOLDEN_KV_HEADS;
  b.dim = GOLDEN_DIM;
  b.queries = GOLDEN_QUERIES;
  b.keys = GOLDEN_KEYS;
  b.flags = FOVEA_CAUSAL;
  b.scale = scale;
  p.w = &w;
  p.x.data = golden_out;
  p.y.data = y;
  p.rows = GOLDEN_HEADS * GOLDEN_QUERIES;
  const int same = fovea_attend(&a, scratch, sizeof scratch) == FOVEA_OK &&
                   memcmp(out, golden_out, sizeof out) == 0;
  const int same_product = fovea_multiply(&p, 0, 0) == FOVEA_OK && memcmp(y, golden_y, sizeof y) == 0;
  const int same8 = fovea_fixed_attend(&b, scratch8, sizeof scratch8) == FOVEA_OK &&
                    memcmp(out8, golden_out8, sizeof out8) == 0;
  printf("float32 by %s: %s; packed weights: %s; int8 by %s: %s\\n", fovea_isa_name(fovea_isa()),
         same ? "equal" : "different", same_product ? "equal" : "different",
         fovea_fixed_isa_name(fovea_fixed_isa()), same8 ? "equal" : "different");
  return same && same_product && same8 ? 0 : 1;
}
"""


def main(folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(1)
    q, k, v = (
        random.standard_normal(shape, np.float32)
        for shape in ((HEADS, QUERIES, DIM), (KV_HEADS, KEYS, DIM), (KV_HEADS, KEYS, DIM))
    )
    h = Header("golden")
    for name in ("HEADS", "KV_HEADS", "QUERIES", "KEYS", "DIM"):
        h.constant(name, globals()[name])
    out = fovea.attend(q, k, v, causal=True)
    for name, x in (("q", q), ("k", k), ("v", v), ("out", out)):
        h.array(name, x)
    w = fovea.Linear(random.standard_normal((DIM, DIM), np.float32), random.standard_normal(DIM, np.float32))
    h.linear("w", w)
    h.array("y", w(out))
    (q8, q_scale, _), (k8, k_scale, _), (v8, v_scale, _) = map(fovea.quantize, (q, k, v))
    scale = fovea.make_scale(q_scale, k_scale, v_scale, float(np.abs(out).max()) / 127, dim=DIM)
    h.scale("scale", scale)
    for name, x in (
        ("q8", q8),
        ("k8", k8),
        ("v8", v8),
        ("out8", fovea.attend_fixed(q8, k8, v8, scale, causal=True)),
    ):
        h.array(name, x)
    h.write(folder / "golden.h")
    (folder / "golden.c").write_text(PROGRAM, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:] or ["."])
