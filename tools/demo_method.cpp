// Worked example 6: the method as one table, one row a word, here with 8 heads of 64 as in the transformer.
#include <cmath>

#include "attention.hpp"
#include "demo.hpp"

namespace demo {

namespace {

// The first numbers of a vector, aligned with those above and below.
std::string first_of(const float* values, int dim, int shown) {
  std::string text = "[";
  for (int i = 0; i < std::min(dim, shown); ++i) text += (i ? " " : "") + pad_left(number(values[i], 1), 4);
  return text + (shown < dim ? " ..]" : "]");
}

table method_table(const method& m, const std::string& caption, int32_t isa, int width, int shown) {
  attention_options options;
  options.isa = isa;
  const int dim = m.q.columns;
  const double root = std::sqrt(static_cast<double>(dim));
  const matrix query(1, dim, {m.q.row(m.query), m.q.row(m.query) + dim});
  const matrix qk = scores(query, m.k, 1)[0], weights = attention_weights(query, m.k, options)[0];
  const auto first = [&](const matrix& x, int i) { return first_of(x.row(i), dim, shown); };
  const std::string divided = "/ " + short_number(root, 2);
  table t{caption, {"", "q", "k", "v", "q.k", divided, "softmax", "softmax * v"}, {}, "llllrrrl"};
  for (int j = 0; j < m.k.rows; ++j) {
    const matrix part = scaled(matrix(1, dim, {m.v.row(j), m.v.row(j) + dim}), weights.at(0, j));
    t.rows.push_back({m.words[static_cast<size_t>(j)], first(m.q, j), first(m.k, j), first(m.v, j),
                      number(qk.at(0, j), 2), number(qk.at(0, j) / root, 2), number(weights.at(0, j), 4),
                      first(part, 0)});
  }
  t.rows.push_back({"sum z", "", "", "", "", "", number(1, 4), first(attend(query, m.k, m.v, options), 0)});
  return shown == 1 || fits(t, width) ? t : method_table(m, caption, isa, width, shown - 1);
}

} // namespace

// As many numbers of each vector as the width allows.
table method_table(const method& m, const std::string& caption, int32_t isa, int width) {
  return method_table(m, caption, isa, width, 3);
}

std::vector<heat_map> maps_of_heads(const std::vector<std::string>& queries,
                                    const std::vector<std::string>& keys,
                                    const std::vector<matrix>& weights) {
  std::vector<heat_map> maps;
  for (const matrix& one : weights) maps.push_back({format("head %zu", maps.size() + 1), queries, keys, one});
  return maps;
}

void show_method(page& out, const setup& how) {
  constexpr int heads = 8, dim = 64;
  const std::vector<std::string> words = {"Action", "gets", "results"};
  const matrix x = seeded_embeddings(words, heads * dim, 7);
  const projections w = seeded_projections(heads * dim, 7);
  const matrix q = product(x, w.q), k = product(x, w.k), v = product(x, w.v);
  out.say(
      "\"Action gets results\": embeddings of 512 dims times W_Q, W_K and W_V, divided into 8 heads of 64 "
      "dims. The values are random, not trained.");
  for (int head = 0; head < (how.brief ? 1 : 2); ++head) {
    const auto part = [&](const matrix& all) { return some_columns(all, head * dim, dim); };
    out.show(method_table({words, part(q), part(k), part(v), 0},
                          format("Every step of head %d for the query \"Action\".", head + 1), how.isa,
                          out.width()));
  }
  if (how.brief) return;
  attention_options options;
  options.heads = heads;
  options.isa = how.isa;
  out.show(maps_of_heads(words, words, attention_weights(q, k, options)));
}

} // namespace demo
