// Worked examples 7 and 8: two heads that read one sentence in two ways, and attention between two sentences.
#include "attention.hpp"
#include "demo.hpp"

namespace demo {
namespace {

const std::vector<std::string> saw_words = split("The man saw the astronomer with a telescope");

// Each word is one feature: article, man, saw, astronomer, with, telescope.
matrix saw_embeddings() {
  matrix x(8, 6);
  const int feature[8] = {0, 1, 2, 0, 3, 4, 0, 5};
  for (int i = 0; i < 8; ++i) x.at(i, feature[i]) = 1;
  return x;
}

// Two heads of two dims, side by side in the columns. Written by hand: training would find such weights.
const matrix saw_wq(6, 4, {0, 0, 0, 0, 6, 0, 0, 0, 6, 0, 6, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0});
const matrix saw_wk(6, 4, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 1});
const matrix saw_wv(6, 4, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 1, 0, 0, 1});
const matrix saw_wo(4, 3, {1, 0, 0, 0, 0, .5f, 0, 1, 0, 0, 0, 1});

} // namespace

void show_heads(page& out, const setup& how) {
  attention_options options;
  options.heads = 2;
  options.isa = how.isa;
  const matrix x = saw_embeddings();
  const matrix q = product(x, saw_wq), k = product(x, saw_wk), v = product(x, saw_wv);
  const std::vector<matrix> weights = attention_weights(q, k, options);
  out.say(
      "\"The man saw the astronomer with a telescope\": who has the telescope? Head 1 links \"man\" and "
      "\"saw\" to \"telescope\". Head 2 links \"saw\" to \"astronomer\" and \"astronomer\" to \"telescope\". "
      "Two heads keep both readings.");
  out.show({{"Head 1: the man looks through the telescope.", saw_words, saw_words, weights[0]},
            {"Head 2: the astronomer carries the telescope.", saw_words, saw_words, weights[1]}});
  if (how.brief) return;
  const matrix both = attend(q, k, v, options), mixed = product(both, saw_wo);
  table t{
      "The outputs of both heads side by side, times W_O: [seen with a telescope, sees an astronomer, "
      "astronomer with a telescope].",
      {"word", "head 1", "head 2", "times W_O"},
      {},
      "l"};
  for (int i : {1, 2, 4})
    t.rows.push_back({saw_words[static_cast<size_t>(i)], vector_text(both.row(i), 2, 3),
                      vector_text(both.row(i) + 2, 2, 3), vector_text(mixed.row(i), 3, 3)});
  out.show(t);
}

void show_translation(page& out, const setup& how) {
  const std::vector<std::string> source = split("turn off the lights"),
                                 target = split("schalte die Lichter aus");
  const matrix h(4, 4, {2, .5f, 0, 0, .5f, 2, 0, 0, 0, 0, 1.5f, .5f, 0, 0, .5f, 2});
  const matrix s(4, 4, {1.8f, .2f, 0, 0, 0, 0, 2, .2f, 0, 0, .2f, 1.9f, .2f, 1.9f, 0, 0});
  attention_options options;
  options.isa = how.isa;
  options.scaled = false;
  out.say(
      "Cross-attention: the queries come from the translation, the keys and values from the source. c_i = "
      "sum_j alpha_ij h_j with alpha = softmax(s_i . h_j). Self-attention is the same with one sentence.");
  out.show({{"alpha: \"turn off the lights\" and its German translation.", target, source,
             attention_weights(s, h, options)[0]}});
  if (how.brief) return;
  out.show(vectors_table("h_j, the source.", source, h));
  out.show(vectors_table("s_i, the translation.", target, s));
  out.show(
      vectors_table("c_i, the output for each word of the translation.", target, attend(s, h, h, options)));
}

} // namespace demo
