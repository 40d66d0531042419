// oneDNN: a primitive is compiled for each shape when it is met first, and kept.
#include <map>
#include <oneapi/dnnl/dnnl.hpp>
#include <tuple>

#include "peer.hpp"

namespace bench {
namespace {

using dims = dnnl::memory::dims;

class onednn : public products {
 public:
  const char* name() const override { return "oneDNN"; }
  void scores(const float* q, int rows, const float* k, int keys, int dim, float* s) override {
    multiply(product_for({rows, dim, keys, 1, dim}), q, k, s);
  }
  void values(const float* s, int rows, int keys, const float* v, int dim, float* o) override {
    multiply(product_for({rows, keys, dim, dim, 1}), s, v, o);
  }

 private:
  struct shape { // [rows][depth] times [depth][columns], whose element strides are given
    int rows, depth, columns, down, across;
    bool operator<(const shape& b) const {
      return std::tie(rows, depth, columns, down, across) <
             std::tie(b.rows, b.depth, b.columns, b.down, b.across);
    }
  };
  struct product {
    dnnl::matmul run;
    dnnl::memory a, b, c;
  };

  dnnl::memory matrix(dims size, dims strides) const {
    return {{size, dnnl::memory::data_type::f32, strides}, engine_, nullptr};
  }

  product& product_for(const shape& s) {
    const auto found = made_.find(s);
    if (found != made_.end()) return found->second;
    const dnnl::memory a = matrix({s.rows, s.depth}, {s.depth, 1}),
                       b = matrix({s.depth, s.columns}, {s.down, s.across}),
                       c = matrix({s.rows, s.columns}, {s.columns, 1});
#if DNNL_VERSION_MAJOR >= 3
    const dnnl::matmul::primitive_desc chosen(engine_, a.get_desc(), b.get_desc(), c.get_desc());
#else
    const dnnl::matmul::primitive_desc chosen({a.get_desc(), b.get_desc(), c.get_desc()}, engine_);
#endif
    return made_.emplace(s, product{dnnl::matmul(chosen), a, b, c}).first->second;
  }

  void multiply(product& p, const float* a, const float* b, float* c) {
    p.a.set_data_handle(const_cast<float*>(a));
    p.b.set_data_handle(const_cast<float*>(b));
    p.c.set_data_handle(c);
    p.run.execute(stream_, {{DNNL_ARG_SRC, p.a}, {DNNL_ARG_WEIGHTS, p.b}, {DNNL_ARG_DST, p.c}});
  }

  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  std::map<shape, product> made_;
};

} // namespace

std::unique_ptr<products> onednn_products() { return std::make_unique<onednn>(); }

} // namespace bench
