// Ways to compute one call, all of which give the same bits: parts, scratch of any size, keys in panels.
#pragma once
#include <doctest/doctest.h>

#include <initializer_list>
#include <vector>

#include "data.hpp"
#include "problem.hpp"
#include "reference.hpp"

namespace ways {

inline int64_t products_done = 0;
inline void count_products(const fovea_attention& a) {
  products_done += int64_t{a.q_heads} * a.queries * a.keys * (int64_t{a.dim} + reference::v_dim(a));
}

inline std::vector<float> count_and_solve(problem& p, const fovea_attention& a, size_t scratch) {
  count_products(a);
  return solve(p, a, scratch);
}

// All parts of a call, the last one first: the order must not matter.
inline void run_parts(fovea_attention a, int32_t parts) {
  for (int32_t index = parts - 1; index >= 0; --index) {
    a.part = {index, parts};
    CHECK(attend_in(a, index % 2 == 0 ? fovea_scratch_least(&a) : fovea_scratch_best(&a)) == FOVEA_OK);
  }
}

inline void check_parts(problem& p, const fovea_attention& whole, std::initializer_list<int32_t> counts,
                        const std::vector<float>& expected) {
  for (int32_t parts : counts) {
    INFO("parts ", parts);
    p.wipe_results();
    run_parts(whole, parts);
    CHECK(p.only_results_written());
    CHECK(data::same_bits(p.results(), expected));

    count_products(whole);
    if (whole.weights.data != nullptr) continue; // returned weights are those of whole rows
    fovea_attention a = whole;
    a.part = {0, parts};
    a.partials_size = fovea_partials_size(&a);
    data::guarded<unsigned char> partials(a.partials_size);
    a.partials = partials.data();
    p.wipe_results();
    run_parts(a, parts);
    CHECK(fovea_merge(&a) == FOVEA_OK);
    CHECK((p.only_results_written() && partials.guards_hold()));
    CHECK(data::same_bits(p.results(), expected));
    count_products(a);
  }
}

inline void check_scratch(problem& p, const fovea_attention& a, std::initializer_list<size_t> sizes,
                          const std::vector<float>& expected) {
  for (size_t size : sizes) {
    INFO("scratch of ", size, " bytes");
    CHECK(data::same_bits(count_and_solve(p, a, size), expected));
  }
}

inline void check_panels(problem& p, const fovea_attention& rows, std::initializer_list<size_t> sizes,
                         const std::vector<float>& expected) {
  const packed_keys panels(p);
  check_scratch(p, panels.read_by(rows), sizes, expected);
}

} // namespace ways
