// A call whose arrays end, or begin, where memory does: whoever reads one byte too many ends the program.
#pragma once
#include "fence.hpp"
#if defined(__linux__)
#include <memory>
#include <utility>

#include "problem.hpp"

// All arrays of a call, each touching an inaccessible page. Tensors must be contiguous.
class fenced_call {
 public:
  fenced_call(const problem& p, int32_t isa, size_t scratch_size, fence::side where)
      : where_(where),
        out_size_(p.out_memory.size()),
        told_size_(p.modifiers.lse.size(), p.modifiers.weights.size()),
        call_(p.call(isa)) {
    call_.q.data = copy(p.q_memory), call_.k.data = copy(p.k_memory), call_.v.data = copy(p.v_memory);
    call_.out.data = copy(p.out_memory);
    const modifier_memory& m = p.modifiers;
    if (call_.alibi != nullptr) call_.alibi = copy(m.alibi);
    if (call_.sinks != nullptr) call_.sinks = copy(m.sinks);
    if (call_.mask.data != nullptr)
      call_.mask.data = call_.mask.is_bias != 0 ? static_cast<const void*>(copy(m.bias)) : copy(m.shown);
    if (call_.lse != nullptr) call_.lse = copy(m.lse);
    if (call_.weights.data != nullptr) call_.weights.data = copy(m.weights);
    scratch_size_ = (scratch_size + 3) / 4 * 4;
    scratch_ = memory<unsigned char>(scratch_size_);
  }

  void read(const packed_keys& panels) {
    call_ = panels.read_by(call_);
    call_.k.data = copy(panels.memory());
  }

  std::vector<float> solve() {
    CHECK(fovea_attend(&call_, scratch_, scratch_size_) == FOVEA_OK);
    const float *out = static_cast<const float*>(call_.out.data), *lse = call_.lse,
                *weights = call_.weights.data;
    std::vector<float> all(out, out + out_size_);
    if (lse != nullptr) all.insert(all.end(), lse, lse + told_size_.first);
    if (weights != nullptr) all.insert(all.end(), weights, weights + told_size_.second);
    return all;
  }

 private:
  template <class T>
  T* memory(size_t count) {
    fences_.push_back(std::make_unique<fence>(count * sizeof(T), where_));
    return fences_.back()->data<T>();
  }
  template <class T>
  T* copy(const data::guarded<T>& from) {
    T* to = memory<T>(from.size());
    if (from.size() > 0) std::memcpy(to, from.data(), from.size() * sizeof(T));
    return to;
  }

  fence::side where_;
  size_t out_size_;
  std::pair<size_t, size_t> told_size_;
  std::vector<std::unique_ptr<fence>> fences_;
  fovea_attention call_;
  unsigned char* scratch_;
  size_t scratch_size_;
};
#endif
