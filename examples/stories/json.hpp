// Numbers and words of a JSON text, by the path on which they stand: "rope_scaling.factor", "eos_token_id.0".
// Files may come from anybody: depth and count are limited, and what is no JSON is refused.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "minilm/refusal.hpp"

namespace stories {

using minilm::refusal;

class json_values {
 public:
  refusal read(std::string_view text); // which stays where it is

  // As it is written, a string with its quotes; empty: not there. A name that stands twice has its last
  // value, as in Python.
  std::string_view find(std::string_view path) const;

 private:
  friend class json_reader;
  struct value {
    std::string path;
    std::string_view text;
  };
  std::vector<value> values_;
};

} // namespace stories
