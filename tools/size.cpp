// `fovea size`: bytes of scratch, caches, weights and code for given sizes, before any code is written.
#include "arguments.hpp"
#include "commands.hpp"
#include "fovea/cache.h"
#include "fovea/layer.h"
#include "output.hpp"
#include "page.hpp"
#include "terminal.hpp"

namespace demo {
namespace {

struct code_size { // of one call on a Cortex-M4F, as bench/costs.tsv has it
  const char* call;
  int bytes;
};
constexpr code_size code_sizes[] = {
#include "code_sizes.inc"
};

std::vector<flag> size_flags() {
  return {{"--heads", "N", "query heads, 1 to 1024 (8)"},
          {"--kv-heads", "N", "heads of keys and values (as many)"},
          {"--dim", "N", "numbers of a head, 1 to 1024 (64)"},
          {"--queries", "N", "queries of a call (1)"},
          {"--keys", "N", "keys and values, the capacity of a cache (512)"},
          {"--layers", "N", "layers of the model, 1 to 1024 (1)"},
          {"--width", "N", "numbers of a token; adds weights and scratch of whole layers"},
          {"--hidden", "N", "of the feed-forward network, with --width"},
          {"--gated", "", "the feed-forward network has three matrices, as Llama's"},
          {"--words", "N", "of the vocabulary, with --width"},
          {"--help", "", "this text"}};
}

struct sizes {
  int32_t heads, kv_heads, dim, queries, keys, layers, width, hidden, words;
  bool gated;
};

sizes read_sizes(const flags& given) {
  const auto number = [&](const char* name, int64_t otherwise, int64_t low, int64_t high) {
    return static_cast<int32_t>(whole_number(given, name, otherwise, low, high));
  };
  sizes s = {};
  s.heads = number("--heads", 8, 1, 1024);
  s.kv_heads = number("--kv-heads", s.heads, 1, 1024);
  s.dim = number("--dim", 64, 1, 1024);
  s.queries = number("--queries", 1, 1, 1 << 20);
  s.keys = number("--keys", 512, 1, 1 << 24);
  s.layers = number("--layers", 1, 1, 1024);
  s.width = number("--width", 0, 1, 65536);
  s.hidden = number("--hidden", 0, 1, 65536);
  s.words = number("--words", 0, 1, 1 << 20);
  s.gated = given.count("--gated") > 0;
  if (s.heads % s.kv_heads != 0)
    throw usage_error(format("--heads is %d, which is no multiple of the %d KV heads: choose another number",
                             s.heads, s.kv_heads));
  for (const char* name : {"--hidden", "--words", "--gated"})
    if (given.count(name) && !s.width)
      throw usage_error(std::string(name) + " needs the width: add --width N");
  if (s.gated && !s.hidden) throw usage_error("--gated needs the size of the network: add --hidden N");
  return s;
}

std::string text_of(uint64_t bytes) { // "1,234,567"
  std::string text = std::to_string(bytes);
  for (size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return text;
}

table scratch_table(const sizes& s) {
  const size_t rows = static_cast<size_t>(s.queries) * static_cast<size_t>(s.heads / s.kv_heads);
  const size_t tile = rows < 48 ? rows : 48, panels = FOVEA_FIXED_PANELS(64, s.dim) * 2;
  table t{"Scratch of an attention, bytes. One is enough for any number of heads; each worker has its own.",
          {"", "least", "for speed"},
          {}};
  t.rows.push_back({"floats", text_of(FOVEA_SCRATCH(s.dim, s.dim)),
                    text_of(FOVEA_SCRATCH_FAST(s.dim, s.dim, tile, s.keys))});
  t.rows.push_back({"int8, panels", text_of(FOVEA_FIXED_SCRATCH(s.dim, s.dim)), ""});
  t.rows.push_back({"int8, rows", text_of(FOVEA_FIXED_SCRATCH_ROWS(s.dim, s.dim)), ""});
  const size_t board = 1664 + 16 * FOVEA_UP16(s.dim); // FOVEA_FIXED_SCRATCH of a microcontroller
  t.rows.push_back({"on Cortex-M:", "", ""});
  t.rows.push_back({"int8, panels", text_of(board), ""});
  t.rows.push_back({"int8, rows", text_of(board + panels), ""});
  return t;
}

table cache_table(const sizes& s) {
  table t{format("Caches of %d tokens, bytes.", s.keys), {"", "a layer", format("%d layers", s.layers)}, {}};
  const auto add = [&](const char* name, size_t bytes) {
    t.rows.push_back({name, text_of(bytes), text_of(bytes * static_cast<size_t>(s.layers))});
  };
  const size_t integers = FOVEA_CACHE_BYTES(s.kv_heads, s.dim, s.dim, s.keys, int32_t{FOVEA_I8});
  add("float32", FOVEA_CACHE_BYTES(s.kv_heads, s.dim, s.dim, s.keys, int32_t{FOVEA_F32}));
  add("float16", FOVEA_CACHE_BYTES(s.kv_heads, s.dim, s.dim, s.keys, int32_t{FOVEA_F16}));
  add("int8", integers);
  add("int8, scales", integers + FOVEA_CACHE_SCALES(s.kv_heads, s.keys));
  return t;
}

table weights_table(const sizes& s) {
  struct matrix {
    const char* name;
    int64_t in, out, times;
  };
  const int64_t q = int64_t{s.heads} * s.dim, kv = int64_t{s.kv_heads} * s.dim;
  std::vector<matrix> all = {{"W_Q W_K W_V", s.width, q + 2 * kv, s.layers}, {"W_O", q, s.width, s.layers}};
  if (s.hidden) all.push_back({"up", s.width, s.hidden * (s.gated ? 2 : 1), s.layers});
  if (s.hidden) all.push_back({"down", s.hidden, s.width, s.layers});
  if (s.words) all.push_back({"words", s.width, s.words, 1});
  constexpr int32_t dtypes[] = {FOVEA_F32, FOVEA_F16, FOVEA_I8, FOVEA_I4};
  table t{"Packed weights of all layers, bytes of flash.",
          {"", "inputs", "outputs", "f32", "f16", "int8", "int4"},
          {}};
  uint64_t sums[4] = {};
  for (const matrix& m : all) {
    if (m.in > 65536 || m.out > FOVEA_LINEAR_MAX)
      throw usage_error(std::string("the matrix ") + m.name +
                        " has more than 65,536 inputs or 1,048,576 outputs: take smaller sizes");
    t.rows.push_back({m.name, text_of(static_cast<uint64_t>(m.in)), text_of(static_cast<uint64_t>(m.out))});
    for (int i = 0; i < 4; ++i) {
      const uint64_t bytes = static_cast<uint64_t>(m.times) * FOVEA_LINEAR_BYTES(m.in, m.out, dtypes[i]);
      sums[i] += bytes;
      t.rows.back().push_back(text_of(bytes));
    }
  }
  t.rows.push_back({"all", "", ""});
  for (uint64_t sum : sums) t.rows.back().push_back(text_of(sum));
  return t;
}

table layer_table(const sizes& s) {
  const int64_t q = int64_t{s.heads} * s.dim, widest = q > s.width ? q : s.width;
  const int32_t tokens = s.queries;
  table t{format("Scratch of an attention layer on %s at once, and of a product, bytes.",
                 counted(static_cast<size_t>(tokens), "token").c_str()),
          {"", "least", "for speed"},
          {}};
  t.rows.push_back(
      {"layer", text_of(FOVEA_LAYER_SCRATCH(tokens, tokens, widest, s.heads, s.kv_heads, s.dim, s.dim)),
       text_of(FOVEA_LAYER_SCRATCH_FAST(tokens, tokens, widest, s.heads, s.kv_heads, s.dim, s.dim))});
  const int64_t inputs = s.hidden > widest ? s.hidden : widest;
  t.rows.push_back({"int8 product", text_of(FOVEA_MULTIPLY_SCRATCH(inputs, 1, int32_t{FOVEA_I8})),
                    text_of(FOVEA_MULTIPLY_SCRATCH(inputs, tokens < 48 ? tokens : 48, int32_t{FOVEA_I8}))});
  return t;
}

table code_table() {
  table t{"Code that a call links on a Cortex-M4F, bytes of flash. Calls share parts of it.",
          {"call", "bytes"},
          {}};
  for (const code_size& one : code_sizes)
    t.rows.push_back({one.call, text_of(static_cast<uint64_t>(one.bytes))});
  return t;
}

} // namespace

int run_size(const std::vector<std::string>& arguments) {
  const flags given = parse_flags(arguments, size_flags(), "fovea size");
  if (given.count("--help")) {
    print(
        "fovea size [flags]\n\nBytes of scratch, caches, weights and code for given sizes: what the "
        "constants of the "
        "headers say.\n\n" +
        flags_help(size_flags()) +
        "\n  fovea size --heads 9 --kv-heads 3 --dim 64 --keys 2048 --width 576 --hidden 1536 --gated\n");
    return 0;
  }
  const sizes s = read_sizes(given);
  page out(terminal_of_output(true, false).width, false);
  out.show(scratch_table(s));
  out.show(cache_table(s));
  if (s.width) out.show(weights_table(s));
  if (s.width) out.show(layer_table(s));
  out.show(code_table());
  print(to_ascii(out.text()));
  return 0;
}

} // namespace demo
