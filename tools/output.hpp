// Puts finished text where it belongs, whole or not at all. All throw usage_error.
#pragma once
#include <string>
#include <vector>

namespace demo {

struct output_file {
  std::string path, text;
};

// Writes all files or none: each one under a name of its own in the same folder, and when all are complete
// they are renamed. A device or pipe is written directly.
void write_whole(const std::vector<output_file>& files);
void write_whole(const std::string& path, const std::string& text);

// To standard output.
void print(const std::string& text);

} // namespace demo
