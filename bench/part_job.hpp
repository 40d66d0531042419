// One work on a team: each thread computes one part, in scratch memory of its own.
#pragma once
#include <algorithm>
#include <atomic>
#include <cmath>
#include <vector>

#include "measure.hpp"
#include "problem.hpp"
#include "team.hpp"

namespace bench {

class part_job {
 public:
  part_job(const problem& p, const work& w, const kernel& by, int threads) : threads_(threads) {
    for (int i = 0; i < threads; ++i) {
      if (w.integers()) {
        integers_.push_back(p.integer_call(by.integer_isa));
        integers_.back().part = {i, threads};
        scratch_.emplace_back(std::max(size_t{64}, fovea_fixed_scratch_best(&integers_.back())));
      } else {
        floats_.push_back(p.call(by.isa));
        floats_.back().part = {i, threads};
        scratch_.emplace_back(std::max(size_t{64}, fovea_scratch_best(&floats_.back())));
      }
    }
  }

  // Each thread computes its part `calls` times without waiting for the others.
  timing sample(team& all, int calls) {
    return all.run([&](int thread) {
      for (int call = 0; call < calls; ++call)
        if (const int32_t s = attend(static_cast<size_t>(thread))) status_ = s;
    });
  }

  // Calls that make a sample of that many seconds.
  int calls_for(team& all, double seconds) {
    sample(all, 1); // warms up
    return std::max(1, static_cast<int>(std::ceil(seconds / ran(sample(all, 1)))));
  }

  int32_t status() const { return status_; }
  int threads() const { return threads_; }

 private:
  int32_t attend(size_t thread) {
    const page_buffer& scratch = scratch_[thread];
    return floats_.empty() ? fovea_fixed_attend(&integers_[thread], scratch.data(), scratch.size())
                           : fovea_attend(&floats_[thread], scratch.data(), scratch.size());
  }

  const int threads_;
  std::vector<fovea_attention> floats_;
  std::vector<fovea_fixed_attention> integers_;
  std::vector<page_buffer> scratch_;
  std::atomic<int32_t> status_{FOVEA_OK};
};

// Works from floats quantise head by head and have no parts.
inline bool has_parts(const work& w) { return !w.from_floats(); }

} // namespace bench
