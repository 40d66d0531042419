// The parts of `fovea demo`: worked examples, the user's own sentence, and what this machine does.
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

struct example {
  const char* name;
  const char* title;
  void (*show)(page& out, const setup& how);
};

const std::vector<example>& examples();

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
table method_table(const method& m, int32_t isa, const style& how);

// Runs the same attention on every ISA of this CPU and compares the bits; false: they differ, which must not
// happen.
bool show_same_bits(page& out, const request& asked);
void show_speed(page& out);

} // namespace demo
