// What only some calls need: options that touch single keys (masks, biases, ALiBi, a scale for each key, zero
// points of q), sinks, and float output.
#include "common/build.hpp"

#include "fixed/finish.hpp"

namespace fovea::fixed {

void octaves_by_key(const fixed_plan& p, const fixed_row& r, int32_t kv_head, int64_t block,
                    const seen_of_block& seen, int32_t* s) {
  path_in_block path;
  const key_options o = options_in(p, r, kv_head, block, seen, path);
  for (int j = 0; j < fixed_block; ++j)
    s[j] = seen.has(j) ? octaves_with(o, p, r, j - seen.first, s[j]) : fixed_absent;
}

uint32_t weigh_fixed_sink(const fixed_plan& p, fixed_row& r) { return weigh_sink(p, r); }

void write_fixed_floats(const int32_t* acc, uint32_t sum, int64_t zero_sum, const fovea_fixed_scale& scale,
                        int32_t count, uint32_t* out) {
  if (sum == 0) return fill(out, count, uint32_t{0}); // the row saw nothing
  const uint32_t by = fixed_float_factor(scale, sum);
  for (int32_t c = 0; c < count; ++c) out[c] = fixed_float_product(acc[c] - zero_sum, by);
}

uint32_t fixed_float_factor(const fovea_fixed_scale& scale, int64_t sum) {
  return divide_floats(scale.f32_scale, float_from_integer(sum));
}
uint32_t fixed_float_product(int64_t acc, uint32_t by) {
  return multiply_floats(float_from_integer(acc), by);
}

} // namespace fovea::fixed
