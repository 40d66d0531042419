// Asks the environment and the terminal itself.
#include "terminal.hpp"

#include <algorithm>
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

int output_width() {
  constexpr long narrowest = 40, widest = 200, unknown = 100;
  long width = std::strtol(variable("COLUMNS").c_str(), nullptr, 10);
  if (width <= 0) width = terminal_columns();
  return static_cast<int>(width <= 0 ? unknown : std::min(std::max(width, narrowest), widest));
}

// The first of these variables that is not empty names the locale, as in POSIX.
bool locale_is_utf8() {
  std::string locale;
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"})
    if (locale.empty()) locale = variable(name);
  for (const char* name : {"UTF-8", "utf-8", "UTF8", "utf8"})
    if (locale.find(name) != std::string::npos) return true;
  return false;
}

} // namespace

terminal terminal_of_output(bool plain, bool color) {
  const bool wanted = is_terminal(1) && variable("TERM") != "dumb" && variable("NO_COLOR").empty();
  return {output_width(), !plain && locale_is_utf8(), color || (wanted && !plain)};
}

void progress(const std::string& words) {
  if (!is_terminal(2)) return;
  std::fprintf(stderr, "\r\x1b[K%s", words.c_str());
  std::fflush(stderr);
}

} // namespace demo
