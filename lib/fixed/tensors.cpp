// Where tensors and tables of integer calls stand, whatever their strides are: byte ranges without overflow.
#include "common/build.hpp"

#include "fixed/kernel.hpp"

namespace fovea::fixed {
namespace {

// Twice as wide as a size: of counts and strides, products of two and their sums fit.
#if PTRDIFF_MAX > 0x7fffffff
__extension__ typedef __int128 wide;
#else
using wide = int64_t;
#endif

// Of a tensor that is written: tokens lie within heads, or heads within tokens, and no element is in two
// rows.
bool rows_apart(const tensor_counts& n, ptrdiff_t head, ptrdiff_t token) {
  const ptrdiff_t heads = (n.heads - 1) * head, tokens = (n.tokens - 1) * token;
  return n.heads == 1 || head >= tokens + n.row ? n.tokens == 1 || token >= n.row
                                                : head >= n.row && (n.tokens == 1 || token >= heads + n.row);
}

// Most tensors have no gaps and few rows, so that products of counts cannot overflow.
bool is_small(ptrdiff_t head_stride, ptrdiff_t token_stride, const tensor_counts& n) {
  return !(head_stride | token_stride | n.heads >> 6 | n.tokens >> 12 | n.row >> 11);
}

} // namespace

FOVEA_ONCE int32_t check_tensor(const void* data, ptrdiff_t head_stride, ptrdiff_t token_stride,
                                const tensor_counts& n, byte_rows& rows, byte_range& bytes) {
  if ((head_stride | token_stride) < 0) return FOVEA_STRIDE;
  const ptrdiff_t token = token_stride ? token_stride : n.row;
  ptrdiff_t head = head_stride, size = 0;
  if (is_small(head_stride, token_stride, n)) {
    head = n.tokens * token;
    size = n.heads * head;
  } else {
    if (!head && __builtin_mul_overflow(ptrdiff_t{n.tokens}, token, &head)) return FOVEA_OVERFLOW;
    if (n.tokens && n.row) {
      const wide elements = wide{n.heads - 1} * head + wide{n.tokens - 1} * token + n.row;
      if (elements > PTRDIFF_MAX >> n.shift) return FOVEA_OVERFLOW;
      size = static_cast<ptrdiff_t>(elements);
    }
  }
  size <<= n.shift;
  bytes.begin = reinterpret_cast<uintptr_t>(data);
  if (__builtin_add_overflow(bytes.begin, static_cast<uintptr_t>(size), &bytes.end)) return FOVEA_OVERFLOW;
  if (n.written && size && !rows_apart(n, head, token)) return FOVEA_STRIDE;
  if (!data && size) return FOVEA_NULL;
  // Of rows that nobody walks over, strides may be any number.
  const auto in_bytes = [&](ptrdiff_t stride) {
    return size ? static_cast<ptrdiff_t>(static_cast<size_t>(stride) << n.shift) : 0;
  };
  rows = {static_cast<const unsigned char*>(data), in_bytes(head), in_bytes(token)};
  return bytes.begin & ((uintptr_t{1} << n.shift) - 1) ? FOVEA_ALIGN : FOVEA_OK;
}

} // namespace fovea::fixed
