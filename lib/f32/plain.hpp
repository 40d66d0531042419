// Calls of fovea_attend_plain: what they may ask for, as a plan, and the job of its kernel.
#pragma once
#include "f32/plan.hpp"

namespace fovea::f32 {

// Scratch of a row: q times the scale, the scores of a block, and two outputs, of a span and of all spans.
struct plain_job {
  const plan* p;
  float *q, *s, *o, *all_o;
};

// As make_plan. What it does not offer is refused. Fields of options are not set.
int32_t make_plain_plan(const fovea_attention* call, plan& p);

} // namespace fovea::f32
