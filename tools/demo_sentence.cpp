// The user's own sentence, from embeddings to output; and a second sentence that attends to the first.
#include <cmath>

#include "attention.hpp"
#include "demo.hpp"
#include "terminal.hpp"

namespace demo {
namespace {

// The largest difference from softmax as a textbook writes it, in double.
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
  const matrix x = seeded_embeddings(queries, asked.dim, asked.seed);
  const matrix y = seeded_embeddings(keys, asked.dim, asked.seed);
  const projections w = seeded_projections(asked.dim, asked.seed);
  projected p{queries, keys, product(x, w.q), product(y, w.k), product(y, w.v), w.o, {}};
  p.options.heads = asked.heads;
  p.options.isa = asked.isa;
  return p;
}

// The three steps of the first heads as tables, where they fit.
void show_steps(page& out, const projected& p, const std::vector<matrix>& weights) {
  const std::vector<matrix> qk = scores(p.q, p.k, p.options.heads);
  const double root = std::sqrt(p.dim());
  double worst = 0;
  for (size_t head = 0; head < weights.size(); ++head) {
    worst = std::max(worst, furthest_from_textbook(qk[head], weights[head], p.dim()));
    const std::string name = format("Head %zu, ", head + 1);
    const table steps[3] = {
        matrix_table(name + "q.k. A row is a query, a column a key.", p.queries, p.keys, qk[head], 3),
        matrix_table(name + format("q.k / sqrt(%d).", p.dim()), p.queries, p.keys, scaled(qk[head], 1 / root),
                     3),
        matrix_table(name + "softmax of each row.", p.queries, p.keys, weights[head], 4)};
    const bool narrow = std::all_of(std::begin(steps), std::end(steps),
                                    [&](const table& step) { return fits(step, out.width()); });
    for (const table& step : steps)
      if (head < 2 && narrow) out.show(step);
    if (head == 0 && !narrow)
      out.say("The tables of q.k are too wide for this output. --word follows one word.");
    if (head == 2) out.say("The weights of the other heads are in the pictures.");
  }
  out.show(maps_of_heads(p.queries, p.keys, weights));
  out.say("Largest difference of a weight from a textbook softmax in double: " + tiny_number(worst) + ".");
}

void show_outputs(page& out, const projected& p) {
  const matrix z = attend(p.q, p.k, p.v, p.options);
  out.show(vectors_table("z = sum of softmax * v, all heads side by side.", p.queries, z));
  out.show(vectors_table("Output: z times W_O.", p.queries, product(z, p.o)));
}

void show_one_word(page& out, const projected& p, const request& asked) {
  const auto found = std::find(p.queries.begin(), p.queries.end(), asked.word);
  const int query = asked.word.empty() ? 0 : static_cast<int>(found - p.queries.begin());
  const auto first_head = [&](const matrix& all) { return some_columns(all, 0, p.dim()); };
  const std::string caption = "Every step of head 1 for the query \"" +
                              p.queries[static_cast<size_t>(query)] + "\".";
  out.show(method_table({p.queries, first_head(p.q), first_head(p.k), first_head(p.v), query}, caption,
                        asked.isa, out.width()));
}

} // namespace

void show_sentence(page& out, const request& asked) {
  progress("computing your sentence");
  const projected p = project(asked, asked.words, asked.words);
  out.heading("Your sentence: " + counted(asked.words.size(), "word") + ", " +
              counted(static_cast<size_t>(asked.heads), "head") + " of " +
              counted(static_cast<size_t>(p.dim()), "dim"));
  out.say("The embeddings and W_Q, W_K, W_V, W_O are random (--seed " + std::to_string(asked.seed) +
          "), not trained. So the weights show how attention computes, not what the words mean. Equal words "
          "have equal rows.");
  out.show(vectors_table("Embeddings.", asked.words, seeded_embeddings(asked.words, asked.dim, asked.seed)));
  show_steps(out, p, attention_weights(p.q, p.k, p.options));
  show_one_word(out, p, asked);
  show_outputs(out, p);
  if (!asked.second.empty()) {
    const projected cross = project(asked, asked.second, asked.words);
    out.heading("Cross-attention: the second sentence attends to the first");
    out.say("q comes from the second sentence, k and v come from the first.");
    show_steps(out, cross, attention_weights(cross.q, cross.k, cross.options));
    show_outputs(out, cross);
  }
  progress("");
}

} // namespace demo
