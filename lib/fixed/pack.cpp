// Rows of int8 into panels, as a cache does at append and as calls do in scratch.
#define FOVEA_SOURCE_FOR_SIZE 1
#include "common/build.hpp"

#include <cstring>

#include "fixed/kernel.hpp"
#include "fixed/panels.hpp"
#if defined(__aarch64__)
#include "fixed/dot/neon_pack.hpp"
#endif

namespace fovea::fixed {

namespace {

#if (defined(__arm__) && !defined(__ARM_FEATURE_UNALIGNED)) || \
    (defined(__riscv) && !defined(__riscv_misaligned_fast))
// Unaligned access may trap. memcpy is told so: that of a C library does not ask.
constexpr int word_alignment = 4;
#else
constexpr int word_alignment = 1;
#endif
bool moves_words(const int8_t* to, const int8_t* from) {
  return (reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from)) % word_alignment == 0;
}
void copy_word(int8_t* to, const int8_t* from) {
  std::memcpy(__builtin_assume_aligned(to, word_alignment), __builtin_assume_aligned(from, word_alignment),
              4);
}

// Four elements of a key stand together in both orders.
void put_key(int8_t* panels, int32_t key, const int8_t* row, int32_t dim) {
  const int depth = up_to(dim, 16);
  int8_t* const to = panels + key_at(key, 0, depth);
  int c = 0;
  if (moves_words(to, row))
    for (; c + 4 <= dim; c += 4) copy_word(to + key_at(0, c, depth), row + c);
  for (; c < depth; ++c) to[key_at(0, c, depth)] = c < dim ? row[c] : int8_t{0};
}

#if defined(__SSE2__) || defined(__ARM_NEON)
constexpr bool has_vectors = true;
#else
constexpr bool has_vectors = false;
#endif

#if !defined(__aarch64__)
// Vectors of 16 bytes without the words of an ISA. Zipped: the elements of a and b in turn, of their first or
// of their second halves.
using bytes = int8_t __attribute__((vector_size(16)));
using pairs = int16_t __attribute__((vector_size(16)));
using quads = int32_t __attribute__((vector_size(16)));
using eights = int64_t __attribute__((vector_size(16)));

bytes load(const int8_t* p) {
  bytes x;
  std::memcpy(&x, p, sizeof x);
  return x;
}
void store(int8_t* p, bytes x) { std::memcpy(p, &x, sizeof x); }

struct two_bytes {
  bytes first, second;
};
two_bytes zip_bytes(bytes a, bytes b) {
  return {__builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23),
          __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)};
}
two_bytes zip_pairs(bytes a, bytes b) {
  const pairs x = reinterpret_cast<pairs>(a), y = reinterpret_cast<pairs>(b);
  return {reinterpret_cast<bytes>(__builtin_shufflevector(x, y, 0, 8, 1, 9, 2, 10, 3, 11)),
          reinterpret_cast<bytes>(__builtin_shufflevector(x, y, 4, 12, 5, 13, 6, 14, 7, 15))};
}
two_bytes zip_quads(bytes a, bytes b) {
  const quads x = reinterpret_cast<quads>(a), y = reinterpret_cast<quads>(b);
  return {reinterpret_cast<bytes>(__builtin_shufflevector(x, y, 0, 4, 1, 5)),
          reinterpret_cast<bytes>(__builtin_shufflevector(x, y, 2, 6, 3, 7))};
}
two_bytes zip_eights(bytes a, bytes b) {
  const eights x = reinterpret_cast<eights>(a), y = reinterpret_cast<eights>(b);
  return {reinterpret_cast<bytes>(__builtin_shufflevector(x, y, 0, 2)),
          reinterpret_cast<bytes>(__builtin_shufflevector(x, y, 1, 3))};
}

// Sixteen elements of four keys become [element / 4][key][4], chunks 64 bytes apart.
void put_keys(int8_t* to, const int8_t* rows, ptrdiff_t stride) {
  const two_bytes ab = zip_quads(load(rows), load(rows + stride)),
                  cd = zip_quads(load(rows + 2 * stride), load(rows + 3 * stride));
  const two_bytes low = zip_eights(ab.first, cd.first), high = zip_eights(ab.second, cd.second);
  store(to, low.first), store(to + 64, low.second), store(to + 128, high.first), store(to + 192, high.second);
}

// Sixteen elements of four keys become [element][key].
void put_values(int8_t* to, const int8_t* rows, ptrdiff_t stride) {
  const two_bytes ab = zip_bytes(load(rows), load(rows + stride)),
                  cd = zip_bytes(load(rows + 2 * stride), load(rows + 3 * stride));
  const two_bytes low = zip_pairs(ab.first, cd.first), high = zip_pairs(ab.second, cd.second);
  store(to, low.first), store(to + 16, low.second), store(to + 32, high.first), store(to + 48, high.second);
}
#endif

// Elements of one key, or of the four of a group, from the first lane of a panel on.
void put_each_value(int8_t* __restrict to, const int8_t* __restrict row, ptrdiff_t stride, int32_t count,
                    bool four) {
  constexpr ptrdiff_t step = value_at(0, 1, 16), to_next_panel = value_at(0, 16, 32) - 16 * step;
  const int8_t* const end = row + count;
  for (; row != end; to += to_next_panel) {
    const int8_t* const last = end - row < 16 ? end : row + 16;
    if (four) {
      do {
        to[0] = row[0], to[1] = row[stride], to[2] = row[2 * stride], to[3] = row[3 * stride];
        to += step;
      } while (++row != last);
    } else {
      do {
        *to = *row;
        to += step;
      } while (++row != last);
    }
  }
}

// How many keys from this one on are packed together: four, which stand in one group of a panel, or one.
int32_t keys_at_once(int32_t key, int32_t left, bool fours) {
  return fours && key % 4 == 0 && left >= 4 ? 4 : 1;
}

} // namespace

void pack_fixed_keys(int8_t* panels, int32_t at, const int8_t* rows, ptrdiff_t stride, int32_t count,
                     int32_t dim) {
  for (int32_t n; count > 0; at += n, rows += n * stride, count -= n) {
    n = keys_at_once(at, count, has_vectors && dim % 16 == 0);
    int8_t* const to = panels + key_at(at, 0, dim);
    if (n == 1)
      put_key(panels, at, rows, dim);
    else
      for (int c = 0; c < dim; c += 16) put_keys(to + 16 * c, rows + c, stride);
  }
}

void pack_fixed_values(int8_t* panels, int32_t at, const int8_t* rows, ptrdiff_t stride, int32_t count,
                       int32_t dim) {
  const int width = up_to(dim, 16);
  for (int32_t n; count > 0; at += n, rows += n * stride, count -= n) {
    n = keys_at_once(at, count, fixed_panel_order == 1);
    int c = 0;
    if (has_vectors && n == 4)
      for (int8_t* to = panels + value_at(at, 0, width); c + 16 <= dim; c += 16, to += value_at(0, 16, 16))
        put_values(to, rows + c, stride);
    put_each_value(panels + value_at(at, c, width), rows + c, stride, dim - c, n == 4);
  }
}

// Packs the block behind those that stand in scratch.
void fixed_panels::pack() {
  const fixed_plan& p = p_;
  const int32_t blocks = blocks_, first = (first_ + blocks) * fixed_block, behind = first + fixed_block;
  const int32_t from = first < p.see.first_key ? p.see.first_key : first,
                end = behind < p.see.end ? behind : p.see.end;
  const int32_t at = from - first, count = end - from, row = from - p.see.first_key;
  const auto rows = [&](const byte_rows& x) { return reinterpret_cast<const int8_t*>(x.row(kv_head_, row)); };
  const auto room = [&](kind_of_rows kind) {
    return const_cast<int8_t*>(static_cast<const int8_t*>(starts_[kind])) + blocks * block_bytes(kind);
  };
  const auto keys = packing().keys ? packing().keys : pack_fixed_keys;
  const auto values = packing().values ? packing().values : pack_fixed_values;
  keys(room(of_keys), at, rows(p.k()), p.k().token, count, p.dim);
  values(room(of_values), at, rows(p.v()), p.v().token, count, p.v_dim);
}

void fixed_panels::find_piece(fixed_panels& x, int32_t block) {
  const fixed_plan& p = x.p_;
  if (p.in_segments()) return x.find_segment(block);
  if (p.panels) {
    x.stay_in_place();
  } else {
    if (x.room_blocks_ == 1) {
      x.first_ = block;
      x.blocks_ = 0;
    }
    x.starts_[of_keys] = x.room_;
    x.starts_[of_values] = x.room_ + x.room_blocks_ * x.block_bytes(of_keys);
    do x.pack(); // a row may skip blocks, never go back: what it skips others may see
    while (block - x.first_ >= ++x.blocks_);
  }
  if (kernels_read_tables) x.end_ = p.see.end;
  const ptrdiff_t n = x.first_ * fixed_block - p.see.first_key;
  if (p.multipliers.data)
    x.starts_[of_multipliers] = p.multipliers.data + x.kv_head_ * p.multipliers.head + n;
  if (p.value_weights.data)
    x.starts_[of_value_weights] = p.value_weights.data + x.kv_head_ * p.value_weights.head + n;
}

namespace {

// What a pack function writes: elements of so many bytes, `step` of them together with their neighbours, and
// for each key a row as long as panels have it, or one sum.
struct written_keys {
  const void* data;
  size_t element;
  int32_t step;
  bool whole_rows;
};

FOVEA_ONCE int32_t check_rows(const written_keys& out, int32_t at, const int8_t* rows, ptrdiff_t stride,
                              int32_t count, int32_t dim) {
  if (dim < 1 || dim > fixed_greatest_dim) return refusal(FOVEA_SIZE, FOVEA_ARG_DIM);
  if (count < 0 || count > fixed_greatest_count) return refusal(FOVEA_SIZE, FOVEA_ARG_KEYS);
  if (at < 0 || at > fixed_greatest_count - count) return refusal(FOVEA_RANGE, FOVEA_ARG_FIRST_KEY);
  if (stride < 0) return refusal(FOVEA_STRIDE, FOVEA_ARG_K);
  if (count == 0) return FOVEA_OK;
  if (!rows) return refusal(FOVEA_NULL, FOVEA_ARG_K);
  if (!out.data) return refusal(FOVEA_NULL, FOVEA_ARG_OUT);
  if (reinterpret_cast<uintptr_t>(out.data) % out.element) return refusal(FOVEA_ALIGN, FOVEA_ARG_OUT);
  const int32_t columns = out.whole_rows ? up_to(dim, 16) : 1;
  size_t in, all; // of the output, from key 0 on
  byte_range read, written;
  if (!bytes_of({1, count, 0, stride ? stride : dim, dim}, 1, in) || !range_of(rows, in, read))
    return refusal(FOVEA_OVERFLOW, FOVEA_ARG_K);
  if (!bytes_of({1, up_to(at + count, out.step), 0, columns, columns}, out.element, all) ||
      !range_of(out.data, all, written))
    return refusal(FOVEA_OVERFLOW, FOVEA_ARG_OUT);
  written.begin += static_cast<uintptr_t>(at & -out.step) * static_cast<uintptr_t>(columns) * out.element;
  return meet(read, written) ? refusal(FOVEA_OVERLAP, FOVEA_ARG_OUT) : int32_t{FOVEA_OK};
}

} // namespace
} // namespace fovea::fixed

int32_t fovea_fixed_pack_keys(int8_t* panels, int32_t at, const int8_t* rows, ptrdiff_t row_stride,
                              int32_t count, int32_t dim) {
  using namespace fovea;
  using namespace fovea::fixed;
  if (const int32_t s = check_rows({panels, 1, 16, true}, at, rows, row_stride, count, dim)) return s;
  pack_fixed_keys(panels, at, rows, row_stride ? row_stride : dim, count, dim);
  return FOVEA_OK;
}

int32_t fovea_fixed_pack_values(int8_t* panels, int32_t at, const int8_t* rows, ptrdiff_t row_stride,
                                int32_t count, int32_t dim) {
  using namespace fovea;
  using namespace fovea::fixed;
  if (const int32_t s = check_rows({panels, 1, fixed_block, true}, at, rows, row_stride, count, dim))
    return s;
  pack_fixed_values(panels, at, rows, row_stride ? row_stride : dim, count, dim);
  return FOVEA_OK;
}

int32_t fovea_fixed_sum_keys(int32_t* sums, const int8_t* rows, ptrdiff_t row_stride, int32_t count,
                             int32_t dim) {
  if (const int32_t s = fovea::fixed::check_rows({sums, sizeof(int32_t), 1, false}, 0, rows, row_stride,
                                                 count, dim))
    return s;
  for (int32_t j = 0; j < count; ++j) {
    int32_t sum = 0;
    for (int c = 0; c < dim; ++c) sum += rows[j * (row_stride ? row_stride : dim) + c];
    sums[j] = sum;
  }
  return FOVEA_OK;
}

int32_t fovea_fixed_panel_order() { return fovea::fixed::fixed_panel_order; }
