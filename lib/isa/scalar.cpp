// Plain floats. On x86 this file is compiled for fma, and chosen only where the CPU has it.
#include "common/build.hpp"

#if FOVEA_WITH_SCALAR
#include "f32/kernel/activate.hpp"
#include "f32/kernel/attend.hpp"
#include "f32/kernel/pool.hpp"
#include "f32/kernel/product.hpp"
#include "f32/kernel/rotate.hpp"
#include "isa/scalar_isa.hpp"
#include "isa/table.hpp"

namespace fovea::f32 {
namespace {
// A core with 32 registers holds 4 rows x 4 lanes; a tile walks the sixteen lanes of a panel in groups, and
// the chains stay the same.
struct scalar : scalar_isa {
  using shapes = shape_list<shape<4, 1, 4>, shape<2, 1, 8>, shape<1, 1, 8>>;
  static constexpr int rows = 24;
};
} // namespace

const attention_kernel scalar_attention = attention_of<scalar>;
void scalar_merge(const plan& p) { merge_partials<scalar>(p); }
void scalar_pack_panel(const float* rows, ptrdiff_t stride, int dim, float* panel) {
  pack_one_panel<scalar>(rows, stride, dim, panel);
}
void scalar_softmax(const softmax_job& job) { softmax_rows<scalar>(job); }
void scalar_matvec(const matvec_job& job) { matvec_rows<scalar>(job); }
void scalar_norm(const norm_job& job) { norm_rows<scalar>(job); }
void scalar_activate(const activate_job& job) { activate_rows<scalar>(job); }
void scalar_pool(const pool_job& job) { pool_rows<scalar>(job); }
void scalar_rotate(const rotate_job& job) { rotate_rows<scalar>(job); }
void scalar_multiply(const product_job& job) { multiply_rows<scalar>(job); }
void scalar_finish(const finish_job& job) { finish_rows<scalar>(job); }

} // namespace fovea::f32
#endif
