// What only some calls need: options that touch single keys (masks, biases, ALiBi, a scale for each key, zero
// points of q), sinks, and float output.
#define FOVEA_SOURCE_FOR_SIZE 1
#include "common/build.hpp"

#include "common/bits.hpp"
#include "fixed/finish.hpp"

namespace fovea::fixed {
namespace {

// octaves_with in passes. Multipliers are `step` apart: 0 where all keys have the same.
struct multipliers_of {
  const int32_t* at;
  ptrdiff_t step;
  int shift;
};

inline __attribute__((always_inline)) int32_t octaves_of(int32_t score, int32_t multiplier, int shift) {
  const int64_t product = int64_t{score} * multiplier;
  const uint32_t low = static_cast<uint32_t>(product), high = static_cast<uint32_t>(product >> 32);
  return static_cast<int32_t>(low >> shift | high << (32 - shift));
}

__attribute__((noinline, hot)) void octaves_by_multiplier(const multipliers_of& x, int32_t* t,
                                                          const int32_t* end) {
  const int32_t* by = x.at;
  const ptrdiff_t step = x.step;
  const int shift = x.shift;
  do {
    const int32_t score = *t;
    *t++ = limited_word(octaves_of(score, *by, shift));
    by += step;
  } while (t != end);
}

// A bias, and ALiBi, which counts keys from the query's position: the first one lies so far before it. Keys
// of drafts come `behind` their positions.
struct terms_of {
  const int32_t* bias;
  int32_t slope;
  int64_t distance;
  const int16_t* behind;
};

// Within the limits of octaves: the low word, where it holds the sum.
inline int32_t limited_sum(int64_t sum) {
  const int32_t low = static_cast<int32_t>(sum), high = static_cast<int32_t>(sum >> 32);
  return limited_word(high == low >> 31 ? low : high >> 31 ^ INT32_MAX);
}

FOVEA_ONCE void octaves_with_terms(terms_of o, const multipliers_of& x, int32_t* t,
                                   const int32_t* const end) {
  const int32_t* by = x.at;
  do {
    const int64_t apart = o.behind ? o.distance + *o.behind++ : o.distance;
    const int32_t bias = o.bias ? *o.bias++ : 0;
    const int64_t sum = octaves_of(*t, *by, x.shift) - o.slope * (apart < 0 ? -apart : apart) + bias;
    *t++ = bias == INT32_MIN ? fixed_absent : limited_sum(sum);
    by += x.step;
    --o.distance;
  } while (t != end);
}

FOVEA_ONCE void hide_where_zero(const uint8_t* mask, int32_t* t, const int32_t* end) {
  for (; t != end; ++t)
    if (!*mask++) *t = fixed_absent;
}

template <class T>
const T* row_of(const table_of<T>& x, const fixed_row& r, int32_t n) {
  return x.data ? x.data + r.q_head * x.head + r.query * x.row + n : nullptr;
}

} // namespace

void octaves_by_key(const fixed_panels& panels, const fixed_row& r, int32_t block, int from, int to,
                    int32_t* s) {
  const fixed_plan& p = panels.p_;
  if (from >= to) return;
  int32_t *const t = s + from, *const end = s + to;
  const int32_t at = block * fixed_block, key = at + from, n = key - p.see.first_key;
  if (p.zero_q) {
    const int32_t* sum = p.sums.data + panels.kv_head_ * p.sums.head + n;
    for (int32_t* x = t; x != end; ++x) *x = without_zero_q(*x, p.zero_q, *sum++);
  }
  multipliers_of by{&r.scale->score_multiplier, 0, r.scale->score_shift};
  if (p.multipliers.data) {
    by.at = panels.found_multipliers(block) + from;
    by.step = 1;
  }
  const bool in_tree = features::trees && p.tree.parents;
  path_in_block path;
  terms_of terms{features::masks ? row_of(p.bias, r, n) : nullptr, 0, 0, nullptr};
  int32_t first = p.see.position, query = r.query; // positions of queries: first + query
  if (in_tree) {
    first = p.tree.first;
    query = find_path(p.tree, query, at, fixed_block, {path.shown, path.behind, &path.special});
    terms.behind = path.behind + from;
  }
  if (features::alibi && p.alibi.data) {
    terms.slope = p.alibi.data[r.q_head];
    terms.distance = int64_t{first} + (query - key);
  }
  if (terms.bias || terms.slope)
    octaves_with_terms(terms, by, t, end);
  else
    octaves_by_multiplier(by, t, end);
  if (features::masks && p.mask.data) hide_where_zero(row_of(p.mask, r, n), t, end);
  if (in_tree) hide_where_zero(path.shown + from, t, end);
}

bool by_fixed_key(const fixed_plan& p, int32_t block) {
  return p.octaves_by_key || p.in_tree(block * fixed_block, fixed_block);
}

// Floats of cores with an FPU have the bits of soft_float.hpp: see float_output.hpp.
#if defined(__ARM_FP) && (__ARM_FP & 4)
// Rounded once. Where it has 33 bits, the last one is kept in the one above.
inline float float_of_difference(int32_t a, int32_t b) {
  int32_t x;
  if (!__builtin_sub_overflow(a, b, &x)) return static_cast<float>(x);
  const int32_t half = (x >> 1) ^ INT32_MIN; // x has lost the sign
  return 2 * static_cast<float>(half | (x & 1));
}

void write_fixed_floats(const int32_t* acc, uint32_t sum, int32_t zero_sum, const fovea_fixed_scale& scale,
                        int32_t count, uint32_t* out) {
  // A row that saw nothing must not raise the flag of a division by zero, which may interrupt.
  const float by = float_of(scale.f32_scale) / static_cast<float>(sum ? sum : 1);
  for (const int32_t* const end = acc + count; acc != end; ++acc)
    *out++ = bits_of(float_of_difference(*acc, zero_sum) * by);
}

uint32_t fixed_float_factor(const fovea_fixed_scale& scale, int64_t sum) {
  return bits_of(float_of(scale.f32_scale) / float_of(float_from_integer(sum)));
}
uint32_t fixed_float_product(int64_t acc, uint32_t by) {
  return bits_of(float_of(float_from_integer(acc)) * float_of(by));
}
#else
void write_fixed_floats(const int32_t* acc, uint32_t sum, int32_t zero_sum, const fovea_fixed_scale& scale,
                        int32_t count, uint32_t* out) {
  const uint32_t by = fixed_float_factor(scale, sum);
  for (int32_t c = 0; c < count; ++c) out[c] = fixed_float_product(int64_t{acc[c]} - zero_sum, by);
}

uint32_t fixed_float_factor(const fovea_fixed_scale& scale, int64_t sum) {
  return divide_floats(scale.f32_scale, float_from_integer(sum));
}
uint32_t fixed_float_product(int64_t acc, uint32_t by) {
  return multiply_floats(float_from_integer(acc), by);
}
#endif

} // namespace fovea::fixed
