// Tensors that are not plain floats: half precision and bytes. How a plan describes them, and what an ISA
// offers for them. A program that attends floats only links nothing of it.
#pragma once
#include <cstddef>
#include <cstdint>

#include "common/features.hpp"
#include "common/validate.hpp"
#include "fovea/fovea.h"

namespace fovea::f32 {

struct block;
struct plan;
struct stream_blocks;
struct tile_job;

// A factor for each token and KV head.
struct scale_table {
  const void* data; // null: there is none, or segments have it
  ptrdiff_t head, token;
  float unit; // of integers: int32_t for keys, int16_t for values; 0: the table holds floats
  bool given;
};

struct stored_tensor {
  int32_t dtype; // FOVEA_F32: plain floats, which the plan has elsewhere, and nothing below counts
  int32_t bytes; // of an element
  int32_t width; // elements of a row; in panels of bytes a multiple of 16
  bool panels;   // of 16 keys; values, and both if they are bytes, of 64
  bool words;    // rows that are fours of aligned words of 32 bits, in one piece
  const void* data;
  ptrdiff_t head, token; // strides in elements
  scale_table scales;

  bool differs() const { return features::types && dtype != FOVEA_F32; } // from plain floats
  bool scaled() const { return features::types && scales.given; }
};

struct stored_out {
  int32_t dtype; // FOVEA_F32: plain floats
  void* data;
  ptrdiff_t head, token;
};

// What an ISA offers to tiles of rows. Each entry reads the plan of its job, and tensors that are stored.
struct stored_tiles {
  // A row of q times the scale.
  void (*scale_query)(const plan& p, const void* row, float* out);
  // Sixteen keys, from the one that begins a panel on, become a panel of floats.
  void (*pack_keys)(const plan& p, int32_t kv_head, int64_t panel, float* out);
  // Scores of all heads, of up to four rows each, straight from panels of K.
  void (*score)(const tile_job& job, const block& b, int heads, int rows);
  // Scores times the scales of their keys, or weights times those of their values.
  void (*scale_keys)(const tile_job& job, const block& b, int32_t kv_head, int row, int rows);
  void (*scale_weights)(const tile_job& job, const block& b, int32_t kv_head, int row, int rows);
  // Values that rows see become rows of floats in the workspace. Returns the key that they begin with.
  int (*copy_values)(const tile_job& job, const block& b, int32_t kv_head, int row, int rows);
  // Weights times values of all heads, of `rows` rows each, straight from where they stand.
  void (*add_values)(const tile_job& job, const block& b, int heads, int rows);
  // One row of each head, K and V of halves or bytes: scores, softmax and values of some blocks. Null: not
  // offered.
  void (*attend_streams)(const tile_job& job, const stream_blocks& blocks);
  // Rows of the tile, which are complete, from the workspace to the output.
  void (*write_rows)(const tile_job& job);
};

struct column_range {
  int first, count;
};

// What an ISA offers to attention row by row: loads and stores. Keys and values of one call lie within
// sixteen that begin at a multiple of sixteen.
struct stored_by_row {
  void (*load_query)(const plan& p, int32_t head, int32_t query, float* out);
  // Keys key .. key+count-1 become rows of floats; where they stand in panels, the panel that holds them.
  void (*load_keys)(const plan& p, int32_t kv_head, int64_t key, int count, float* out);
  // Some columns of values become rows of floats, `stride` of them apart.
  void (*load_values)(const plan& p, int32_t kv_head, int64_t key, int count, column_range columns,
                      float* out, ptrdiff_t stride);
  // Scores of keys from .. to-1 of a block times the scales of these keys, or weights times those of values.
  void (*scale)(const plan& p, bool by_keys, int32_t kv_head, int64_t block, int from, int to, float* s);
  void (*write_row)(const plan& p, int32_t head, int32_t query, const float* row);
};

struct stored_forms { // one of both, as the ISA attends
  const stored_tiles* tiles;
  const stored_by_row* rows;
};

struct stored_tensors {
  stored_tensor q, k, v;
  stored_out out;
  stored_forms as; // of the plan's ISA

  bool any() const { return features::types && (q.dtype | k.dtype | v.dtype | out.dtype) != FOVEA_F32; }
};

const stored_forms& stored_forms_of(const plan& p);

int32_t bytes_of_scale(const scale_table& s, int32_t argument); // of a number in the table

// What a plan needs in order to take such tensors.
struct stored_types {
  int32_t (*check_input)(const fovea_in& in, int32_t argument, extent e, bool in_segments, stored_tensor& t,
                         byte_range& bytes, byte_range& scales);
  int32_t (*check_output)(const fovea_attention& a, extent e, stored_out& out, byte_range& bytes);
};
extern const stored_types all_stored_types;

// Where the panel of a key stands, or the row or panel of a value; and how many keys to `to` follow there.
struct stored_place {
  const void* at;
  int64_t end;
};
stored_place stored_keys(const plan& p, int32_t kv_head, int64_t key);
stored_place stored_values(const plan& p, int32_t kv_head, int64_t key);

// Scales of keys `begin` to `end` - 1, of which the first stands at `at`.
struct scale_place {
  const void* at;
  ptrdiff_t token;
  int64_t begin, end;
  float unit;
  bool of_keys;
};
scale_place place_of_scales(const plan& p, bool of_keys, int32_t kv_head, int64_t key);
// Sixteen of them from `first` on: 1 where no key is given.
void fetch_scales(const scale_place& s, int64_t first, float (&out)[16]);

// A number of a tensor of halves.
float number_of(const void* row, int32_t dtype, ptrdiff_t c);
// A number in half precision, rounded to nearest even.
uint16_t rounded_half(float x, int32_t dtype);

} // namespace fovea::f32
