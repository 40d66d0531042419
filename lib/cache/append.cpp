// What appends share: validation, room in a ring, commits.
#include "common/build.hpp"

#include "cache/append.hpp"

#include "common/bits.hpp"

namespace fovea::cache {

FOVEA_ONCE int32_t check_rows(const opened& c, const fovea_in* in, int32_t tokens, int32_t dim, int32_t dtype,
                              rows& out) {
  if (!in) return FOVEA_NULL;
  const ptrdiff_t others = (in->dtype ^ dtype) | in->layout | in->zero_point | in->scale_head_stride |
                           in->scale_token_stride | static_cast<int32_t>(bits_of(in->scale_unit)) |
                           reinterpret_cast<ptrdiff_t>(in->scales);
  if (others) return FOVEA_UNSUPPORTED;
  byte_range bytes, image;
  extent e{c.shape().kv_heads, tokens, 0, 0, dim};
  // Rows of another dtype than the image's are floats, or refused by the caller.
  const size_t element = size_of(dtype == FOVEA_F32 ? 4 : c.at().element);
  if (const int32_t reason = place<false>(in->data, in->head_stride, in->token_stride, element, false, e,
                                          bytes))
    return reason;
  if (!range_of_image(c, image) || meet(bytes, image)) return FOVEA_OVERLAP;
  out = {static_cast<const unsigned char*>(in->data), e.head_stride, e.token_stride};
  return FOVEA_OK;
}

namespace {

// Tokens that a call with this window may still see are never overwritten.
FOVEA_ONCE int32_t check_ring_room(appending& a, int32_t after) {
  const opened& c = a.c;
  const int32_t oldest = up_to(after - c.at().modulus, c.at().step);
  if (oldest <= a.oldest) return FOVEA_OK;
  a.oldest = oldest;
  return oldest <= c.now.length - c.shape().window ? int32_t{FOVEA_OK}
                                                   : refusal(FOVEA_TOO_SMALL, FOVEA_ARG_KEYS);
}

} // namespace

FOVEA_ONCE int32_t check_input(const fovea_in* k, const fovea_in* v, int32_t tokens, int32_t dtype,
                               appending& a) {
  const fovea_cache_shape& s = a.c.shape();
  a.tokens = tokens;
  a.oldest = a.c.now.oldest;
  if (tokens < 0) return refusal(FOVEA_SIZE, FOVEA_ARG_KEYS);
  const int32_t room = s.window ? greatest_tokens : a.c.at().first + s.capacity;
  if (tokens > room - a.c.now.length) return refusal(FOVEA_TOO_SMALL, FOVEA_ARG_KEYS);
  if (const int32_t reason = check_rows(a.c, k, tokens, s.dim, dtype, a.k))
    return refusal(reason, FOVEA_ARG_K);
  if (const int32_t reason = check_rows(a.c, v, tokens, s.v_dim, dtype, a.v))
    return refusal(reason, FOVEA_ARG_V);
  return FOVEA_OK;
}

FOVEA_ONCE int32_t check_append(void* image, const fovea_in* k, const fovea_in* v, int32_t tokens,
                                int32_t dtype, appending& a) {
  if (const int32_t status = open(image, a.c)) return status;
  if (const int32_t status = check_input(k, v, tokens, dtype, a)) return status;
  return a.c.shape().window ? check_ring_room(a, a.c.now.length + tokens) : int32_t{FOVEA_OK};
}

FOVEA_ONCE void drop(appending& a) {
  slot& next = a.c.now;
  if (a.oldest == next.oldest) return;
  next.sum -= sum_of_tokens(a.c, next.oldest, a.oldest);
  next.oldest = a.oldest;
  commit(a.c);
}

FOVEA_ONCE void keep(appending& a, uint32_t sum) {
  if (a.tokens == 0) return;
  a.c.now.length += a.tokens;
  a.c.now.sum += sum;
  commit(a.c);
}

} // namespace fovea::cache
