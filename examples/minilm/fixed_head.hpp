// Attention of one head in int8: quantised on the way, and back to floats.
#pragma once
#include "encoder.hpp"

namespace minilm {

// q, k and v of the head stand in rows of Q, K and V side by side; `context` has rows of `width`.
int32_t attend_int8(const float* qkv, float* context, int32_t tokens, int32_t isa, worker_space& own);

} // namespace minilm
