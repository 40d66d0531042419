// What a test adds to the report at the end of the run.
#pragma once
#include <cstdint>

namespace report {

// The test that is running could not do its work here: it counts as skipped, and the report says why. The
// text must stay valid.
void skip(const char* reason);

// The digest of the bit identity set on one ISA; the report shows one digest, or "-" when ISAs that promise
// bits disagree.
void digest(const char* isa, bool promises_bits, uint64_t value);
void digest(int32_t isa, uint64_t value); // of float attention

// The largest share of the error bound that any result has used so far.
void share_of_bound(double share);

// Did --accuracy ask for a line of accuracy for each conformance case?
bool accuracy_wanted();

} // namespace report
