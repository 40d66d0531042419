// Rows of int8 into panels, as a cache does at append and as calls do in scratch.
#include <cstring>
#include <type_traits>

#include "fixed/kernel.hpp"
#include "fixed/panels.hpp"

namespace fovea {

namespace {

// Four elements of a key stand together in both orders.
void put_key(int8_t* panels, int32_t key, const int8_t* row, int32_t dim) {
  const int depth = up_to(dim, 16), whole = dim / 4 * 4;
  int8_t* const to = panels + key_at(key, 0, depth);
  for (int c = 0; c < whole; c += 4) std::memcpy(to + key_at(0, c, depth), row + c, 4);
  for (int c = whole; c < depth; ++c) to[key_at(0, c, depth)] = c < dim ? row[c] : int8_t{0};
}

void put_value(int8_t* panels, int32_t key, const int8_t* row, int32_t dim) {
  const int width = up_to(dim, 16);
  for (int c = 0; c < dim; ++c) panels[value_at(key, c, width)] = row[c];
}

// Sixteen elements of four keys: [element][key]. A count that is constant becomes interleaving stores.
template <class Count>
void interleave(int8_t* __restrict to, const int8_t* __restrict rows, ptrdiff_t stride, Count count) {
  const int8_t *a = rows, *b = rows + stride, *c = rows + 2 * stride, *d = rows + 3 * stride;
  for (int i = 0; i < count; ++i) {
    to[4 * i] = a[i];
    to[4 * i + 1] = b[i];
    to[4 * i + 2] = c[i];
    to[4 * i + 3] = d[i];
  }
}

void put_four_values(int8_t* panels, int32_t key, const int8_t* rows, ptrdiff_t stride, int32_t dim) {
  const int width = up_to(dim, 16);
  int c = 0;
  for (; c + 16 <= dim; c += 16) interleave(panels + value_at(key, c, width), rows + c, stride, std::integral_constant<int, 16>());
  if (c < dim) interleave(panels + value_at(key, c, width), rows + c, stride, dim - c);
}

} // namespace

void pack_fixed_keys(int8_t* panels, int32_t at, const int8_t* rows, ptrdiff_t stride, int32_t count, int32_t dim) {
  for (int32_t j = 0; j < count; ++j, rows += stride) put_key(panels, at + j, rows, dim);
}

void pack_fixed_values(int8_t* panels, int32_t at, const int8_t* rows, ptrdiff_t stride, int32_t count, int32_t dim) {
  for (int32_t j = 0; j < count;) {
    const bool four = fixed_panel_order == 1 && (at + j) % 4 == 0 && count - j >= 4;
    if (four)
      put_four_values(panels, at + j, rows + j * stride, stride, dim);
    else
      put_value(panels, at + j, rows + j * stride, dim);
    j += four ? 4 : 1;
  }
}

fixed_panels::fixed_panels(const fixed_plan& p, int8_t* room, bool whole)
    : p_(p), room_(room), whole_(whole), element_(arranged() ? p.kernel->arranged_bytes : 1) {}

void fixed_panels::turn_to(int32_t kv_head) {
  if (kv_head != kv_head_) packed_ = first_block();
  kv_head_ = kv_head;
}

// All blocks of K, then all blocks of V.
int8_t* fixed_panels::key_room(int64_t block) const {
  const ptrdiff_t place = whole_ ? static_cast<ptrdiff_t>(block - first_block()) : 0;
  return room_ + place * fixed_block * p_.depth * element_;
}
int8_t* fixed_panels::value_room(int64_t block) const {
  const ptrdiff_t place = whole_ ? static_cast<ptrdiff_t>(block - first_block()) : 0;
  const ptrdiff_t blocks = whole_ ? static_cast<ptrdiff_t>(fixed_blocks_of(p_)) : 1;
  return room_ + (blocks * p_.depth + place * p_.width) * fixed_block * element_;
}

void fixed_panels::pack(int64_t block) {
  const int64_t from = larger(block * fixed_block, p_.see.first_key), end = smaller((block + 1) * fixed_block, p_.see.end);
  const int32_t at = static_cast<int32_t>(from - block * fixed_block), count = static_cast<int32_t>(end - from);
  const ptrdiff_t row = static_cast<ptrdiff_t>(from - p_.see.first_key);
  const ptrdiff_t keys = fixed_block * static_cast<ptrdiff_t>(p_.depth), values = fixed_block * static_cast<ptrdiff_t>(p_.width);
  int8_t *k = key_room(block) + keys * (element_ - 1), *v = value_room(block) + values * (element_ - 1);
  pack_fixed_keys(k, at, reinterpret_cast<const int8_t*>(p_.k.row(kv_head_, row)), p_.k.token, count, p_.dim);
  pack_fixed_values(v, at, reinterpret_cast<const int8_t*>(p_.v.row(kv_head_, row)), p_.v.token, count, p_.v_dim);
  if (arranged()) p_.kernel->arrange(key_room(block), keys), p_.kernel->arrange(value_room(block), values);
}

const int8_t* fixed_panels::keys(int64_t block) {
  if (p_.panels) {
    const ptrdiff_t place = static_cast<ptrdiff_t>(block - first_block());
    return reinterpret_cast<const int8_t*>(p_.k.row(kv_head_, 0)) + place * fixed_block * p_.depth;
  }
  if (!whole_) {
    pack(block);
  } else {
    for (; packed_ <= block; ++packed_) pack(packed_); // a row may skip blocks, never go back: what it skips others may see
  }
  return key_room(block);
}

const int8_t* fixed_panels::values(int64_t block) {
  if (!p_.panels) return value_room(block);
  const ptrdiff_t place = static_cast<ptrdiff_t>(block - first_block());
  return reinterpret_cast<const int8_t*>(p_.v.row(kv_head_, 0)) + place * fixed_block * p_.width;
}

namespace {

int32_t check_rows(const void* out, int32_t at, const int8_t* rows, ptrdiff_t stride, int32_t count, int32_t dim) {
  if (dim < 1 || dim > fixed_greatest_dim) return refuse(FOVEA_SIZE, FOVEA_ARG_DIM);
  if (count < 0 || count > fixed_greatest_count) return refuse(FOVEA_SIZE, FOVEA_ARG_KEYS);
  if (at < 0 || at > fixed_greatest_count - count) return refuse(FOVEA_RANGE, FOVEA_ARG_FIRST_KEY);
  if (stride < 0) return refuse(FOVEA_STRIDE, FOVEA_ARG_K);
  if (count && !rows) return refuse(FOVEA_NULL, FOVEA_ARG_K);
  if (count && !out) return refuse(FOVEA_NULL, FOVEA_ARG_OUT);
  return FOVEA_OK;
}

} // namespace
} // namespace fovea

int32_t fovea_fixed_pack_keys(int8_t* panels, int32_t at, const int8_t* rows, ptrdiff_t row_stride, int32_t count, int32_t dim) {
  if (const int32_t s = fovea::check_rows(panels, at, rows, row_stride, count, dim)) return s;
  fovea::pack_fixed_keys(panels, at, rows, row_stride ? row_stride : dim, count, dim);
  return FOVEA_OK;
}

int32_t fovea_fixed_pack_values(int8_t* panels, int32_t at, const int8_t* rows, ptrdiff_t row_stride, int32_t count, int32_t dim) {
  if (const int32_t s = fovea::check_rows(panels, at, rows, row_stride, count, dim)) return s;
  fovea::pack_fixed_values(panels, at, rows, row_stride ? row_stride : dim, count, dim);
  return FOVEA_OK;
}

int32_t fovea_fixed_sum_keys(int32_t* sums, const int8_t* rows, ptrdiff_t row_stride, int32_t count, int32_t dim) {
  if (const int32_t s = fovea::check_rows(sums, 0, rows, row_stride, count, dim)) return s;
  for (int32_t j = 0; j < count; ++j) {
    int32_t sum = 0;
    for (int c = 0; c < dim; ++c) sum += rows[j * (row_stride ? row_stride : dim) + c];
    sums[j] = sum;
  }
  return FOVEA_OK;
}

int32_t fovea_fixed_panel_order() { return fovea::fixed_panel_order; }
