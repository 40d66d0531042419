// Worked example 5: "The animal didn't cross the street because it was too tired": what "it" looks at.
#include <cmath>

#include "attention.hpp"
#include "demo.hpp"

namespace demo {
namespace {

struct it_word {
  const char* word;
  std::vector<float> k; // empty where the notes give none
  std::vector<float> v;
  float weight; // as the notes give it
};

const std::vector<it_word> it_words = {{"The", {.2f, .1f, 0}, {.1f, .2f, .3f}, .05f},
                                       {"animal", {.6f, .5f, .4f}, {.7f, .6f, .5f}, .70f},
                                       {"didn't", {.1f, .2f, .1f}, {.1f, .1f, .2f}, .02f},
                                       {"cross", {.2f, .1f, .3f}, {0, .1f, .1f}, .01f},
                                       {"the", {}, {.2f, .3f, .2f}, .01f},
                                       {"street", {.5f, .4f, .3f}, {.5f, .4f, .3f}, .20f},
                                       {"because", {}, {.1f, .2f, .1f}, .01f},
                                       {"it", {.7f, .6f, .5f}, {.6f, .5f, .4f}, 0},
                                       {"was", {.1f, 0, .2f}, {.1f, .1f, 0}, .01f},
                                       {"too", {}, {0, 0, .1f}, 0},
                                       {"tired", {.9f, .8f, .7f}, {.8f, .7f, .6f}, 0}};
const std::vector<float> it_query = {.6f, .5f, .4f};

std::vector<float> it_scores() {
  std::vector<float> all;
  for (const it_word& one : it_words)
    if (!one.k.empty()) all.push_back(static_cast<float>(dot(it_query.data(), one.k.data(), 3)));
  return all;
}

std::vector<float> it_sum(int32_t isa) {
  std::vector<float> weights;
  matrix v(0, 3);
  for (const it_word& one : it_words) {
    if (one.weight == 0) continue; // adds nothing, and has no logarithm
    weights.push_back(one.weight);
    v.values.insert(v.values.end(), one.v.begin(), one.v.end());
    ++v.rows;
  }
  return weighted_sum(weights, v, isa);
}

std::vector<float> it_softmax(int32_t isa) {
  std::vector<float> all = it_scores();
  for (float& score : all) score /= std::sqrt(3.0f);
  return softmax(all, isa);
}

std::vector<heat_map> it_pictures(int32_t isa) {
  heat_map given{"the given weights", {"it"}, {}, {}},
      computed{"softmax of the eight scores", {"it"}, {}, {}};
  std::vector<float> weights;
  for (const it_word& one : it_words) {
    given.keys.push_back(one.word);
    weights.push_back(one.weight);
    if (!one.k.empty()) computed.keys.push_back(one.word);
  }
  given.weights = matrix(1, static_cast<int>(weights.size()), weights);
  computed.weights = matrix(1, static_cast<int>(computed.keys.size()), it_softmax(isa));
  return {given, computed};
}

table it_table(int32_t isa, const style& how) {
  const std::vector<float> computed = it_softmax(isa);
  table t{"Query: \"it\" = [.6 .5 .4].",
          {"word", "k", "q.k", "softmax(q.k / sqrt(3))", "v", "given weight", ""},
          {}};
  t.align = "llrrlrl";
  size_t next = 0;
  for (const it_word& one : it_words) {
    row cells = {one.word, "-", "-", "-", vector_text(one.v.data(), 3, 1), number(one.weight, 2)};
    if (!one.k.empty()) {
      cells[1] = vector_text(one.k.data(), 3, 1);
      cells[2] = number(dot(it_query.data(), one.k.data(), 3), 2);
      cells[3] = number(computed[next++], 4);
    }
    cells.push_back(one.weight > 0
                        ? times(how.blocks ? "\u2588" : "#", std::max(1, static_cast<int>(one.weight * 16)))
                        : "");
    t.rows.push_back(cells);
  }
  return t;
}

} // namespace

void show_it(page& out, const setup& how) {
  const std::vector<float> sum = it_sum(how.isa);
  out.say("The animal didn't cross the street because it was too tired.");
  if (how.brief) {
    out.say("Scores of \"it\" with the eight keys that the notes give: .17 .77 .20 .29 .62 .92 .14 1.22.");
    out.say("The given weights put .70 on \"animal\" and .20 on \"street\".");
  } else {
    out.show(it_table(how.isa, out.how()));
    out.show(it_pictures(how.isa));
    out.say("The notes give keys for eight of the words and then other weights, which add up to 1.01.");
  }
  out.say("The weighted sum is " + vector_text(sum.data(), 3, 3) +
          "; the notes add up to [.598 .518 .432]: a slip.");
}

} // namespace demo
