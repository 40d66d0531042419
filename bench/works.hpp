// The works that are measured: what edge products ask of attention, from a keyword spotter to a decode over
// 8,192 keys.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "shape.hpp"

namespace bench {

struct work : shape {
  std::string name() const;       // "prefill 8x64 512", "decode GQA 8/2x64 2048 panels"
  size_t cache_bytes() const;     // K and V
  const char* dtype_name() const; // of K and V
};

std::vector<work> works_with(
    const std::string& filter); // those whose name contains the filter, whatever the case

} // namespace bench
