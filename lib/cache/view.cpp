// Views: a call reads the image in place.
#include "common/build.hpp"

#include "cache/view.hpp"

#include "cache/quantize.hpp"
#include "cache/token.hpp"
#include "common/bits.hpp"

namespace fovea::cache {
namespace {

void add_piece(const opened& c, int32_t token, int32_t count, fovea_segments& map) {
  fovea_segment& to = map.at[map.count++];
  const layout& at = c.at();
  const size_t place = size_of(at.place(token));
  to = {};
  to.k = c.keys(0) + place * size_of(at.depth) * size_of(at.element);
  to.v = c.values(0) + place * size_of(at.width) * size_of(at.element);
  to.k_head_stride = static_cast<ptrdiff_t>(size_of(at.places) * size_of(at.depth));
  to.v_head_stride = static_cast<ptrdiff_t>(size_of(at.places) * size_of(at.width));
  if (c.scaled()) {
    to.key_multipliers = c.multipliers(0) + place;
    to.value_weights = c.weights(0) + place;
    to.table_head_stride = at.places;
  }
  to.first_key = token;
  to.keys = count;
}

// The next piece from `token` on: what is kept, then the ring from its oldest token on.
int32_t next_piece(const opened& c, int32_t& token) {
  const bool dropped = c.now.oldest > c.at().ring;
  if (dropped && token == c.at().ring) token = c.now.oldest;
  const int32_t end = dropped && token < c.at().ring ? c.at().ring : c.now.length;
  return c.at().side_by_side(token, end - token);
}

int32_t count_pieces(const opened& c) {
  int32_t count = 0;
  for (int32_t token = c.at().first; token < c.now.length; ++count) {
    const int32_t tokens = next_piece(c, token);
    token += tokens;
  }
  return count;
}

} // namespace

FOVEA_ONCE int32_t find_pieces(const void* image, const fovea_segments* segments, int32_t keys_of_parent,
                               pieces& p) {
  if (const int32_t status = open(image, p.c)) return status;
  const header& h = p.c.head->fixed;
  p.own = count_pieces(p.c);
  p.parents = 0;
  p.whole = p.c.is_root() && p.own <= 1 && p.c.now.oldest == p.c.at().ring;
  if (!segments) return p.whole ? int32_t{FOVEA_OK} : refusal(FOVEA_NULL, FOVEA_ARG_SEGMENTS);
  byte_range of_image, of_segments;
  if (!range_of_image(p.c, of_image) || !range_of(segments, sizeof *segments, of_segments) ||
      meet(of_segments, of_image))
    return refusal(FOVEA_OVERLAP, FOVEA_ARG_SEGMENTS);
  if (p.c.is_root()) return FOVEA_OK;
  const int32_t given = segments->count, before = h.base - p.c.shape().first_token;
  if (given < 1 || given > FOVEA_SEGMENTS_MAX || keys_of_parent < before ||
      (keys_of_parent == before && segments->sum != h.base_sum))
    return refusal(FOVEA_FOREIGN, FOVEA_ARG_PARENT);
  while (p.parents < given && segments->at[p.parents].first_key < p.c.at().first) ++p.parents;
  return p.parents + p.own <= FOVEA_SEGMENTS_MAX ? int32_t{FOVEA_OK}
                                                 : refusal(FOVEA_TOO_SMALL, FOVEA_ARG_SEGMENTS);
}

FOVEA_ONCE void write_pieces(const pieces& p, fovea_segments& map) {
  map.count = p.parents;
  map.sum = p.c.now.sum;
  if (p.parents > 0) { // the last one may hold tokens that this image holds, too
    fovea_segment& last = map.at[p.parents - 1];
    const int32_t before = p.c.at().first - last.first_key;
    last.keys = last.keys < before ? last.keys : before;
  }
  for (int32_t token = p.c.at().first; token < p.c.now.length;) {
    const int32_t count = next_piece(p.c, token);
    add_piece(p.c, token, count, map);
    token += count;
  }
}

static int32_t check_smoothed(const fovea_attention& a) {
  if (!is_zero(a.softcap)) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_SOFTCAP);
  if (a.sinks) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_SINKS);
  if (a.lse) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_LSE);
  return a.weights.data && a.weights.stage ? refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_WEIGHTS) : 0;
}

// Segments bring their tables themselves.
static void fill_scales(const pieces& p, fovea_attention& a) {
  const opened& c = p.c;
  a.k.scale_unit = unit_of(c.shape().k_largest, c.shape().score_multiplier);
  a.v.scale_unit = unit_of(c.shape().v_largest, greatest_weight);
  if (a.segments) return;
  a.k.scales = c.multipliers(0);
  a.v.scales = c.weights(0);
  a.k.scale_head_stride = a.v.scale_head_stride = c.at().places;
}

} // namespace fovea::cache

int32_t fovea_cache_view(const void* image, fovea_segments* segments, fovea_attention* a) {
  using namespace fovea;
  using namespace fovea::cache;
  if (!a) return refusal(FOVEA_NULL, FOVEA_ARG_CALL);
  pieces p;
  if (const int32_t status = find_pieces(image, segments, a->keys, p)) return status;
  if (const int32_t status = check_call(p.c, *a)) return status;
  if (p.c.smoothed())
    if (const int32_t status = check_smoothed(*a)) return status;
  fill(p, segments, *a);
  a->k.dtype = a->v.dtype = p.c.shape().dtype;
  if (p.c.holds_int8()) a->v.layout = FOVEA_PANELS;
  if (p.c.scaled()) fill_scales(p, *a);
  return FOVEA_OK;
}
