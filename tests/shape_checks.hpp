// Checks of a table of shapes: on every ISA, each result within the error bound of the formula.
#pragma once
#include <doctest/doctest.h>

#include "isas.hpp"
#include "problem.hpp"
#include "reference.hpp"

inline void check_shape(const shape& s) {
  INFO(doctest::String(s.why));
  problem p(s);
  const reference::answer expected = reference::attend(p.call());
  isas::for_each([&](int32_t isa) { reference::check_results(expected, solve(p, p.call(isa))); });
}

template <size_t Count>
void check_shapes(const shape (&table)[Count]) {
  for (const shape& s : table) check_shape(s);
}
