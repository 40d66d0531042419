// How a call goes through the kernels: decided once, where scratch is cut, and carried by each job. No result
// depends on it.
#pragma once
#include <cstdint>

namespace fovea::f32 {

enum class key_source : int8_t {
  panel_cache, // K stands in panels, as fovea_pack_keys writes it
  packed_once, // panels of a whole KV head in scratch, packed as its tiles come to them
  packed_few,  // as many panels as there is room for, packed for each tile and block
  rows,        // few rows of queries: rows of K as they stand, transposed in registers
  far_rows,    // the same, a few rows of K at a time
  rows_4x4,    // three to eight of them: four rows of K by four numbers at a time
  stored       // few rows of queries: panels of another type, converted where they are loaded
};

enum class value_source : int8_t {
  rows,   // rows of floats as they stand
  copied, // rows of another type become floats in scratch, block by block
  stored  // rows or panels of another type, converted where they are loaded
};

// As wide as a register, so that no compiler copies it byte by byte.
struct alignas(4) route {
  key_source keys;
  value_source values;
  bool streams;        // one row: keys and values of halves or bytes in long runs: kernel/stream_batch.hpp
  bool four_row_tiles; // three or four rows: shapes that prefetch K and V
};

// What pays on some cores and not on others, as measured in docs/speed.md. In two words: what comes behind it
// in a plan takes longer instructions on Cortex-M.
struct core_profile {
  bool prefetches_blocks; // values of the next block are asked for while those of this one are used
  bool prefetches_halves; // one row, AVX2: keys of halves are prefetched panel by panel
  bool prefetches_bytes;  // one row: values of bytes are prefetched
  bool reads_streams;     // one row: keys and values of halves are read in long runs; bytes are everywhere
  bool halves_by_avx2;    // one row: halves are converted by AVX2 in calls of AVX-512, too
  bool opens_pages;       // one row: the first line of a page of K and V is prefetched early
  int16_t batched_rows;   // most rows of several KV heads in one tile
};
constexpr core_profile zen5_profile{true, false, true, true, false, true, 128},
    zen4_profile{true, true, true, false, true, false, 128},
    amd_profile{true, false, false, false, false, false, 128},
    other_profile{false, false, false, false, false, false, 32};

#if defined(__x86_64__) || defined(__i386__)
constexpr bool may_read_streams = true;
core_profile profile_of_this_core();
#else
constexpr bool may_read_streams = false;
constexpr core_profile profile_of_this_core() { return other_profile; }
#endif

} // namespace fovea::f32
