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

// Written by init and branch, then constant.
struct header {
  uint32_t magic, format;
  int32_t panel_order; // of I8, else 0
  int32_t base;        // tokens that the parent holds; 0: there is no parent
  uint32_t base_sum;   // the checksum of the parent's own tokens below base
  uint32_t bytes_low, bytes_high;
  fovea_cache_shape shape; // with its defaults resolved
  uint32_t check;          // of all words before
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
  uint32_t unused[32 - sizeof(header) / 4];
  struct {
    slot state;
    uint32_t unused[3];
  } slots[2];
};
static_assert(sizeof(image_head) == FOVEA_CACHE_HEADER && sizeof(slot) == 20);

constexpr int32_t up_to(int32_t n, int32_t step) { return (n + step - 1) & -step; }
constexpr int32_t down_to(int32_t n, int32_t step) { return n & -step; }

// What follows from a header. A token has a place: those below `ring` stand in order, later ones wrap.
struct layout {
  int32_t step;          // tokens of a panel of K and V together
  int32_t first;         // the first token that this image holds
  int32_t ring, modulus; // first token of the ring, and its size; without a ring it is never reached
  int32_t depth, width;  // of a token in panels of K, in rows or panels of V
  int32_t element;       // bytes
  int32_t places;
  bool scales;
  size_t k_head, v_head, k, v, multipliers, weights, bytes; // in bytes, from the beginning of the image

  constexpr int32_t place(int32_t token) const {
    return token < ring ? token - first : ring - first + quotient_rest(token - ring);
  }
  // How many of `count` tokens from `token` on stand side by side.
  constexpr int32_t side_by_side(int32_t token, int32_t count) const {
    const int32_t room = places - place(token);
    return count < room ? count : room;
  }

 private:
  constexpr int32_t quotient_rest(int32_t n) const {
    return n < modulus ? n : n - quotient(n, modulus) * modulus;
  }
};

// An image that was opened: its header is right.
struct opened {
  image_head* head;
  slot now;
  layout at;

  const fovea_cache_shape& shape() const { return head->fixed.shape; }
  unsigned char* bytes() const { return reinterpret_cast<unsigned char*>(head); }
  bool holds_int8() const { return shape().dtype == FOVEA_I8; }
};

int32_t check_shape(const fovea_cache_shape& wanted, int32_t base, fovea_cache_shape& shape, layout& at);
int32_t check_ring(const fovea_cache_shape& s, const layout& at);
// Refuses an image in the panel order of other machines, too: `any_order` is for those who convert it.
int32_t open(const void* image, opened& c, bool any_order = false);
// The bytes of an image; false if they leave the address space.
bool range_of_image(const opened& c, byte_range& bytes);

// No state is valid until the next commit.
void close_slots(image_head& head);
// The header in place, then its first state. From here on the image is open.
void write_header(opened& c, const header& h);
void commit(opened& c, slot next); // its generation and check are made here; it becomes c.now

// The checksum of tokens from .. to-1 of the image.
uint32_t sum_of_tokens(const opened& c, int32_t from, int32_t to);
// The same over all tokens that the state promises.
uint32_t sum_of_all(const opened& c);

} // namespace fovea::cache
