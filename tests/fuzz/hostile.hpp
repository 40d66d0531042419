// Arguments that nobody would pass on purpose.
#pragma once
#include "bytes.hpp"
#include "memory.hpp"

namespace fuzz {

constexpr ptrdiff_t odd_strides[] = {
    0, 1,  -1,      PTRDIFF_MAX,        PTRDIFF_MIN, PTRDIFF_MAX / 4, PTRDIFF_MAX / 3, ptrdiff_t{1} << 40,
    2, 17, 1 << 20, PTRDIFF_MAX / 2 + 1};
constexpr int32_t odd_counts[] = {
    0, 1,  -1,  INT32_MAX,  INT32_MIN, 1 << 30,         1024, 1025, 2, 1 << 16, 3, 4, 1 << 20,
    7, 64, 256, 0x7fff0000, 5,         INT32_MAX - 4095};
constexpr double allowed_seconds = 0.1; // of processor time, under sanitizers, for a call without work

inline const void* moved(const void* p, uintptr_t by) {
  return reinterpret_cast<const void*>(reinterpret_cast<uintptr_t>(p) + by);
}

// An address that is null, odd, within an argument's memory, or at the end of all addresses.
inline const void* odd_address(bytes& in, const void* self, const std::vector<const void*>& others) {
  switch (in.between(0, 4)) {
    case 0:
      return nullptr;
    case 1:
      return moved(self, static_cast<uintptr_t>(in.between(1, 8)));
    case 2:
      return moved(nullptr, static_cast<uintptr_t>(-1 - in.between(0, 4000)));
    default:
      const int32_t by = in.one_in(2) ? 4 * in.between(0, 255) : in.between(-8, 8);
      return moved(others[in.byte() % others.size()], static_cast<uintptr_t>(by));
  }
}

// A pointer of a call as one that may point anywhere.
template <class T>
const void** field(T*& pointer) {
  return const_cast<const void**>(reinterpret_cast<const void* const*>(&pointer));
}

// One of these pointers now points to where nobody would let it point.
template <size_t Count>
void change_one(bytes& in, const void** const (&fields)[Count]) {
  const void** changed = in.one_of(fields);
  std::vector<const void*> others;
  for (const void** other : fields) others.push_back(*other);
  *changed = odd_address(in, *changed, others);
}

} // namespace fuzz
