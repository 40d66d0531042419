// The memory of one work: q, K and V with random values, room for the result, and the call that reads and
// writes them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>

#include "fovea/fixed.h"
#include "works.hpp"

namespace bench {

// Memory that begins on a page, so that every run meets the same cache sets.
class page_buffer {
 public:
  explicit page_buffer(size_t bytes);
  void* data() const { return data_.get(); }
  float* floats() const { return static_cast<float*>(data_.get()); }
  size_t size() const { return bytes_; }

 private:
  struct release {
    void operator()(void* data) const;
  };
  std::unique_ptr<void, release> data_;
  size_t bytes_;
};

// Floats of q, K and V, and the room for their integers and for the scales of each head.
struct float_inputs {
  const float* from[3];
  int8_t* to[3];
  fovea_fixed_scale* scales;
};

class problem {
 public:
  explicit problem(const work& w);

  fovea_attention call(int32_t isa) const; // a work of integers has the same numbers as floats too
  fovea_fixed_attention integer_call(int32_t integer_isa) const; // of a work of integers
  float_inputs inputs() const;                                   // of a work of integers from floats
  const page_buffer& cache() const {                             // K, then V
    return work_.type == dtype::f32 ? cache_ : halves() ? half_cache_ : integer_cache_;
  }

  void spoil();            // fills the result with NaN, so that an old result is not taken for a new one
  bool finite() const;     // every number of the result
  uint64_t digest() const; // of the result's bits

 private:
  void pack_keys();
  void quantise();
  void round_to_halves();
  bool halves() const { return work_.type == dtype::f16 || work_.type == dtype::bf16; }
  bool float_output() const { return !work_.integers() || work_.from_floats(); }

  work work_;
  page_buffer q_, cache_, out_, integer_q_, integer_cache_, integer_out_, scales_, half_cache_;
};

// Quantises the heads of this part: each tensor of each head gets a scale of its own.
int32_t quantise_heads(const float_inputs& inputs, const fovea_fixed_attention& call);

} // namespace bench
