// The registers are those of the Armv6-M, Armv7-M and Armv8-M architecture manuals.
#include "counter.hpp"

namespace {

volatile uint32_t& word_at(uint32_t address) { return *reinterpret_cast<volatile uint32_t*>(address); }

constexpr uint32_t systick_control = 0xE000E010, systick_reload = 0xE000E014, systick_value = 0xE000E018;
constexpr uint32_t debug_control = 0xE000EDFC, dwt_control = 0xE0001000, dwt_cycles = 0xE0001004,
                   dwt_lock = 0xE0001FB0;
constexpr uint32_t systick_top = 0xffffff;

#if defined(__ARM_ARCH_6M__) || defined(__ARM_ARCH_8M_BASE__)
constexpr bool may_have_cycles = false; // software cannot reach the debug unit
#else
constexpr bool may_have_cycles = true;
#endif

bool uses_cyccnt;
volatile uint32_t systick_turns;

void spend(uint32_t turns) { // two instructions a turn
  asm volatile(".syntax unified\n 1: subs %0, %0, #1\n bne 1b" : "+l"(turns) : : "cc");
}

bool start_cyccnt() {
  if (!may_have_cycles) return false;
  word_at(debug_control) = word_at(debug_control) | 1u << 24; // TRCENA
  word_at(dwt_lock) = 0xC5ACCE55;                             // opens it on a Cortex-M7
  word_at(dwt_cycles) = 0;
  word_at(dwt_control) = word_at(dwt_control) | 1u; // CYCCNTENA
  const uint32_t before = word_at(dwt_cycles);
  spend(100);
  return word_at(dwt_cycles) != before;
}

} // namespace

extern "C" void system_tick();
extern "C" void system_tick() { systick_turns = systick_turns + 1; }

namespace board {

counter_kind start_counter() {
  uses_cyccnt = start_cyccnt();
  if (uses_cyccnt) return counter_kind::cyccnt;
  word_at(systick_reload) = systick_top;
  word_at(systick_value) = 0;
  word_at(systick_control) = 7;         // the core's own clock, interrupt, on
  while (word_at(systick_value) == 0) { // it begins with its next tick
  }
  return counter_kind::systick;
}

uint64_t read_counter() {
  if (uses_cyccnt) return word_at(dwt_cycles);
  uint32_t turns, value;
  do {
    turns = systick_turns;
    value = word_at(systick_value);
  } while (turns != systick_turns);
  return (uint64_t{turns} << 24) + (systick_top - value);
}

uint64_t elapsed(uint64_t begin, uint64_t end) {
  return uses_cyccnt ? static_cast<uint32_t>(end - begin) : end - begin;
}

double instructions_per_tick() {
  constexpr uint32_t turns = 2000000;
  const uint64_t begin = read_counter();
  spend(turns);
  return 2.0 * turns / static_cast<double>(elapsed(begin, read_counter()));
}

} // namespace board
