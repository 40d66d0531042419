// Worked examples 3, 4 and 9: a vector moves towards its context, so the same word means two things.
#include <cmath>

#include "attention.hpp"
#include "demo.hpp"

namespace demo {
namespace {

// A plane with named points; both axes go from 0 to 7.
struct plane {
  static constexpr int wide = 36, high = 11;
  lines drawn = lines(high, std::string(wide, ' '));

  void mark(double x, double y, const std::string& name) {
    const size_t from_left = static_cast<size_t>(x / 7 * (wide - 8));
    const size_t from_top = static_cast<size_t>((1 - y / 7) * (high - 1));
    drawn[from_top].replace(from_left, name.size() + 2, "* " + name);
  }

  lines framed() const {
    lines all;
    for (const std::string& one : drawn) all.push_back("  \u2502" + one);
    all.push_back("  \u2514" + times("\u2500", wide));
    return all;
  }
};

} // namespace

void show_geometry(page& out, const setup& how) {
  const matrix v(2, 2, {6, 1, 1, 5});
  const std::vector<float> by_scores = softmax({10 / std::sqrt(2.0f), 32 / std::sqrt(2.0f)}, how.isa);
  const std::vector<float> moved = weighted_sum({.2f, .8f}, v, how.isa);
  out.say(
      "The output of \"bank\" is a mean of v_money = [6 1] and v_bank = [1 5]. The weights say how far it "
      "moves.");
  table t{"", {"key", "q.k", "/ sqrt(2)", "softmax", "other weights"}, {}};
  t.rows.push_back({"money", "10", number(10 / std::sqrt(2.0), 3), tiny_number(by_scores[0]), ".2"});
  t.rows.push_back({"bank", "32", number(32 / std::sqrt(2.0), 3), number(by_scores[1], 4), ".8"});
  out.show(t);
  out.say(
      "Scores as far apart as 10 and 32 leave \"bank\" where it is. With the weights .2 and .8 it moves.");
  if (!how.brief) {
    plane points;
    points.mark(6, 1, "money");
    points.mark(1, 5, "bank");
    points.mark(moved[0], moved[1], "bank, after");
    out.apart(points.framed());
  }
  const double before = std::hypot(6 - 1, 1 - 5), after = std::hypot(6 - moved[0], 1 - moved[1]);
  out.say(".2 v_money + .8 v_bank = " + vector_text(moved.data(), 2, 2) +
          ". The distance to \"money\" falls from " + number(before, 2) + " to " + number(after, 2) + ".");
}

namespace {

struct bank_sentence {
  const char* text;
  matrix vectors; // [finance nature]
  matrix weights;
};

const bank_sentence bank_sentences[2] = {{"money bank grows",
                                          {3, 2, {1, 0, .5f, .5f, .6f, .4f}},
                                          {3, 3, {.7f, .2f, .1f, .25f, .7f, .05f, .1f, .2f, .7f}}},
                                         {"river bank flows",
                                          {3, 2, {0, 1, .5f, .5f, .2f, .8f}},
                                          {3, 3, {.8f, .15f, .05f, .2f, .78f, .02f, .4f, .01f, .59f}}}};

} // namespace

void show_bank(page& out, const setup& how) {
  attention_options options;
  options.isa = how.isa;
  std::vector<heat_map> maps;
  table t{"The vector of \"bank\".", {"in", "before", "after", "after self-attention"}, {}};
  for (const bank_sentence& one : bank_sentences) {
    const std::vector<std::string> words = split(one.text);
    const float* weights = one.weights.row(1);
    const std::vector<float> after = weighted_sum({weights, weights + 3}, one.vectors, how.isa);
    const matrix by_itself = attend(one.vectors, one.vectors, one.vectors, options);
    maps.push_back({one.text, words, words, one.weights});
    t.rows.push_back({one.text, vector_text(one.vectors.row(1), 2, 3), vector_text(after.data(), 2, 3),
                      vector_text(by_itself.row(1), 2, 3)});
  }
  out.say(
      "Vectors are [finance nature]: money [1 0], river [0 1], bank [0.5 0.5], grows [0.6 0.4], flows [0.2 "
      "0.8]. The weights are given by hand.");
  if (!how.brief) out.show(maps);
  out.show(t);
  out.say(
      "\"bank\" starts as one vector and ends as two. The last column needs no given weights: it is "
      "self-attention without parameters, where q, k and v are the vectors themselves.");
}

void show_apple(page& out, const setup& how) {
  const std::string sentence = "Apple launched a new phone while I was eating an apple";
  const std::vector<std::string> words = split(sentence);
  const matrix x(11, 2, {.8f, .2f, .9f, .1f, .1f, .1f, .6f, .1f, 1,   0,   .1f,
                         .1f, .1f, .2f, .1f, .1f, 0,   1,   .1f, .1f, .8f, .2f});
  attention_options all, near;
  all.isa = near.isa = how.isa;
  near.window = 4;
  const matrix seen_near = attend(x, x, x, near), seen_all = attend(x, x, x, all);
  out.say("\"" + sentence + "\". Vectors are [technology fruit]; q, k and v are the same.");
  table t{"", {"word", "before", "whole sentence", "window of four"}, {}};
  for (int i : {0, 10})
    t.rows.push_back({words[static_cast<size_t>(i)], vector_text(x.row(i), 2, 2),
                      vector_text(seen_all.row(i), 2, 4), vector_text(seen_near.row(i), 2, 4)});
  out.show(t);
  out.say(
      "Equal vectors that attend to the same words stay equal. In a window of four words on each side they "
      "differ: \"launched\" and \"phone\" are near the first, \"eating\" is near the last. Position "
      "encodings have the same effect.");
  if (!how.brief)
    out.show({{"Weights in the window of four.", words, words, attention_weights(x, x, near)[0]}});
}

} // namespace demo
