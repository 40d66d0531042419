// The limits of scalar code without fused multiply-add: a product and a sum count as its two operations.
#include "peak_scalar.hpp"

namespace bench {
extern const isa_loops scalar_no_fma_loops;
const isa_loops scalar_no_fma_loops = loops_for<scalar<false>>;
} // namespace bench
