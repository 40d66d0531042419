// Appending rows of int8 under one scale.
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

// So many sixteens of a row go to their places in a panel. Returns where the next one goes to.
template <bool Values>
unsigned char* put_sixteens(unsigned char* to, const unsigned char* from, int32_t count) {
  using step = word_step<Values>;
  do {
#pragma GCC unroll 4
    for (int32_t i = 0; i < 4; ++i, from += 4) step::put(to + i * step::of_word, token_words::load(from));
    to += step::of_four;
    __asm__("" : "+r"(to)); // else compilers compute its last value anew
  } while (--count != 0);
  return to;
}

// A row of K or V. Sixteens at whole words are read where they are. Others are copied, with zeros behind the
// last number, of which the checksum takes those up to a multiple of `step`.
__attribute__((noinline)) uint32_t put_row(decltype(put_sixteens<false>)* put, int32_t step,
                                           unsigned char* to, const int8_t* row, int32_t count,
                                           uint32_t sum) {
  do {
    uint32_t words[4];
    const unsigned char* from = reinterpret_cast<const unsigned char*>(row);
    int32_t sixteens = count >> 4, bytes = sixteens * 16;
    if (bytes == 0 || reinterpret_cast<uintptr_t>(row) % 4) {
      from = copied(row, count, words);
      bytes = up_to(count < 16 ? count : 16, step);
      sixteens = 1;
    }
    sum = mix(sum, from, size_of(bytes));
    to = put(to, from, sixteens);
    row += bytes;
    count -= bytes;
  } while (count > 0);
  return sum;
}

} // namespace

uint32_t write_int8(const appending& a, int32_t i, int32_t place) {
  const opened& c = a.c;
  const layout& at = c.at();
  const size_t k_head = size_of(at.places) * size_of(at.depth),
               v_head = size_of(at.places) * size_of(at.width);
  uint32_t sum = static_cast<uint32_t>(c.now.length + i);
  unsigned char* keys = c.keys(0);
  unsigned char* values = keys + size_of(c.shape().kv_heads) * k_head + value_begin(place, at.width);
  keys += key_begin(place, at.depth);
  const int8_t *k = a.k.row<int8_t>(0, i), *v = a.v.row<int8_t>(0, i);
  int32_t left = c.shape().kv_heads;
  do {
    sum = put_row(put_sixteens<false>, 16, keys, k, c.shape().dim, sum);
    sum = put_row(put_sixteens<true>, 4, values, v, c.shape().v_dim, sum);
    keys += k_head;
    values += v_head;
    k += a.k.head;
    v += a.v.head;
  } while (--left > 0);
  return end_of_token(sum);
}

} // namespace fovea::cache

int32_t fovea_cache_append_plain(void* image, const fovea_in* k, const fovea_in* v, int32_t tokens) {
  using namespace fovea;
  using namespace fovea::cache;
  appending a;
  if (const int32_t status = open_plain(image, a.c)) return status;
  if (const int32_t status = check_input(k, v, tokens, FOVEA_I8, a)) return status;
  if (tokens == 0) return FOVEA_OK;
  uint32_t sum = 0;
  int32_t i = 0;
  do {
    sum += write_int8(a, i, a.c.now.length + i);
  } while (++i < tokens);
  keep(a, sum);
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
