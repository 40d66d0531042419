// Counts cycles: DWT where a core has it, else SysTick, as on a Cortex-M0+. An emulator has no cycles. There
// instructions are counted: QEMU with -icount gives each the same time, and a loop of known length says how
// long that is.
#pragma once
#include <stdint.h>

namespace firmware {

namespace registers {
inline volatile uint32_t& at(uint32_t address) { return *reinterpret_cast<volatile uint32_t*>(address); }
constexpr uint32_t debug_control = 0xE000EDFC, dwt_control = 0xE0001000, dwt_cycles = 0xE0001004;
constexpr uint32_t tick_control = 0xE000E010, tick_reload = 0xE000E014, tick_value = 0xE000E018;
} // namespace registers

class meter {
 public:
  static constexpr uint32_t longest = 0xffffff; // of SysTick, 24 bits

  meter() {
    using namespace registers;
#if __ARM_ARCH >= 7
    at(debug_control) = at(debug_control) | 1u << 24;
    at(dwt_control) = at(dwt_control) | 1;
    const uint32_t first = at(dwt_cycles);
    run_loop();
    has_cycles_ = at(dwt_cycles) != first; // QEMU's stands still
#endif
    if (!has_cycles_) {
      at(tick_reload) = longest;
      at(tick_value) = 0;
      at(tick_control) = 5; // the clock of the core, without an interrupt
    }
    begin();
    nothing_ = ticks();
    begin();
    run_loop();
    loop_ = ticks() - nothing_;
  }

  void begin() { first_ = now(); }
  // Cycles since begin(), or under an emulator instructions. Behind `longest` ticks SysTick begins anew.
  uint32_t elapsed() const { return in_units(ticks() - nothing_); }

#if FIRMWARE_EMULATED
  static constexpr const char* unit = " instructions";
  uint32_t in_units(uint32_t ticks) const {
    return ticks / loop_ * loop_instructions + ticks % loop_ * loop_instructions / loop_;
  }
#else
  static constexpr const char* unit = " cycles";
  uint32_t in_units(uint32_t ticks) const { return ticks; }
#endif

 private:
  static constexpr uint32_t loop_turns = 4096, loop_instructions = 2 * loop_turns;
  bool has_cycles_ = false;
  uint32_t first_ = 0, nothing_ = 0, loop_ = 1;

  static void run_loop() {
    uint32_t left = loop_turns;
    asm volatile(".syntax unified\n1: subs %0, #1\n bne 1b" : "+l"(left) : : "cc");
  }
  uint32_t now() const { // counts up
    using namespace registers;
    return has_cycles_ ? at(dwt_cycles) : longest - at(tick_value);
  }
  uint32_t ticks() const { return has_cycles_ ? now() - first_ : (now() - first_) & longest; }
};

} // namespace firmware
