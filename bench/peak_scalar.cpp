// The limits of scalar code with fused multiply-add.
#include "peak_scalar.hpp"

namespace bench {
extern const isa_loops scalar_loops;
const isa_loops scalar_loops = loops_for<scalar<true>>;
} // namespace bench
