// The shape of a work, its name, and the works that are small enough for microcontrollers. Nothing here needs
// an operating system: bench/board has the same works as fovea_bench.
#pragma once
#include <cstddef>
#include <cstdint>

#include "fovea/fovea.h"

namespace bench {

// int8_from_floats: floats are quantised head by head, attended to in int8, and the output is floats.
// f16, bf16 and int8_kv: what K and V are stored as, for queries and results of floats.
enum class dtype { f32, int8, int8_from_floats, f16, bf16, int8_kv };

struct shape {
  const char* kind;
  int32_t q_heads, kv_heads, dim, queries, keys;
  bool causal;
  int32_t k_layout; // FOVEA_ROWS or FOVEA_PANELS; of int8 that of V too
  dtype type = dtype::f32;

  constexpr bool decode() const { return queries == 1; }
  constexpr bool integers() const { return type == dtype::int8 || type == dtype::int8_from_floats; }
  constexpr bool from_floats() const { return type == dtype::int8_from_floats; }
  constexpr double flops() const { // 4 * queries * keys * dim per query head, half of it when causal
    return 4.0 * q_heads * queries * keys * dim * (causal ? 0.5 : 1.0);
  }
  constexpr size_t query_elements() const {
    return static_cast<size_t>(q_heads) * static_cast<size_t>(queries) * static_cast<size_t>(dim);
  }
  constexpr size_t key_elements() const { // as many values
    return static_cast<size_t>(kv_heads) * static_cast<size_t>(keys) * static_cast<size_t>(dim);
  }
};

inline char* put(char* to, const char* text) {
  while (*text) *to++ = *text++;
  return to;
}

inline char* put(char* to, uint32_t number) {
  char digits[10];
  int count = 0;
  do digits[count++] = static_cast<char>('0' + number % 10);
  while (number /= 10);
  while (count > 0) *to++ = digits[--count];
  return to;
}

constexpr double unit_of_integers = 4.5 / 127; // the scale of q, K and V as integers

constexpr size_t longest_name = 80;

// "prefill 8x64 512", "decode GQA 8/2x64 2048 panels"
inline void write_name(const shape& s, char* to) {
  const auto number = [&](int32_t n) { to = put(to, static_cast<uint32_t>(n)); };
  to = put(put(to, s.kind), " ");
  number(s.q_heads);
  if (s.decode()) {
    to = put(to, "/");
    number(s.kv_heads);
  }
  to = put(to, "x");
  number(s.dim);
  to = put(to, " ");
  number(s.keys);
  if (s.decode()) to = put(to, s.k_layout == FOVEA_PANELS ? " panels" : " rows");
  *to = 0;
}

// clang-format off
constexpr shape small_works[] = {
    // kind                  heads kv dim queries keys causal  K
    {"tiny",                   4, 4, 16, 32, 32, false, FOVEA_ROWS},
    {"prefill",                1, 1, 64, 64, 64, false, FOVEA_ROWS},
    {"causal",                 1, 1, 64, 64, 64, true,  FOVEA_ROWS},
    {"decode",                 4, 4, 16,  1, 32, false, FOVEA_ROWS},
    {"decode",                 4, 4, 16,  1, 32, false, FOVEA_PANELS},
    {"decode",                 1, 1, 64,  1, 64, false, FOVEA_ROWS},
    {"decode",                 1, 1, 64,  1, 64, false, FOVEA_PANELS},
    {"int8 tiny",              4, 4, 16, 32, 32, false, FOVEA_ROWS,   dtype::int8},
    {"int8 prefill",           1, 1, 64, 64, 64, false, FOVEA_ROWS,   dtype::int8},
    {"int8 causal",            1, 1, 64, 64, 64, true,  FOVEA_ROWS,   dtype::int8},
    {"int8 keyword spotting",  2, 2, 32, 98, 98, false, FOVEA_ROWS,   dtype::int8},
    {"int8 decode",            4, 4, 16,  1, 64, false, FOVEA_PANELS, dtype::int8},
    {"int8 decode",            1, 1, 64,  1, 64, false, FOVEA_ROWS,   dtype::int8},
    {"int8 decode",            1, 1, 64,  1, 64, false, FOVEA_PANELS, dtype::int8},
};
// clang-format on

} // namespace bench
