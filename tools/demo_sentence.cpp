// The user's own sentence, from embeddings to output; and a second sentence that attends to the first.
#include <cmath>

#include "attention.hpp"
#include "demo.hpp"

namespace demo {
namespace {

// The textbook in double, to hold the library's weights against.
double furthest_from_textbook(const matrix& qk, const matrix& weights, int dim) {
  double worst = 0;
  for (int i = 0; i < qk.rows; ++i) {
    double total = 0;
    const auto raised = [&](int j) { return std::exp(qk.at(i, j) / std::sqrt(static_cast<double>(dim))); };
    for (int j = 0; j < qk.columns; ++j) total += raised(j);
    for (int j = 0; j < qk.columns; ++j)
      worst = std::max(worst, std::abs(raised(j) / total - weights.at(i, j)));
  }
  return worst;
}

struct projected {
  std::vector<std::string> queries, keys;
  matrix q, k, v, o;
  attention_options options;
  int dim() const { return q.columns / options.heads; }
};

projected project(const request& asked, const std::vector<std::string>& queries,
                  const std::vector<std::string>& keys) {
  const matrix x = seeded_embeddings(queries, asked.dim, asked.seed),
               y = seeded_embeddings(keys, asked.dim, asked.seed);
  const projections w = seeded_projections(asked.dim, asked.seed);
  projected p{queries, keys, product(x, w.q), product(y, w.k), product(y, w.v), w.o, {}};
  p.options.heads = asked.heads;
  p.options.isa = asked.isa;
  return p;
}

matrix divided(matrix x, double by) {
  for (float& value : x.values) value = static_cast<float>(value / by);
  return x;
}

constexpr int heads_in_tables = 2; // the others are in the pictures

void show_head(page& out, const projected& p, int head, const matrix& weights) {
  const matrix qk = scores(p.q, p.k, p.options.heads)[static_cast<size_t>(head)];
  const std::string name = p.options.heads == 1 ? "" : "Head " + std::to_string(head + 1) + ": ";
  const std::string root = "sqrt(" + std::to_string(p.dim()) + ")";
  out.show(matrix_table(name + "q.k, a row is a query, a column a key.", p.queries, p.keys, qk, 3));
  out.show(
      matrix_table(name + "q.k / " + root + ", that is q.k / " + short_number(std::sqrt(p.dim()), 3) + ".",
                   p.queries, p.keys, divided(qk, std::sqrt(p.dim())), 3));
  out.show(matrix_table(name + "softmax of each row.", p.queries, p.keys, weights, 4));
  out.say("Largest difference from a textbook softmax in double: " +
          tiny_number(furthest_from_textbook(qk, weights, p.dim())) + ".");
}

void show_first_heads(page& out, const projected& p, const std::vector<matrix>& weights) {
  for (int head = 0; head < std::min(p.options.heads, heads_in_tables); ++head)
    show_head(out, p, head, weights[static_cast<size_t>(head)]);
  if (p.options.heads > heads_in_tables)
    out.say("The other heads work alike: their weights are in the pictures below.");
}

void show_weights(page& out, const projected& p, const std::vector<matrix>& weights, const std::string& who) {
  std::vector<heat_map> maps;
  for (const matrix& one : weights) {
    const std::string head = p.options.heads == 1 ? "" : ", head " + std::to_string(maps.size() + 1);
    maps.push_back({who + head, p.queries, p.keys, one});
  }
  out.show(maps);
}

void show_outputs(page& out, const projected& p) {
  const matrix z = attend(p.q, p.k, p.v, p.options);
  const std::string how_many = p.options.heads == 1 ? "z = sum of softmax * v"
                                                    : "z of all heads side by side (concatenated)";
  out.show(vectors_table(how_many + ".", p.queries, z, out.how()));
  out.show(vectors_table("Output: z times W_O.", p.queries, product(z, p.o), out.how()));
}

void show_one_word(page& out, const projected& p, const request& asked) {
  const auto found = std::find(p.queries.begin(), p.queries.end(), asked.word);
  const int query = asked.word.empty() ? 0 : static_cast<int>(found - p.queries.begin());
  const auto first_head = [&](const matrix& all) { return some_columns(all, 0, p.dim()); };
  table t = method_table({p.queries, first_head(p.q), first_head(p.k), first_head(p.v), query}, asked.isa,
                         out.how());
  t.caption = "Every step for the word \"" + p.queries[static_cast<size_t>(query)] + "\"" +
              (asked.heads > 1 ? ", head 1." : ".");
  out.show(t);
}

void show_self(page& out, const request& asked) {
  const projected p = project(asked, asked.words, asked.words);
  out.heading("Your sentence: " + counted(asked.words.size(), "word") + ", " +
              counted(static_cast<size_t>(asked.heads), "head") + " of " +
              counted(static_cast<size_t>(p.dim()), "dim"));
  out.say("Embeddings and W_Q, W_K, W_V, W_O are drawn from --seed " + std::to_string(asked.seed) +
          ", not trained: the picture shows how attention computes, not what the words mean. Equal words "
          "have equal rows.");
  out.show(vectors_table("Embeddings.", asked.words, seeded_embeddings(asked.words, asked.dim, asked.seed),
                         out.how()));
  const std::vector<matrix> weights = attention_weights(p.q, p.k, p.options);
  show_first_heads(out, p, weights);
  out.heading("Who looks at whom");
  show_weights(out, p, weights, "attention");
  out.heading("What comes out");
  show_one_word(out, p, asked);
  show_outputs(out, p);
}

void show_cross(page& out, const request& asked) {
  const projected p = project(asked, asked.second, asked.words);
  out.heading("Cross-attention: the second sentence asks, the first answers");
  out.say("q comes from the second sentence, k and v from the first.");
  const std::vector<matrix> weights = attention_weights(p.q, p.k, p.options);
  show_first_heads(out, p, weights);
  show_weights(out, p, weights, "cross-attention");
  show_outputs(out, p);
}

} // namespace

void show_sentence(page& out, const request& asked) {
  show_self(out, asked);
  if (!asked.second.empty()) show_cross(out, asked);
}

} // namespace demo
