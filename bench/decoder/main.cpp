// fovea_decoder: one token at a time of a decoder in SmolLM2-135M's shape, and of its attention blocks alone,
// as a share of the time in which loops of loads read the same bytes. Tokens and reading take turns.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/finish.hpp"
#include "bench/peak.hpp"
#include "bench/stopwatch.hpp"
#include "random_model.hpp"
#include "stories/decoder.hpp"

namespace {

using namespace bench;

struct decoder_work {
  const char* name;
  int32_t tokens; // in the cache
  int32_t layers, hidden, words;
  int32_t weights, cache; // dtypes
};

// A block is a layer with hardly any feed-forward network; near: the only one, so the caches hold it.
constexpr int32_t layers = 30, hidden = 1536, words = 49152, few = 16;
// clang-format off
constexpr decoder_work table[] = {
    {"block 512 int8",        512, layers,    few,   few, FOVEA_I8, FOVEA_I8},
    {"block 2048 int8",      2048, layers,    few,   few, FOVEA_I8, FOVEA_I8},
    {"block 2048 int4",      2048, layers,    few,   few, FOVEA_I4, FOVEA_I8},
    {"block 2048 f32 cache", 2048, layers,    few,   few, FOVEA_I8, FOVEA_F32},
    {"near 512 int8",         512,      1,    few,   few, FOVEA_I8, FOVEA_I8},
    {"near 2048 int8",       2048,      1,    few,   few, FOVEA_I8, FOVEA_I8},
    {"model 64 int8",          64, layers, hidden, words, FOVEA_I8, FOVEA_I8},
    {"model 64 int4",          64, layers, hidden, words, FOVEA_I4, FOVEA_I8},
    {"model 64 f32",           64, layers, hidden, words, FOVEA_F32, FOVEA_F32},
};
// clang-format on

struct request {
  std::string filter;
  int rounds = 48;
  stories::arithmetic how;
};

stories::shape shape_of(const decoder_work& w) {
  stories::shape s = {};
  s.width = 576;
  s.hidden = w.hidden;
  s.layers = w.layers;
  s.heads = 9;
  s.kv_heads = 3;
  s.words = w.words;
  s.positions = w.tokens + 1;
  s.half_pairs = 1;
  return s;
}

class running_decoder {
 public:
  running_decoder(const stories::model& m, const decoder_work& w, const stories::arithmetic& how)
      : caches_(stories::caches_size(m.of, w.tokens, w.cache)),
        numbers_(stories::numbers_size(m.of, most)),
        scratch_(stories::scratch_size(m.of, most, w.cache)),
        logits_(static_cast<size_t>(m.of.words)),
        decoder_(m, {caches_.data(), numbers_.data(), w.tokens, most, w.cache}, how) {
    check(decoder_.begin());
  }
  void read(int32_t tokens) {
    for (int32_t left = tokens, count; left > 0; left -= count) {
      count = left < most ? left : most;
      int32_t ids[most];
      for (int32_t i = 0; i < count; ++i) ids[i] = (left + 7 * i) % decoder_.of().of.words;
      check(decoder_.run(ids, count, 1, logits_.data(), scratch_.data()));
    }
  }
  unsigned char* caches() { return caches_.data(); }
  size_t cache_bytes() const { return caches_.size(); }
  uint32_t digest() const { // of the last logits
    uint32_t hash = 0x811c9dc5u;
    for (const float x : logits_) {
      uint32_t bits;
      std::memcpy(&bits, &x, sizeof bits);
      hash = (hash ^ bits) * 0x01000193u;
    }
    return hash;
  }

 private:
  static constexpr int32_t most = 32; // tokens at once
  static void check(int32_t status) {
    if (status != FOVEA_OK)
      throw std::runtime_error(std::string("refused: ") + fovea_argument_text(status) + ": " +
                               fovea_reason_text(status));
  }
  aligned_block caches_, numbers_, scratch_;
  std::vector<float> logits_;
  stories::decoder decoder_;
};

struct taken {
  summary token, reading;
  double used, read; // bytes: what a token reads, and what the loops do
  uint32_t digest;
};

taken measure(const decoder_work& w, const request& asked) {
  const int32_t isa = asked.how.isa == FOVEA_ISA_BEST ? fovea_isa() : asked.how.isa;
  if (!loops_of(isa))
    throw std::runtime_error(std::string("no loop here reads memory with ") + fovea_isa_name(isa) +
                             "; name another one with --isa");
  const isa_loops& loops = *loops_of(isa);
  random_model model(shape_of(w), w.weights);
  running_decoder decoder(model.of(), w, asked.how);
  decoder.read(w.tokens - asked.rounds); // the last tokens are measured
  std::vector<timing> tokens, reads[read_loops];
  const size_t weights = model.weight_bytes() / 512 * 512, caches = decoder.cache_bytes() / 512 * 512;
  for (int round = 0; round < asked.rounds; ++round) {
    const int loop = round % read_loops;
    reads[loop].push_back(time_of([&] {
      loops.read[loop](model.weights(), weights);
      loops.read[loop](decoder.caches(), caches);
    }));
    tokens.push_back(time_of([&] { decoder.read(1); }));
  }
  std::vector<summary> of_loops;
  for (const std::vector<timing>& samples : reads) of_loops.push_back(summarise(samples));
  const uint64_t cached = stories::caches_size(model.of().of, w.tokens - asked.rounds / 2, w.cache);
  return {summarise(tokens), fastest_of(of_loops), static_cast<double>(weights) + static_cast<double>(cached),
          static_cast<double>(weights + caches), decoder.digest()};
}

// The median and the 10th percentile of a token, of a layer of it where a work is blocks.
void print(const decoder_work& w, const taken& t) {
  const double of = w.words == few ? w.layers : 1, limit = t.reading.median * t.used / t.read,
               quiet_limit = t.reading.lowest_tenth * t.used / t.read;
  std::printf("%-22s %7.2f MB %9.1f us %9.1f us %6.1f GB/s %6.1f %6.1f %6.2f %08lx%s\n", w.name,
              t.used / of * 1e-6, t.token.median / of * 1e6, limit / of * 1e6, t.used / limit * 1e-9,
              100 * limit / t.token.median, 100 * quiet_limit / t.token.lowest_tenth, t.token.median / limit,
              static_cast<unsigned long>(t.digest), t.token.disturbed ? " *" : "");
  std::fflush(stdout);
}

constexpr char help[] =
    "fovea_decoder [--filter TEXT] [--isa NAME] [--int8-isa NAME] [--rounds N]\n\n"
    "Decodes one token at a time in SmolLM2-135M's shape with seeded weights. A block is the attention of a\n"
    "layer, out of 30 in turn. The limit is reading the same weights and caches, sampled in turn.\n\n"
    "  --filter TEXT    only works whose name contains TEXT\n"
    "  --isa NAME       the instruction set of floats (the best of this CPU)\n"
    "  --int8-isa NAME  the instruction set of integers (the best of this CPU)\n"
    "  --rounds N       tokens that are measured, 3 to 63 (48)\n";

int32_t isa_named(const std::string& flag, const std::string& name, int32_t end,
                  const char* (*name_of)(int32_t), bool (*usable)(int32_t)) {
  std::string names;
  for (int32_t isa = 1; isa < end; ++isa) {
    if (!usable(isa)) continue;
    if (name == name_of(isa)) return isa;
    names += std::string(names.empty() ? "" : ", ") + name_of(isa);
  }
  throw std::invalid_argument(flag + " " + name + " cannot run here; choose one of: " + names);
}

request read_request(int argc, char** argv) {
  request asked;
  for (int i = 1; i < argc; i += 2) {
    const std::string flag = argv[i];
    if (i + 1 == argc) throw std::invalid_argument(flag + " is unknown or lacks its value; --help lists all");
    const std::string value = argv[i + 1];
    if (flag == "--filter")
      asked.filter = value;
    else if (flag == "--isa")
      asked.how.isa = isa_named(flag, value, FOVEA_ISA_END, fovea_isa_name,
                                [](int32_t isa) { return fovea_has_isa(isa) == 1 && loops_of(isa); });
    else if (flag == "--int8-isa")
      asked.how.fixed_isa = isa_named(flag, value, FOVEA_FIXED_ISA_END, fovea_fixed_isa_name,
                                      [](int32_t isa) { return fovea_fixed_has_isa(isa) == 1; });
    else if (flag == "--rounds") {
      char* end = nullptr;
      const long rounds = std::strtol(value.c_str(), &end, 10);
      if (value.empty() || *end || rounds < 3 || rounds > 63)
        throw std::invalid_argument("--rounds " + value + " is not a number from 3 to 63");
      asked.rounds = static_cast<int>(rounds);
    } else
      throw std::invalid_argument(flag + " is unknown; --help lists all flags");
  }
  return asked;
}

int run(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "--help") return std::fputs(help, stdout) < 0;
  const request asked = read_request(argc, argv);
  std::printf("%-22s %10s %12s %12s %11s %6s %6s %6s %8s\n", "decoder", "reads", "time", "limit", "",
              "share %", "quiet %", "times", "logits");
  bool found = false;
  for (const decoder_work& w : table) {
    if (std::string(w.name).find(asked.filter) == std::string::npos) continue;
    found = true;
    print(w, measure(w, asked));
  }
  if (!found)
    throw std::invalid_argument("no work has \"" + asked.filter +
                                "\" in its name; --filter block finds some");
  return 0;
}

} // namespace

int main(int argc, char** argv) {
  try {
    return finish("fovea_decoder", run(argc, argv));
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "fovea_decoder: %s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "fovea_decoder: %s\n", error.what());
    return 1;
  }
}
