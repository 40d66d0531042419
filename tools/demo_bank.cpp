// Worked examples 3, 4 and 9: a vector moves towards its context, so the same word means two things.
#include <cmath>

#include "attention.hpp"
#include "demo.hpp"

namespace demo {
namespace {

// A plane with points on it, drawn in letters.
struct plane {
  static constexpr int wide = 42, high = 11;
  std::vector<std::string> lines = std::vector<std::string>(high, std::string(wide, ' '));

  void mark(double x, double y, const std::string& name) { // 0 .. 7 on both axes
    const size_t at = static_cast<size_t>(x / 7 * (wide - 8)),
                 down = static_cast<size_t>((1 - y / 7) * (high - 1));
    lines[down].replace(at, name.size() + 2, "* " + name);
  }
};

void draw_plane(page& out, const std::vector<float>& moved) {
  plane points;
  points.mark(6, 1, "money");
  points.mark(1, 5, "bank");
  points.mark(moved[0], moved[1], "bank, after");
  out.line("");
  for (const std::string& line : points.lines) out.line((out.how().blocks ? "  \u2502" : "  |") + line);
  out.line("  " + std::string(out.how().blocks ? "\u2514" : "+") + out.how().rule(plane::wide));
  out.line("");
}

} // namespace

void show_geometry(page& out, const setup& how) {
  const matrix v(2, 2, {6, 1, 1, 5});
  const std::vector<float> by_scores = softmax({10 / std::sqrt(2.0f), 32 / std::sqrt(2.0f)}, how.isa);
  const std::vector<float> moved = weighted_sum({.2f, .8f}, v, how.isa);
  out.say("The query is \"bank\", in two dims, with hypothetical values.");
  table t{"", {"key", "q.k", "/ sqrt(2)", "the notes", "softmax", "weight of the notes"}, {}};
  t.rows.push_back({"money", "10", number(10 / std::sqrt(2.0), 3), "7.09", tiny_number(by_scores[0]), ".2"});
  t.rows.push_back({"bank", "32", number(32 / std::sqrt(2.0), 3), "22.69", number(by_scores[1], 4), ".8"});
  out.show(t);
  out.say(
      "The notes' quotients are slips: 7.071 and 22.627 are right. They go on with .2 and .8, which softmax "
      "does not give for these "
      "scores; with them, y = .2 v_money + .8 v_bank:");
  if (!how.brief)
    draw_plane(out, moved);
  else
    out.line("");
  const double before = std::hypot(6 - 1, 1 - 5), after = std::hypot(6 - moved[0], 1 - moved[1]);
  out.say("v_money = [6 1], v_bank = [1 5], y = " + vector_text(moved.data(), 2, 2) +
          ": the distance of \"bank\" to \"money\" falls from " + number(before, 2) + " to " +
          number(after, 2) + ". The context moves the vector.");
}

namespace {

const matrix money_weights(3, 3, {.7f, .2f, .1f, .25f, .7f, .05f, .1f, .2f, .7f});
const matrix river_weights(3, 3, {.8f, .15f, .05f, .2f, .78f, .02f, .4f, .01f, .59f});
const std::vector<std::string> money_words = {"money", "bank", "grows"},
                               river_words = {"river", "bank", "flows"};
const matrix money_vectors(3, 2, {1, 0, .5f, .5f, .6f, .4f}),
    river_vectors(3, 2, {0, 1, .5f, .5f, .2f, .8f}); // [finance, nature]

row bank_row(const std::string& sentence, const matrix& vectors, const matrix& given, int32_t isa) {
  attention_options options;
  options.isa = isa;
  const std::vector<float> by_notes = weighted_sum({given.at(1, 0), given.at(1, 1), given.at(1, 2)}, vectors,
                                                   isa);
  const matrix by_vectors = attend(vectors, vectors, vectors, options);
  return {sentence, vector_text(vectors.row(1), 2, 3), vector_text(by_notes.data(), 2, 3),
          vector_text(by_vectors.row(1), 2, 3)};
}

} // namespace

void show_bank(page& out, const setup& how) {
  out.say(
      "Given weights, nothing learned. Vectors are [finance nature]: money [1 0], river [0 1], bank [0.5 "
      "0.5], grows [0.6 0.4], "
      "flows [0.2 0.8].");
  if (!how.brief)
    out.show({{"money bank grows", money_words, money_words, money_weights},
              {"river bank flows", river_words, river_words, river_weights}});
  table t{"The vector of \"bank\"",
          {"in", "before", "by the given weights", "by its own, softmax(q.k / sqrt(2))"},
          {}};
  t.rows.push_back(bank_row("money bank grows", money_vectors, money_weights, how.isa));
  t.rows.push_back(bank_row("river bank flows", river_vectors, river_weights, how.isa));
  out.show(t);
  out.say(
      "The last column is self-attention without parameters, q = k = v = the embedding: all rows at once, "
      "and \"bank\" still gets two "
      "vectors.");
}

void show_apple(page& out, const setup& how) {
  const std::vector<std::string> words = split("Apple launched a new phone while I was eating an apple");
  const matrix x(11, 2, {.8f, .2f, .9f, .1f, .1f, .1f, .6f, .1f, 1,   0,   .1f,
                         .1f, .1f, .2f, .1f, .1f, 0,   1,   .1f, .1f, .8f, .2f});
  attention_options near;
  near.isa = how.isa;
  near.window = 4;
  attention_options all = near;
  all.window = -1;
  const matrix seen_near = attend(x, x, x, near), seen_all = attend(x, x, x, all);
  out.say(
      "Apple launched a new phone while I was eating an apple. Vectors are [technology fruit]; q, k and v "
      "are the same.");
  table t{"", {"word", "static", "sees the whole sentence", "sees four words each side"}, {}};
  for (int i : {0, 10}) {
    t.rows.push_back({words[static_cast<size_t>(i)], vector_text(x.row(i), 2, 2),
                      vector_text(seen_all.row(i), 2, 4), vector_text(seen_near.row(i), 2, 4)});
  }
  out.show(t);
  out.say(
      "Equal vectors with an equal view stay equal. With a view of their neighbourhood (window_left = "
      "window_right = 4) the two "
      "differ: \"launched\" and \"phone\" stand near one, \"eating\" near the other. Position codes do the "
      "same job.");
  if (!how.brief) out.show({{"window of four", words, words, attention_weights(x, x, near)[0]}});
}

} // namespace demo
