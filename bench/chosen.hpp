// The works that the options choose.
#pragma once
#include <vector>

#include "linear.hpp"
#include "options.hpp"
#include "rows.hpp"
#include "works.hpp"

namespace bench {

struct chosen_works {
  std::vector<work> attention;
  std::vector<row_work> rows;
  std::vector<linear_work> products;
  size_t left_out = 0; // because they are longer than --most allows

  size_t count() const { return attention.size() + rows.size() + products.size(); }
};
chosen_works works_of(const options& o);

} // namespace bench
