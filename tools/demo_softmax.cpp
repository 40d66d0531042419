// Worked examples 1 and 2: three words by hand, and why scores are scaled.
#include <cmath>

#include "attention.hpp"
#include "demo.hpp"

namespace demo {
namespace {

const std::vector<std::string> cat_words = {"The", "cat", "sat"};
const matrix cat_embeddings(3, 4, {1, 0, 1, 0, 0, 1, 0, 1, 1, 1, 1, 1});

} // namespace

void show_cat(page& out, const setup& how) {
  attention_options options;
  options.isa = how.isa;
  const matrix& x = cat_embeddings;
  const matrix weights = attention_weights(x, x, options)[0], z = attend(x, x, x, options);
  const matrix qk = scores(x, x, 1)[0];
  out.say(
      "Three words in four dims: The [1 0 1 0], cat [0 1 0 1], sat [1 1 1 1]. W_Q, W_K and W_V are the "
      "identity, so q, k and v are the embeddings.");
  if (!how.brief) {
    out.show(matrix_table("Scores q.k. A row is a query, a column a key.", cat_words, cat_words, qk, 0));
    out.show(matrix_table("Scores divided by sqrt(4) = 2.", cat_words, cat_words, scaled(qk, 0.5), 0));
  }
  table t = matrix_table("Softmax of each row, and the output: the weighted mean of the rows of V.",
                         cat_words, cat_words, weights, 4);
  t.head.push_back("output");
  t.align = "lrrrl";
  for (int i = 0; i < 3; ++i) t.rows[static_cast<size_t>(i)].push_back(vector_text(z.row(i), 4, 4));
  out.show(t);
  out.show({{"The weights as a picture.", cat_words, cat_words, weights}});
  out.say(
      "\"sat\" shares two features with each other word and four with itself. So its largest weight, .58, is "
      "its own.");
}

namespace {

// The variance of q.k over many seeded pairs of vectors whose entries have variance 1.
double dot_variance(int dim) {
  constexpr int pairs = 4000;
  uint64_t seed = 1;
  double squares = 0;
  for (int i = 0; i < pairs; ++i) {
    double sum = 0;
    for (int c = 0; c < dim; ++c) sum += static_cast<double>(random_normal(seed)) * random_normal(seed);
    squares += sum * sum;
  }
  return squares / pairs;
}

} // namespace

void show_scale(page& out, const setup& how) {
  table t{"Variance of q.k over 4000 random pairs. Every entry has variance 1.",
          {"dims", "q.k", "q.k / sqrt(d)", ""},
          {}};
  t.align = "rrrl";
  for (int dim : {1, 2, 3, 64}) {
    const double variance = dot_variance(dim);
    t.rows.push_back({std::to_string(dim), number(variance, 2), number(variance / dim, 2),
                      bar(variance / 64, out.width() / 3)});
  }
  table peaked{"", {"scores", "softmax", ""}, {}, "l"};
  const auto add = [&](const char* name, const std::vector<float>& values, const char* note) {
    const std::vector<float> weights = softmax(values, how.isa);
    peaked.rows.push_back({name, number(weights[0], 4) + " " + number(weights[1], 4), note});
  };
  add("[6 4]", {6, 4}, "as they are");
  add("[3 2]", {3, 2}, "divided by sqrt(4)");
  out.say("Scores grow with the number of dims: q.k in d dims has d times the variance of q.k in one.");
  out.show(t);
  out.say(
      "Large scores give one key nearly all the weight, and training stalls there. Division by sqrt(d) takes "
      "the variance back to 1 for every d, and the weights stay spread:");
  out.show(peaked);
}

} // namespace demo
