// What is compared: attention as somebody would build it from a library of matrix products, one object for
// each library.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "../problem.hpp"
#include "../works.hpp"

namespace bench {

struct tensors { // [head][token][dim], contiguous
  work what;
  const float *q, *k, *v;
  float* out;
};

// Both matrices are row-major. Scores are not scaled: the softmax does that.
class products {
 public:
  virtual ~products() = default;
  virtual const char* name() const = 0;
  virtual void scores(const float* q, int rows, const float* k, int keys, int dim, float* s) = 0; // s = q k^T
  virtual void values(const float* s, int rows, int keys, const float* v, int dim, float* o) = 0; // o = s v
};

std::unique_ptr<products> eigen_products();
std::unique_ptr<products> openblas_products();
std::unique_ptr<products> onednn_products();

// Softmax without the division: s becomes exp(scale * (s - largest)), and the sum is returned. Vectorised by
// Eigen, for every library.
float softmax_row(float* s, int count, float scale);

// Scores, softmax, values: for each head, over blocks of queries that keep the scores in a cache and skip
// what causal attention hides. The query heads that share a KV head go through one product when there is one
// query.
class composite {
 public:
  composite(std::unique_ptr<products> library, const tensors& of);
  const char* name() const { return library_->name(); }
  void run(int32_t first_kv_head, int32_t kv_heads);

 private:
  void choose_block();
  void run_head(int32_t kv_head);
  void run_rows(const float* q, int rows, int32_t kv_head, int first_keys, float* out);

  std::unique_ptr<products> library_;
  tensors of_;
  int block_;          // queries: the fastest of a few on this machine
  page_buffer scores_; // where a library finds it fastest: on whole cache lines
  std::vector<float> inverse_;
};

} // namespace bench
