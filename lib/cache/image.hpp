// The image of a cache: header, two slots of state, data. docs/cache.md describes it byte by byte.
#pragma once
#include <cstddef>
#include <cstdint>

#include "common/validate.hpp"
#include "fovea/cache.h"

namespace fovea::cache {

constexpr uint32_t magic = 0x43564b46; // "FKVC" in memory
constexpr uint32_t format = 1;
constexpr int32_t greatest_tokens = 0x3fffffff; // as in integer calls

constexpr int32_t down_to(int32_t n, int32_t step) { return n & -step; }
constexpr size_t size_of(int32_t n) { return static_cast<size_t>(static_cast<uint32_t>(n)); } // of a count

// Bytes of a number; 0 of a dtype that no cache holds.
constexpr int32_t element_of(int32_t dtype) {
  if (dtype == FOVEA_I8) return 1;
  if (dtype == FOVEA_F32) return 4;
  return dtype == FOVEA_F16 || dtype == FOVEA_BF16 ? 2 : 0;
}

// What follows from a shape, as the header keeps it. A token has a place: those below `ring` stand in order,
// later ones wrap.
struct layout {
  int32_t step;          // tokens of a panel of K and V together
  int32_t first;         // the first token that this image holds
  int32_t ring, modulus; // first token of the ring, and its size; without a ring it is never reached
  int32_t places;
  int32_t depth, width; // of a token in panels of K, in rows or panels of V
  int32_t element;      // bytes

  constexpr int32_t place(int32_t token) const {
    return token < ring ? token - first : ring - first + rest(token - ring);
  }
  // How many of `count` tokens from `token` on stand side by side.
  constexpr int32_t side_by_side(int32_t token, int32_t count) const {
    const int32_t room = places - place(token);
    return count < room ? count : room;
  }

  // Bytes of a KV head.
  size_t k_head() const { return size_of(places) * size_of(depth) * size_of(element); }
  size_t v_head() const { return size_of(places) * size_of(width) * size_of(element); }

 private:
  constexpr int32_t rest(int32_t n) const { return n < modulus ? n : n - quotient(n, modulus) * modulus; }
};

// Written by init and branch, then constant.
struct header {
  uint32_t magic, format;
  int32_t panel_order; // of I8, else 0
  int32_t base;        // tokens before those of this image: first_token, or those that the parent holds
  uint32_t base_sum;   // the checksum of the parent's own tokens below base
  uint32_t bytes_low, bytes_high;
  fovea_cache_shape shape; // with its defaults resolved
  layout at;
  uint32_t check; // of all words before
};

// A commit writes the slot that is not current. The current one is the newest whose check fits.
struct slot {
  uint32_t generation;
  int32_t length; // tokens from position 0 on
  int32_t oldest; // first token in the ring; those before it were dropped
  uint32_t sum;   // of the tokens that this image holds
  uint32_t check; // of the words before and of the header's check
};

struct image_head {
  header fixed;
  struct {
    slot state;
    uint32_t unused[3];
  } slots[2];
};
static_assert(sizeof(header) == 128 && sizeof(slot) == 20 && sizeof(image_head) == FOVEA_CACHE_HEADER);

// An image that was opened: its header is right.
struct opened {
  image_head* head;
  slot now;

  const fovea_cache_shape& shape() const { return head->fixed.shape; }
  const layout& at() const { return head->fixed.at; }
  bool holds_int8() const { return shape().dtype == FOVEA_I8; }
  bool scaled() const { return shape().score_multiplier != 0; }
  bool smoothed() const { return shape().smooth_keys != 0; }
  // It has no parent: its first token is the first one of all its views.
  bool is_root() const { return head->fixed.base == shape().first_token; }

  unsigned char* bytes() const { return reinterpret_cast<unsigned char*>(head); }
  unsigned char* keys(int32_t kv_head) const {
    return bytes() + FOVEA_CACHE_HEADER + size_of(kv_head) * at().k_head();
  }
  unsigned char* values(int32_t kv_head) const {
    return keys(shape().kv_heads) + size_of(kv_head) * at().v_head();
  }
  // Scales, by place.
  int32_t* multipliers(int32_t kv_head) const {
    return reinterpret_cast<int32_t*>(values(shape().kv_heads)) + size_of(kv_head) * size_of(at().places);
  }
  int16_t* weights(int32_t kv_head) const {
    return reinterpret_cast<int16_t*>(multipliers(shape().kv_heads)) +
           size_of(kv_head) * size_of(at().places);
  }
  // The mean key of a KV head, of smoothed keys.
  float* mean(int32_t kv_head) const {
    unsigned char* const behind = scaled() ? reinterpret_cast<unsigned char*>(weights(shape().kv_heads))
                                           : values(shape().kv_heads);
    return reinterpret_cast<float*>(behind) + size_of(kv_head) * size_of(shape().dim);
  }
  size_t size() const {
    return static_cast<size_t>(uint64_t{head->fixed.bytes_high} << 32 | head->fixed.bytes_low);
  }
};

// A shape becomes the rest of a header, whose base is given.
int32_t check_shape(const fovea_cache_shape& wanted, header& h);
int32_t check_ring(const header& h);
// Refuses an image in the panel order of other machines, too: `any_order` is for those who convert it.
int32_t open(const void* image, opened& c, bool any_order = false);
// Only int8 under one scale, in one piece.
int32_t open_plain(const void* image, opened& c);
// The bytes of an image; false if they leave the address space.
inline bool range_of_image(const opened& c, byte_range& bytes) { return range_of(c.head, c.size(), bytes); }

// No state is valid until the next commit.
void close_slots(image_head& head);
void write_header(opened& c, const header& h);
void commit(opened& c); // writes c.now, whose next generation and check are made here

// A checksum goes on over whole words.
uint32_t mix(uint32_t sum, const void* words, size_t bytes);
// The checksum of tokens from .. to-1 of the image.
uint32_t sum_of_tokens(const opened& c, int32_t from, int32_t to);
uint32_t sum_of_mean(const opened& c); // 0 where keys are not smoothed
// The checksum of all that the state promises.
uint32_t sum_of_all(const opened& c);

} // namespace fovea::cache
