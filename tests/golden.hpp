// The digest that the bit identity set has on every ISA with fma. A change of it is a change of docs/numerics.md.
#pragma once
#include <cstdint>

constexpr uint64_t golden = 0x4b163a85dadb3249;
