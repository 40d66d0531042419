// Results as JSON and CSV: one object or line for each, with the fields of fields.hpp.
#pragma once
#include <string>
#include <vector>

#include "conditions.hpp"
#include "options.hpp"
#include "run_info.hpp"
#include "tools/output.hpp"

namespace bench {

struct field {
  const char* name;
  std::string value; // as JSON writes it
};
using saved_fields = std::vector<field>; // those that are known; the rest becomes null

std::string quoted(std::string text);

// What was the same for all results, and the moment of this one.
void add_circumstances(saved_fields& known, const run_info& about, const conditions& at);

std::string json_of(const std::vector<saved_fields>& all);
std::string csv_of(const std::vector<saved_fields>& all);

// Writes all files that have a path, or none. Returns the exit code: 2 if a file could not be written.
int write_files(const std::vector<demo::output_file>& named);
int write_files(const options& o, const std::vector<saved_fields>& all, const std::string& picture);

} // namespace bench
