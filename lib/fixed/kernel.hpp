// The seams of integer calls: what an ISA offers, one tile of rows as a job, and what an entry offers.
#pragma once
#include "fixed/plan.hpp"

namespace fovea::fixed {

struct fixed_job;
struct fixed_row;
struct seen_of_block;
class fixed_panels;

// Whether kernels read all tables of any call. Those of microcontrollers read only value_weights and sinks of
// a call without tables, and no more of tables than rows see.
#if FOVEA_WITH_FIXED_CORTEX_M
constexpr bool kernels_read_tables = false;
#else
constexpr bool kernels_read_tables = true;
#endif

// What an entry offers in addition to int8 with K and V in panels, integer output, and no tables. Where a
// pointer is null, calls that need it are refused, and its code is not linked.
struct fixed_offer {
  const fixed_kernel* s16; // attention of 16-bit numbers
  int32_t (*check_tables)(const fovea_fixed_attention& a, fixed_plan& p);
  // On microcontrollers: weigh_sink, with room for the scores and the weights of a row.
  uint32_t (*weigh_sink)(const fixed_plan& p, fixed_row& r, int32_t* scores, void* weights);
  // The scores of keys from .. to - 1 of a block become octaves. The piece of the block is current.
  void (*octaves_by_key)(const fixed_panels& panels, const fixed_row& r, int32_t block, int from, int to,
                         int32_t* s);
  void (*write_floats)(const int32_t* acc, uint32_t sum, int32_t zero_sum, const fovea_fixed_scale& scale,
                       int32_t count, uint32_t* out);
  bool (*by_key)(const fixed_plan& p, int32_t block); // whether options touch single keys of the block
  // On microcontrollers, for values with a scale of their own: the weights that a row among `rows` gives to
  // keys from .. to - 1.
  void (*scale_weights)(void* weights, int rows, int row, const int16_t* by, int from, int to);
  void (*find_piece)(fixed_panels& panels, int32_t block); // rows and segments
  int32_t (*check_segments)(const fovea_fixed_attention& a, fixed_plan& p);
};

// How a call packs rows of one block. Null: as pack_fixed_keys and pack_fixed_values do. Elements of panels
// have so many bytes.
struct fixed_packing {
  using pack = void(int8_t* panels, int32_t at, const int8_t* rows, ptrdiff_t stride, int32_t count,
                    int32_t dim);
  pack *keys = nullptr, *values = nullptr;
  int32_t key_element = 1, value_element = 1;
};

struct fixed_kernel {
  int32_t isa;
  int32_t rows;                                         // of a tile
  size_t (*scratch)(const fixed_plan& p, int32_t rows); // bytes of a tile of so many rows, 64-byte aligned
  void (*attend)(const fixed_job&);
#if FOVEA_WITH_FIXED_CORTEX_M // each reads panels as callers store them
  static constexpr fixed_packing stored{};
  static constexpr const fixed_packing& arranged = stored;
  static constexpr int32_t least_rows = 0;
#else
  fixed_packing stored = {}; // panels as callers store them
  // In the order or width that the kernel multiplies fastest, where so many rows share K and V. 0: never.
  fixed_packing arranged = {};
  int32_t least_rows = 0;
#endif
};

// What there is for each key: a row of K and of V, and numbers in tables.
enum kind_of_rows { of_keys, of_values, of_multipliers, of_value_weights, kinds_of_rows };

// K and V of one kv head as panels: the caller's own, or packed into scratch, all of them once or one block
// at a time. One piece of memory holds some blocks, and is found when one of them is asked for.
class fixed_panels {
 public:
  // room: for the keys, then the values of one block, or of all.
  fixed_panels(const fixed_plan& p, int8_t* room, int32_t blocks, bool arranged)
      : p_(p), room_(room), room_blocks_(blocks), arranged_(arranged) {}
  void turn_to(int32_t kv_head) {
    kv_head_ = kv_head;
    first_ = block_of(p_.see.first_key);
    blocks_ = 0;
  }
  // Panels of the caller in one piece.
  void stay_in_place() {
    blocks_ = INT32_MAX;
    starts_[of_keys] = p_.k().row(kv_head_, 0);
    starts_[of_values] = p_.v().row(kv_head_, 0);
  }
  bool one_at_a_time() const { return !p_.panels && room_blocks_ == 1; }
  bool arranged() const { return arranged_; } // as the kernel wants them

  // Makes the piece current that holds a block of 64 keys, counted from absolute key 0. With one_at_a_time it
  // is valid until the next block.
  void find(int32_t block) {
    if (static_cast<uint32_t>(block - first_) >= static_cast<uint32_t>(blocks_))
      p_.offer->find_piece(*this, block);
  }
  // Of a block whose piece is current.
  const int8_t* found_keys(int32_t block) const {
    return found<int8_t>(of_keys, block, block_bytes(of_keys));
  }
  const int8_t* found_values(int32_t block) const {
    return found<int8_t>(of_values, block, block_bytes(of_values));
  }
  const int32_t* found_multipliers(int32_t block) const { return found<int32_t>(of_multipliers, block); }
  const int16_t* found_value_weights(int32_t block) const { return found<int16_t>(of_value_weights, block); }

  const int8_t* keys(int32_t block) { return find(block), found_keys(block); }
  const int8_t* values(int32_t block) { return find(block), found_values(block); }
  // Null where the call has none. Only those of given keys, up to end_of_tables, may be read.
  const int32_t* multipliers(int32_t block) {
    return p_.multipliers.data ? (find(block), found_multipliers(block)) : nullptr;
  }
  const int16_t* value_weights(int32_t block) {
    return p_.value_weights.data ? (find(block), found_value_weights(block)) : nullptr;
  }
  int32_t end_of_tables(int32_t block) { return find(block), end_; }

  // Do the values of a block stand right behind those of the block before it?
  bool follow(int32_t block) {
    return !p_.in_segments() ||
           values(block) == values(block - 1) + fixed_block * static_cast<ptrdiff_t>(p_.width);
  }

  static void find_piece(fixed_panels& panels, int32_t block);

 private:
  const fixed_packing& packing() const { return arranged_ ? p_.kernel->arranged : p_.kernel->stored; }
  ptrdiff_t block_bytes(kind_of_rows kind) const {
    return ptrdiff_t{fixed_block} *
           (kind == of_keys ? p_.depth * packing().key_element : p_.width * packing().value_element);
  }
  template <class T>
  const T* found(kind_of_rows kind, int32_t block, ptrdiff_t step = fixed_block) const {
    return static_cast<const T*>(starts_[kind]) + (block - first_) * step;
  }
  void find_segment(int32_t block);
  void pack();

  friend void octaves_by_key(const fixed_panels& panels, const fixed_row& r, int32_t block, int from, int to,
                             int32_t* s);
  const fixed_plan& p_;
  int8_t* room_;
  int32_t room_blocks_; // 1: one at a time
  bool arranged_;
  int32_t kv_head_;
  int32_t first_, blocks_;            // that the piece holds; of scratch, those packed so far
  int32_t end_;                       // behind the last key that has numbers in tables
  const void* starts_[kinds_of_rows]; // of the first block
};

struct fixed_job {
  const fixed_plan* p;
  fixed_panels* panels;
  unsigned char* scratch;
  int32_t kv_head, row, rows;
};

bool is_zen5(); // takes many prefetches into its first cache; other cores were not measured
const fixed_kernel* find_fixed_kernel(int32_t isa); // null where this build or this CPU does not have it

// As tensors of a call begin. A stride of 0 says that what it separates stands side by side.
struct __attribute__((may_alias)) tensor_place {
  const void* data;
  ptrdiff_t head_stride, token_stride;
};

struct tensor_counts { // heads are 1 or more; elements have 2^shift bytes
  int32_t heads, tokens, row;
  int shift;
  int32_t argument; // that a refusal names
};

// Where a tensor stands that meets nothing that the call writes. Rows of FOVEA_ARG_OUT may not share an
// element; they become the output of the plan.
int32_t check_tensor(const tensor_place& x, const tensor_counts& n, fixed_plan& p, byte_rows& rows);

// seen_by, compiled once.
void see_by_query(const fixed_visibility& see, int32_t query, seen& to);
int32_t check_fixed_segments(const fovea_fixed_attention& a, fixed_plan& p);

// What offers are made of.
int32_t check_fixed_tables(const fovea_fixed_attention& a, fixed_plan& p);
// For float output. The factor of a row without weights has no meaning: by any one, its products are 0.
uint32_t fixed_float_factor(const fovea_fixed_scale& scale, int64_t sum);
uint32_t fixed_float_product(int64_t acc, uint32_t by);
void write_fixed_floats(const int32_t* acc, uint32_t sum, int32_t zero_sum, const fovea_fixed_scale& scale,
                        int32_t count, uint32_t* out);
void octaves_by_key(const fixed_panels& panels, const fixed_row& r, int32_t block, int from, int to,
                    int32_t* s);
bool by_fixed_key(const fixed_plan& p, int32_t block);
#if FOVEA_WITH_FIXED_CORTEX_M
uint32_t weigh_fixed_sink(const fixed_plan& p, fixed_row& r, int32_t* scores, void* weights);
void scale_fixed_weights(void* weights, int rows, int row, const int16_t* by, int from, int to);
#else
constexpr decltype(fixed_offer::weigh_sink) weigh_fixed_sink = nullptr;
constexpr decltype(fixed_offer::scale_weights) scale_fixed_weights = nullptr;
#endif

constexpr fixed_offer fixed_offer_of_bytes(const fixed_kernel* s16) {
  return {s16,
          check_fixed_tables,
          features::sinks ? weigh_fixed_sink : nullptr,
          octaves_by_key,
          write_fixed_floats,
          by_fixed_key,
          scale_fixed_weights,
          fixed_panels::find_piece,
          features::segments ? check_fixed_segments : nullptr};
}

// Packs those rows of a block of 64 keys that the call gives. The places of the others are not written.
void pack_fixed_keys(int8_t* panels, int32_t at, const int8_t* rows, ptrdiff_t stride, int32_t count,
                     int32_t dim);
void pack_fixed_values(int8_t* panels, int32_t at, const int8_t* rows, ptrdiff_t stride, int32_t count,
                       int32_t dim);

} // namespace fovea::fixed
