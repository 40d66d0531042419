// Sweeps: the time per multiply-accumulate while one size of a call grows and the others stay, to find sizes
// at which it jumps.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "chart.hpp"
#include "cliffs.hpp"
#include "measure.hpp"

namespace bench {

enum class size { keys, dim, queries, group };     // group: query heads per KV head
enum class layout { rows, panels, tokens, apart }; // tokens: [token][head][dim]. apart: 4 KB per token

// One call with one size left open, of which it has the largest.
struct curve {
  size over;
  layout memory;
  dtype type;
  int32_t kv_heads, group, dim, queries, keys;

  std::string name() const; // "keys: 4/4x64, 1 query, panels f16"
  int32_t most() const;     // of the open size
  curve at(int32_t n) const;
  constexpr int32_t q_heads() const { return kv_heads * group; }
  double macs() const { return 2.0 * q_heads() * queries * keys * dim; }
};
std::vector<curve> curves_with(const std::string& filter); // those whose name contains it, whatever the case

struct swept {
  curve what;
  kernel by;
  int32_t status; // of the first call that was refused; what follows is there when it is FOVEA_OK
  std::vector<sweep_point> points;
  std::vector<cliff> cliffs; // each was measured twice
  conditions at;             // behind the last sample

  const char* isa_name() const {
    return by.integer_isa ? fovea_fixed_isa_name(by.integer_isa) : fovea_isa_name(by.isa);
  }
};
swept sweep(const curve& c, const kernel& by, const options& o);

drawing sweep_chart(const std::vector<swept>& of_one_curve);

int run_sweep(const options& o); // the exit code

} // namespace bench
