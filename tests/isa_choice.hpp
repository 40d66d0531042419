// The ISAs of a test program as its command line knows them: float tests run on the one that --isa names or
// on all, integer tests on all.
#pragma once

namespace isa_choice {

void list();                   // one name to a line
bool choose(const char* name); // false: this machine does not run it
const char* name();            // what this run is on: an ISA, "all", or "integers"

} // namespace isa_choice
