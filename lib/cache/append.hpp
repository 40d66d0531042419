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

// Is the input right, and is there room? `dtype` is that of k and v. They write nothing. The second one
// expects an open image, and looks at no ring.
int32_t check_append(void* image, const fovea_in* k, const fovea_in* v, int32_t tokens, int32_t dtype,
                     appending& a);
int32_t check_input(const fovea_in* k, const fovea_in* v, int32_t tokens, int32_t dtype, appending& a);
// One input of an image; returns the reason to refuse it, or FOVEA_OK.
int32_t check_rows(const opened& c, const fovea_in* in, int32_t tokens, int32_t dim, int32_t dtype,
                   rows& out);
// Commits what the ring drops, before its bytes are written.
void drop(appending& a);
// Commits the tokens and their checksum, after their bytes were written.
void keep(appending& a, uint32_t sum);

// Token i of the call, in rows of int8, goes to `place`; returns its checksum.
uint32_t write_int8(const appending& a, int32_t i, int32_t place);

} // namespace fovea::cache
