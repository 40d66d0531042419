// What becomes of the sums of a product on their way to y: bias, activation, residual. docs/numerics.md,
// section 10.
#pragma once
#include "f32/kernel/activation.hpp"
#include "f32/product.hpp"

namespace fovea::f32 {

// Plain floats go one by one, and by fours where a step is short: sixteen would only be more code.
template <class Isa, int Plain = 1>
using finished = floats<Isa, Isa::lanes == 1 ? Plain : 16>;

// y = step(z + bias, y) + residual
template <class Isa, int Plain, class Step>
FOVEA_INLINE void finish_with(const finish_job& job, Step step) {
  using vector = finished<Isa, Plain>;
  constexpr int lanes = static_cast<int>(sizeof(vector) / sizeof(float));
  for (int32_t r = 0; r < job.rows; ++r) {
    const float* z = job.z + r * job.z_stride;
    const float* residual = job.residual ? job.residual + r * job.residual_stride : nullptr;
    float* y = job.y + r * job.y_stride;
    const auto sixteen = [&](int32_t c, auto load, auto store) FOVEA_LAMBDA_INLINE {
      auto x = vector::load(z + c);
      if (job.bias) x = x + load(job.bias + c);
      x = step(x, [&]() FOVEA_LAMBDA_INLINE { return load(y + c); });
      if (residual) x = x + load(residual + c);
      store(y + c, x);
    };
    int32_t c = 0;
    for (; c <= job.count - lanes; c += lanes)
      sixteen(
          c, [](const float* p) FOVEA_LAMBDA_INLINE { return vector::load(p); },
          [](float* p, const vector& x) FOVEA_LAMBDA_INLINE { x.store(p); });
    if constexpr (lanes > 1) {
      const int rest = job.count - c;
      if (rest > 0)
        sixteen(
            c, [&](const float* p) FOVEA_LAMBDA_INLINE { return load_first(p, rest, vector{}); },
            [&](float* p, const vector& x) FOVEA_LAMBDA_INLINE { store_first(p, x, rest); });
    }
  }
}

// The same for a step on each number alone.
template <class Isa, class Step>
__attribute__((noinline)) void finish_each(const finish_job& job, Step step) {
  finish_with<Isa, 1>(job, [&](const finished<Isa>& x, auto) FOVEA_LAMBDA_INLINE {
    return finished<Isa>::each([&](int i) FOVEA_LAMBDA_INLINE { return step(x.r[i]); });
  });
}

// SiLU of sums that have neither bias nor residual, by fours.
template <class Isa>
__attribute__((noinline)) void finish_silu(const finish_job& job) {
  for (int32_t r = 0; r < job.rows; ++r) {
    const float *z = job.z + r * job.z_stride, *const end = z + job.count;
    float* y = job.y + r * job.y_stride;
    while (z < end) {
      if (end - z >= 4) Isa::silu_fours(z, z + ((end - z) & -4), y, log2_e, power_magic, slope_terms);
      for (int left = end - z < 4 ? static_cast<int>(end - z) : 4; left > 0; --left) // or what it leaves
        *y++ = silu<Isa>(*z++);
    }
  }
}

// to = a + b, where `to` may be one of them.
template <class Isa>
__attribute__((noinline)) void add_numbers(const float* a, const float* b, float* to, int32_t count) {
  float* const end = to + count;
  if (count >= 4) Isa::add_fours(a, b, to, to + (count & -4));
  while (to != end) *to++ = *a++ + *b++;
}
// Steps that only join rows, by fours. Where something follows the bias, it joins z in place.
template <class Isa>
__attribute__((noinline)) void finish_by_fours(const finish_job& job) {
  const int32_t count = job.count;
  for (int32_t r = 0; r < job.rows; ++r) {
    float *z = job.z + r * job.z_stride, *y = job.y + r * job.y_stride;
    const float *bias = job.bias, *residual = job.residual ? job.residual + r * job.residual_stride : nullptr;
    const bool is_gate = job.last_step == activation::times;
    if (bias && (residual || is_gate)) add_numbers<Isa>(z, bias, z, count);
    if (is_gate) {
      const float *x = z, *const end = y + count;
      if (count >= 4) Isa::multiply_fours(y, x, y + (count & -4));
      for (; y != end; ++y) *y = *y * *x++;
    } else if (residual || bias) {
      add_numbers<Isa>(z, residual ? residual : bias, y, count);
    } else {
      for (int32_t c = 0; c < count; ++c) y[c] = z[c];
    }
  }
}

template <class Isa>
void finish_rows(const finish_job& job) {
  using reg = typename Isa::reg;
  switch (job.last_step) {
    case activation::none:
      if constexpr (Isa::joins_fours) return finish_by_fours<Isa>(job);
      return finish_with<Isa, 4>(job, [](const finished<Isa, 4>& x, auto) FOVEA_LAMBDA_INLINE { return x; });
    case activation::relu:
      return finish_each<Isa>(job, [](reg x) FOVEA_LAMBDA_INLINE { return relu<Isa>(x); });
    case activation::gelu:
      return finish_each<Isa>(job, [](reg x) FOVEA_LAMBDA_INLINE { return gelu<Isa>(x); });
    case activation::gelu_tanh:
      return finish_each<Isa>(job, [](reg x) FOVEA_LAMBDA_INLINE { return gelu_tanh<Isa>(x); });
    case activation::silu:
      if constexpr (Isa::activates_fours)
        if (!job.bias && !job.residual) return finish_silu<Isa>(job);
      return finish_each<Isa>(job, [](reg x) FOVEA_LAMBDA_INLINE { return silu<Isa>(x); });
    case activation::times:
      if constexpr (Isa::joins_fours) return finish_by_fours<Isa>(job);
      return finish_with<Isa, 4>(
          job, [](const finished<Isa, 4>& x, auto y) FOVEA_LAMBDA_INLINE { return y() * x; });
  }
}

} // namespace fovea::f32
