// AVX-512: 32 registers, a tile of 12 x 32 takes 24 of them.
#include "common/build.hpp"

#if FOVEA_WITH_AVX512
#include "f32/kernel/activate.hpp"
#include "f32/kernel/attend.hpp"
#include "f32/kernel/pool.hpp"
#include "f32/kernel/product.hpp"
#include "f32/kernel/rotate.hpp"
#include "isa/avx_isa.hpp"
#include "isa/table.hpp"

namespace fovea::f32 {
namespace {
struct avx512 : avx512_isa {
  using shapes = shape_list<shape<12, 2>, shape<8, 2>, shape<4, 4>, shape<2, 4>, shape<1, 4>>;
  static constexpr bool smaller_stairs = true; // sixteen registers are enough to be fast
  static constexpr int rows = 48, batched_rows = 128;
};
} // namespace

const attention_kernel avx512_attention = attention_of<avx512>;
void avx512_merge(const plan& p) { merge_partials<avx512>(p); }
void avx512_pack_panel(const float* rows, ptrdiff_t stride, int dim, float* panel) {
  pack_one_panel<avx512>(rows, stride, dim, panel);
}
void avx512_softmax(const softmax_job& job) { softmax_rows<avx512>(job); }
void avx512_matvec(const matvec_job& job) { matvec_rows<avx512>(job); }
void avx512_norm(const norm_job& job) { norm_rows<avx512>(job); }
void avx512_activate(const activate_job& job) { activate_rows<avx512>(job); }
void avx512_pool(const pool_job& job) { pool_rows<avx512>(job); }
void avx512_rotate(const rotate_job& job) { rotate_rows<avx512>(job); }
void avx512_multiply(const product_job& job) { multiply_rows<avx512>(job); }
void avx512_finish(const finish_job& job) { finish_rows<avx512>(job); }

} // namespace fovea::f32
#endif
