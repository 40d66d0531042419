// Worked example 6: the method as one table, one row a word, here with 8 heads of 64 as in the transformer.
#include <cmath>

#include "attention.hpp"
#include "demo.hpp"

namespace demo {

namespace {

struct vector_look {
  int numbers, decimals;
};

// The first numbers of a vector, aligned with those above and below.
std::string brief_vector(const float* values, int dim, vector_look look) {
  std::string text = "[";
  for (int i = 0; i < std::min(dim, look.numbers); ++i) {
    const std::string value = number(values[i], look.decimals);
    text += (i ? " " : "") + pad_left(value, look.decimals + 3);
  }
  return text + (look.numbers < dim ? " ..]" : "]");
}

table method_table(const method& m, int32_t isa, vector_look look) {
  attention_options options;
  options.isa = isa;
  const int dim = m.q.columns;
  const double root = std::sqrt(static_cast<double>(dim));
  const matrix query(1, dim, {m.q.row(m.query), m.q.row(m.query) + dim});
  const matrix qk = scores(query, m.k, 1)[0], weights = attention_weights(query, m.k, options)[0];
  const auto brief = [&](const matrix& x, int i) { return brief_vector(x.row(i), dim, look); };
  table t{
      "", {"", "q", "k", "v", "q.k", "/ " + short_number(root, 2), "softmax", "softmax * v"}, {}, "llllrrrl"};
  for (int j = 0; j < m.k.rows; ++j) {
    matrix part(1, dim, {m.v.row(j), m.v.row(j) + dim});
    for (float& value : part.values) value *= weights.at(0, j);
    t.rows.push_back({m.words[static_cast<size_t>(j)], brief(m.q, j), brief(m.k, j), brief(m.v, j),
                      number(qk.at(0, j), 2), number(qk.at(0, j) / root, 2), number(weights.at(0, j), 4),
                      brief(part, 0)});
  }
  t.rows.push_back({"sum z", "", "", "", "", "", number(1, 4), brief(attend(query, m.k, m.v, options), 0)});
  return t;
}

} // namespace

// As many numbers of each vector as the width allows.
table method_table(const method& m, int32_t isa, const style& how) {
  table t;
  for (const vector_look look : {vector_look{3, 2}, {2, 2}, {2, 1}, {1, 2}, {1, 1}}) {
    t = method_table(m, isa, look);
    if (column_blocks(column_widths(t, how), how.width - indent).size() == 1) break;
  }
  return t;
}

void show_method(page& out, const setup& how) {
  constexpr int heads = 8, dim = 64;
  const std::vector<std::string> words = {"Action", "gets", "results"};
  const matrix x = seeded_embeddings(words, heads * dim, 7);
  const projections w = seeded_projections(heads * dim, 7);
  const matrix q = product(x, w.q), k = product(x, w.k), v = product(x, w.v);
  out.say(
      "Action gets results: embeddings of 512 dims, times W_Q, W_K, W_V, cut into 8 heads of 64. Values are "
      "seeded, not trained.");
  const int last = how.brief ? 1 : 2;
  for (int head = 0; head < last; ++head) {
    const auto part = [&](const matrix& all) { return some_columns(all, head * dim, dim); };
    table t = method_table({words, part(q), part(k), part(v), 0}, how.isa, out.how());
    t.caption = "Head " + std::to_string(head + 1) + ", the query is \"Action\".";
    out.show(t);
  }
  if (how.brief) return;
  attention_options options;
  options.heads = heads;
  options.isa = how.isa;
  std::vector<heat_map> maps;
  for (const matrix& weights : attention_weights(q, k, options))
    maps.push_back({"head " + std::to_string(maps.size() + 1), words, words, weights});
  out.show(maps);
}

} // namespace demo
