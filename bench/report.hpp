// What the user sees: aligned tables on the terminal, and the same results as fields of files.
#pragma once
#include <string>
#include <vector>

#include "files.hpp"
#include "linear.hpp"
#include "machine.hpp"
#include "measure.hpp"
#include "rows.hpp"

namespace bench {

std::string limits_table(const std::vector<level>& levels, const std::vector<limits>& machine);
std::string table_head();
std::string table_row(const result& r);

std::string note_on_disturbed(); // explains the mark

struct all_results {
  run_info about;
  std::vector<result> attention;
  std::vector<row_result> rows;
  std::vector<linear_result> products;
};
saved_fields fields_of_shape(const work& w); // dtype, heads, sizes
std::string time_text(double seconds);       // "3.51 ms"
std::vector<saved_fields> fields_of(const all_results& results);

} // namespace bench
