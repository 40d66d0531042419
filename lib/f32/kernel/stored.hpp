// What an ISA offers for tensors that are not plain floats.
#pragma once
#include "f32/kernel/stored_values.hpp"

namespace fovea::f32 {

template <class Isa>
constexpr auto stored_scores_of() {
  if constexpr (Isa::lanes > 1)
    return &score_stored<Isa>;
  else
    return nullptr;
}

template <class Isa>
constexpr stored_kernel stored_kernel_of = {
    scale_stored_query<Isa>, pack_stored_keys<Isa>,   stored_scores_of<Isa>(), scale_by_keys<Isa>,
    scale_by_values<Isa>,    copy_stored_values<Isa>, add_stored_values<Isa>,  write_stored_rows<Isa>};

} // namespace fovea::f32
