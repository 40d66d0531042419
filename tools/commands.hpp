// The commands that stand alone: each reads its flags, prints, and returns the exit code. They throw
// usage_error.
#pragma once
#include <string>
#include <vector>

namespace demo {

int run_info(const std::vector<std::string>& arguments);
int run_size(const std::vector<std::string>& arguments);
int run_scale(const std::vector<std::string>& arguments);
int run_attend(const std::vector<std::string>& arguments);

} // namespace demo
