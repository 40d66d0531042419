// The mean key of smoothed keys.
#include "common/build.hpp"

#include "cache/append.hpp"
#include "common/bits.hpp"

int32_t fovea_cache_set_mean(void* image, const fovea_in* mean) {
  using namespace fovea;
  using namespace fovea::cache;
  opened c;
  if (const int32_t status = open(image, c)) return status;
  if (!c.smoothed()) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_IMAGE);
  if (!c.is_root()) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_PARENT);
  if (c.now.length != c.shape().first_token) return refusal(FOVEA_RANGE, FOVEA_ARG_KEYS);
  rows in;
  if (const int32_t reason = check_rows(c, mean, 1, c.shape().dim, FOVEA_F32, in))
    return refusal(reason, FOVEA_ARG_MEAN);
  for (int32_t g = 0; g < c.shape().kv_heads; ++g)
    for (int32_t n = 0; n < c.shape().dim; ++n)
      if (!is_finite(in.row<float>(g, 0)[n])) return refusal(FOVEA_NOT_FINITE, FOVEA_ARG_MEAN);
  close_slots(*c.head);
  for (int32_t g = 0; g < c.shape().kv_heads; ++g)
    __builtin_memcpy(c.mean(g), in.row<float>(g, 0), size_of(c.shape().dim) * sizeof(float));
  c.now.sum = sum_of_mean(c);
  commit(c);
  return FOVEA_OK;
}

const float* fovea_cache_mean(const void* image) {
  fovea::cache::opened c;
  return fovea::cache::open(image, c, true) || !c.smoothed() ? nullptr : c.mean(0);
}
