// One line on a terminal that says what is being measured; nothing where the output is kept.
#pragma once
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <string>

namespace bench {

class progress {
 public:
  explicit progress(size_t steps) : steps_(steps), shown_(isatty(STDERR_FILENO) == 1) {}
  ~progress() { clear(); }

  void step(const std::string& what) {
    ++step_;
    if (shown_) std::fprintf(stderr, "\r\033[K[%zu/%zu] %s", step_, steps_, what.c_str());
  }
  void clear() const {
    if (shown_) std::fprintf(stderr, "\r\033[K");
  }

 private:
  size_t steps_, step_ = 0;
  bool shown_;
};

// Prints between two lines of progress.
inline void print(const progress& p, const std::string& text) {
  p.clear();
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

} // namespace bench
