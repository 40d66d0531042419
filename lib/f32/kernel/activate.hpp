// Activations of rows. docs/numerics.md, section 10.
#pragma once
#include "f32/kernel/activation.hpp"
#include "f32/kernel/norm.hpp"

namespace fovea::f32 {

template <class Isa, class Function>
void apply_to_rows(const activate_job& job, Function function) {
  using piece = floats<Isa, lanes_at_once<Isa>>;
  const auto applied = [&](const piece& x) FOVEA_LAMBDA_INLINE {
    return piece::each([&](int i) FOVEA_LAMBDA_INLINE { return function(x.r[i]); });
  };
  for (ptrdiff_t r = 0; r < job.rows; ++r) {
    const float* in = job.in + r * job.in_stride;
    float* out = job.out + r * job.out_stride;
    each_piece<Isa>(
        job.columns, [&](int c) FOVEA_LAMBDA_INLINE { applied(piece::load(in + c)).store(out + c); },
        [&](int c, int n)
            FOVEA_LAMBDA_INLINE { store_first(out + c, applied(load_first(in + c, n, piece{})), n); });
  }
}

template <class Isa>
void activate_rows(const activate_job& job) {
  using reg = typename Isa::reg;
  switch (job.function) {
    case activation::relu:
      return apply_to_rows<Isa>(job, [](reg x) FOVEA_LAMBDA_INLINE { return relu<Isa>(x); });
    case activation::gelu:
      return apply_to_rows<Isa>(job, [](reg x) FOVEA_LAMBDA_INLINE { return gelu<Isa>(x); });
    case activation::gelu_tanh:
      return apply_to_rows<Isa>(job, [](reg x) FOVEA_LAMBDA_INLINE { return gelu_tanh<Isa>(x); });
    default:
      return apply_to_rows<Isa>(job, [](reg x) FOVEA_LAMBDA_INLINE { return silu<Isa>(x); });
  }
}

} // namespace fovea::f32
