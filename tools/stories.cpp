// `fovea stories`: a language model writes, token by token.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "matrix.hpp"
#include "npy.hpp"
#include "output.hpp"
#include "request.hpp"
#include "sentence_model.hpp"
#include "story_model.hpp"
#include "terminal.hpp"

namespace demo {
namespace {

std::vector<flag> stories_flags() {
  std::vector<flag> all = story_model_flags();
  const std::vector<flag> more = {
      {"--prompt", "TEXT", "how the story begins (nothing)"},
      {"--tokens-in", "IDS", "tokens instead of a prompt, as 1,403,407; prints tokens instead of text"},
      {"--tokens", "N", "tokens to write behind the prompt (200)"},
      {"--temperature", "T", "0: always the likeliest token; 0.01 to 10: drawn, the higher the freer (0)"},
      {"--seed", "N", "draws another story (1)"},
      {"--int8-cache", "", "keys and values in int8, and attention in integers"},
      {"--logits", "FILE", "writes the logits of each token, float32 [tokens][words], as a .npy file"},
      {"--threads", "N", "threads to compute with, 1 to 256 (1); no bit depends on it"},
      {"--isa", "NAME", "the instruction set of floats (the best of this CPU)"},
      {"--int8-isa", "NAME", "the instruction set of integers (the best of this CPU)"},
      {"--digest", "", "prints a digest of all logits at the end, on standard error"},
      {"--help", "", "this text"}};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

float temperature_of(const flags& given) {
  if (!given.count("--temperature")) return 0;
  const std::string& text = given.at("--temperature");
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  const bool number = !text.empty() && text.find_first_not_of("0123456789.") == std::string::npos &&
                      *end == 0;
  if (number && (value == 0 || (value >= 0.01 && value <= 10))) return static_cast<float>(value);
  throw usage_error("--temperature is " + quote(text) + ": give 0, or a number from 0.01 to 10");
}

// Bytes that command a terminal are not written; those of letters beyond ASCII may come one by one.
std::string harmless(const char* text, int32_t length) {
  std::string kept;
  for (int32_t i = 0; i < length; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte == '\n' || byte == '\t' || (byte >= 32 && byte != 127)) kept += text[i];
  }
  return kept;
}

// "1,403,407"
std::vector<int32_t> read_ids(const std::string& text) {
  std::vector<int32_t> ids;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    ids.push_back(static_cast<int32_t>(whole_number("--tokens-in", text.substr(at, end - at), 0, 1 << 18)));
    at = end + 1;
  }
  return ids;
}

struct wish {
  std::string prompt;
  std::vector<int32_t> ids; // instead of a prompt
  int32_t tokens;
  stories::sampler sampler;
  stories::arithmetic how;
  int threads;
  int32_t cache;
  bool digest;
  std::string logits; // file
};

wish read_wish(const flags& given) {
  wish w;
  w.prompt = given.count("--prompt") ? given.at("--prompt") : "";
  if (given.count("--tokens-in")) w.ids = read_ids(given.at("--tokens-in"));
  if (!w.ids.empty() && given.count("--prompt"))
    throw usage_error("--prompt and --tokens-in exclude each other: keep one of them");
  w.cache = given.count("--int8-cache") ? FOVEA_I8 : FOVEA_F32;
  if (given.count("--logits")) w.logits = given.at("--logits");
  w.tokens = static_cast<int32_t>(whole_number(given, "--tokens", 200, 1, 131072));
  w.sampler.temperature = temperature_of(given);
  w.sampler.seed = static_cast<uint64_t>(whole_number(given, "--seed", 1, 0, 999999999999999));
  if (given.count("--isa")) w.how.isa = w.sampler.isa = isa_by_name(given.at("--isa"));
  if (given.count("--int8-isa")) w.how.fixed_isa = fixed_isa_by_name(given.at("--int8-isa"));
  w.threads = static_cast<int>(whole_number(given, "--threads", 1, 1, 256));
  w.digest = given.count("--digest") > 0;
  return w;
}

struct outcome {
  int32_t tokens = 0; // that were written
  double seconds = 0; // behind the first of them
  uint64_t digest = fnv1a("");
};

// Writes tokens as they come: as text, or as numbers where tokens were given.
class teller {
 public:
  teller(const story_files& files, const wish& w) : files_(files), ids_(!w.ids.empty()) {
    if (!ids_) print(harmless(w.prompt.data(), static_cast<int32_t>(w.prompt.size())));
  }

  bool ends(int32_t id) const {
    return !ids_ && (id == stories::begin_of_text || id == stories::end_of_text);
  }

  void say(int32_t last, int32_t id) {
    char text[256];
    if (ids_)
      print((first_ ? "" : ",") + std::to_string(id));
    else
      print(harmless(text, files_.words().say(last, id, text, sizeof text)));
    first_ = false;
  }

 private:
  const story_files& files_;
  const bool ids_;
  bool first_ = true;
};

outcome tell(const story_files& files, const wish& w) {
  using clock = std::chrono::steady_clock;
  if (w.ids.empty() && !files.has_words())
    throw usage_error("no tokenizer belongs to this model: give tokens with --tokens-in 1,2,3");
  const std::vector<int32_t> ids = w.ids.empty() ? files.tokens_of(w.prompt) : w.ids;
  files.check_tokens(ids, w.tokens);
  const int32_t words = files.model().of.words;
  const auto prompt_tokens = static_cast<int32_t>(ids.size());
  story_decoder decoder(files.model(), prompt_tokens - 1 + w.tokens, w.how, w.threads, w.cache);
  decoder.begin();
  stories::sampler sampler = w.sampler;
  outcome done;
  std::vector<float> all_logits;
  teller to(files, w);
  float* logits = decoder.read(ids.data(), prompt_tokens);
  const auto begin = clock::now();
  for (int32_t last = ids.back(), id = 0; done.tokens < w.tokens; last = id) {
    if (w.digest)
      done.digest = fnv1a({reinterpret_cast<const char*>(logits), sizeof(float) * static_cast<size_t>(words)},
                          done.digest);
    if (!w.logits.empty()) all_logits.insert(all_logits.end(), logits, logits + words);
    const int32_t status = sampler.choose(logits, words, id);
    if (status != FOVEA_OK)
      throw usage_error(std::string("no token can be drawn (") + fovea_reason_text(status) +
                        "): take another --temperature");
    if (to.ends(id)) break;
    to.say(last, id);
    if (++done.tokens < w.tokens) logits = decoder.read(&id, 1);
  }
  done.seconds = std::chrono::duration<double>(clock::now() - begin).count();
  print("\n");
  if (!w.logits.empty())
    write_whole(w.logits, npy_text({static_cast<int32_t>(all_logits.size()) / words, words}, all_logits));
  return done;
}

std::string number_format(int32_t dtype) {
  return dtype == FOVEA_I8 ? "int8" : dtype == FOVEA_I4 ? "int4" : "float32";
}

} // namespace

int run_stories(const std::vector<std::string>& arguments) {
  const flags given = parse_flags(arguments, stories_flags(), "fovea stories");
  if (given.count("--help")) {
    print(
        "fovea stories [flags]\n\nA language model of 260,000 parameters, trained on TinyStories, writes a "
        "story. "
        "The text goes to\nstandard output as it grows, its speed to standard error at the end. DIR holds "
        "stories260K.bin and\ntok512.bin of llama2.c; or config.json and model.safetensors of transformers "
        "(Llama, Mistral,\nQwen2), which has no tokenizer here: give --tokens-in.\n\n" +
        flags_help(stories_flags()) + "\n  fovea stories --prompt \"One day, Tim\" --tokens 100 --int8\n");
    return 0;
  }
  const wish w = read_wish(given);
  const int32_t dtype = story_dtype(given);
  const story_files files(story_folder(given), dtype);
  const outcome done = tell(files, w);
  const double rate = done.tokens > 1 && done.seconds > 0 ? (done.tokens - 1) / done.seconds : 0;
  std::fprintf(stderr, "fovea: %s, %.0f a second; weights in %s, %s, %s.\n",
               counted(static_cast<size_t>(done.tokens), "token").c_str(), rate, number_format(dtype).c_str(),
               fovea_isa_name(w.how.isa == FOVEA_ISA_BEST ? fovea_isa() : w.how.isa),
               counted(static_cast<size_t>(w.threads), "thread").c_str());
  if (w.digest)
    std::fprintf(stderr, "digest: %08lx%08lx\n", static_cast<unsigned long>(done.digest >> 32),
                 static_cast<unsigned long>(done.digest & 0xFFFFFFFFu));
  return 0;
}

} // namespace demo
