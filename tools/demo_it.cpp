// Worked example 5: "The animal didn't cross the street because it was too tired": what "it" attends to.
#include <cmath>

#include "attention.hpp"
#include "demo.hpp"

namespace demo {
namespace {

struct it_word {
  const char* word;
  std::vector<float> k; // only the content words have one
  std::vector<float> v;
  float weight; // as a trained head might give it
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
const float it_query[3] = {.6f, .5f, .4f};

table it_scores(int32_t isa) {
  table t{"Eight keys that were chosen by hand.", {"word", "k", "q.k", "softmax(q.k / sqrt(3))"}, {}, "llr"};
  std::vector<float> scaled;
  for (const it_word& one : it_words) {
    if (one.k.empty()) continue;
    const double qk = dot(it_query, one.k.data(), 3);
    scaled.push_back(static_cast<float>(qk / std::sqrt(3.0)));
    t.rows.push_back({one.word, vector_text(one.k.data(), 3, 1), number(qk, 2)});
  }
  const std::vector<float> weights = softmax(scaled, isa);
  for (size_t i = 0; i < weights.size(); ++i) t.rows[i].push_back(number(weights[i], 4));
  return t;
}

} // namespace

void show_it(page& out, const setup& how) {
  table t{"Weights of \"it\" as a trained head might give them.", {"word", "v", "weight", ""}, {}, "llrl"};
  std::vector<float> weights; // without the zeros, which add nothing and have no logarithm
  matrix v(0, 3);
  for (const it_word& one : it_words) {
    t.rows.push_back({one.word, vector_text(one.v.data(), 3, 1), weight_text(one.weight),
                      one.weight > 0 ? bar(one.weight, 20) : ""});
    if (one.weight == 0) continue;
    weights.push_back(one.weight);
    v.values.insert(v.values.end(), one.v.begin(), one.v.end());
    ++v.rows;
  }
  const std::vector<float> sum = weighted_sum(weights, v, how.isa);
  out.say(
      "\"The animal didn't cross the street because it was too tired\": the query is \"it\", q = [0.6 0.5 "
      "0.4].");
  if (!how.brief) {
    out.show(it_scores(how.isa));
    out.say("Scores that lie so close together give nearly equal weights. Training moves them apart:");
  }
  out.show(t);
  out.say("The output is the sum of weight * v: " + vector_text(sum.data(), 3, 3) +
          ". Most of it is v of \"animal\", the word that \"it\" stands for. The weights are rounded, so "
          "they add up to 1.01.");
}

} // namespace demo
