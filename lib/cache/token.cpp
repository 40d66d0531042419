// Checksums of tokens, and copies of single ones.
#include "common/build.hpp"

#include "cache/token.hpp"

#include "common/bits.hpp"

namespace fovea::cache {
namespace {

uint32_t sum_of_token(const opened& c, int32_t token) {
  const int32_t place = c.at().place(token);
  uint32_t sum = static_cast<uint32_t>(token); // where it stands is part of it
  for (int32_t g = 0; g < c.shape().kv_heads; ++g) {
    const token_words words(c, g, place);
    for (int32_t i = 0; i < words.key_words(); ++i) sum = mix_word(sum, words.key_word(i));
    for (int32_t i = 0; i < words.value_words(); ++i) sum = mix_word(sum, words.value_word(i));
    if (!c.scaled()) continue;
    sum = mix_word(sum, static_cast<uint32_t>(c.multipliers(g)[place]));
    sum = mix_word(sum, static_cast<uint32_t>(c.weights(g)[place]));
  }
  return end_of_token(sum);
}

} // namespace

uint32_t sum_of_tokens(const opened& c, int32_t from, int32_t to) {
  uint32_t sum = 0;
  for (int32_t token = from; token < to; ++token) sum += sum_of_token(c, token);
  return sum;
}

uint32_t sum_of_mean(const opened& c) {
  if (!c.smoothed()) return 0;
  uint32_t sum = ~uint32_t{0}; // no token has this position
  for (int32_t g = 0; g < c.shape().kv_heads; ++g)
    for (int32_t i = 0; i < c.shape().dim; ++i) sum = mix_word(sum, bits_of(c.mean(g)[i]));
  return end_of_token(sum);
}

uint32_t sum_of_all(const opened& c) {
  const int32_t ring = c.now.length < c.at().ring ? c.now.length : c.at().ring;
  return sum_of_mean(c) + sum_of_tokens(c, c.at().first, ring) + sum_of_tokens(c, c.now.oldest, c.now.length);
}

void copy_token(const opened& to, const opened& from, int32_t token) {
  const int32_t there = to.at().place(token), here = from.at().place(token);
  for (int32_t g = 0; g < from.shape().kv_heads; ++g) {
    const token_words target(to, g, there), source(from, g, here);
    for (int32_t i = 0; i < source.key_words(); ++i) target.set_key_word(i, source.key_word(i));
    for (int32_t i = 0; i < source.value_words(); ++i) target.set_value_word(i, source.value_word(i));
    if (!from.scaled()) continue;
    to.multipliers(g)[there] = from.multipliers(g)[here];
    to.weights(g)[there] = from.weights(g)[here];
  }
}

} // namespace fovea::cache
