// Appending rows of int8 under one scale. Each word of a token goes into its panel and into the checksum at
// once.
#include "common/build.hpp"

#include "cache/append.hpp"
#include "cache/token.hpp"
#include "cache/view.hpp"

namespace fovea::cache {
namespace {

// Sixteen numbers as four words, with zeros behind the end of a row.
FOVEA_ONCE const unsigned char* copied(const int8_t* row, int32_t count, uint32_t (&words)[4]) {
  unsigned char* const to = reinterpret_cast<unsigned char*>(words);
  for (int32_t c = 0; c < 16; ++c) to[c] = c < count ? static_cast<unsigned char>(row[c]) : 0;
  return to;
}

// Whole words of a row go to their places in a panel, and into the checksum.
template <bool Values>
__attribute__((noinline)) uint32_t put_words(unsigned char* to, const unsigned char* from, int32_t bytes,
                                             uint32_t sum) {
  using step = word_step<Values>;
  const unsigned char* const end = from + bytes;
  do {
    const unsigned char* last = from + 16; // behind which a gap is
    if (!step::has_gaps || last > end) last = end;
    unsigned char* at = to;
    do {
      const uint32_t word = token_words::load(from);
      step::put(at, word);
      sum = mix_word(sum, word);
      at += step::of_word;
      from += 4;
    } while (from != last);
    to += step::of_four;
  } while (from != end);
  return sum;
}

// A row of K or V. Sixteens at whole words are read where they are. Others are copied: keys are filled up to
// sixteen, values to a word.
__attribute__((noinline)) uint32_t put_row(bool values, unsigned char* to, const int8_t* row, int32_t count,
                                           uint32_t sum) {
  const int32_t step = values ? word_step<true>::of_four / 16 : word_step<false>::of_four / 16;
  while (count > 0) {
    uint32_t words[4];
    const unsigned char* from = reinterpret_cast<const unsigned char*>(row);
    int32_t bytes = reinterpret_cast<uintptr_t>(row) % 4 == 0 ? down_to(count, 16) : 0;
    if (bytes == 0) {
      from = copied(row, count, words);
      bytes = values && count < 16 ? up_to(count, 4) : 16;
    }
    sum = values ? put_words<true>(to, from, bytes, sum) : put_words<false>(to, from, bytes, sum);
    to += bytes * step; // or this was the last piece
    row += bytes;
    count -= bytes;
  }
  return sum;
}

} // namespace

uint32_t write_int8(const appending& a) {
  const opened& c = a.c;
  const layout& at = c.at();
  const size_t k_head = size_of(at.places) * size_of(at.depth),
               v_head = size_of(at.places) * size_of(at.width);
  uint32_t sum = 0;
  for (int32_t i = 0; i < a.tokens; ++i) {
    const int32_t token = c.now.length + i, place = at.place(token);
    uint32_t of_token = static_cast<uint32_t>(token);
    unsigned char* keys = c.keys(0);
    unsigned char* values = keys + size_of(c.shape().kv_heads) * k_head + value_begin(place, at.width);
    keys += key_begin(place, at.depth);
    for (int32_t g = 0; g < c.shape().kv_heads; ++g) {
      of_token = put_row(false, keys, a.k.row<int8_t>(g, i), c.shape().dim, of_token);
      of_token = put_row(true, values, a.v.row<int8_t>(g, i), c.shape().v_dim, of_token);
      keys += k_head;
      values += v_head;
    }
    sum += end_of_token(of_token);
  }
  return sum;
}

} // namespace fovea::cache

int32_t fovea_cache_append_plain(void* image, const fovea_in* k, const fovea_in* v, int32_t tokens) {
  using namespace fovea;
  using namespace fovea::cache;
  appending a;
  if (const int32_t status = open_plain(image, a.c)) return status;
  if (const int32_t status = check_input(k, v, tokens, FOVEA_I8, a)) return status;
  keep(a, write_int8(a));
  return FOVEA_OK;
}

int32_t fovea_cache_view_plain(const void* image, fovea_fixed_attention* a) {
  using namespace fovea;
  using namespace fovea::cache;
  if (!a) return refusal(FOVEA_NULL, FOVEA_ARG_CALL);
  opened c;
  if (const int32_t status = open_plain(image, c)) return status;
  if (const int32_t status = check_call(c, *a)) return status;
  fill(c, *a);
  a->v.layout = FOVEA_PANELS;
  a->segments = nullptr;
  return FOVEA_OK;
}
