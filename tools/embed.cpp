// `fovea embed`: lines in, embeddings out. `fovea tokens`: what the model reads of each line.
#include <chrono>
#include <cstdio>
#include <iostream>
#include <optional>

#include "output.hpp"
#include "sentence_model.hpp"
#include "terminal.hpp"

namespace demo {
namespace {

// Lines whose text the model does not see as it stands.
struct line_notes {
  size_t count = 0, first = 0;

  void add(size_t line) {
    if (count++ == 0) first = line;
  }
  void tell(const char* what) const {
    if (count == 0) return;
    std::fprintf(stderr, "fovea: %s %s, from line %zu on.\n", counted(count, "line").c_str(), what, first);
  }
};

class line_source {
 public:
  line_source() {
    std::ios::sync_with_stdio(false);
    std::cin.tie(nullptr);
  }

  bool next(const minilm::vocabulary& words, minilm::token_row& row) {
    if (!std::getline(std::cin, line_)) {
      if (std::cin.bad())
        throw usage_error("standard input cannot be read: redirect a file or a pipe into it");
      return false;
    }
    ++lines_;
    minilm::tokenize(words, line_, row);
    if (row.is_cut) cut_.add(lines_);
    if (!is_utf8(line_)) broken_.add(lines_);
    return true;
  }

  // Whether the next line is here, or at least begun.
  bool has_more() const { return std::cin.rdbuf()->in_avail() > 0; }
  size_t lines() const { return lines_; }

  void tell_notes() const {
    cut_.tell("had more than 256 tokens, and the rest was left out");
    broken_.tell("had bytes that are not UTF-8, and they were left out");
  }

 private:
  std::string line_;
  size_t lines_ = 0;
  line_notes cut_, broken_;
};

// Sentences that are encoded together.
class sentence_batch {
 public:
  bool takes(const minilm::token_row& row) const {
    return sentences_ < minilm::batch_sentences && starts_[sentences_] + row.count <= minilm::batch_tokens;
  }
  void add(const minilm::token_row& row) {
    std::copy_n(row.ids, row.count, ids_ + starts_[sentences_]);
    starts_[sentences_ + 1] = starts_[sentences_] + row.count;
    ++sentences_;
  }
  void clear() { sentences_ = 0; }
  int sentences() const { return sentences_; }
  minilm::batch view() const { return {ids_, starts_, sentences_}; }

 private:
  int32_t ids_[minilm::batch_tokens];
  int32_t starts_[minilm::batch_sentences + 1] = {};
  int32_t sentences_ = 0;
};

// Nine digits give each float back as it was.
void append_numbers(std::string& text, const float* numbers) {
  char digits[32];
  for (int32_t c = 0; c < minilm::width; ++c) {
    const int length = std::snprintf(digits, sizeof digits, c ? " %.9g" : "%.9g",
                                     static_cast<double>(numbers[c]));
    text.append(digits, static_cast<size_t>(length));
  }
  text += '\n';
}

class embedding_printer {
 public:
  explicit embedding_printer(sentence_model& model)
      : model_(model), numbers_(size_t{minilm::batch_sentences} * minilm::width) {}

  void print_batch(sentence_batch& batch) {
    if (batch.sentences() == 0) return;
    model_.encode(batch.view(), numbers_.data());
    std::string text;
    for (int s = 0; s < batch.sentences(); ++s) append_numbers(text, numbers_.data() + s * minilm::width);
    print(text);
    batch.clear();
  }

 private:
  sentence_model& model_;
  std::vector<float> numbers_;
};

void embed_lines(sentence_model& model) {
  using clock = std::chrono::steady_clock;
  line_source lines;
  sentence_batch batch;
  embedding_printer printer(model);
  minilm::token_row row;
  auto told = clock::now();
  while (lines.next(model.words(), row)) {
    if (!batch.takes(row)) printer.print_batch(batch);
    batch.add(row);
    if (!lines.has_more()) printer.print_batch(batch); // whoever writes the lines may wait for the answer
    if (clock::now() - told < std::chrono::seconds(1)) continue;
    told = clock::now();
    progress(counted(lines.lines(), "line") + " embedded");
  }
  printer.print_batch(batch);
  progress("");
  lines.tell_notes();
}

std::string help_of(const char* command, const char* what, const std::vector<flag>& known) {
  return std::string("fovea ") + command + " [flags]\n\n" + what + "\n\n" + flags_help(known);
}

} // namespace

int run_embed(const std::vector<std::string>& arguments) {
  const flags given = parse_flags(arguments, model_flags(), "fovea embed");
  if (given.count("--help")) {
    print(help_of(
        "embed",
        "Reads lines from standard input, and writes the 384 numbers of each line's embedding. Lines of\n"
        "similar meaning have embeddings with a large dot product. A line is cut at 256 tokens.",
        model_flags()));
    return 0;
  }
  sentence_model model(read_model_options(given));
  embed_lines(model);
  return 0;
}

int run_tokens(const std::vector<std::string>& arguments) {
  const std::vector<flag> known = {{"--model", "DIR", "the folder with vocab.txt"},
                                   {"--help", "", "this text"}};
  const flags given = parse_flags(arguments, known, "fovea tokens");
  if (given.count("--help")) {
    print(help_of("tokens", "Reads lines from standard input, and writes the numbers of each line's tokens.",
                  known));
    return 0;
  }
  if (!given.count("--model"))
    throw usage_error("there is no model: add --model DIR, a folder with vocab.txt");
  const model_words model(given.at("--model"));
  line_source lines;
  minilm::token_row row;
  std::string text;
  while (lines.next(model.words(), row)) {
    for (int i = 0; i < row.count; ++i) text += (i ? " " : "") + std::to_string(row.ids[i]);
    text += '\n';
    if (text.size() < 65536 && lines.has_more()) continue;
    print(text);
    text.clear();
  }
  print(text);
  lines.tell_notes();
  return 0;
}

} // namespace demo
