// Views of int8 images for integer calls.
#include "common/build.hpp"

#include "cache/token.hpp"
#include "cache/view.hpp"

int32_t fovea_cache_view_fixed(const void* image, fovea_segments* segments, fovea_fixed_attention* a) {
  using namespace fovea;
  using namespace fovea::cache;
  if (!a) return refusal(FOVEA_NULL, FOVEA_ARG_CALL);
  pieces p;
  if (const int32_t status = find_pieces(image, segments, a->keys, p)) return status;
  const opened& c = p.c;
  if (!c.holds_int8()) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_K);
  if (const int32_t status = check_call(c, *a)) return status;
  if (c.shape().first_token) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_FIRST_KEY);
  if (c.smoothed() && a->sinks) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_SINKS);
  const int32_t multiplier = a->scale.score_multiplier, ours = c.shape().score_multiplier;
  if (c.scaled() && multiplier && multiplier != ours) return refusal(FOVEA_RANGE, FOVEA_ARG_SCALE);
  fill(p, segments, *a);
  a->v.layout = FOVEA_PANELS;
  if (!c.scaled()) return FOVEA_OK;
  a->scale.score_multiplier = ours;
  a->key_multipliers = {c.multipliers(0), c.at().places};
  a->value_weights = {c.weights(0), c.at().places};
  return FOVEA_OK;
}
