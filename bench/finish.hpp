// The end of a program: what it printed has arrived, or it says that it has not.
#pragma once
#include <cstdio>

namespace bench {

inline int finish(const char* program, int code) {
  if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return code;
  std::fprintf(stderr, "%s: standard output could not be written; free some room and run again\n", program);
  return 2;
}

} // namespace bench
