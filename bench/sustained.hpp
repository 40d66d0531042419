// One work without a pause, for minutes: whether the rate falls when the machine gets warm.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "conditions.hpp"
#include "options.hpp"

namespace bench {

struct moment {
  double second, gflops; // since the start; over the interval that ends there
  conditions at;
};

// What the first and the last minute say, or both halves of a run of less than two minutes.
struct endurance {
  moment first, last; // means; 0 where nothing is known
  double change() const { return first.gflops > 0 ? last.gflops / first.gflops - 1 : 0; }
};
endurance endurance_of(const std::vector<moment>& all);

// A line of `columns` bars from the least to the largest value; '?' where nothing is known.
std::string bars(const std::vector<double>& values, size_t columns, bool utf8);

int run_sustained(const options& o); // the exit code

} // namespace bench
