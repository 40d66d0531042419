// What calls of floats and of integers draw alike. A change of the order in which bytes are taken makes
// another call of each stored input.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "bytes.hpp"
#include "fovea/fovea.h"

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

} // namespace fuzz
