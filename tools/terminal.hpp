// The terminal: how wide it is, what it can show, and a line of progress on it.
#pragma once
#include <string>

namespace demo {

struct terminal {
  int width = 100;
  bool utf8 = false; // else ASCII
  bool colour = false;
};

// What standard output can show, by the environment. `plain` and `color` are the flags of that name.
terminal terminal_of_output(bool plain, bool color);

// Shows one line on standard error, in place of the last one; "" removes it. Nothing where it is no terminal.
void progress(const std::string& words);

} // namespace demo
