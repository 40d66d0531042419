// The two loops of peak.hpp, written once over an ISA's registers. Everything here has internal linkage and
// no standard header is used: an object file with AVX-512 flags must not leave inline functions that the
// linker could pick for everybody.
//
// Isa: vec (floats) and words (integers) are its registers. step continues a chain by one multiply-add: the
// chain is the addend, as NEON's fmla wants it. merge joins what was read; spread and first go from one float
// to lanes and back. `chains` independent chains hide the latency: latency times pipes, 8 to 16. Neither they
// nor twice the `loads` at once may be more than there are registers. Loops over registers are unrolled by
// order: gcc would keep the chains in memory otherwise.
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

// A few loads, then as many merges into registers of their own: only the loads bind, also on a core that
// keeps to the order.
template <class Isa>
uint32_t read(const void* data, size_t bytes) {
  using words = typename Isa::words;
  constexpr size_t stretch = Isa::loads * sizeof(words);
  const char* p = static_cast<const char*>(data);
  words sum[Isa::loads] = {}, w[Isa::loads];
  for (size_t left = bytes / stretch; left > 0; --left, p += stretch) {
#pragma GCC unroll 32
    for (int i = 0; i < Isa::loads; ++i)
      __builtin_memcpy(&w[i], p + static_cast<size_t>(i) * sizeof w[i], sizeof w[i]);
    __asm__ volatile("" ::: "memory"); // or gcc puts every load back in front of its merge
#pragma GCC unroll 32
    for (int i = 0; i < Isa::loads; ++i) sum[i] = Isa::merge(sum[i], w[i]);
  }

#pragma GCC unroll 32
  for (int i = 1; i < Isa::loads; ++i) sum[0] = Isa::merge(sum[0], sum[i]);
  uint32_t any;
  __builtin_memcpy(&any, &sum[0], sizeof any);
  return any;
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
constexpr isa_loops loops_for = {2.0 * Isa::lanes * Isa::chains * repeats, multiply_add<Isa>, read<Isa>,
                                 copy<Isa>};

} // namespace
} // namespace bench
