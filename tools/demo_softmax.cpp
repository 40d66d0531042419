// Worked examples 1 and 2: three words by hand, and why scores are scaled.
#include <cmath>

#include "attention.hpp"
#include "demo.hpp"

namespace demo {
namespace {

const std::vector<std::string> cat_words = {"The", "cat", "sat"};
const matrix cat_embeddings(3, 4, {1, 0, 1, 0, 0, 1, 0, 1, 1, 1, 1, 1});

matrix scaled(matrix x, double factor) {
  for (float& value : x.values) value = static_cast<float>(value * factor);
  return x;
}

// What the notes print for each row of weights and of outputs.
const row cat_notes = {".42 .15 .42, [.84 .57 .84 .57]", "[.57 .84 .57 .84]",
                       ".21 .21 .58, [.79 .79 .79 .79]"};

table cat_result(const matrix& weights, const matrix& out) {
  table t = matrix_table("Softmax weights, and the output: the sum of the rows of V by these weights.",
                         cat_words, cat_words, weights, 4);
  t.align = "lrrrll";
  t.head.insert(t.head.end(), {"output", "the notes print"});
  for (int i = 0; i < 3; ++i) {
    row& cells = t.rows[static_cast<size_t>(i)];
    cells.push_back(vector_text(out.row(i), 4, 4));
    cells.push_back(cat_notes[static_cast<size_t>(i)]);
  }
  return t;
}

} // namespace

void show_cat(page& out, const setup& how) {
  attention_options options;
  options.isa = how.isa;
  const matrix& x = cat_embeddings;
  const matrix weights = attention_weights(x, x, options)[0];
  const matrix qk = scores(x, x, 1)[0];
  out.say("Three words in four dims; W_Q, W_K and W_V are the identity, so q = k = v = the embedding.");
  if (!how.brief) {
    out.show(matrix_table("Embeddings.", cat_words, {"1", "2", "3", "4"}, x, 0));
    out.show(matrix_table("q.k: a row is a query, a column a key.", cat_words, cat_words, qk, 0));
    out.show(matrix_table("Divided by sqrt(4) = 2.", cat_words, cat_words, scaled(qk, 0.5), 0));
  }
  out.show(cat_result(weights, attend(x, x, x, options)));
  out.show({{"The cat sat", cat_words, cat_words, weights}});
  out.say(
      "The notes cut 0.1554 to .15 and 0.5777 to .57; rounded, .16 and .58 are right. One of their lines has "
      ".53 where \"sat\" looks at "
      "itself; .58 is right (0.5761).");
}

namespace {

std::string pair_text(const std::vector<float>& weights) {
  return number(weights[0], 4) + " " + number(weights[1], 4);
}

// The spread of q.k over many seeded pairs of vectors whose entries have variance 1.
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

std::string bar(double share, int room, const style& how) {
  return times(how.blocks ? "\u2588" : "#", std::max(1, static_cast<int>(share * room + 0.5)));
}

table variance_table(const style& how) {
  table t{"The variance of q.k over 4000 random pairs; every entry has variance 1.",
          {"dims", "of q.k", "after / sqrt(d)", "of q.k"},
          {}};
  t.align = "rrrl";
  for (int dim : {1, 2, 3, 64}) {
    const double variance = dot_variance(dim);
    t.rows.push_back({std::to_string(dim), number(variance, 2), number(variance / dim, 2),
                      bar(variance / 64, how.width / 3, how)});
  }
  return t;
}

} // namespace

void show_scale(page& out, const setup& how) {
  table t{"", {"scores", "softmax", "the notes print"}, {}};
  t.align = "lrl";
  t.rows.push_back({"6 4", pair_text(softmax({6, 4}, how.isa)), ".38 .18: a slip, weights add up to 1"});
  t.rows.push_back({"3 2", pair_text(softmax({3, 2}, how.isa)), "the same scores, divided by sqrt(4)"});
  out.say(
      "Large scores push softmax towards one winner, where it learns nothing more. Scores grow with the "
      "number of dims:");
  out.show(variance_table(out.how()));
  out.say("Division by sqrt(d) takes the variance back to 1, whatever d is, and softmax stays soft:");
  out.show(t);
}

} // namespace demo
