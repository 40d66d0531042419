// The digests that the bit identity sets have on every ISA with fma. A change of one is a change of
// docs/numerics.md.
#pragma once
#include <cstdint>

constexpr uint64_t golden = 0x4b163a85dadb3249;
// With softcap, ALiBi, sinks, masks, log-sum-exp and returned weights.
constexpr uint64_t golden_modified = 0xffb0b88f23f9a7cd;
