// Semihosting: a program on an emulated board asks the host to print, to hand over its arguments and to end.
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace board {

enum class request : uint32_t {
  write_text = 0x04,
  read_clock = 0x10, // hundredths of a second
  read_time = 0x11,  // seconds since 1970
  command_line = 0x15,
  exit_extended = 0x20
};

inline uint32_t ask_host(request what, const void* block) {
#if defined(__riscv)
  register uint32_t number asm("a0") = static_cast<uint32_t>(what);
  register const void* argument asm("a1") = block;
  asm volatile( // three instructions of 32 bits, in one page
      ".option push\n\t"
      ".option norvc\n\t"
      ".balign 16\n\t"
      "slli zero, zero, 0x1f\n\t"
      "ebreak\n\t"
      "srai zero, zero, 7\n\t"
      ".option pop"
      : "+r"(number)
      : "r"(argument)
      : "memory");
#else
  register uint32_t number asm("r0") = static_cast<uint32_t>(what);
  register const void* argument asm("r1") = block;
  asm volatile("bkpt 0xab" : "+r"(number) : "r"(argument) : "memory");
#endif
  return number;
}

inline void write_text(const char* text) { ask_host(request::write_text, text); }

[[noreturn]] inline void exit_with(uint32_t code) {
  const uint32_t application_exit = 0x20026;
  const uint32_t block[2] = {application_exit, code};
  ask_host(request::exit_extended, block);
  for (;;) {
  }
}

// Fills `text` with the words of the command line, parted by blanks; empty if there is none.
inline void read_command_line(char* text, uint32_t size) {
  text[0] = 0;
  struct {
    char* text;
    uint32_t size;
  } block = {text, size};
  ask_host(request::command_line, &block);
}

constexpr int most_arguments = 16;

// The words of the command line as main takes them, a null behind the last; returns their number.
inline int read_arguments(char** words) {
  static char line[512];
  read_command_line(line, sizeof line);
  int count = 0;
  for (char* at = line; *at && count < most_arguments;) {
    while (*at == ' ') *at++ = 0;
    if (*at) words[count++] = at;
    while (*at && *at != ' ') ++at;
  }
  words[count] = nullptr;
  return count;
}

} // namespace board
