// Puts finished text where it belongs, whole or not at all.
#pragma once
#include <string>

namespace demo {

// Writes a file beside `path` and moves it into place; a device or pipe is written directly. Throws
// usage_error.
void write_whole(const std::string& path, const std::string& text);

// False when stdout did not take all of it.
bool print(const std::string& text);

} // namespace demo
