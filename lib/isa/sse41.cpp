// x86 without fma: every product is rounded before it is added, so this ISA alone carries no bit promise.
#include "common/build.hpp"

#if FOVEA_WITH_SSE41
#include "f32/kernel/activate.hpp"
#include "f32/kernel/attend.hpp"
#include "f32/kernel/pool.hpp"
#include "f32/kernel/product.hpp"
#include "f32/kernel/rotate.hpp"
#include "isa/table.hpp"
#include "isa/xsimd_isa.hpp"

namespace fovea::f32 {
namespace {
struct sse41 : xsimd_isa<xsimd::sse4_1> {
  using shapes = shape_list<shape<2, 1>, shape<1, 2>>;
  static constexpr int rows = 24, batched_rows = 32;
};
} // namespace

const attention_kernel sse41_attention = attention_of<sse41>;
void sse41_merge(const plan& p) { merge_partials<sse41>(p); }
void sse41_pack_panel(const float* rows, ptrdiff_t stride, int dim, float* panel) {
  pack_one_panel<sse41>(rows, stride, dim, panel);
}
void sse41_softmax(const softmax_job& job) { softmax_rows<sse41>(job); }
void sse41_matvec(const matvec_job& job) { matvec_rows<sse41>(job); }
void sse41_norm(const norm_job& job) { norm_rows<sse41>(job); }
void sse41_activate(const activate_job& job) { activate_rows<sse41>(job); }
void sse41_pool(const pool_job& job) { pool_rows<sse41>(job); }
void sse41_rotate(const rotate_job& job) { rotate_rows<sse41>(job); }
void sse41_multiply(const product_job& job) { multiply_rows<sse41>(job); }
void sse41_finish(const finish_job& job) { finish_rows<sse41>(job); }

} // namespace fovea::f32
#endif
