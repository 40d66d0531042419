// Why something was not accepted: a sentence without the full stop, and the name of what it is about.
#pragma once
#include <string_view>

namespace minilm {

struct refusal {
  const char* why = nullptr; // null: accepted
  std::string_view about;    // a tensor, a token; empty: the file as a whole. It may hold any bytes

  explicit operator bool() const { return why != nullptr; }
};

} // namespace minilm
