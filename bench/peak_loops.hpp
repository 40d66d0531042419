// The loops of peak.hpp, written once over an ISA's registers. Everything here has internal linkage and
// no standard header is used: an object file with AVX-512 flags must not leave inline functions that the
// linker could pick for everybody.
//
// Isa: vec (floats) and words (integers) are its registers. step continues a chain by one multiply-add: the
// chain is the addend, as NEON's fmla wants it. keep makes the compiler load its argument; spread and first
// go from one float to lanes and back. `chains` independent chains hide the latency: latency times pipes, 8
// to 16. Neither they nor the `loads` of a turn of copy may be more than there are registers. Loops over
// registers are unrolled by order: gcc would keep the chains in memory otherwise.
#pragma once
#include "peak.hpp"

namespace bench {
namespace {

constexpr int repeats = 4;

template <class Isa>
float multiply_add(int64_t turns, float a, float b) {
  const typename Isa::vec x = Isa::spread(a), y = Isa::spread(b);
  typename Isa::vec chain[Isa::chains];

#pragma GCC unroll 32
  for (int c = 0; c < Isa::chains; ++c) chain[c] = Isa::spread(1.0f + static_cast<float>(c));
  for (; turns > 0; --turns) {
#pragma GCC unroll 32
    for (int r = 0; r < repeats; ++r) {
#pragma GCC unroll 32
      for (int c = 0; c < Isa::chains; ++c) chain[c] = Isa::step(chain[c], x, y);
    }
  }

#pragma GCC unroll 32
  for (int c = 1; c < Isa::chains; ++c) chain[0] = Isa::step(chain[0], x, chain[c]);
  return Isa::first(chain[0]);
}

// Loads and nothing else: merging what was read would take half of the room in which a core looks ahead, and
// kernels that multiply by what they load would then read faster. Each megabyte is read as `streams` equal
// parts side by side, so all loops go through memory in about the same order, and find as much of it in the
// caches as a work that goes in order.
template <class Isa, int streams>
void read(const void* data, size_t bytes) {
  using words = typename Isa::words;
  constexpr int loads = Isa::loads / streams;
  constexpr size_t stretch = loads * sizeof(words), megabyte = 1024 * 1024;
  const char* p = static_cast<const char*>(data);
  while (bytes > 0) {
    const size_t block = bytes < megabyte ? bytes : megabyte, part = block / streams;
    for (size_t at = 0; at + stretch <= part; at += stretch) {
#pragma GCC unroll 32
      for (int i = 0; i < Isa::loads; ++i) {
        const size_t stream = static_cast<size_t>(i / loads), load = static_cast<size_t>(i % loads);
        words w;
        __builtin_memcpy(&w, p + at + stream * part + load * sizeof w, sizeof w);
        Isa::keep(w);
      }
    }
    p += block;
    bytes -= block;
  }
}

template <class Isa>
void copy(const void* from, void* to, size_t bytes) {
  using words = typename Isa::words;
  constexpr size_t stretch = Isa::loads * sizeof(words);
  const char* p = static_cast<const char*>(from);
  char* q = static_cast<char*>(to);
  for (size_t left = bytes / stretch; left > 0; --left, p += stretch, q += stretch) {
    words w[Isa::loads];
#pragma GCC unroll 32
    for (int i = 0; i < Isa::loads; ++i)
      __builtin_memcpy(&w[i], p + static_cast<size_t>(i) * sizeof w[i], sizeof w[i]);
    __asm__ volatile("" ::: "memory"); // or gcc calls memcpy
#pragma GCC unroll 32
    for (int i = 0; i < Isa::loads; ++i)
      __builtin_memcpy(q + static_cast<size_t>(i) * sizeof w[i], &w[i], sizeof w[i]);
  }
}

template <class Isa>
constexpr isa_loops loops_for = {2.0 * Isa::lanes * Isa::chains * repeats,
                                 multiply_add<Isa>,
                                 {read<Isa, 1>, read<Isa, 2>, read<Isa, 4>},
                                 copy<Isa>};

} // namespace
} // namespace bench
