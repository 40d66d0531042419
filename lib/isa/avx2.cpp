// AVX2 with fma: sixteen registers, a tile of 6 x 16 takes twelve of them.
#include "common/build.hpp"

#if FOVEA_WITH_AVX2
#include "f32/kernel/activate.hpp"
#include "f32/kernel/attend.hpp"
#include "f32/kernel/pool.hpp"
#include "f32/kernel/product.hpp"
#include "f32/kernel/rotate.hpp"
#include "isa/avx_isa.hpp"
#include "isa/table.hpp"

namespace fovea::f32 {
namespace {
struct avx2 : avx_isa {
  using shapes = shape_list<shape<6, 1>, shape<4, 1>, shape<2, 2>, shape<1, 4>>;
  using four_row_scores = shape<4, 2, 8>;
  using four_row_values = shape<4, 3, 8>; // three passes over V instead of four
  static constexpr int rows = 48, batched_rows = 128;
};
} // namespace

const attention_kernel avx2_attention = attention_of<avx2>;
void avx2_merge(const plan& p) { merge_partials<avx2>(p); }
void avx2_pack_panel(const float* rows, ptrdiff_t stride, int dim, float* panel) {
  pack_one_panel<avx2>(rows, stride, dim, panel);
}
void avx2_softmax(const softmax_job& job) { softmax_rows<avx2>(job); }
void avx2_matvec(const matvec_job& job) { matvec_rows<avx2>(job); }
void avx2_norm(const norm_job& job) { norm_rows<avx2>(job); }
void avx2_activate(const activate_job& job) { activate_rows<avx2>(job); }
void avx2_pool(const pool_job& job) { pool_rows<avx2>(job); }
void avx2_rotate(const rotate_job& job) { rotate_rows<avx2>(job); }
void avx2_multiply(const product_job& job) { multiply_rows<avx2>(job); }
void avx2_finish(const finish_job& job) { finish_rows<avx2>(job); }

} // namespace fovea::f32
#endif
