// Puts finished text where it belongs, whole or not at all. Both throw usage_error.
#pragma once
#include <string>

namespace demo {

// Writes a file beside `path` and moves it into place; a device or pipe is written directly.
void write_whole(const std::string& path, const std::string& text);

// To standard output.
void print(const std::string& text);

} // namespace demo
