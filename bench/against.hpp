// This run compared with a saved one: shares of the limit, because those can be compared between runs and
// machines.
#pragma once
#include <string>
#include <vector>

#include "chart.hpp"
#include "measure.hpp"
#include "saved.hpp"

namespace bench {

std::string against_table(const std::vector<result>& now, const std::vector<saved_result>& before,
                          const std::string& path);
drawing against_bars(const std::vector<result>& now, const std::vector<saved_result>& before,
                     const std::string& path);

} // namespace bench
