// Where tensors and tables of integer calls stand, whatever their strides are: byte ranges without overflow.
#define FOVEA_SOURCE_FOR_SIZE 1
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

// Most tensors have no gaps and few rows, so that products of counts cannot overflow. On cores such as
// Cortex-M4, which multiply to 64 bits in one instruction, the question takes as long as what it saves.
#if FOVEA_WITH_FIXED_DSP
constexpr bool looks_for_small = false;
#else
constexpr bool looks_for_small = true;
#endif
bool is_small(const tensor_place& x, const tensor_counts& n) {
  return !(x.head_stride | x.token_stride | n.heads >> 6 | n.tokens >> 12 | n.row >> 11);
}

} // namespace

FOVEA_ONCE int32_t check_tensor(const tensor_place& x, const tensor_counts& n, fixed_plan& p,
                                byte_rows& rows) {
  int32_t argument = n.argument;
  const auto reason = [&]() -> int32_t {
    if ((x.head_stride | x.token_stride) < 0) return FOVEA_STRIDE;
    ptrdiff_t token = x.token_stride ? x.token_stride : n.row;
    ptrdiff_t head = x.head_stride, size = 0;
    if (looks_for_small && is_small(x, n)) {
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
    byte_range bytes{reinterpret_cast<uintptr_t>(x.data), 0};
    if (__builtin_add_overflow(bytes.begin, static_cast<uintptr_t>(size), &bytes.end)) return FOVEA_OVERFLOW;
    if (size) {
      if (!x.data) return FOVEA_NULL;
      const auto meets = [&](const byte_range& r) { return r.begin < bytes.end && bytes.begin < r.end; };
      if (meets(p.scratch)) p.meets_scratch = true;
      if (meets(p.written)) return argument = FOVEA_ARG_OUT, FOVEA_OVERLAP;
      if (n.argument == FOVEA_ARG_OUT) {
        if (!rows_apart(n, head, token)) return FOVEA_STRIDE;
        p.written = bytes;
      }
    } else {
      head = token = 0; // of rows that nobody walks over, strides may be any number
    }
    const auto in_bytes = [&](ptrdiff_t stride) {
      return static_cast<ptrdiff_t>(static_cast<size_t>(stride) << n.shift);
    };
    rows = {static_cast<const unsigned char*>(x.data), in_bytes(head), in_bytes(token)};
    return bytes.begin & ((uintptr_t{1} << n.shift) - 1) ? FOVEA_ALIGN : FOVEA_OK;
  }();
  return reason ? refusal(reason, argument) : reason;
}

FOVEA_ONCE void see_by_query(const fixed_visibility& see, int32_t query, seen& to) {
  to = seen_by(see, query);
}

} // namespace fovea::fixed
