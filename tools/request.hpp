// What the user asks of `fovea demo`: every flag checked before anything is computed.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "arguments.hpp"
#include "fovea/fovea.h"

namespace demo {

struct request {
  bool help = false, list = false, plain = false, color = false, timed = true;
  std::string example;                    // name or number; empty: all
  std::vector<std::string> words, second; // the user's own sentences
  std::string word;                       // the one that is followed through every step; empty: the first
  int heads = 2, dim = 16;
  uint64_t seed = 7;
  int32_t isa = FOVEA_ISA_BEST;
  std::optional<std::string> svg;
};

inline std::vector<flag> demo_flags() {
  return {{"--example", "NAME", "one worked example in full: its name or its number"},
          {"--list", "", "the names of the worked examples"},
          {"--sentence", "TEXT", "your own sentence, with seeded embeddings and weights"},
          {"--second", "TEXT", "a second sentence that attends to the first"},
          {"--word", "WORD", "the word of --sentence to follow step by step (the first)"},
          {"--heads", "N", "attention heads, 1 to 16 (2)"},
          {"--dim", "N", "dims of an embedding, shared by the heads, up to 1024 (16)"},
          {"--seed", "N", "draws other embeddings and weights (7)"},
          {"--isa", "NAME", "computes with this instruction set (the best of this CPU)"},
          {"--svg", "FILE", "writes the pictures to FILE too"},
          {"--plain", "", "ASCII only, no colours"},
          {"--color", "", "colours, also where the output is no terminal"},
          {"--no-speed", "", "leaves out the timing"},
          {"--help", "", "this text"}};
}

inline std::string isa_names() {
  std::string names;
  for (int32_t isa = 1; isa < FOVEA_ISA_END; ++isa)
    if (fovea_has_isa(isa)) names += (names.empty() ? "" : ", ") + std::string(fovea_isa_name(isa));
  return names;
}

inline int32_t isa_by_name(const std::string& name) {
  for (int32_t isa = 1; isa < FOVEA_ISA_END; ++isa)
    if (name == fovea_isa_name(isa) && fovea_has_isa(isa)) return isa;
  throw usage_error("--isa is " + quote(name) +
                    ", which this program cannot use on this CPU: choose one of " + isa_names());
}

inline void check_together(const flags& given) {
  const bool own = given.count("--sentence") > 0;
  if (own && given.count("--example"))
    throw usage_error("--sentence and --example exclude each other: keep one of them");
  for (const char* name : {"--second", "--word", "--heads", "--dim", "--seed"})
    if (given.count(name) && !own)
      throw usage_error(std::string(name) + " needs a sentence: add --sentence \"the cat sat on the mat\"");
  if (given.count("--plain") && given.count("--color"))
    throw usage_error("--plain and --color exclude each other: keep one of them");
}

inline void read_sentences(request& asked, const flags& given) {
  if (given.count("--sentence")) asked.words = words_of(given.at("--sentence"), "--sentence");
  if (given.count("--second")) asked.second = words_of(given.at("--second"), "--second");
  if (!given.count("--word")) return;
  asked.word = given.at("--word");
  if (std::find(asked.words.begin(), asked.words.end(), asked.word) != asked.words.end()) return;
  throw usage_error("--word is " + quote(asked.word) +
                    ", which is no word of --sentence: choose one of its words");
}

inline void read_sizes(request& asked, const flags& given) {
  asked.heads = static_cast<int>(whole_number(given, "--heads", asked.heads, 1, 16));
  // The default follows the heads.
  const int fitting = (asked.dim + asked.heads - 1) / asked.heads * asked.heads;
  asked.dim = static_cast<int>(whole_number(given, "--dim", fitting, 1, 1024));
  asked.seed = static_cast<uint64_t>(
      whole_number(given, "--seed", static_cast<int64_t>(asked.seed), 0, 999999999));
  if (asked.dim % asked.heads == 0) return;
  const int below = asked.dim / asked.heads * asked.heads, above = below + asked.heads;
  throw usage_error("--dim " + std::to_string(asked.dim) + " cannot be shared by " +
                    std::to_string(asked.heads) + " heads: give a multiple, such as --dim " +
                    std::to_string(above <= 1024 ? above : below));
}

inline request read_request(const std::vector<std::string>& arguments) {
  const flags given = parse_flags(arguments, demo_flags(), "fovea demo");
  request asked;
  asked.help = given.count("--help") > 0;
  if (asked.help) return asked;
  check_together(given);
  asked.list = given.count("--list") > 0;
  asked.plain = given.count("--plain") > 0;
  asked.color = given.count("--color") > 0;
  asked.timed = given.count("--no-speed") == 0;
  if (given.count("--example")) asked.example = given.at("--example");
  if (given.count("--isa")) asked.isa = isa_by_name(given.at("--isa"));
  if (given.count("--svg")) asked.svg = given.at("--svg");
  read_sentences(asked, given);
  read_sizes(asked, given);
  return asked;
}

} // namespace demo
