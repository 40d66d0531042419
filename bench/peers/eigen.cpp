// Eigen: header-only, so it is compiled for the ISA of the whole program.
#include <Eigen/Dense>

#include "peer.hpp"

namespace bench {
namespace {

using matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using given = Eigen::Map<const matrix>;
using wanted = Eigen::Map<matrix>;

struct eigen : products {
  const char* name() const override { return "Eigen"; }
  void scores(const float* q, int rows, const float* k, int keys, int dim, float* s) override {
    wanted(s, rows, keys).noalias() = given(q, rows, dim) * given(k, keys, dim).transpose();
  }
  void values(const float* s, int rows, int keys, const float* v, int dim, float* o) override {
    wanted(o, rows, dim).noalias() = given(s, rows, keys) * given(v, keys, dim);
  }
};

} // namespace

std::unique_ptr<products> eigen_products() { return std::make_unique<eigen>(); }

float softmax_row(float* s, int count, float scale) {
  Eigen::Map<Eigen::ArrayXf> row(s, count);
  row = ((row - row.maxCoeff()) * scale).exp();
  return row.sum();
}

} // namespace bench
