// Starts a program on a bare RISC-V board: stack, memory, constructors, main with its arguments, and the exit
// code to the host.
#include "../cortex-m/semihosting.hpp"

extern "C" {
extern uint32_t data_image, data_begin, data_end, bss_begin, bss_end;
using constructor = void (*)();
extern constructor constructors_begin, constructors_end;
int main(int argc, char** argv);
[[noreturn]] __attribute__((weak)) void exit(
    int code); // of the C library, when there is one: it flushes what was printed
[[noreturn]] void begin();
[[noreturn]] void report_fault();
}

asm(R"(
  .section .text.reset, "ax", @progbits
  .globl reset
reset:
  .option push
  .option norelax
  .option arch, +zicsr
  la gp, __global_pointer$
  la sp, stack_top
  la t0, fault
  csrw mtvec, t0
  .option pop
  j begin
  .balign 4
fault:
  la sp, stack_top
  j report_fault
)");

void report_fault() {
  board::write_text("board: fault: a bad address, or an instruction that this core lacks\n");
  board::exit_with(99);
}

void begin() {
  const uint32_t* image = &data_image;
  for (volatile uint32_t* word = &data_begin; word < &data_end; ++word) *word = *image++;
  for (volatile uint32_t* word = &bss_begin; word < &bss_end; ++word) *word = 0;
  for (constructor* run = &constructors_begin; run < &constructors_end; ++run) (*run)();
  static char* words[board::most_arguments + 1];
  const int code = main(board::read_arguments(words), words);
  if (exit) exit(code);
  board::exit_with(static_cast<uint32_t>(code));
}
