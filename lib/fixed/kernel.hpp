// The seams of integer calls: what an ISA offers, one tile of rows as a job, and what an entry offers.
#pragma once
#include "fixed/plan.hpp"

namespace fovea::fixed {

struct fixed_job;
struct fixed_row;
struct seen_of_block;
struct fixed_segments;
class fixed_panels;
enum kind_of_panels { of_keys, of_values };

// K and V in segments.
struct fixed_segments {
  int32_t (*check)(const fovea_fixed_attention& a, const fixed_plan& p);
  bool (*meet)(const fixed_plan& p, const byte_range& bytes);
  const int16_t* (*value_weights)(const fixed_plan& p, int32_t kv_head, int32_t key);
};

// What an entry offers in addition to int8 with K and V in panels, integer output, and no tables. Where a
// pointer is null, calls that need it are refused, and its code is not linked.
struct fixed_offer {
  const fixed_kernel* s16; // attention of 16-bit numbers
  int32_t (*check_tables)(const fovea_fixed_attention& a, fixed_plan& p);
  uint32_t (*weigh_sink)(const fixed_plan& p, fixed_row& r);
  // Of the keys of a block from the first to the last seen one.
  void (*octaves_by_key)(const fixed_plan& p, const fixed_row& r, int32_t kv_head, int32_t block,
                         const seen_of_block& seen, int32_t* s);
  void (*write_floats)(const int32_t* acc, uint32_t sum, int32_t zero_sum, const fovea_fixed_scale& scale,
                       int32_t count, uint32_t* out);
  bool (*by_key)(const fixed_plan& p, int32_t block); // whether options touch single keys of the block
  // On microcontrollers: the weights of a row among `rows`, for values with a scale of their own.
  void (*scale_weights)(const fixed_plan& p, int32_t kv_head, int32_t block, int keys, void* weights,
                        int rows, int row);
  const int8_t* (*packed)(fixed_panels& panels, int32_t block, kind_of_panels kind); // rows and segments
  const fixed_segments* segments;
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

// K and V of one kv head as panels: the caller's own, or packed into scratch, all of them once or one block
// at a time.
class fixed_panels {
 public:
  // room: for the keys, then the values of one block, or of all.
  fixed_panels(const fixed_plan& p, int8_t* room, bool whole, bool arranged)
      : p_(p), room_(room), whole_(whole), arranged_(arranged), in_one_piece_(p.panels && !p.in_segments()) {}
  void turn_to(int32_t kv_head) {
    if (kv_head == kv_head_) return;
    kv_head_ = kv_head, packed_ = first_block();
    keys_ = reinterpret_cast<const int8_t*>(p_.k().row(kv_head, 0)),
    values_ = reinterpret_cast<const int8_t*>(p_.v().row(kv_head, 0));
  }
  bool one_at_a_time() const { return !p_.panels && !whole_; }
  bool arranged() const { return arranged_; } // as the kernel wants them
  // Of 64 keys, counted from absolute key 0; values with one_at_a_time: valid until the next block.
  const int8_t* keys(int32_t block) {
    return in_one_piece_ ? keys_ + offset(block, p_.depth) : p_.offer->packed(*this, block, of_keys);
  }
  const int8_t* values(int32_t block) {
    return in_one_piece_ ? values_ + offset(block, p_.width) : p_.offer->packed(*this, block, of_values);
  }

  // Do the values of a block stand right behind those of the block before it?
  bool follow(int32_t block) {
    return in_one_piece_ || !p_.panels ||
           values(block) == values(block - 1) + fixed_block * static_cast<ptrdiff_t>(p_.width);
  }

  static const int8_t* packed(fixed_panels& panels, int32_t block, kind_of_panels kind);

 private:
  ptrdiff_t offset(int32_t block, int32_t dims) const {
    return static_cast<ptrdiff_t>(block - first_block()) * fixed_block * dims;
  }
  const int8_t* in_segment(int32_t block, kind_of_panels kind) const;
  int8_t* room(int32_t block, kind_of_panels kind) const;
  int32_t first_block() const { return block_of(p_.see.first_key); }
  const fixed_packing& packing() const { return arranged_ ? p_.kernel->arranged : p_.kernel->stored; }
  void pack(int32_t block);

  const fixed_plan& p_;
  int8_t* room_;
  bool whole_, arranged_;
  bool in_one_piece_; // panels of the caller
  int32_t kv_head_ = -1;
  int32_t packed_ = 0;           // blocks before this one stand in scratch
  const int8_t *keys_, *values_; // panels of this kv head, if the call gives them
};

struct fixed_job {
  const fixed_plan* p;
  fixed_panels* panels;
  unsigned char* scratch;
  int32_t kv_head, row, rows;
};

bool prefetches_into_l1(); // whether this core takes many prefetches into its first cache, or into the second
const fixed_kernel* find_fixed_kernel(int32_t isa); // null where this build or this CPU does not have it

// Whether it meets what the plan has found of the call's memory so far.
bool meets_any(const fixed_plan& p, const byte_range& bytes);

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

// Where a tensor stands: rows, and one range more. Rows of FOVEA_ARG_OUT may not share an element.
int32_t check_tensor(const tensor_place& x, const tensor_counts& n, byte_rows& rows, byte_ranges& memory);

// seen_by, compiled once.
seen seen_by_query(const fixed_visibility& see, int32_t query);
// The segment that holds an absolute key; one before it if none does.
const fovea_segment& segment_of(const fixed_plan& p, int32_t key);
extern const fixed_segments fixed_segments_of_bytes;

// What offers are made of.
int32_t check_fixed_tables(const fovea_fixed_attention& a, fixed_plan& p);
uint32_t weigh_fixed_sink(const fixed_plan& p, fixed_row& r);
uint32_t fixed_float_factor(const fovea_fixed_scale& scale, int64_t sum); // for float output; sum is not 0
uint32_t fixed_float_product(int64_t acc, uint32_t by);
void write_fixed_floats(const int32_t* acc, uint32_t sum, int32_t zero_sum, const fovea_fixed_scale& scale,
                        int32_t count, uint32_t* out);
void octaves_by_key(const fixed_plan& p, const fixed_row& r, int32_t kv_head, int32_t block,
                    const seen_of_block& seen, int32_t* s);
bool by_fixed_key(const fixed_plan& p, int32_t block);
#if FOVEA_WITH_FIXED_CORTEX_M
void scale_fixed_weights(const fixed_plan& p, int32_t kv_head, int32_t block, int keys, void* weights,
                         int rows, int row);
// Of a call on bytes without tables, kernels of microcontrollers read value_weights and sinks only.
constexpr bool kernels_read_tables = false;
#else
constexpr bool kernels_read_tables = true;
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
          fixed_panels::packed,
          features::segments ? &fixed_segments_of_bytes : nullptr};
}

// Packs those rows of a block of 64 keys that the call gives. The places of the others are not written.
void pack_fixed_keys(int8_t* panels, int32_t at, const int8_t* rows, ptrdiff_t stride, int32_t count,
                     int32_t dim);
void pack_fixed_values(int8_t* panels, int32_t at, const int8_t* rows, ptrdiff_t stride, int32_t count,
                       int32_t dim);

} // namespace fovea::fixed
