// From an image to the fields of a call: what float calls and integer calls share. Both have fields of the
// same names.
#pragma once
#include "cache/image.hpp"

namespace fovea::cache {

// Where the tokens of an image stand, behind those of its parents.
struct pieces {
  opened c;
  int32_t parents, own; // of these segments
  bool whole;           // one piece, and nothing else: a call needs no segments
};
// Writes nothing.
int32_t find_pieces(const void* image, const fovea_segments* segments, int32_t keys_of_parent, pieces& p);
void write_pieces(const pieces& p, fovea_segments& map);

template <class Call>
int32_t check_call(const opened& c, const Call& a) {
  const fovea_cache_shape& s = c.shape();
  if (a.kv_heads && a.kv_heads != s.kv_heads) return refusal(FOVEA_SIZE, FOVEA_ARG_HEADS);
  if (a.dim && a.dim != s.dim) return refusal(FOVEA_SIZE, FOVEA_ARG_DIM);
  if (a.v_dim && a.v_dim != s.v_dim) return refusal(FOVEA_SIZE, FOVEA_ARG_V_DIM);
  return FOVEA_OK;
}

// What is the same in one piece and in several. Zero points stay: they are the caller's.
template <class Call>
void fill(const opened& c, Call& a) {
  const layout& at = c.at();
  const int32_t zero_k = a.k.zero_point, zero_v = a.v.zero_point;
  a.k = {};
  a.v = {};
  a.k.zero_point = zero_k;
  a.v.zero_point = zero_v;
  a.k.data = c.keys(0);
  a.v.data = c.values(0);
  a.k.head_stride = static_cast<ptrdiff_t>(size_of(at.places) * size_of(at.depth));
  a.v.head_stride = static_cast<ptrdiff_t>(size_of(at.places) * size_of(at.width));
  a.k.layout = FOVEA_PANELS;
  a.kv_heads = c.shape().kv_heads;
  a.dim = c.shape().dim;
  a.v_dim = c.shape().v_dim;
  a.keys = c.now.length;
  a.first_key = 0;
}

template <class Call>
void fill(const pieces& p, fovea_segments* segments, Call& a) {
  fill(p.c, a);
  a.first_key = p.c.shape().first_token;
  a.keys -= a.first_key;
  a.segments = p.whole ? nullptr : segments;
  if (segments) write_pieces(p, *segments);
}

} // namespace fovea::cache
