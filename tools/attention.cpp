// Hands matrices to fovea_attend: heads are found by strides, nothing is copied.
#include "attention.hpp"

#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>

namespace demo {
namespace {

fovea_in one_of(const matrix& x, int heads) {
  fovea_in tensor = {};
  tensor.data = x.values.data();
  tensor.token_stride = x.columns;
  tensor.head_stride = x.columns / heads;
  return tensor;
}

} // namespace

void attend_or_throw(const fovea_attention& call, std::vector<unsigned char>& scratch) {
  const int32_t status = fovea_attend(&call, scratch.data(), scratch.size());
  if (status == FOVEA_OK) return;
  throw std::runtime_error(std::string("fovea_attend refused the call: ") + fovea_argument_text(status) +
                           ": " + fovea_reason_text(status));
}

fovea_attention call_of(const matrix& q, const matrix& k, const matrix& v, matrix& result,
                        const attention_options& options) {
  fovea_attention call = {};
  call.q = one_of(q, options.heads);
  call.k = one_of(k, options.heads);
  call.v = one_of(v, options.heads);
  call.out.data = result.values.data();
  call.out.token_stride = v.columns;
  call.out.head_stride = v.columns / options.heads;
  call.q_heads = options.heads;
  call.dim = q.columns / options.heads;
  call.v_dim = v.columns / options.heads;
  call.queries = q.rows;
  call.keys = k.rows;
  call.isa = options.isa;
  call.scale = 1;
  call.flags = (options.scaled ? 0 : FOVEA_SCALE) | (options.window < 0 ? 0 : FOVEA_WINDOW);
  call.window_left = call.window_right = options.window;
  return call;
}

matrix attend(const matrix& q, const matrix& k, const matrix& v, const attention_options& options) {
  matrix result(q.rows, v.columns);
  const fovea_attention call = call_of(q, k, v, result, options);
  std::vector<unsigned char> scratch(fovea_scratch_best(&call));
  attend_or_throw(call, scratch);
  return result;
}

std::vector<matrix> attention_weights(const matrix& q, const matrix& k, const attention_options& options) {
  const int dim = q.columns / options.heads;
  attention_options one_head = options;
  one_head.heads = 1;
  std::vector<matrix> weights;
  for (int head = 0; head < options.heads; ++head)
    weights.push_back(attend(some_columns(q, head * dim, dim), some_columns(k, head * dim, dim),
                             identity(k.rows), one_head));
  return weights;
}

std::vector<matrix> scores(const matrix& q, const matrix& k, int heads) {
  const int dim = q.columns / heads;
  std::vector<matrix> all;
  for (int head = 0; head < heads; ++head)
    all.push_back(product(some_columns(q, head * dim, dim), transposed(some_columns(k, head * dim, dim))));
  return all;
}

std::vector<float> softmax(const std::vector<float>& row_of_scores, int32_t isa) {
  const int keys = static_cast<int>(row_of_scores.size());
  attention_options plain;
  plain.isa = isa;
  plain.scaled = false;
  return attend(matrix(1, 1, {1}), matrix(keys, 1, row_of_scores), identity(keys), plain).values;
}

std::vector<float> weighted_sum(const std::vector<float>& weights, const matrix& v, int32_t isa) {
  matrix logs(v.rows, 1, weights);
  for (float& value : logs.values) value = std::log(value);
  attention_options plain;
  plain.isa = isa;
  plain.scaled = false;
  std::vector<float> sum = attend(matrix(1, 1, {1}), logs, v, plain).values;
  const float total = std::accumulate(weights.begin(), weights.end(), 0.0f);
  for (float& value : sum) value *= total;
  return sum;
}

} // namespace demo
