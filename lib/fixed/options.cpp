// What only some calls need: options that touch single keys (masks, biases, ALiBi, a scale for each key, zero
// points of q), sinks, and float output.
#include "common/build.hpp"

#include "common/bits.hpp"
#include "fixed/finish.hpp"

namespace fovea::fixed {
namespace {

// octaves_with, where keys have a multiplier and nothing else.
int32_t limit_word(int32_t t) {
  constexpr int32_t limit = fixed_octave_limit - 1;
#if defined(__ARM_FEATURE_SAT)
  const int32_t x = __builtin_arm_ssat(t, 29);
  return x - ((x + limit) >> 31); // -2^28 becomes -limit
#else
  return t < -limit ? -limit : t > limit ? limit : t;
#endif
}
inline __attribute__((always_inline)) int32_t limited_octaves(int32_t score, int32_t multiplier, int shift) {
  const int64_t product = int64_t{score} * multiplier;
  const uint32_t low = static_cast<uint32_t>(product), high = static_cast<uint32_t>(product >> 32);
  return limit_word(static_cast<int32_t>(low >> shift | high << (32 - shift)));
}
__attribute__((noinline, hot)) void octaves_by_multiplier(const int32_t* multipliers, int shift, int from,
                                                          int to, int32_t* s) {
  const int32_t* const end = s + to;
  s += from;
  do {
    const int32_t score = *s;
    *s++ = limited_octaves(score, *multipliers++, shift);
  } while (s != end);
}

} // namespace

void octaves_by_key(const fixed_plan& p, const fixed_row& r, int32_t kv_head, int64_t block,
                    const seen_of_block& seen, int keys, int32_t* s) {
  path_in_block path;
  const key_options o = options_in(p, r, kv_head, block, seen, path);
  const bool one_run = seen.head <= seen.first && seen.from < seen.to;
  if (one_run && o.multipliers && !o.sums && !o.bias && !o.mask && !o.slope) {
    fill(s, seen.from, fixed_absent);
    octaves_by_multiplier(o.multipliers + (seen.from - seen.first), r.scale->score_shift, seen.from, seen.to,
                          s);
    return fill(s + seen.to, keys - seen.to, fixed_absent);
  }
  for (int j = 0; j < keys; ++j)
    s[j] = seen.has(j) ? octaves_with(o, p, r, j - seen.first, s[j]) : fixed_absent;
}

bool by_fixed_key(const fixed_plan& p, int32_t block) {
  return p.octaves_by_key || p.in_tree(int64_t{block} * fixed_block, fixed_block);
}

uint32_t weigh_fixed_sink(const fixed_plan& p, fixed_row& r) { return weigh_sink(p, r); }

// Floats of cores with an FPU have the bits of soft_float.hpp: see float_output.hpp.
#if defined(__ARM_FP) && (__ARM_FP & 4)
void write_fixed_floats(const int32_t* acc, uint32_t sum, int64_t zero_sum, const fovea_fixed_scale& scale,
                        int32_t count, uint32_t* out) {
  if (sum == 0) return fill(out, count, uint32_t{0}); // the row saw nothing
  const float by = float_of(scale.f32_scale) / static_cast<float>(sum);
  for (int32_t c = 0; c < count; ++c)
    out[c] = zero_sum ? fixed_float_product(acc[c] - zero_sum, bits_of(by))
                      : bits_of(static_cast<float>(acc[c]) * by);
}

uint32_t fixed_float_factor(const fovea_fixed_scale& scale, int64_t sum) {
  return bits_of(float_of(scale.f32_scale) / float_of(float_from_integer(sum)));
}
uint32_t fixed_float_product(int64_t acc, uint32_t by) {
  return bits_of(float_of(float_from_integer(acc)) * float_of(by));
}
#else
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
#endif

} // namespace fovea::fixed
