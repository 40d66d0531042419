// How deep a call reaches into the stack: the free stack is painted before it, and looked at after it, by
// functions with equal frames.
#pragma once
#include <cstddef>

constexpr size_t painted_stack = 12288;

__attribute__((noinline)) inline void paint_stack() {
  volatile unsigned char room[painted_stack];
  for (size_t i = 0; i < painted_stack; ++i) room[i] = 0xa5;
  __asm__ volatile("" : : "r"(&room) : "memory");
}

// Bytes from the deepest one that changed up to where paint_stack began.
__attribute__((noinline)) inline size_t stack_painted_over() {
  volatile unsigned char room[painted_stack];
  __asm__ volatile("" : : "r"(&room) : "memory"); // as they were left
  size_t untouched = 0;
  while (untouched < painted_stack && room[untouched] == 0xa5) ++untouched;
  return painted_stack - untouched;
}
