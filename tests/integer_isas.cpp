// fovea_integer_tests has no choice of ISA: each of its tests walks through all that the machine has.
#include <cstdio>
#include <cstring>

#include "isa_choice.hpp"

void isa_choice::list() { std::puts(name()); }

bool isa_choice::choose(const char* wanted) { return std::strcmp(wanted, name()) == 0; }

const char* isa_choice::name() { return "integers"; }
