// The works of fovea_cost that multiply packed weights.
#pragma once
#include <cstring>
#include <vector>

#include "fovea/linear.h"

namespace linear_works {

struct work {
  const char* name;
  bool for_boards; // else hosted
  int32_t dtype, rows, in, out, activation;
};

// clang-format off
constexpr work works[] = {
    {"linear 64x64 1 row",               true,  FOVEA_F32,    1,  64,   64, FOVEA_NO_ACTIVATION},
    {"linear 64x64 16 rows",             true,  FOVEA_F32,   16,  64,   64, FOVEA_NO_ACTIVATION},
    {"linear 64x64 f16 1 row",           true,  FOVEA_F16,    1,  64,   64, FOVEA_NO_ACTIVATION},
    {"linear 64x64 gelu 1 row",          true,  FOVEA_F32,    1,  64,   64, FOVEA_GELU},
    {"linear 384x1536 1 row",            false, FOVEA_F32,    1, 384, 1536, FOVEA_NO_ACTIVATION},
    {"linear 384x1536 16 rows",          false, FOVEA_F32,   16, 384, 1536, FOVEA_NO_ACTIVATION},
    {"linear 384x1536 128 rows",         false, FOVEA_F32,  128, 384, 1536, FOVEA_NO_ACTIVATION},
    {"linear 384x1536 gelu 128 rows",    false, FOVEA_F32,  128, 384, 1536, FOVEA_GELU},
    {"linear 384x1536 f16 16 rows",      false, FOVEA_F16,   16, 384, 1536, FOVEA_NO_ACTIVATION},
    {"linear 384x1536 bf16 16 rows",     false, FOVEA_BF16,  16, 384, 1536, FOVEA_NO_ACTIVATION},
};
// clang-format on

inline long multiply_adds(const work& w) { return long{w.rows} * w.in * w.out; }

// One product, packed before; `counted` runs it between the markers.
template <class Counted>
int32_t run(const work& w, int32_t isa, Counted counted) {
  const auto numbers = [](long n) {
    std::vector<float> all(static_cast<size_t>(n));
    for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<float>(static_cast<int>(i % 61) - 30) * .03f;
    return all;
  };
  const std::vector<float> weights = numbers(long{w.in} * w.out), x = numbers(long{w.rows} * w.in),
                           bias = numbers(w.out);
  std::vector<float> y(static_cast<size_t>(w.rows) * static_cast<size_t>(w.out));
  std::vector<float> packed(fovea_linear_size(w.in, w.out, w.dtype) / sizeof(float));
  fovea_rows_in rows = {};
  rows.data = weights.data();
  const int32_t status = fovea_pack_linear(packed.data(), packed.size() * sizeof(float), w.in, w.out, w.dtype,
                                           0, &rows, w.out);
  if (status != FOVEA_OK) return status;
  fovea_linear linear = {};
  linear.packed = packed.data();
  linear.bias = bias.data();
  linear.in = w.in;
  linear.out = w.out;
  linear.dtype = w.dtype;
  fovea_product p = {};
  p.w = &linear;
  p.x.data = x.data();
  p.y.data = y.data();
  p.rows = w.rows;
  p.activation = w.activation;
  p.isa = isa;
  return counted(p, fovea_multiply_scratch(&p));
}

} // namespace linear_works
