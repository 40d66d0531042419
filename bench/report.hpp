// What the user sees: aligned tables on the terminal, and the same results as JSON and CSV.
#pragma once
#include <string>
#include <vector>

#include "machine.hpp"
#include "measure.hpp"
#include "rows.hpp"

namespace bench {

std::string limits_table(const std::vector<level>& levels, const std::vector<limits>& machine);
std::string table_head();
std::string table_row(const result& r);

std::string note_on_disturbed(); // explains the mark

std::string as_json(const std::vector<result>& results, const std::vector<row_result>& rows);
std::string as_csv(const std::vector<result>& results, const std::vector<row_result>& rows);

bool write_file(const std::string& path, const std::string& text); // false: nothing half-written is left

} // namespace bench
