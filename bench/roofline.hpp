// The roofline picture: how much a work computes for each byte it needs, against how fast that went and what
// this core allows.
#pragma once
#include <vector>

#include "chart.hpp"
#include "machine.hpp"
#include "measure.hpp"

namespace bench {

drawing roofline(const std::vector<level>& levels, const std::vector<limits>& machine,
                 const std::vector<result>& results);

} // namespace bench
