// What all appends share: validation, room, and the commit behind the data.
#pragma once
#include "cache/image.hpp"

namespace fovea::cache {

struct rows { // [head][token][dim], strides in elements
  const unsigned char* data;
  ptrdiff_t head, token;

  template <class T>
  const T* row(int32_t head_index, int32_t token_index) const {
    return reinterpret_cast<const T*>(data) + head_index * head + token_index * token;
  }
};

struct appending {
  opened c;
  rows k, v;
  int32_t tokens;
  int32_t oldest; // behind what the ring drops
};

// Is the input right, and is there room? `dtype` is that of k and v. Writes nothing.
int32_t check_append(void* image, const fovea_in* k, const fovea_in* v, int32_t tokens, int32_t dtype,
                     appending& a);
// Commits what the ring drops, before its bytes are written.
void drop(appending& a);
// Commits the tokens, after their bytes were written.
void keep(appending& a);

// Calls write(head, place, index, count) for tokens index .. index+count-1 of the input that stand side by
// side from `place` on.
template <class Write>
void write_tokens(appending& a, Write write) {
  drop(a);
  for (int32_t i = 0; i < a.tokens;) {
    const int32_t token = a.c.now.length + i, count = a.c.at.side_by_side(token, a.tokens - i);
    for (int32_t g = 0; g < a.c.shape().kv_heads; ++g) write(g, a.c.at.place(token), i, count);
    i += count;
  }
  keep(a);
}

} // namespace fovea::cache
