// The list of worked examples, in the order in which they build on each other.
#include "demo.hpp"

namespace demo {

const std::vector<example>& examples() {
  static const std::vector<example> all = {
      {"cat", "The cat sat: attention by hand", show_cat},
      {"scale", "Why the scores are divided by sqrt(d)", show_scale},
      {"geometry", "money bank: attention moves a vector", show_geometry},
      {"bank", "One word, two sentences, two vectors", show_bank},
      {"it", "What \"it\" refers to", show_it},
      {"method", "The whole method as one table", show_method},
      {"heads", "Two heads, two readings", show_heads},
      {"translation", "Attention between two sentences", show_translation},
      {"apple", "The same word twice in one sentence", show_apple},
  };
  return all;
}

} // namespace demo
