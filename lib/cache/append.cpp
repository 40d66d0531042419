// Appending: validation, room in a ring, commits. The data of int8 rows; floats are in append_floats.cpp.
#include "common/build.hpp"

#include "cache/append.hpp"

#include "fixed/kernel.hpp"

namespace fovea::cache {
namespace {

int32_t check_rows(const opened& c, const fovea_in* in, int32_t tokens, int32_t dim, int32_t dtype,
                   rows& out) {
  if (!in) return FOVEA_NULL;
  if (in->dtype != dtype || in->layout != FOVEA_ROWS || in->scales || in->zero_point || in->reserved ||
      in->scale_head_stride || in->scale_token_stride)
    return FOVEA_UNSUPPORTED;
  byte_range bytes, image;
  extent e{c.shape().kv_heads, tokens, 0, 0, dim};
  const size_t element = dtype == FOVEA_F32 ? 4 : 1;
  if (const int32_t reason = place<false>(in->data, in->head_stride, in->token_stride, element, false, e,
                                          bytes))
    return reason;
  if (!range_of_image(c, image) || meet(bytes, image)) return FOVEA_OVERLAP;
  out = {static_cast<const unsigned char*>(in->data), e.head_stride, e.token_stride};
  return FOVEA_OK;
}

// Tokens that a call with this window may still see are never overwritten.
int32_t check_room(appending& a) {
  const opened& c = a.c;
  a.oldest = c.now.oldest;
  if (a.tokens < 0) return refusal(FOVEA_SIZE, FOVEA_ARG_KEYS);
  if (a.tokens > greatest_tokens - c.now.length) return refusal(FOVEA_TOO_SMALL, FOVEA_ARG_KEYS);
  const int32_t after = c.now.length + a.tokens;
  if (c.shape().window == 0)
    return after - c.at.first <= c.shape().capacity ? int32_t{FOVEA_OK}
                                                    : refusal(FOVEA_TOO_SMALL, FOVEA_ARG_KEYS);
  const int32_t oldest = up_to(after - c.at.modulus, c.at.step);
  if (oldest <= a.oldest) return FOVEA_OK;
  a.oldest = oldest;
  return oldest <= c.now.length - c.shape().window ? int32_t{FOVEA_OK}
                                                   : refusal(FOVEA_TOO_SMALL, FOVEA_ARG_KEYS);
}

} // namespace

FOVEA_ONCE int32_t check_append(void* image, const fovea_in* k, const fovea_in* v, int32_t tokens,
                                int32_t dtype, appending& a) {
  if (const int32_t status = open(image, a.c)) return status;
  a.tokens = tokens;
  if (const int32_t status = check_room(a)) return status;
  const fovea_cache_shape& s = a.c.shape();
  if (const int32_t reason = check_rows(a.c, k, tokens, s.dim, dtype, a.k))
    return refusal(reason, FOVEA_ARG_K);
  if (const int32_t reason = check_rows(a.c, v, tokens, s.v_dim, dtype, a.v))
    return refusal(reason, FOVEA_ARG_V);
  return FOVEA_OK;
}

FOVEA_ONCE void drop(appending& a) {
  slot next = a.c.now;
  if (a.oldest == next.oldest) return;
  next.sum -= sum_of_tokens(a.c, next.oldest, a.oldest);
  next.oldest = a.oldest;
  commit(a.c, next);
}

FOVEA_ONCE void keep(appending& a) {
  if (a.tokens == 0) return;
  slot next = a.c.now;
  next.length += a.tokens;
  next.sum += sum_of_tokens(a.c, a.c.now.length, next.length);
  commit(a.c, next);
}

} // namespace fovea::cache

int32_t fovea_cache_append_s8(void* image, const fovea_in* k, const fovea_in* v, int32_t tokens) {
  using namespace fovea::cache;
  appending a;
  if (const int32_t status = check_append(image, k, v, tokens, FOVEA_I8, a)) return status;
  const opened& c = a.c;
  if (!c.holds_int8() || c.at.scales) return fovea::refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_K);
  write_tokens(a, [&](int32_t g, int32_t at, int32_t i, int32_t count) {
    const size_t head = static_cast<size_t>(g);
    fovea::fixed::pack_fixed_keys(reinterpret_cast<int8_t*>(c.bytes() + c.at.k + head * c.at.k_head), at,
                                  a.k.row<int8_t>(g, i), a.k.token, count, c.shape().dim);
    fovea::fixed::pack_fixed_values(reinterpret_cast<int8_t*>(c.bytes() + c.at.v + head * c.at.v_head), at,
                                    a.v.row<int8_t>(g, i), a.v.token, count, c.shape().v_dim);
  });
  return FOVEA_OK;
}
