// 64-bit Arm: 32 registers of four lanes, a tile of 4 x 16 takes sixteen, so that eight can wait for the next
// vector.
#include "common/build.hpp"

#if FOVEA_WITH_NEON64
#include "f32/kernel/activate.hpp"
#include "f32/kernel/attend.hpp"
#include "f32/kernel/pool.hpp"
#include "f32/kernel/product.hpp"
#include "f32/kernel/rotate.hpp"
#include "isa/neon_isa.hpp"
#include "isa/table.hpp"

namespace fovea::f32 {
namespace {
struct neon64 : neon_isa {
  using shapes = shape_list<shape<4, 1>, shape<2, 2>, shape<1, 4>>;
  static constexpr int rows = 24, batched_rows = 32;
};
} // namespace

const attention_kernel neon64_attention = attention_of<neon64>;
void neon64_merge(const plan& p) { merge_partials<neon64>(p); }
void neon64_pack_panel(const float* rows, ptrdiff_t stride, int dim, float* panel) {
  pack_one_panel<neon64>(rows, stride, dim, panel);
}
void neon64_softmax(const softmax_job& job) { softmax_rows<neon64>(job); }
void neon64_matvec(const matvec_job& job) { matvec_rows<neon64>(job); }
void neon64_norm(const norm_job& job) { norm_rows<neon64>(job); }
void neon64_activate(const activate_job& job) { activate_rows<neon64>(job); }
void neon64_pool(const pool_job& job) { pool_rows<neon64>(job); }
void neon64_rotate(const rotate_job& job) { rotate_rows<neon64>(job); }
void neon64_multiply(const product_job& job) { multiply_rows<neon64>(job); }
void neon64_finish(const finish_job& job) { finish_rows<neon64>(job); }

} // namespace fovea::f32
#endif
