// Byte ranges of tensors: how far they reach, and whether two of them meet.
#pragma once
#include <cstddef>
#include <cstdint>

namespace fovea {

// n >= 0, rounded up to a multiple of a power of two.
constexpr int32_t up_to(int32_t n, int32_t step) { return (n + step - 1) & -step; }

struct byte_range {
  uintptr_t begin, end; // empty when equal
};

constexpr bool meet(byte_range a, byte_range b) { // an empty range meets nothing, wherever it lies
  return (a.begin < b.begin ? b.begin : a.begin) < (a.end < b.end ? a.end : b.end);
}

// False when the bytes do not fit into the address space.
static inline bool range_of(const void* data, size_t bytes, byte_range& out) {
  out.begin = reinterpret_cast<uintptr_t>(data);
  return bytes <= PTRDIFF_MAX && !__builtin_add_overflow(out.begin, bytes, &out.end);
}

struct extent { // of a tensor of rows: counts and strides in elements
  int32_t heads, tokens;
  ptrdiff_t head_stride, token_stride, row;
};

// A stride, of which 0 says that what it separates stands side by side.
constexpr ptrdiff_t stride_or(ptrdiff_t given, ptrdiff_t contiguous) { return given ? given : contiguous; }

#if defined(__arm__) && __ARM_ARCH < 7
constexpr bool multiplies_slowly = true; // by a call
#else
constexpr bool multiplies_slowly = false;
#endif

// Bytes from the first to behind the last element; false on overflow.
static inline bool bytes_of(const extent& e, size_t element, size_t& bytes) {
  bytes = 0;
  if (e.heads == 0 || e.tokens == 0 || e.row == 0) return true;
  if constexpr (sizeof(ptrdiff_t) == 4) { // then 64 bits hold them, without a question in between
    const auto product = [](int32_t n, ptrdiff_t stride) {
      return multiplies_slowly && n == 0 ? 0 : int64_t{n} * stride;
    };
    const int64_t elements = product(e.heads - 1, e.head_stride) + product(e.tokens - 1, e.token_stride) +
                             e.row;
    if (static_cast<uint64_t>(elements) > PTRDIFF_MAX) return false;
    const uint64_t size = uint64_t{static_cast<uint32_t>(elements)} * element;
    bytes = static_cast<size_t>(size);
    return size <= PTRDIFF_MAX;
  }
  ptrdiff_t heads, tokens, elements, size;
  if (__builtin_mul_overflow(static_cast<ptrdiff_t>(e.heads - 1), e.head_stride, &heads)) return false;
  if (__builtin_mul_overflow(static_cast<ptrdiff_t>(e.tokens - 1), e.token_stride, &tokens)) return false;
  if (__builtin_add_overflow(heads, tokens, &elements) || __builtin_add_overflow(elements, e.row, &elements))
    return false;
  if (__builtin_mul_overflow(elements, static_cast<ptrdiff_t>(element), &size)) return false;
  bytes = static_cast<size_t>(size);
  return true;
}

// The same when heads follow each other without a gap.
static inline bool dense_bytes_of(const extent& e, size_t element, size_t& bytes) {
  ptrdiff_t elements, size;
  if (__builtin_mul_overflow(static_cast<ptrdiff_t>(e.heads), e.head_stride, &elements)) return false;
  if (__builtin_mul_overflow(elements, static_cast<ptrdiff_t>(element), &size)) return false;
  bytes = static_cast<size_t>(size);
  return true;
}

} // namespace fovea
