// Where keys and values of a float call stand that gives them in segments. Keys are absolute.
#pragma once
#include <cstddef>
#include <cstdint>

#include "fovea/fovea.h"

namespace fovea::f32 {

struct plan;

// The segment that holds an absolute key; one before it if none does.
const fovea_segment& segment_of(const fovea_segments& map, int64_t key);

struct key_piece {
  const float* at; // panels from the one that was asked for on
  int64_t end;     // behind the last key of these panels
};
key_piece keys_in_segment(const plan& p, int32_t kv_head, int64_t key);

// A row of V whose rows are `stride` elements of so many bytes apart. No segment holds it: any address.
const void* value_in_segment(const fovea_segments& map, int32_t kv_head, int64_t key, ptrdiff_t stride,
                             int element);
// How many rows of V for keys from .. to-1 stand side by side, from the first one on.
int64_t values_side_by_side(const fovea_segments& map, int64_t from, int64_t to);

} // namespace fovea::f32
