// Attention of a layer in int8: heads are quantised one after another, and attended to in integers.
#pragma once
#include "layer/plan.hpp"

namespace fovea::layer {

// What is not offered in integers is refused by name.
int32_t check_integer_options(const fovea_attention& how, int32_t most_keys);

// One KV head of one sequence, as the call of floats has it. Queries from `counting` on are padding.
struct integer_head {
  const layer_plan& p;
  fovea_attention a;
  int32_t counting;
};
int64_t bytes_of_integers(const layer_plan& p, int32_t queries, int32_t keys); // of quantised rows
int64_t best_integer_scratch(const integer_head& head);
int32_t check_integers(const integer_head& head);
int32_t attend_in_integers(const integer_head& head, void* scratch, size_t size);

} // namespace fovea::layer
