// The plan of an integer call: every option has become a number. make_fixed_plan is the only place that validates.
#pragma once
#include "fixed/arithmetic.hpp"
#include "fovea/fixed.h"
#include "validate.hpp"

namespace fovea {

struct fixed_kernel;

constexpr int32_t fixed_greatest_dim = 1024;
constexpr int32_t fixed_greatest_count = 0x3fffffff; // of tokens, positions and heads: rounding up never overflows
constexpr int32_t fixed_unit_rows = 48;              // rows of one unit of work; a constant, so that parts do not depend on scratch

constexpr int32_t up_to(int32_t n, int32_t step) { return (n + step - 1) / step * step; }

struct byte_rows { // [head][token] with strides in bytes
  const unsigned char* data;
  ptrdiff_t head, token;
  const unsigned char* row(ptrdiff_t h, ptrdiff_t t) const { return data + h * head + t * token; }
};

template <class T>
struct table_of { // optional numbers: [head][row][key] with strides in elements
  const T* data;
  ptrdiff_t head, row;
};

struct fixed_footprint { // of a call beside its scratch
  enum input { q, k, v, scales, multipliers, sums, value_weights, mask, bias, alibi, sinks, inputs };
  byte_range in[inputs], to[1];
};

struct fixed_plan {
  byte_rows q, k, v;
  unsigned char* out;
  ptrdiff_t out_head, out_token; // bytes
  bool wide;                     // S16
  bool panels;                   // k and v stand in panels
  bool fine_weights;             // 22 bits
  int32_t out_type;
  int32_t kv_heads, group, dim, v_dim, depth, width; // depth and width: dim and v_dim, rounded up to 16
  int32_t rows;                                      // queries * group: row = query * group + head in group
  int32_t zero_q, zero_k, zero_v, zero_out;
  int spill;
  visibility see;
  const fovea_fixed_scale *scale, *head_scales;
  table_of<int32_t> multipliers, sums, bias;
  table_of<int16_t> value_weights;
  table_of<uint8_t> mask;
  const int32_t *alibi, *sinks;
  bool octaves_by_key; // scores become octaves one key at a time, because an option touches them
  int32_t part, parts;
  const fixed_kernel* kernel;
  fixed_footprint bytes;

  const fovea_fixed_scale& scale_of(int32_t head) const { return head_scales ? head_scales[head] : *scale; }
};

inline size_t fixed_blocks_of(const fixed_plan& p) { // that the given keys touch
  if (p.see.end == p.see.first_key) return 0;
  return static_cast<size_t>((p.see.end - 1) / fixed_block - p.see.first_key / fixed_block + 1);
}

int32_t make_fixed_plan(const fovea_fixed_attention* call, fixed_plan& p);

} // namespace fovea
