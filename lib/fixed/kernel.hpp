// The seam between integer calls and their kernels: what an ISA offers, and one tile of rows as a job.
#pragma once
#include "fixed/plan.hpp"

namespace fovea {

struct fixed_job;

struct fixed_kernel {
  int32_t isa;
  int32_t rows;                                         // of a tile
  size_t (*scratch)(const fixed_plan& p, int32_t rows); // bytes that a tile of so many rows needs, 64-byte aligned
  void (*attend)(const fixed_job&);
  // When K and V of a kv head are packed once, a kernel may want them in an order or a width of its own: `count` bytes, which stand
  // at the end of count * arranged_bytes, become elements of arranged_bytes in all of it. Null: it takes them as they are.
  void (*arrange)(int8_t* room, ptrdiff_t count);
  int32_t arranged_bytes;
};

// K and V of one kv head as panels: the caller's own, or packed into scratch, all of them once or one block at a time.
class fixed_panels {
 public:
  fixed_panels(const fixed_plan& p, int8_t* room, bool whole);
  void turn_to(int32_t kv_head);
  bool one_at_a_time() const { return !p_.panels && !whole_; }
  bool arranged() const { return whole_ && p_.kernel->arrange; } // as the kernel wants them
  const int8_t* keys(int64_t block);                             // of 64 keys, counted from absolute key 0
  const int8_t* values(int64_t block);                           // with one_at_a_time: valid until the next block

 private:
  int8_t* key_room(int64_t block) const;
  int8_t* value_room(int64_t block) const;
  int64_t first_block() const { return p_.see.first_key / fixed_block; }
  void pack(int64_t block);

  const fixed_plan& p_;
  int8_t* room_;
  bool whole_;
  int element_; // bytes of an element in scratch
  int32_t kv_head_ = -1;
  int64_t packed_ = 0; // blocks before this one stand in scratch
};

struct fixed_job {
  const fixed_plan* p;
  fixed_panels* panels;
  unsigned char* scratch;
  int32_t kv_head, row, rows;
};

const fixed_kernel* find_fixed_kernel(int32_t isa, bool wide); // null: this machine or this build has it not

// Packs rows of 64 keys, those that the call gives; the places of others are left alone.
void pack_fixed_keys(int8_t* panels, int32_t at, const int8_t* rows, ptrdiff_t stride, int32_t count, int32_t dim);
void pack_fixed_values(int8_t* panels, int32_t at, const int8_t* rows, ptrdiff_t stride, int32_t count, int32_t dim);

} // namespace fovea
