// Rotary embedding: validation that the call of its own and the layer share.
#pragma once
#include "f32/check_rows.hpp"
#include "f32/row_jobs.hpp"
#include "fovea/ops.h"

namespace fovea::f32 {

// Tables for heads of `dim` numbers, and positions of `tokens` tokens: numbers of the job, but its tensors.
int32_t check_rope(const fovea_rope& rope, int32_t dim, rotate_job& job, byte_range (&tables)[2]);
int32_t check_positions(const fovea_rope& rope, const int32_t* positions, int32_t first, int32_t tokens,
                        byte_range& bytes);

} // namespace fovea::f32
