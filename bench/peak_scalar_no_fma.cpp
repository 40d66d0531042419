// The limits of scalar code without fused multiply-add. Compilers make vectors of it where each CPU of the
// target has them.
#if defined(__SSE2__)
#include "peak_sse.hpp"
#else
#include "peak_scalar.hpp"
#endif

namespace bench {
extern const isa_loops scalar_no_fma_loops;
#if defined(__SSE2__)
const isa_loops scalar_no_fma_loops = loops_for<sse>;
#else
const isa_loops scalar_no_fma_loops = loops_for<scalar<false>>;
#endif
} // namespace bench
