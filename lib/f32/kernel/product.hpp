// Rows times packed weights. docs/numerics.md, section 10.
#pragma once
#include "f32/kernel/tile.hpp"
#include "f32/product.hpp"
#include "isa/contract.hpp"

namespace fovea::f32 {

template <class Isa>
void finish_rows(const finish_job& job) {
  for (int32_t r = 0; r < job.rows; ++r)
    for (int32_t c = 0; c < job.count; c += 16) {
      const int n = job.count - c < 16 ? job.count - c : 16;
      auto z = f32x16<Isa>::load(job.z + r * job.z_stride + c);
      if (job.bias) z = z + load_first(job.bias + c, n, z);
      if (job.last_step == activation::relu) z = max(z, f32x16<Isa>::all(0));
      if (job.residual) z = z + load_first(job.residual + r * job.residual_stride + c, n, z);
      store_first(job.y + r * job.y_stride + c, z, n);
    }
}

template <class Isa>
void multiply_rows(const product_job& job) {
  for (int32_t panel = job.from / 16; 16 * panel < job.to; ++panel)
    for (int32_t r = 0; r < job.rows; ++r) {
      const float* x = job.x + r * job.x_stride;
      const float* w = static_cast<const float*>(job.packed) + static_cast<ptrdiff_t>(panel) * 16 * job.in;
      auto sum = f32x16<Isa>::all(0);
      for (int32_t k = 0; k < job.in; ++k) sum = fma_by(x[k], f32x16<Isa>::load(w + 16 * k), sum);
      float z[32];
      sum.store(z);
      const int32_t from = 16 * panel < job.from ? job.from : 16 * panel;
      const int32_t to = 16 * panel + 16 < job.to ? 16 * panel + 16 : job.to;
      finish_job f = job.finish;
      f.z = z + from % 16;
      f.bias = f.bias ? f.bias + from : nullptr;
      f.residual = f.residual ? f.residual + r * f.residual_stride + (from - job.y_from) : nullptr;
      f.y += r * f.y_stride + (from - job.y_from);
      f.rows = 1;
      f.count = to - from;
      finish_rows<Isa>(f);
    }
}

} // namespace fovea::f32
