// The terminal: how wide it is, what it can show, and a line of progress on it.
#pragma once
#include <string>

#include "style.hpp"

namespace demo {

// plain: ASCII whatever the terminal can; color: blocks and colours whatever the output is.
style style_of_output(bool plain, bool color);

// Shows one line on stderr, in place of the last one; "" takes it away. Nothing where stderr is no terminal.
void progress(const std::string& words);

} // namespace demo
