// What picolibc asks of a system, answered by semihosting: text goes to the host, the heap lies between data
// and stack. And the few functions of the C++ library that its headers call, where a compiler comes without
// it. For test programs only; the library itself needs none of this.
#include <stdio.h>
#include <stdlib.h>

#include <new>
#include <string>

#include "../cortex-m/semihosting.hpp"

namespace {

// Characters wait for the end of a line, or for sixty-three others.
int put(char c, FILE*) {
  static char text[64];
  static int length;
  text[length++] = c;
  if (c == '\n' || length == 63) {
    text[length] = 0;
    board::write_text(text);
    length = 0;
  }
  return c;
}
FILE host = FDEV_SETUP_STREAM(put, nullptr, nullptr, _FDEV_SETUP_WRITE);

[[noreturn]] void give_up(const char* why) {
  board::write_text(why);
  board::exit_with(98);
}

} // namespace

FILE* const stdin = &host;
FILE* const stdout = &host;
FILE* const stderr = &host;

extern "C" {
void* __dso_handle = nullptr;
extern char heap_begin, stack_top;
void* sbrk(ptrdiff_t bytes);
int __cxa_atexit(void (*)(void*), void*, void*);
[[noreturn]] void __cxa_pure_virtual();
[[noreturn]] void _exit(int code);

void* sbrk(ptrdiff_t bytes) {
  static char* end = &heap_begin;
  const ptrdiff_t stack_room = 65536;
  if (&stack_top - end < bytes + stack_room) return reinterpret_cast<void*>(-1);
  char* const begin = end;
  end += bytes;
  return begin;
}
void _exit(int code) {
  put('\n', nullptr);
  board::exit_with(static_cast<uint32_t>(code));
}
int __cxa_atexit(void (*)(void*), void*, void*) {
  return 0;
} // a program that ends with the board destroys nothing
void __cxa_pure_virtual() { give_up("board: a pure virtual function was called\n"); }
}

#if FOVEA_CXX_HEADERS_ONLY
void* operator new(size_t bytes) {
  void* const memory = malloc(bytes ? bytes : 1);
  if (memory == nullptr) give_up("board: the heap is full\n");
  return memory;
}
void* operator new[](size_t bytes) { return operator new(bytes); }
void operator delete(void* memory) noexcept { free(memory); }
void operator delete[](void* memory) noexcept { free(memory); }
void operator delete(void* memory, size_t) noexcept { free(memory); }
void operator delete[](void* memory, size_t) noexcept { free(memory); }

namespace std {
void __throw_length_error(const char* why) { give_up(why); }
void __throw_logic_error(const char* why) { give_up(why); }
void __throw_bad_alloc() { give_up("bad_alloc\n"); }
void __throw_bad_array_new_length() { give_up("bad_array_new_length\n"); }
void __throw_out_of_range_fmt(const char* why, ...) { give_up(why); }
template class basic_string<char>;
} // namespace std
#endif
