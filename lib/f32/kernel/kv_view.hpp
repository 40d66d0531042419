// Where keys and values stand: absolute keys in, addresses and loads out. Nothing else computes an address of
// K or V.
#pragma once
#include "f32/kernel.hpp"
#include "f32/kernel/elements.hpp"

namespace fovea::f32 {

// Rows of K for keys from .. past-1 of a block; those from `to` on nobody sees.
template <class Element>
struct key_rows {
  const typename Element::stored* at;
  ptrdiff_t stride;
  int from, to, past;

  // How many keys are scored in steps of this size: the seen ones, but at least one step. The last step may
  // repeat keys of the one before it. 0 where the keys do not fill one step.
  int scored(int step) const { return past - from < step ? 0 : to - from < step ? step : to - from; }
};

// Keys from .. to-1 of a block stand as panels at `at`; from is a multiple of 16.
struct key_panels {
  const float* at;
  int from, to;
};

// Rows of V of a block.
template <class Element>
struct value_rows {
  const typename Element::stored* at; // of key `first` of the block
  ptrdiff_t stride;
  int first;
  FOVEA_INLINE const typename Element::stored* row(int key) const { return at + (key - first) * stride; }
};

// K and V of one KV head.
template <class Element>
class kv_view : element_contract<Element> {
 public:
  using stored = typename Element::stored;

  kv_view(const plan& p, int32_t kv_head)
      : p_(p), k_(p.k.data + kv_head * p.k.head), v_(p.v.data + kv_head * p.v.head) {}

  // Keys begin .. end-1 of the block that begins with absolute key `block`.
  key_rows<Element> keys(int64_t block, int begin, int end) const {
    const int past = static_cast<int>(smaller(up16(end), p_.keys_end - block));
    return {key(block + begin), p_.k.token, begin, end, past};
  }
  // The first row that is given of the sixteen keys from `first` on, and how many floats on the next one
  // stands.
  const stored* key(int64_t absolute) const {
    return k_ + static_cast<ptrdiff_t>(absolute - p_.see.first_key) * p_.k.token;
  }
  ptrdiff_t key_stride() const { return p_.k.token; }
  // Panel i (absolute key / 16) of a cache.
  const float* panel(int64_t i) const {
    return k_ + static_cast<ptrdiff_t>(i - p_.see.first_key / 16) * 16 * p_.dim;
  }

  value_rows<Element> values(int64_t block) const {
    const int64_t first = larger(block, p_.see.first_key);
    return {v_ + static_cast<ptrdiff_t>(first - p_.see.first_key) * p_.v.token, p_.v.token,
            static_cast<int>(first - block)};
  }
  // From one KV head to the next.
  ptrdiff_t head_stride() const { return p_.k.head; }

 private:
  const plan& p_;
  const stored *k_, *v_;
};

} // namespace fovea::f32
