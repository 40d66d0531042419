// Appending rows of int8 under one scale. Each word of a token goes into its panel and into the checksum at
// once.
#include "common/build.hpp"

#include "cache/append.hpp"
#include "cache/token.hpp"
#include "cache/view.hpp"

namespace fovea::cache {
namespace {

// A row of K or V at a place of its panels. Numbers by fours, with zeros behind the end; the last four of
// them still fit the panel.
__attribute__((noinline)) uint32_t put_row(bool of_keys, unsigned char* panels, int32_t place, int32_t dims,
                                           const int8_t* row, int32_t count, uint32_t sum) {
  const int32_t end = of_keys ? dims : up_to(count, 4);
  uint32_t word = 0;
  for (int32_t c = 0; c < end; ++c) {
    const uint8_t x = c < count ? static_cast<uint8_t>(row[c]) : uint8_t{0};
    panels[of_keys ? fixed::key_at(place, c, dims) : fixed::value_at(place, c, dims)] = x;
    word = word >> 8 | uint32_t{x} << 24;
    if (c % 4 == 3) sum = mix_word(sum, word);
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
    unsigned char *keys = c.keys(0), *values = c.values(0);
    for (int32_t g = 0; g < c.shape().kv_heads; ++g) {
      of_token = put_row(true, keys, place, at.depth, a.k.row<int8_t>(g, i), c.shape().dim, of_token);
      of_token = put_row(false, values, place, at.width, a.v.row<int8_t>(g, i), c.shape().v_dim, of_token);
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
