// For tests: while a function of the library runs, each unaligned load and store faults (CCR.UNALIGN_TRP), as
// firmware may have it. The linker's --wrap sends every call here first. Outside the library nothing is
// trapped: the C++ library of the compiler reads unaligned words. A Cortex-M0 or M23 has the trap always, and
// its C++ library keeps to it: there it is set once, before main.
#include <stdint.h>

extern "C" {
uint32_t board_trapped_calls; // how many functions of the library ran with the trap
__attribute__((used)) uint32_t board_trap_return;
}

#define UNALIGN_TRP "#8"
#define CONFIGURATION_CONTROL "=0xE000ED14"

#if !defined(__thumb2__)

namespace {
struct trap_always {
  trap_always() {
    volatile uint32_t* const configuration = reinterpret_cast<volatile uint32_t*>(0xE000ED14);
    *configuration = *configuration | 8u;
  }
} trap;
} // namespace

#else

// r12 is the function, whose arguments stand in registers and on the stack. When the trap is set already, the
// library calls itself.
asm(R"(
  .syntax unified
  .thumb
  .section .text.board_call_trapped, "ax", %progbits
  .thumb_func
board_call_trapped:
  push {r0, r1}
  ldr r0, )" CONFIGURATION_CONTROL R"(
  ldr r1, [r0]
  tst r1, )" UNALIGN_TRP R"(
  bne 1f
  orr r1, )" UNALIGN_TRP R"(
  str r1, [r0]
  ldr r0, =board_trap_return
  str lr, [r0]
  ldr r0, =board_trapped_calls
  ldr r1, [r0]
  adds r1, #1
  str r1, [r0]
  pop {r0, r1}
  dsb
  isb
  blx r12
  ldr r2, )" CONFIGURATION_CONTROL R"(
  ldr r3, [r2]
  bic r3, )" UNALIGN_TRP R"(
  str r3, [r2]
  ldr r2, =board_trap_return
  ldr pc, [r2]
1:
  pop {r0, r1}
  bx r12
  .ltorg

  .irp name, )" FOVEA_ENTRIES R"(
  .section .text.__wrap_\name, "ax", %progbits
  .globl __wrap_\name
  .type __wrap_\name, %function
  .thumb_func
__wrap_\name:
  ldr r12, =__real_\name
  b.w board_call_trapped
  .ltorg
  .endr
)");

#endif
