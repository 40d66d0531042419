// OpenBLAS: one row is a product of matrix and vector there.
#include <cblas.h>

#include "peer.hpp"

namespace bench {
namespace {

struct openblas : products {
  const char* name() const override { return "OpenBLAS"; }
  void scores(const float* q, int rows, const float* k, int keys, int dim, float* s) override {
    if (rows == 1)
      cblas_sgemv(CblasRowMajor, CblasNoTrans, keys, dim, 1, k, dim, q, 1, 0, s, 1);
    else
      cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, rows, keys, dim, 1, q, dim, k, dim, 0, s, keys);
  }
  void values(const float* s, int rows, int keys, const float* v, int dim, float* o) override {
    if (rows == 1)
      cblas_sgemv(CblasRowMajor, CblasTrans, keys, dim, 1, v, dim, s, 1, 0, o, 1);
    else
      cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, dim, keys, 1, s, keys, v, dim, 0, o, dim);
  }
};

} // namespace

std::unique_ptr<products> openblas_products() { return std::make_unique<openblas>(); }

} // namespace bench
