// The model on a board: weights, tokenizer and the caches of a prompt are constants in flash, in a header
// that `fovea pack` wrote; all else is in these arrays. No heap.
//   board TOKENS          writes a story of so many tokens, and prints a digest of all logits
//   board TOKENS prompt   continues the prompt in flash
// The token that is read when 64 are in the caches runs between fovea_cost_begin and fovea_cost_end, for
// tools that count instructions.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "bench/cost/stack.hpp"
#include "stories/decoder.hpp"
#include "stories/sampler.hpp"
#include "stories/tokenizer.hpp"

#include STORIES_HEADER // FOVEA_STORIES_HEADER of CMake

#ifndef STORIES_PROMPT_TOKENS // packed without a prompt
#define STORIES_PROMPT_TOKENS 0
#define STORIES_PROMPT_LAST 0
static const uint32_t stories_prompt[1] = {};
#endif

extern "C" {
__attribute__((noinline)) void fovea_cost_begin() { __asm__ volatile(""); }
__attribute__((noinline)) void fovea_cost_end() { __asm__ volatile(""); }
}

namespace {

constexpr stories::shape of = STORIES_SHAPE;
constexpr int32_t cache = STORIES_CACHE;
constexpr int32_t most_tokens = 201 + stories::branch_tokens(cache), counted_position = 64;

alignas(64) unsigned char caches[stories::caches_size(of, most_tokens, cache)];
alignas(64) unsigned char numbers[stories::numbers_size(of, 1)];
alignas(64) unsigned char scratch[stories::scratch_size(of, 1, cache)];
float logits[of.words];
uint32_t word_index[2 * of.words];

const unsigned char* bytes_of(const uint32_t* words) { return reinterpret_cast<const unsigned char*>(words); }

int fail(const char* what) {
  std::printf("\nboard: %s\n", what);
  return 1;
}

struct digest { // FNV-1a over the bits
  uint64_t value = 0xcbf29ce484222325u;
  void add(const float* x, int32_t count) {
    for (int32_t i = 0; i < count; ++i) {
      uint32_t bits;
      std::memcpy(&bits, x + i, sizeof bits);
      for (int byte = 0; byte < 4; ++byte) value = (value ^ (bits >> 8 * byte & 255)) * 0x100000001b3u;
    }
  }
};

size_t stack_of_token = 0; // bytes, of the token before the counted one

int32_t read(stories::decoder& d, int32_t id) {
  if (d.length() + 1 == counted_position) {
    paint_stack();
    const int32_t status = d.run(&id, 1, 1, logits, scratch);
    stack_of_token = stack_painted_over();
    return status;
  }
  if (d.length() != counted_position) return d.run(&id, 1, 1, logits, scratch);
  fovea_cost_begin();
  const int32_t status = d.run(&id, 1, 1, logits, scratch);
  fovea_cost_end();
  return status;
}

int tell(stories::decoder& d, const stories::vocabulary& words, int32_t last, int32_t tokens) {
  stories::sampler likeliest;
  digest seen;
  char text[256];
  for (int32_t i = 0; i < tokens; ++i) {
    int32_t id = 0;
    if (const int32_t status = read(d, last)) return fail(fovea_reason_text(status));
    seen.add(logits, of.words);
    likeliest.choose(logits, of.words, id);
    if (id == stories::begin_of_text || id == stories::end_of_text) break;
    const int32_t length = words.say(last, id, text, static_cast<int32_t>(sizeof text));
    std::printf("%.*s", static_cast<int>(length), text);
    last = id;
  }
  std::printf("\ndigest: %08lx%08lx\n", static_cast<unsigned long>(seen.value >> 32),
              static_cast<unsigned long>(seen.value & 0xffffffffu));
  std::printf("flash: model %u, tokenizer %u, caches of the prompt %u\n",
              static_cast<unsigned>(sizeof stories_model), static_cast<unsigned>(sizeof stories_words),
              static_cast<unsigned>(sizeof stories_prompt));
  std::printf("RAM: caches of %d tokens %u, numbers %u, scratch %u, logits %u, index of words %u\n",
              static_cast<int>(most_tokens), static_cast<unsigned>(sizeof caches),
              static_cast<unsigned>(sizeof numbers), static_cast<unsigned>(sizeof scratch),
              static_cast<unsigned>(sizeof logits), static_cast<unsigned>(sizeof word_index));
  if (stack_of_token) std::printf("stack of a token: %u\n", static_cast<unsigned>(stack_of_token));
  return 0;
}

} // namespace

int main(int argc, char** argv) {
  const int32_t tokens = argc > 1 ? std::atoi(argv[1]) : 20;
  const bool prompted = argc > 2 && std::strcmp(argv[2], "prompt") == 0;
  if (tokens < 1 || tokens > most_tokens - stories::branch_tokens(cache)) return fail("give 1 to 201 tokens");
  if (prompted && STORIES_PROMPT_TOKENS == 0) return fail("no prompt was packed");
  stories::model m;
  stories::vocabulary words;
  if (const auto refused = stories::open_image(bytes_of(stories_model), sizeof stories_model, m))
    return fail(refused.why());
  if (const auto refused = words.read(bytes_of(stories_words), STORIES_WORDS_BYTES, of.words, word_index))
    return fail(refused.why());
  stories::decoder d(m, {caches, numbers, most_tokens, 1, cache});
  const stories::prefix before = {bytes_of(stories_prompt), STORIES_PROMPT_TOKENS};
  if (const int32_t status = prompted ? d.begin(before) : d.begin()) return fail(fovea_reason_text(status));
  return tell(d, words, prompted ? STORIES_PROMPT_LAST : stories::begin_of_text, tokens);
}
