// A stream of tokens in float32: keys and values of each token are appended to a cache, then four query heads
// attend to all tokens so far. All memory is in .bss.
//   stream            64 tokens; checks all bits, and prints what a token took
//   stream FAULT      puts one fault into the call and prints the status: null short misaligned overlap cache
#include "board.hpp"
#include "fovea/cache.h"
#include "fovea/selftest.h"
#include "meter.hpp"

using namespace firmware;

namespace {

constexpr int heads = 4, kv_heads = 2, dim = 32, tokens = 64;
constexpr uint32_t expected = 0x375c70efu; // the checksum of the last output, on each core

float q[heads][dim], out[heads][dim];
float k[kv_heads][dim], v[kv_heads][dim]; // of one token
FOVEA_CACHE_ALIGN unsigned char cache[FOVEA_CACHE_BYTES(kv_heads, dim, dim, tokens, FOVEA_F32)];
alignas(float) unsigned char scratch[FOVEA_SCRATCH_PLAIN(dim, dim)];

template <size_t Heads>
void fill(made_up& numbers, float (&rows)[Heads][dim]) {
  for (auto& row : rows)
    for (float& x : row) x = numbers.number();
}

int32_t begin() {
  fovea_cache_shape shape = {};
  shape.kv_heads = kv_heads;
  shape.dim = dim;
  shape.capacity = tokens;
  return fovea_cache_init(cache, sizeof cache, &shape);
}

int32_t append() {
  fovea_in keys = {}, values = {};
  keys.data = k;
  values.data = v;
  return fovea_cache_append(cache, &keys, &values, 1);
}

int32_t attend(const char* fault) {
  fovea_attention step = {};
  step.q.data = q;
  step.out.data = out;
  step.q_heads = heads;
  step.queries = 1;
  size_t scratch_size = sizeof scratch;
  if (same_text(fault, "null")) step.q.data = nullptr;
  if (same_text(fault, "short")) scratch_size = 100;
  if (same_text(fault, "misaligned")) step.q.data = reinterpret_cast<unsigned char*>(q) + 1;
  if (same_text(fault, "overlap")) step.out.data = q;
  if (same_text(fault, "cache")) cache[40] ^= 1;
  if (const int32_t status = fovea_cache_view(cache, nullptr, &step)) return status;
  return fovea_attend_plain(&step, scratch, scratch_size);
}

} // namespace

int main(int argc, char** argv) {
  const painted_stack stack;
  meter count;
  made_up numbers;
  // At power-on the cache holds nothing yet: its memory serves the test.
  int32_t status = fovea_selftest(fovea_attend_plain, cache, sizeof cache);
  if (!status) status = begin();
  uint32_t first = 0, last = 0, append_last = 0;
  for (int token = 0; token < tokens && !status; ++token) {
    fill(numbers, q);
    fill(numbers, k);
    fill(numbers, v);
    count.begin();
    status = append();
    append_last = count.elapsed();
    count.begin();
    if (!status) status = attend(argc > 1 ? argv[1] : "none");
    last = count.elapsed();
    if (token == 0) first = last;
  }
  if (status) return refused("stream: ", status);
  if (checksum_of(out) != expected) return wrong_bits("stream: ", checksum_of(out));
  say("stream: 4/2 heads x 32: attention to 1 token ", first, meter::unit);
  say(", to 64 tokens ", last, meter::unit);
  say(", append ", append_last, meter::unit);
  say("\nstream: ");
  say_memory(stack);
}
