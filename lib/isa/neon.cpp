// 32-bit Arm with NEON and fma: sixteen registers of four lanes.
#include "common/build.hpp"

#if FOVEA_WITH_NEON
#include "f32/kernel/activate.hpp"
#include "f32/kernel/attend.hpp"
#include "f32/kernel/pool.hpp"
#include "f32/kernel/product.hpp"
#include "f32/kernel/rotate.hpp"
#include "isa/neon_isa.hpp"
#include "isa/table.hpp"

namespace fovea::f32 {
namespace {
struct neon : neon_isa {
  using shapes = shape_list<shape<2, 1>, shape<1, 2>>;
  static constexpr int rows = 24, batched_rows = 32;
};
} // namespace

const attention_kernel neon_attention = attention_of<neon>;
void neon_merge(const plan& p) { merge_partials<neon>(p); }
void neon_pack_panel(const float* rows, ptrdiff_t stride, int dim, float* panel) {
  pack_one_panel<neon>(rows, stride, dim, panel);
}
void neon_softmax(const softmax_job& job) { softmax_rows<neon>(job); }
void neon_matvec(const matvec_job& job) { matvec_rows<neon>(job); }
void neon_norm(const norm_job& job) { norm_rows<neon>(job); }
void neon_activate(const activate_job& job) { activate_rows<neon>(job); }
void neon_pool(const pool_job& job) { pool_rows<neon>(job); }
void neon_rotate(const rotate_job& job) { rotate_rows<neon>(job); }
void neon_multiply(const product_job& job) { multiply_rows<neon>(job); }
void neon_finish(const finish_job& job) { finish_rows<neon>(job); }

} // namespace fovea::f32
#endif
