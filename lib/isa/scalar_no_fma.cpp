// Plain floats for cores without fused multiply-add: Arm before VFPv4, x86 before SSE4.1, cores without FPU.
// Every product is rounded before it is added, so this ISA carries no bit promise. fmaf of a C library would
// keep it, and be 5 to 17 times slower.
#include "common/build.hpp"

#if FOVEA_WITH_SCALAR_NO_FMA
#include "f32/kernel/activate.hpp"
#include "f32/kernel/attend.hpp"
#include "f32/kernel/pool.hpp"
#include "f32/kernel/product.hpp"
#include "f32/kernel/rotate.hpp"
#include "isa/scalar_isa.hpp"
#include "isa/table.hpp"

namespace fovea::f32 {
namespace {
struct scalar_no_fma : no_fma_isa {
  using shapes = shape_list<shape<4, 1, 4>, shape<2, 1, 8>, shape<1, 1, 8>>;
  static constexpr int rows = 24;
};
} // namespace

const attention_kernel scalar_no_fma_attention = attention_of<scalar_no_fma>;
void scalar_no_fma_merge(const plan& p) { merge_partials<scalar_no_fma>(p); }
void scalar_no_fma_pack_panel(const float* rows, ptrdiff_t stride, int dim, float* panel) {
  pack_one_panel<scalar_no_fma>(rows, stride, dim, panel);
}
void scalar_no_fma_softmax(const softmax_job& job) { softmax_rows<scalar_no_fma>(job); }
void scalar_no_fma_matvec(const matvec_job& job) { matvec_rows<scalar_no_fma>(job); }
void scalar_no_fma_norm(const norm_job& job) { norm_rows<scalar_no_fma>(job); }
void scalar_no_fma_activate(const activate_job& job) { activate_rows<scalar_no_fma>(job); }
void scalar_no_fma_pool(const pool_job& job) { pool_rows<scalar_no_fma>(job); }
void scalar_no_fma_rotate(const rotate_job& job) { rotate_rows<scalar_no_fma>(job); }
void scalar_no_fma_multiply(const product_job& job) { multiply_rows<scalar_no_fma>(job); }
void scalar_no_fma_finish(const finish_job& job) { finish_rows<scalar_no_fma>(job); }

} // namespace fovea::f32
#endif
