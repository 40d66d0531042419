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

// A row of K or V at its place of a panel: in words, behind every fourth one a gap. Keys are filled up to 16.
__attribute__((noinline)) uint32_t put_row(bool values, unsigned char* to, const int8_t* row, int32_t count,
                                           uint32_t sum) {
  int32_t size = values ? count : up_to(count, 16);
  using key_step = word_step<false>;
  using value_step = word_step<true>;
  const int32_t of_word = values ? value_step::of_word : key_step::of_word;
  const int32_t gap = (values ? value_step::of_four : key_step::of_four) - 4 * of_word;
  for (; size > 0; size -= 16, to += gap, row += 16, count -= 16) {
    uint32_t piece[4];
    const bool in_place = count >= 16 && reinterpret_cast<uintptr_t>(row) % 4 == 0;
    const unsigned char* from = in_place ? reinterpret_cast<const unsigned char*>(row)
                                         : copied(row, count, piece);
    const unsigned char* const end = from + (size < 16 ? size : 16);
    do {
      const uint32_t word = token_words::load(from);
      values ? value_step::put(to, word) : key_step::put(to, word);
      sum = mix_word(sum, word);
      to += of_word;
      from += 4;
    } while (from < end);
  }
  return sum;
}

} // namespace

uint32_t write_int8(const appending& a) {
  const opened& c = a.c;
  const layout& at = c.at();
  uint32_t sum = 0;
  for (int32_t i = 0; i < a.tokens; ++i) {
    const int32_t token = c.now.length + i, place = at.place(token);
    uint32_t of_token = static_cast<uint32_t>(token);
    unsigned char* keys = c.keys(0) + key_begin(place, at.depth);
    unsigned char* values = c.values(0) + value_begin(place, at.width);
    for (int32_t g = 0; g < c.shape().kv_heads; ++g) {
      of_token = put_row(false, keys, a.k.row<int8_t>(g, i), c.shape().dim, of_token);
      of_token = put_row(true, values, a.v.row<int8_t>(g, i), c.shape().v_dim, of_token);
      keys += at.k_head();
      values += at.v_head();
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
