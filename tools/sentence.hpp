// Words and the vectors they are given: seeded, the same word always the same vector, the same on every
// machine.
#pragma once
#include <cmath>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "matrix.hpp"
#include "numbers.hpp"
#include "text.hpp"

namespace demo {

// What the user can put right: one sentence that says how. Nothing was written.
struct usage_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

constexpr size_t most_words = 64;

// The words of one flag, which the refusals name.
inline std::vector<std::string> words_of(std::string_view text, const std::string& flag) {
  if (!is_utf8(text)) throw usage_error(flag + " is not UTF-8: write the words in UTF-8");
  const std::vector<std::string> words = split(text);
  if (words.empty())
    throw usage_error(flag + " has no word: give at least one word, such as " + flag + " \"the cat sat\"");
  if (words.size() > most_words)
    throw usage_error(format("%s has %zu words: give at most %zu", flag.c_str(), words.size(), most_words));
  for (const std::string& word : words)
    for (const letter& one : letters(word))
      if (!is_printable(one))
        throw usage_error(flag + " holds a control character: give printable words only");
  return words;
}

// Static embeddings: a word is drawn by its spelling and the seed, wherever it stands.
inline matrix seeded_embeddings(const std::vector<std::string>& words, int dim, uint64_t seed) {
  matrix all(static_cast<int>(words.size()), dim);
  for (int i = 0; i < all.rows; ++i) {
    uint64_t state = fnv1a(words[static_cast<size_t>(i)], 0xCBF29CE484222325u + seed);
    for (int c = 0; c < dim; ++c) all.at(i, c) = random_normal(state);
  }
  return all;
}

// What training would find: W_Q, W_K, W_V, W_O, each dim x dim, here seeded. The spread keeps the variance of
// what passes through.
struct projections {
  matrix q, k, v, o;
};

inline projections seeded_projections(int dim, uint64_t seed) {
  const double spread = 1 / std::sqrt(static_cast<double>(dim));
  const auto draw = [&](uint64_t which) { return random_matrix(dim, dim, spread, seed * 4 + which + 1); };
  return {draw(0), draw(1), draw(2), draw(3)};
}

} // namespace demo
