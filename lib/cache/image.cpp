// The header of an image: validation of shapes, init, open, commit.
#include "common/build.hpp"

#include "cache/image.hpp"

#include "cache/quantize.hpp"
#include "cache/token.hpp"
#include "common/bits.hpp"

namespace fovea::cache {
namespace {

// The sign is off, the exponent is not all ones.
bool finite_and_not_negative(float x) { return bits_of(x) < 0x7f800000u; }

// Where everything stands, for a shape that is right but for its size. False on overflow.
bool lay_out(header& h) {
  const fovea_cache_shape& s = h.shape;
  layout& at = h.at;
  const bool int8 = s.dtype == FOVEA_I8;
  at.step = int8 ? 64 : 16;
  at.first = down_to(h.base, at.step);
  at.element = element_of(s.dtype);
  at.depth = int8 ? up_to(s.dim, 16) : s.dim;
  at.width = int8 ? up_to(s.v_dim, 16) : s.v_dim;
  at.places = up_to(s.capacity, at.step);
  const int32_t kept = up_to(s.keep_first > h.base ? s.keep_first : h.base, at.step) - at.first;
  at.ring = at.first + (s.window == 0 ? at.places : kept);
  at.modulus = at.places - (at.ring - at.first);
  const size_t scales = s.score_multiplier ? sizeof(int32_t) + sizeof(int16_t) : 0;
  const size_t token = size_of(at.depth + at.width) * size_of(at.element) + scales;
  const size_t mean = s.smooth_keys ? size_of(s.dim) * sizeof(float) : 0; // less than all tokens of a head
  size_t bytes;
  if (__builtin_mul_overflow(size_of(s.kv_heads), token, &bytes) ||
      __builtin_mul_overflow(bytes, size_of(at.places), &bytes) ||
      __builtin_add_overflow(bytes, size_of(s.kv_heads) * mean, &bytes) ||
      bytes > size_t{PTRDIFF_MAX} - FOVEA_CACHE_HEADER)
    return false;
  bytes += FOVEA_CACHE_HEADER;
  h.bytes_low = static_cast<uint32_t>(bytes);
  h.bytes_high = static_cast<uint32_t>(uint64_t{bytes} >> 32);
  return true;
}

int32_t check_scales(fovea_cache_shape& s) {
  if (!finite_and_not_negative(s.k_largest) || !finite_and_not_negative(s.v_largest) ||
      (s.k_largest > 0) != (s.v_largest > 0) || s.score_multiplier < 0)
    return refusal(FOVEA_RANGE, FOVEA_ARG_SCALE);
  if (s.k_largest > 0 ? s.dtype != FOVEA_I8 : s.score_multiplier != 0)
    return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_SCALE);
  if (s.k_largest > 0 && !s.score_multiplier) s.score_multiplier = 1 << 30;
  if (s.k_largest > 0 && (s.score_multiplier < 1 << 30 || !scales_are_normal(s)))
    return refusal(FOVEA_RANGE, FOVEA_ARG_SCALE);
  return FOVEA_OK;
}

int32_t check_first_token(const header& h) {
  const int32_t first = h.shape.first_token;
  if (first < 0 || first > h.base) return refusal(FOVEA_RANGE, FOVEA_ARG_FIRST_KEY);
  return first % (h.shape.dtype == FOVEA_I8 ? 64 : 16) ? refusal(FOVEA_ALIGN, FOVEA_ARG_FIRST_KEY)
                                                       : int32_t{FOVEA_OK};
}

uint32_t check_of(const header& h) { return mix(magic, &h, offsetof(header, check)); }
uint32_t check_of(const image_head& head, const slot& s) {
  return mix(head.fixed.check, &s, offsetof(slot, check));
}

} // namespace

#if defined(__thumb2__) && __ARM_ARCH_PROFILE == 'M'
// Four words a turn; compilers load each one alone. r8, because without optimisation few low registers are
// free.
uint32_t mix(uint32_t sum, const void* words, size_t bytes) {
  uint32_t count = static_cast<uint32_t>(bytes) >> 2, rest;
  // clang-format off
#define FOVEA_MIX(joined) \
  joined "\n\t" "ror %[sum], %[sum], #19\n\t" "muls %[sum], %[factor], %[sum]\n\t"
  __asm__("ands %[rest], %[count], #3\n\t"
          "beq 2f\n"
          "1:\n\t"
          "ldmia %[words]!, {r4}\n\t"
          FOVEA_MIX("eors %[sum], r4")
          "subs %[rest], #1\n\t"
          "bne 1b\n"
          "2:\n\t"
          "lsrs %[count], #2\n\t"
          "beq 4f\n"
          "3:\n\t"
          "ldmia %[words]!, {r4, r5, r8, ip}\n\t"
          FOVEA_MIX("eors %[sum], r4")
          FOVEA_MIX("eors %[sum], r5")
          FOVEA_MIX("eor %[sum], r8")
          FOVEA_MIX("eor %[sum], ip")
          "subs %[count], #1\n\t"
          "bne 3b\n"
          "4:"
          : [words] "+l"(words), [sum] "+l"(sum), [count] "+l"(count), [rest] "=&r"(rest)
          : [factor] "l"(0x9e3779b1u)
          : "r4", "r5", "r8", "ip", "cc", "memory");
  // clang-format on
#undef FOVEA_MIX
  return sum;
}
#else
uint32_t mix(uint32_t sum, const void* words, size_t bytes) {
  const unsigned char* at = static_cast<const unsigned char*>(words);
  const unsigned char* const end = at + bytes;
  do {
    sum = mix_word(sum, token_words::load(at));
    at += 4;
  } while (at != end);
  return sum;
}
#endif

FOVEA_ONCE int32_t check_shape(const fovea_cache_shape& wanted, header& h) {
  fovea_cache_shape& s = h.shape;
  s = wanted;
  for (int32_t word : s.reserved)
    if (word) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_RESERVED);
  if (s.kv_heads < 1) return refusal(FOVEA_SIZE, FOVEA_ARG_HEADS);
  if (s.dim < 1 || s.dim > 1024) return refusal(FOVEA_SIZE, FOVEA_ARG_DIM);
  if (s.v_dim < 0 || s.v_dim > 1024) return refusal(FOVEA_SIZE, FOVEA_ARG_V_DIM);
  if (!s.v_dim) s.v_dim = s.dim;
  if (!element_of(s.dtype)) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_DTYPE);
  if (const int32_t status = check_first_token(h)) return status;
  if (s.capacity < 1 || s.capacity > greatest_tokens - h.base) return refusal(FOVEA_SIZE, FOVEA_ARG_KEYS);
  if (s.window < 0 || s.window > greatest_tokens) return refusal(FOVEA_RANGE, FOVEA_ARG_RING);
  if (s.keep_first < 0 || s.keep_first > greatest_tokens) return refusal(FOVEA_RANGE, FOVEA_ARG_KEEP_FIRST);
  if (const int32_t status = check_scales(s)) return status;
  if (s.smooth_keys < 0 || s.smooth_keys > 1) return refusal(FOVEA_RANGE, FOVEA_ARG_MEAN);
  if (s.smooth_keys && s.dtype == FOVEA_I8 && !s.score_multiplier)
    return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_MEAN);
  return lay_out(h) ? int32_t{FOVEA_OK} : refusal(FOVEA_OVERFLOW, FOVEA_ARG_KEYS);
}

FOVEA_ONCE int32_t check_ring(const header& h) {
  const fovea_cache_shape& s = h.shape;
  if (s.window == 0) return s.keep_first ? refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_KEEP_FIRST) : 0;
  if (s.capacity % h.at.step != 0) return refusal(FOVEA_ALIGN, FOVEA_ARG_KEYS);
  return h.at.modulus >= h.at.step && s.window <= h.at.modulus - h.at.step
             ? int32_t{FOVEA_OK}
             : refusal(FOVEA_TOO_SMALL, FOVEA_ARG_KEYS); // not even one token may be appended
}

// The newer slot, or the other one if the check of the newer one does not fit.
static bool newest_slot(const image_head& head, slot& now) {
  const slot *newest = &head.slots[0].state, *other = &head.slots[1].state;
  if (static_cast<int32_t>(newest->generation - other->generation) <= 0) {
    newest = other;
    other = &head.slots[0].state;
  }
  while (newest->check != check_of(head, *newest)) {
    if (newest == other) return false;
    newest = other;
  }
  now = *newest;
  return true;
}

FOVEA_ONCE int32_t open(const void* image, opened& c, bool any_order) {
  if (!image) return refusal(FOVEA_NULL, FOVEA_ARG_IMAGE);
  if (reinterpret_cast<uintptr_t>(image) % 4) return refusal(FOVEA_ALIGN, FOVEA_ARG_IMAGE);
  c.head = static_cast<image_head*>(const_cast<void*>(image));
  const header& h = c.head->fixed;
  if (h.magic != magic || h.format != format) return refusal(FOVEA_FOREIGN, FOVEA_ARG_IMAGE);
  if (h.check != check_of(h) || !newest_slot(*c.head, c.now)) return refusal(FOVEA_DAMAGED, FOVEA_ARG_IMAGE);
  if (!any_order && h.panel_order != panel_order_of(h.shape))
    return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_IMAGE);
  return FOVEA_OK;
}

FOVEA_ONCE int32_t open_plain(const void* image, opened& c) {
  if (const int32_t status = open(image, c)) return status;
  const bool plain = c.holds_int8() && !c.scaled() && c.shape().window == 0 && c.head->fixed.base == 0;
  return plain ? int32_t{FOVEA_OK} : refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_IMAGE);
}

void close_slots(image_head& head) {
  for (auto& each : head.slots) {
    volatile uint32_t* words = reinterpret_cast<volatile uint32_t*>(&each);
    for (size_t i = 0; i < sizeof each / 4; ++i) words[i] = 0;
  }
  __asm__ volatile("" : : : "memory");
}

void write_header(opened& c, const header& h) {
  header& to = c.head->fixed;
  to = h;
  to.magic = magic;
  to.format = format;
  to.panel_order = panel_order_of(h.shape);
  to.check = check_of(to);
}

// Data that was written before must be in memory before any byte of the slot.
void commit(opened& c) {
  slot& next = c.now;
  ++next.generation;
  next.check = check_of(*c.head, next);
  volatile slot& to = c.head->slots[next.generation & 1].state;
  __asm__ volatile("" : : : "memory");
  to.generation = next.generation;
  to.length = next.length;
  to.oldest = next.oldest;
  to.sum = next.sum;
  to.check = next.check;
  __asm__ volatile("" : : : "memory");
}

} // namespace fovea::cache

size_t fovea_cache_size(const fovea_cache_shape* shape) {
  fovea::cache::header h = {};
  h.base = shape ? shape->first_token : 0;
  if (!shape || fovea::cache::check_shape(*shape, h)) return 0;
  return static_cast<size_t>(uint64_t{h.bytes_high} << 32 | h.bytes_low);
}

int32_t fovea_cache_length(const void* image) {
  fovea::cache::opened c;
  return fovea::cache::open(image, c, true) ? -1 : c.now.length;
}

uint32_t fovea_cache_generation(const void* image) {
  fovea::cache::opened c;
  return fovea::cache::open(image, c, true) ? 0 : c.now.generation;
}
