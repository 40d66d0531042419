// The parts of `fovea demo`: what this machine does, worked examples, and the user's own sentence.
#pragma once
#include <string>
#include <vector>

#include "page.hpp"
#include "request.hpp"

namespace demo {

struct setup {
  int32_t isa = FOVEA_ISA_BEST;
  bool brief = false; // all examples in a row: the result and what to notice
};

void show_cat(page& out, const setup& how);
void show_scale(page& out, const setup& how);
void show_geometry(page& out, const setup& how);
void show_bank(page& out, const setup& how);
void show_it(page& out, const setup& how);
void show_method(page& out, const setup& how);
void show_heads(page& out, const setup& how);
void show_translation(page& out, const setup& how);
void show_apple(page& out, const setup& how);

void show_sentence(page& out, const request& asked);

// One row a word: q, k, v, q.k, scaled, softmax, softmax * v; the sum is the output of word `query`.
struct method {
  std::vector<std::string> words;
  matrix q, k, v; // of one head
  int query;
};
table method_table(const method& m, const std::string& caption, int32_t isa, int width);

// The weights of each head: "head 1", "head 2", ...
std::vector<heat_map> maps_of_heads(const std::vector<std::string>& queries,
                                    const std::vector<std::string>& keys, const std::vector<matrix>& weights);

// What keeps an ISA from the bits that the others share; "": it has them.
std::string why_own_bits(int32_t isa);

// Computes the same attention on every ISA of this CPU, compares the bits and times it; false: they differ,
// which must not happen.
bool show_machine(page& out, const request& asked);

} // namespace demo
