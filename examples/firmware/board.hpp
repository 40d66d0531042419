// What these programs need of a board: text, bytes of memory, a painted stack, and a meter. No C library.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "fovea/fovea.h"
#include "platforms/cortex-m/semihosting.hpp"

extern "C" {
extern unsigned char flash_used, ram_used, bss_end, stack_top; // of the linker script: their addresses count
}

namespace firmware {

inline void say(const char* text) { board::write_text(text); }
inline void say(uint32_t number) {
  char digits[11], *at = digits + 10;
  *at = 0;
  do *--at = static_cast<char>('0' + number % 10);
  while (number /= 10);
  say(at);
}
inline void say(const char* name, uint32_t number, const char* unit) {
  say(name);
  say(number);
  say(unit);
}

inline bool same_text(const char* a, const char* b) {
  while (*a && *a == *b) ++a, ++b;
  return *a == *b;
}
template <class T>
bool same_bytes(const T& a, const T& b) {
  const unsigned char *x = reinterpret_cast<const unsigned char*>(&a),
                      *y = reinterpret_cast<const unsigned char*>(&b);
  for (size_t i = 0; i < sizeof(T); ++i)
    if (x[i] != y[i]) return false;
  return true;
}

// FNV-1a.
template <class T>
uint32_t checksum_of(const T& data) {
  uint32_t hash = 2166136261u;
  for (size_t i = 0; i < sizeof(T); ++i)
    hash = (hash ^ reinterpret_cast<const unsigned char*>(&data)[i]) * 16777619u;
  return hash;
}

// In the place of numbers that a model would compute: -2^23 .. 2^23 - 1.
class made_up {
 public:
  int32_t next() {
    state_ = state_ * 1664525u + 1013904223u;
    return static_cast<int32_t>(state_) >> 8;
  }
  int8_t byte() { return static_cast<int8_t>(next() >> 17); }                // -64 .. 63
  float number() { return static_cast<float>(next()) * (1.0f / (1 << 22)); } // -2 .. 2

 private:
  uint32_t state_ = 1;
};

inline uintptr_t address_of(const unsigned char& symbol) { return reinterpret_cast<uintptr_t>(&symbol); }

// The free stack is painted first, and looked at in the end.
class painted_stack {
 public:
  painted_stack() {
    const uintptr_t free = stack_pointer(), least = address_of(bss_end);
    low_ = free - least > most ? free - most : least;
    for (uintptr_t at = low_; at < free; ++at) byte_at(at) = paint;
  }
  // Bytes from the deepest one that changed up to the top of the stack.
  uint32_t used() const {
    uintptr_t at = low_;
    while (byte_at(at) == paint) ++at;
    return address_of(stack_top) - at;
  }

 private:
  static constexpr unsigned char paint = 0xa5;
  static constexpr uintptr_t most = 6144;
  uintptr_t low_;

  static volatile unsigned char& byte_at(uintptr_t at) {
    return *reinterpret_cast<volatile unsigned char*>(at);
  }
  static uintptr_t stack_pointer() {
    uintptr_t here;
    asm volatile("mov %0, sp" : "=r"(here));
    return here;
  }
};

inline void say_memory(const painted_stack& stack) {
  say("flash ", address_of(flash_used), " bytes, ");
  say("RAM ", address_of(ram_used), " bytes and ");
  say("a stack of ", stack.used(), " bytes\n");
}

// Exit codes of a program whose call was refused, or whose output is another one.
inline int refused(const char* program, int32_t status) {
  say(program);
  say("refused: ");
  say(fovea_argument_text(status));
  say(": ");
  say(fovea_reason_text(status));
  say("\n");
  return 2;
}
inline int wrong_bits(const char* program, uint32_t checksum) {
  say(program);
  say("the output has other bits, of checksum ", checksum, "\n");
  return 1;
}

} // namespace firmware
