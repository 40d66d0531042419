// Why something was not accepted: a sentence without the full stop, and the name of what it is about.
#pragma once
#include <algorithm>
#include <string_view>

namespace minilm {

class refusal {
 public:
  refusal() = default;
  refusal(const char* why, std::string_view about)
      : why_(why), about_length_(std::min(about.size(), sizeof about_)) {
    std::copy(about.begin(), about.begin() + static_cast<std::ptrdiff_t>(about_length_), about_);
  }

  explicit operator bool() const { return why_ != nullptr; }
  const char* why() const { return why_; } // null: accepted
  // A tensor, a token; empty: the file as a whole. It may hold any bytes, and is cut where it is long.
  std::string_view about() const { return {about_, about_length_}; }

 private:
  const char* why_ = nullptr;
  size_t about_length_ = 0;
  char about_[64];
};

} // namespace minilm
