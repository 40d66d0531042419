// The life of an image: begin, branch, truncate, reset, verify, restore.
#include "common/build.hpp"

#include "cache/token.hpp"

namespace fovea::cache {
namespace {

size_t size_in(const header& h) { return static_cast<size_t>(uint64_t{h.bytes_high} << 32 | h.bytes_low); }

int32_t check_memory(const void* image, size_t size, size_t needed, byte_range& bytes) {
  if (!image) return refusal(FOVEA_NULL, FOVEA_ARG_IMAGE);
  if (reinterpret_cast<uintptr_t>(image) % 4) return refusal(FOVEA_ALIGN, FOVEA_ARG_IMAGE);
  if (size < needed) return refusal(FOVEA_TOO_SMALL, FOVEA_ARG_IMAGE);
  return range_of(image, needed, bytes) ? int32_t{FOVEA_OK} : refusal(FOVEA_OVERFLOW, FOVEA_ARG_IMAGE);
}

// The first state of an image whose header is c's.
void begin(opened& c, const header& h) {
  close_slots(*c.head);
  write_header(c, h);
  c.now = {};
  c.now.length = h.base;
  c.now.oldest = c.at().ring;
}

size_t bytes_of_mean(const opened& c) {
  return size_of(c.shape().kv_heads) * size_of(c.shape().dim) * sizeof(float);
}

// Is the header what its shape makes of it?
bool follows_from_shape(const header& h) {
  header again = h;
  if (h.base < 0 || h.base > greatest_tokens || check_shape(h.shape, again) || check_ring(again))
    return false;
  uint32_t differ = 0;
  for (size_t i = 0; i < sizeof h; i += 4)
    differ |= token_words::load(reinterpret_cast<const unsigned char*>(&h) + i) ^
              token_words::load(reinterpret_cast<const unsigned char*>(&again) + i);
  return differ == 0;
}

// What a state says, must be possible in its image.
bool possible(const opened& c) {
  const int32_t length = c.now.length, oldest = c.now.oldest, window = c.shape().window;
  if (length < c.head->fixed.base || length > greatest_tokens) return false;
  if (oldest < c.at().ring || oldest % c.at().step != 0) return false;
  if (window == 0) return oldest == c.at().ring && length - c.at().first <= c.shape().capacity;
  return (oldest == c.at().ring || oldest <= length - window) && length - oldest <= c.at().modulus;
}

int32_t verify(const void* image, size_t size, opened& c) {
  byte_range bytes;
  if (const int32_t status = check_memory(image, size, FOVEA_CACHE_HEADER, bytes)) return status;
  if (const int32_t status = open(image, c, true)) return status;
  const header& h = c.head->fixed;
  if (!follows_from_shape(h) || !possible(c)) return refusal(FOVEA_DAMAGED, FOVEA_ARG_IMAGE);
  if (c.holds_int8() ? h.panel_order != 1 && h.panel_order != 2 : h.panel_order != 0)
    return refusal(FOVEA_FOREIGN, FOVEA_ARG_IMAGE);
  if (size < c.size()) return refusal(FOVEA_TOO_SMALL, FOVEA_ARG_IMAGE);
  return sum_of_all(c) == c.now.sum ? int32_t{FOVEA_OK} : refusal(FOVEA_DAMAGED, FOVEA_ARG_IMAGE);
}

// A branch has the parent's heads, dims and numbers; what the shape leaves at zero is taken from there.
int32_t inherit(const fovea_cache_shape& parent, fovea_cache_shape& s) {
  const auto differs = [](int32_t& mine, int32_t of_parent) {
    if (!mine) mine = of_parent;
    return mine != of_parent;
  };
  if (differs(s.kv_heads, parent.kv_heads)) return refusal(FOVEA_SIZE, FOVEA_ARG_HEADS);
  if (differs(s.dim, parent.dim)) return refusal(FOVEA_SIZE, FOVEA_ARG_DIM);
  if (differs(s.v_dim, parent.v_dim)) return refusal(FOVEA_SIZE, FOVEA_ARG_V_DIM);
  if (differs(s.first_token, parent.first_token)) return refusal(FOVEA_RANGE, FOVEA_ARG_FIRST_KEY);
  if (differs(s.smooth_keys, parent.smooth_keys)) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_MEAN);
  if (differs(s.dtype, parent.dtype)) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_DTYPE);
  const auto other = [](float mine, float of_parent) {
    return mine < 0 || mine > 0 ? mine < of_parent || mine > of_parent : mine != mine;
  };
  if (other(s.k_largest, parent.k_largest) || other(s.v_largest, parent.v_largest) ||
      differs(s.score_multiplier, parent.score_multiplier))
    return refusal(FOVEA_RANGE, FOVEA_ARG_SCALE);
  s.k_largest = parent.k_largest;
  s.v_largest = parent.v_largest;
  return FOVEA_OK;
}

} // namespace
} // namespace fovea::cache

int32_t fovea_cache_init(void* image, size_t size, const fovea_cache_shape* shape) {
  using namespace fovea;
  using namespace fovea::cache;
  if (!shape) return refusal(FOVEA_NULL, FOVEA_ARG_CALL);
  header h = {};
  h.base = shape->first_token;
  opened c;
  byte_range bytes;
  if (const int32_t status = check_shape(*shape, h)) return status;
  if (const int32_t status = check_ring(h)) return status;
  if (const int32_t status = check_memory(image, size, size_in(h), bytes)) return status;
  c.head = static_cast<image_head*>(image);
  begin(c, h);
  if (c.smoothed()) __builtin_memset(c.mean(0), 0, bytes_of_mean(c));
  c.now.sum = sum_of_mean(c);
  commit(c);
  return FOVEA_OK;
}

int32_t fovea_cache_branch(void* image, size_t size, const fovea_cache_shape* shape, const void* parent,
                           int32_t tokens) {
  using namespace fovea;
  using namespace fovea::cache;
  if (!shape) return refusal(FOVEA_NULL, FOVEA_ARG_CALL);
  opened from, c;
  if (const int32_t status = open(parent, from)) return refusal(FOVEA_REASON(status), FOVEA_ARG_PARENT);
  if (from.shape().window != 0) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_PARENT); // a ring forgets
  if (tokens < from.head->fixed.base || tokens > from.now.length) return refusal(FOVEA_RANGE, FOVEA_ARG_KEYS);
  header h = {};
  h.base = tokens;
  fovea_cache_shape wanted = *shape;
  byte_range bytes, others;
  if (const int32_t status = inherit(from.shape(), wanted)) return status;
  if (const int32_t status = check_shape(wanted, h)) return status;
  if (const int32_t status = check_ring(h)) return status;
  if (tokens - h.at.first > h.shape.capacity) return refusal(FOVEA_TOO_SMALL, FOVEA_ARG_KEYS);
  if (const int32_t status = check_memory(image, size, size_in(h), bytes)) return status;
  if (!range_of_image(from, others) || meet(bytes, others)) return refusal(FOVEA_OVERLAP, FOVEA_ARG_PARENT);
  h.base_sum = from.now.sum - sum_of_tokens(from, tokens, from.now.length);
  c.head = static_cast<image_head*>(image);
  begin(c, h);
  if (c.smoothed()) __builtin_memcpy(c.mean(0), from.mean(0), bytes_of_mean(c));
  for (int32_t token = c.at().first; token < tokens; ++token) copy_token(c, from, token);
  c.now.sum = sum_of_all(c);
  commit(c);
  return FOVEA_OK;
}

int32_t fovea_cache_truncate(void* image, int32_t length) {
  using namespace fovea;
  using namespace fovea::cache;
  opened c;
  if (const int32_t status = open(image, c)) return status;
  if (length < c.head->fixed.base || length > c.now.length) return refusal(FOVEA_RANGE, FOVEA_ARG_KEYS);
  // The last token that stays has its window, too.
  if (c.now.oldest > c.at().ring && length - 1 - c.shape().window < c.now.oldest)
    return refusal(FOVEA_RANGE, FOVEA_ARG_RING);
  if (length == c.now.length) return FOVEA_OK;
  c.now.sum -= sum_of_tokens(c, length, c.now.length);
  c.now.length = length;
  commit(c);
  return FOVEA_OK;
}

int32_t fovea_cache_reset(void* image) {
  using namespace fovea::cache;
  opened c;
  if (const int32_t status = open(image, c)) return status;
  c.now.length = c.head->fixed.base;
  c.now.oldest = c.at().ring;
  c.now.sum = sum_of_mean(c) + sum_of_tokens(c, c.at().first, c.now.length);
  commit(c);
  return FOVEA_OK;
}

int32_t fovea_cache_verify(const void* image, size_t size) {
  fovea::cache::opened c;
  return fovea::cache::verify(image, size, c);
}

int32_t fovea_cache_restore(void* image, size_t size, const void* from, size_t from_size) {
  using namespace fovea;
  using namespace fovea::cache;
  opened source;
  byte_range bytes, others;
  if (const int32_t status = verify(from, from_size, source)) return status;
  if (const int32_t status = check_memory(image, size, source.size(), bytes)) return status;
  if (!range_of_image(source, others) || meet(bytes, others)) return refusal(FOVEA_OVERLAP, FOVEA_ARG_IMAGE);
  opened c = source;
  c.head = static_cast<image_head*>(image);
  begin(c, source.head->fixed);
  __builtin_memcpy(c.bytes() + FOVEA_CACHE_HEADER, source.bytes() + FOVEA_CACHE_HEADER,
                   source.size() - FOVEA_CACHE_HEADER);
  if (c.head->fixed.panel_order != source.head->fixed.panel_order) {
    const int32_t ring = source.now.length < c.at().ring ? source.now.length : c.at().ring;
    for (int32_t token = c.at().first; token < ring; ++token) copy_token(c, source, token);
    for (int32_t token = source.now.oldest; token < source.now.length; ++token) copy_token(c, source, token);
  }
  c.now = source.now;
  --c.now.generation; // which commit raises again
  commit(c);
  return FOVEA_OK;
}
