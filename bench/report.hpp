// What the user sees: aligned tables on the terminal, and the same results as JSON and CSV.
#pragma once
#include <string>
#include <vector>

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
  std::vector<result> attention;
  std::vector<row_result> rows;
  std::vector<linear_result> products;
};
std::string as_json(const all_results& results);
std::string as_csv(const all_results& results);

bool write_file(const std::string& path, const std::string& text); // false: nothing half-written is left

} // namespace bench
