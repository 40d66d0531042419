// The works that are measured: what edge products ask of attention, from a keyword spotter to a decode over
// 8,192 keys.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace bench {

// int8_from_floats: floats are quantised head by head, attended to in int8, and the output is floats.
// f16, bf16 and int8_kv: what K and V are stored as, for queries and results of floats.
enum class dtype { f32, int8, int8_from_floats, f16, bf16, int8_kv };

struct work {
  const char* kind;
  int32_t q_heads, kv_heads, dim, queries, keys;
  bool causal;
  int32_t k_layout; // FOVEA_ROWS or FOVEA_PANELS; of int8 that of V too
  dtype type = dtype::f32;

  bool decode() const { return queries == 1; }
  std::string name() const;   // "prefill 8x64 512", "decode GQA 8/2x64 2048 panels"
  double flops() const;       // 4 * queries * keys * dim per query head, half of it when causal
  size_t cache_bytes() const; // K and V
  bool integers() const { return type == dtype::int8 || type == dtype::int8_from_floats; }
  const char* dtype_name() const; // of K and V
  bool from_floats() const { return type == dtype::int8_from_floats; }
};

std::vector<work> works_with(
    const std::string& filter); // those whose name contains the filter, whatever the case

} // namespace bench
