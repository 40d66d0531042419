// `fovea bank`: the vectors that a trained model gives one word in two sentences, and what each head looks at
// from there.
#include <algorithm>
#include <cmath>

#include "output.hpp"
#include "page.hpp"
#include "sentence_model.hpp"
#include "svg.hpp"
#include "terminal.hpp"

namespace demo {
namespace {

using minilm::heads;
using minilm::layers;
using minilm::width;

std::vector<flag> bank_flags() {
  return {{"--model", "DIR", "the folder with model.safetensors and vocab.txt of all-MiniLM-L6-v2"},
          {"--word", "WORD", "the word to follow (bank)"},
          {"--sentence", "TEXT", "a sentence with it (money in the bank)"},
          {"--second", "TEXT", "another one (the bank of the river)"},
          {"--isa", "NAME", "computes with this instruction set (the best of this CPU)"},
          {"--svg", "FILE", "writes the pictures to FILE too"},
          {"--plain", "", "ASCII only, no colours"},
          {"--color", "", "colours, also where the output is no terminal"},
          {"--help", "", "this text"}};
}

// What the model makes of a sentence.
struct reading {
  std::string text;
  std::vector<std::string> tokens;
  int word = 0;               // which token is followed
  std::vector<float> vectors; // [layers + 1][tokens][width]
  std::vector<float> weights; // [layers][heads][tokens][tokens]

  int count() const { return static_cast<int>(tokens.size()); }
  const float* vector(int layer) const { return vectors.data() + (layer * count() + word) * width; }
  // Of the followed word.
  const float* weights_of(int layer, int head) const {
    return weights.data() + ((layer * heads + head) * count() + word) * count();
  }
};

std::vector<std::string> token_texts(const minilm::vocabulary& words, const minilm::token_row& row) {
  std::vector<std::string> texts;
  for (int i = 0; i < row.count; ++i) texts.emplace_back(words.word(row.ids[i]));
  return texts;
}

minilm::insight insight_of(reading& one) {
  minilm::insight seen;
  seen.vectors = one.vectors.data();
  seen.weights = one.weights.data();
  return seen;
}

reading read_sentence(sentence_model& model, const std::string& text, const std::string& word,
                      const std::string& flag_name) {
  constexpr int most = 24; // tokens that a picture has room for
  minilm::token_row row, alone;
  tokenize(model.words(), text, row);
  tokenize(model.words(), word, alone);
  if (alone.count != 3)
    throw usage_error("--word is " + quote(word) +
                      ", which is not one token of this model: choose a common word");
  if (row.count > most)
    throw usage_error(format("%s has %d tokens: give at most %d, of which two are [CLS] and [SEP]",
                             flag_name.c_str(), row.count, most));
  const int32_t* const found = std::find(row.ids, row.ids + row.count, alone.ids[1]);
  if (found == row.ids + row.count)
    throw usage_error(flag_name + " is " + quote(text) + ", which does not have the word " + quote(word) +
                      ": choose a sentence with it");
  reading one;
  one.text = text;
  one.tokens = token_texts(model.words(), row);
  one.word = static_cast<int>(found - row.ids);
  const auto count = static_cast<size_t>(row.count);
  one.vectors.resize((layers + 1) * count * width);
  one.weights.resize(layers * heads * count * count);
  const int32_t starts[] = {0, row.count};
  float embedding[width];
  model.encode({row.ids, starts, 1}, embedding, insight_of(one));
  return one;
}

double cosine(const float* a, const float* b) {
  return dot(a, b, width) / std::sqrt(dot(a, a, width) * dot(b, b, width));
}

table vectors_table(const reading& first, const reading& second, const std::string& word, int page_width) {
  const int shown = page_width >= 90 ? 4 : 2;
  table t{"The vector of " + quote(word) +
              format(": the first %d of %d numbers, and the cosine of both vectors.", shown, width),
          {"after", clip(first.text, 36), clip(second.text, 36), "cosine"},
          {}};
  for (int layer = 0; layer <= layers; ++layer) {
    const float* const a = first.vector(layer);
    const float* const b = second.vector(layer);
    t.rows.push_back({layer == 0 ? "the embedding" : format("layer %d", layer),
                      vector_text(a, width, 3, shown), vector_text(b, width, 3, shown),
                      number(cosine(a, b), 3)});
  }
  return t;
}

heat_map map_of_layer(const reading& one, int layer, const std::string& word) {
  heat_map map{format("Layer %d, ", layer + 1) + quote(word) + " in " + quote(one.text),
               {},
               one.tokens,
               matrix(heads, one.count())};
  for (int head = 0; head < heads; ++head) {
    map.queries.push_back(format("head %d", head + 1));
    for (int key = 0; key < one.count(); ++key) map.weights.at(head, key) = one.weights_of(layer, head)[key];
  }
  return map;
}

// How much the word looks at each token over all layers, and how many heads look there most.
table attention_table(const reading& one, const std::string& word) {
  std::vector<double> sums(one.tokens.size());
  std::vector<int> firsts(one.tokens.size());
  for (int layer = 0; layer < layers; ++layer)
    for (int head = 0; head < heads; ++head) {
      const float* const weights = one.weights_of(layer, head);
      for (size_t key = 0; key < sums.size(); ++key) sums[key] += static_cast<double>(weights[key]);
      ++firsts[static_cast<size_t>(std::max_element(weights, weights + one.count()) - weights)];
    }
  table t{"Where " + quote(word) + " looks in " + quote(one.text) +
              format(": %d heads of %d layers.", layers * heads, layers),
          {"token", "mean weight", "heads that look there most"},
          {}};
  for (size_t key = 0; key < sums.size(); ++key)
    t.rows.push_back(
        {one.tokens[key], weight_text(sums[key] / (layers * heads)), std::to_string(firsts[key])});
  return t;
}

page page_of_bank(const flags& given, const terminal& shown) {
  const auto text = [&](const char* name, const char* otherwise) {
    return given.count(name) ? given.at(name) : std::string(otherwise);
  };
  const std::string word = text("--word", "bank");
  flags of_model;
  for (const char* name : {"--model", "--isa"})
    if (given.count(name)) of_model[name] = given.at(name);
  of_model["--threads"] = "1";
  for (const char* name : {"--sentence", "--second"})
    if (given.count(name)) words_of(given.at(name), name); // printable UTF-8
  sentence_model model(read_model_options(of_model));
  const reading first = read_sentence(model, text("--sentence", "money in the bank"), word, "--sentence");
  const reading second = read_sentence(model, text("--second", "the bank of the river"), word, "--second");

  page out(shown.width, shown.colour);
  out.heading("One word, two sentences, two vectors: all-MiniLM-L6-v2");
  out.say(format(
      "The model has %d layers of %d heads. A token starts as one vector, and each layer adds what its heads "
      "find in the other tokens.",
      layers, heads));
  out.show(vectors_table(first, second, word, shown.width));
  for (const reading* one : {&first, &second}) out.show(attention_table(*one, word));
  out.say("What each head looks at from " + quote(word) +
          ". A row is a head, a column a token. A head whose pattern does not occur in the sentence puts its "
          "weight on "
          "[CLS] or [SEP], which every sentence has.");
  for (int layer = 0; layer < layers; ++layer)
    out.show({map_of_layer(first, layer, word), map_of_layer(second, layer, word)});
  return out;
}

} // namespace

int run_bank(const std::vector<std::string>& arguments) {
  const flags given = parse_flags(arguments, bank_flags(), "fovea bank");
  if (given.count("--help")) {
    print(
        "fovea bank [flags]\n\nShows the vectors that all-MiniLM-L6-v2 gives one word in two sentences, and "
        "what each\n"
        "head looks at.\n\n" +
        flags_help(bank_flags()));
    return 0;
  }
  if (given.count("--plain") && given.count("--color"))
    throw usage_error("--plain and --color exclude each other: keep one of them");
  const terminal shown = terminal_of_output(given.count("--plain") > 0, given.count("--color") > 0);
  page out = page_of_bank(given, shown);
  if (given.count("--svg")) {
    write_whole(given.at("--svg"), svg_document(out.pictures(), "What each head looks at"));
    out.apart(wrap("The pictures are in " + printable(given.at("--svg")) + ".", shown.width));
  }
  print(shown.utf8 ? out.text() : to_ascii(out.text()));
  return 0;
}

} // namespace demo
