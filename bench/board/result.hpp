// What the table and the JSON of a board say.
#pragma once
#include <cstdint>

#include "../shape.hpp"
#include "counter.hpp"
#include "text.hpp"

namespace board {

struct machine {
  bool emulated = false; // in QEMU with -icount: what is counted are instructions
  counter_kind counter = counter_kind::cyccnt;
  double per_tick = 1;    // cycles or instructions for each tick of the counter
  uint32_t kilohertz = 0; // of the core; 0 = unknown
  uint32_t begun = 0;     // seconds since 1970; 0 = unknown
  const char* unit() const { return emulated ? "instructions" : "cycles"; }
};

struct result {
  const bench::shape* what;
  const char* isa;
  uint64_t macs, count, digest; // count: cycles or instructions
  uint32_t scratch_bytes;
  int32_t samples;
  uint64_t per_mac() const { return (count * 1000 + macs / 2) / macs; } // in thousandths
};

machine find_machine(bool emulated);
const char* core_name();
text version_text();
text date_of(uint32_t seconds); // "2026-11-19T23:15:00Z"

void print_table_head(const machine& m);
void print_row(const result& r);
void print_refusal(const bench::shape& what, const char* reason);
void print_json(const machine& m, const result* results, int count);

} // namespace board
