// The same work on several threads, each of which computes one part of it; and what they read from memory
// together.
#pragma once
#include "options.hpp"

namespace bench {

int run_threads(const options& o); // the exit code

} // namespace bench
