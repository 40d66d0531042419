// Counts the cycles of the core: by the DWT unit's CYCCNT, or by SysTick where the core has none (Cortex-M0+)
// or where it stands still, as in QEMU. In QEMU with -icount a tick of SysTick is a constant number of
// instructions, which is measured first.
#pragma once
#include <cstdint>

namespace board {

enum class counter_kind { cyccnt, systick };

counter_kind start_counter(); // interrupts must be on: SysTick has 24 bits, and an interrupt counts its turns
uint64_t read_counter();      // of CYCCNT the 32 bits that it has: differences are right up to 4 * 10^9
uint64_t elapsed(uint64_t begin, uint64_t end);

double instructions_per_tick(); // in QEMU with -icount

} // namespace board
