// The digests that the bit identity sets have on every ISA with fma. A change of one is a change of docs/numerics.md.
#pragma once
#include <cstdint>

constexpr uint64_t golden = 0x4b163a85dadb3249;
constexpr uint64_t golden_modified = 0xb93a60c5a03d69dd; // with softcap, ALiBi, sinks, masks, log-sum-exp and weights
