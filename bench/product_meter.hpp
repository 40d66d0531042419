// The peak that a work is judged by: multiply-adds of floats, or products of bytes by the instruction that
// its integer kernel uses.
#pragma once
#include "byte_peak.hpp"
#include "peak.hpp"
#include "stopwatch.hpp"

namespace bench {

class product_meter {
 public:
  product_meter(int32_t isa, int32_t integer_isa) : floats_(isa), integers_(integer_isa) {
    if (integers_ == 0) return;
    per_turn_ = multiply_bytes(integers_, 1);
    while (per_turn_ > 0 && ran(time()) < 100e-6) turns_ *= 2;
  }
  bool knows() const { return integers_ == 0 || per_turn_ > 0; }
  timing time() const {
    if (integers_ == 0) return floats_.time();
    return time_of([&] { multiply_bytes(integers_, turns_); });
  }
  double flops() const { // of one sample
    return integers_ == 0 ? floats_.flops() : 2 * per_turn_ * static_cast<double>(turns_);
  }

 private:
  peak_meter floats_;
  int32_t integers_;
  double per_turn_ = 0;
  int64_t turns_ = 1;
};

} // namespace bench
