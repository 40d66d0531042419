// Starts a program on a bare Cortex-M board: vectors, memory, FPU, constructors, main with its arguments, and
// the exit code to the host.
#include "semihosting.hpp"

extern "C" {
extern uint32_t data_image, data_begin, data_end, bss_begin, bss_end, stack_top;
using constructor = void (*)();
extern constructor constructors_begin, constructors_end;
extern __attribute__((weak)) uint32_t fast_image, fast_begin, fast_end; // of fast.ld
int main(int argc, char** argv);
[[noreturn]] __attribute__((weak)) void exit(
    int code); // of the C library, when there is one: it flushes what was printed
[[noreturn]] void reset();
[[noreturn]] void report_fault();
void fault();
__attribute__((weak, alias("fault"), nothrow)) void system_tick(); // of SysTick
}

namespace {

// Access to the FPU and to Helium is closed at reset.
void open_coprocessors() {
#if defined(__ARM_FP) || defined(__ARM_FEATURE_MVE)
  volatile uint32_t* const access_control = reinterpret_cast<volatile uint32_t*>(0xE000ED88);
  *access_control = *access_control | 0xFu << 20;
  asm volatile("dsb\n isb" ::: "memory");
#endif
}

void fill_memory() {
  const uint32_t* image = &data_image;
  for (volatile uint32_t* word = &data_begin; word < &data_end; ++word) *word = *image++;
  image = &fast_image;
  for (volatile uint32_t* word = &fast_begin; word < &fast_end; ++word) *word = *image++;
  for (volatile uint32_t* word = &bss_begin; word < &bss_end; ++word) *word = 0;
}

[[noreturn]] void end(int code) {
  if (exit) exit(code);
  board::exit_with(static_cast<uint32_t>(code));
}

} // namespace

void report_fault() {
  board::write_text(
      "board: fault: a bad address, a stack overflow, or an instruction that this core lacks\n");
  board::exit_with(99);
}

// The stack may be what is broken: begin a new one.
__attribute__((naked)) void fault() {
  asm volatile("ldr r0, =stack_top\n msr msp, r0\n bl report_fault\n .ltorg");
}

void reset() {
  open_coprocessors();
  fill_memory();
  for (constructor* run = &constructors_begin; run < &constructors_end; ++run) (*run)();
  static char* words[board::most_arguments + 1];
  const int count = board::read_arguments(words);
  end(main(count, words));
}

// Stack, reset, thirteen faults and system exceptions, of which none is expected, and SysTick.
extern "C" __attribute__((section(".vectors"), used))
const constructor vectors[16] = {reinterpret_cast<constructor>(&stack_top),
                                 reset,
                                 fault,
                                 fault,
                                 fault,
                                 fault,
                                 fault,
                                 fault,
                                 fault,
                                 fault,
                                 fault,
                                 fault,
                                 fault,
                                 fault,
                                 fault,
                                 system_tick};
