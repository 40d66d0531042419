// Asks the environment and the terminal itself.
#include "terminal.hpp"

#include <cstdio>
#include <cstdlib>

#if defined(__unix__) || defined(__APPLE__)
#include <sys/ioctl.h>
#include <unistd.h>
#endif

namespace demo {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

#if defined(__unix__) || defined(__APPLE__)
bool is_terminal(int file) { return isatty(file) == 1; }

int terminal_columns() {
  winsize size = {};
  return ioctl(1, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}
#else
bool is_terminal(int) { return false; }
int terminal_columns() { return 0; }
#endif

constexpr int narrowest = 40, widest = 200, unknown = 100;

int output_width() {
  int width = std::atoi(variable("COLUMNS").c_str());
  if (width <= 0) width = terminal_columns();
  return width <= 0 ? unknown : std::min(std::max(width, narrowest), widest);
}

} // namespace

style style_of_output(bool plain, bool color) {
  style how;
  how.width = output_width();
  how.blocks = !plain && (color || (is_terminal(1) && variable("TERM") != "dumb"));
  const bool painted = how.blocks && (color || variable("NO_COLOR").empty());
  const std::string depth = variable("COLORTERM");
  if (painted) how.paint = depth == "truecolor" || depth == "24bit" ? colours::full : colours::cube;
  return how;
}

void progress(const std::string& words) {
  if (!is_terminal(2)) return;
  std::fprintf(stderr, "\r\x1b[K%s", words.c_str());
  std::fflush(stderr);
}

} // namespace demo
