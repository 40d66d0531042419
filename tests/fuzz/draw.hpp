// What calls of floats and of integers draw alike. A change of the order in which bytes are taken makes
// another call of each stored input.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "bytes.hpp"
#include "fovea/fovea.h"
#include "memory.hpp"
#include "pattern_reference.hpp"

namespace fuzz {

// Floats: zeros, ones, NaNs, infinities, denormals, the largest and the smallest.
constexpr uint32_t special_bits[] = {
    0,          0x80000000u, 0x3f800000u, 0x7fc00001u, 0x7f800001u, 0xffffffffu, 0x7f800000u, 0xff800000u,
    0x00000001, 0x807fffffu, 0x00800000u, 0x7f7fffffu, 0xff7fffffu, 0x7f000000u, 0x2b800000u, 0xcb000000u};

// Bytes of scratch for a legal call: the least, what the constant promises, the best, or another number.
inline size_t draw_scratch_size(bytes& in, size_t least, size_t promised, size_t best) {
  switch (in.between(0, 5)) {
    case 1:
      return least;
    case 2:
      return promised;
    case 3:
      return best + static_cast<size_t>(in.between(0, 200));
    case 4:
      return least + in.word() * (best - least) / 65536;
    default:
      return best;
  }
}

// Causal, position, window of up to `widest` keys to each side, prefix, kept keys. Returns the byte that
// chose.
template <class Call>
uint32_t draw_visibility(bytes& in, Call& call, int32_t widest) {
  const uint32_t which = in.byte();
  const auto near = [&] { return std::max(0, call.first_key + in.between(-20, call.keys + 20)); };
  if ((which & 1) != 0) call.flags |= FOVEA_CAUSAL;
  if ((which & 6) == 6)
    call.flags |= FOVEA_POSITION, call.position = call.first_key + in.between(-20, call.keys + 20);
  if ((which & 8) != 0)
    call.flags |= FOVEA_WINDOW, call.window_left = in.between(-3, widest),
                                call.window_right = in.between(-3, widest);
  if ((which & 48) == 48) call.prefix = near();
  if ((which & 0x50) == 0x50) call.keep_first = near();
  return which;
}

// Chunks, or a tree where the last keys can be those of the queries. `which` is what draw_visibility
// returned.
template <class Call>
void draw_pattern(bytes& in, uint32_t which, Call& call, memory& all) {
  if ((which & 0x82) != 0x80) return;
  fovea_pattern& x = *all.take_of<fovea_pattern>(1);
  x = {};
  call.pattern = &x;
  if ((which & 4) == 0 || call.keys < call.queries) {
    const int32_t sizes[] = {1, 2, 3, 16, 40, 100, 256, INT32_MAX};
    x.chunk = in.one_of(sizes), x.left_chunks = in.between(-1, 4);
    return;
  }
  call.flags |= FOVEA_CAUSAL;
  int16_t* const parents = all.take_of<int16_t>(static_cast<size_t>(call.queries));
  pattern::draw_tree(parents, call.queries, [&](int32_t low, int32_t high) { return in.between(low, high); });
  x.parents = parents;
}

} // namespace fuzz
