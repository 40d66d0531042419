// What an ISA offers for tensors that are not plain floats.
#pragma once
#include "f32/kernel/stored_by_row.hpp"
#include "f32/kernel/stored_values.hpp"
#include "f32/kernel/streams.hpp"

namespace fovea::f32 {

template <class Isa>
void score_stored_heads(const tile_job& job, const block& b, int heads, int rows) {
  for (int h = 0; h < heads; ++h) score_stored<Isa>(job, b, job.kv_head + h, h * rows, rows);
}

template <class Isa>
constexpr auto stored_scores_of() {
  if constexpr (Isa::lanes > 1)
    return &score_stored_heads<Isa>;
  else
    return nullptr;
}

template <class Isa>
constexpr auto streams_of() {
  if constexpr (reads_streams<Isa>)
    return &attend_streams<Isa>;
  else
    return nullptr;
}

template <class Isa>
constexpr stored_tiles stored_tiles_of = {
    scale_stored_query<Isa>, pack_stored_keys<Isa>, stored_scores_of<Isa>(),
    scale_by_keys<Isa>,      scale_by_values<Isa>,  copy_stored_values<Isa>,
    add_stored_values<Isa>,  streams_of<Isa>(),     write_stored_rows<Isa>};

template <class Isa>
constexpr stored_by_row stored_by_row_of = {load_stored_query<Isa>, load_stored_keys<Isa>,
                                            load_stored_values<Isa>, scale_row_by<Isa>,
                                            write_stored_row<Isa>};

template <class Isa>
constexpr stored_forms stored_forms_of() {
  if constexpr (Isa::by_row)
    return {nullptr, &stored_by_row_of<Isa>};
  else
    return {&stored_tiles_of<Isa>, nullptr};
}

} // namespace fovea::f32
