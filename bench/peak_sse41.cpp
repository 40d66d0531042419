// The limits of SSE4.1.
#include "peak_sse.hpp"

namespace bench {
extern const isa_loops sse41_loops;
const isa_loops sse41_loops = loops_for<sse>;
} // namespace bench
