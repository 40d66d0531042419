// How far the results of a call on an int8 cache can be from those on the floats that were appended.
// docs/cache.md derives the bound.
#include "common/build.hpp"

#include "cache/quantize.hpp"
#include "cache/view.hpp"
#include "common/square_root.hpp"
#include "f32/check.hpp"

namespace fovea::cache {
namespace {

constexpr float largest_number = 128;  // of int8, and half a step more
constexpr float half_a_step = 0.5001f; // with the roundings of a quotient of at most 127
constexpr float unit_roundoff = 5.96046448e-8f;
constexpr float own_roundings = 1.01f; // of the sums and products below

float size_of_float(float x) { return float_of(bits_of(x) & 0x7fffffffu); }
float larger_float(float a, float b) { return a < b ? b : a; }

// Scales of tokens that stand side by side: multipliers of keys, weights of values.
struct scale_piece {
  const int32_t* multipliers;
  const int16_t* weights;
  ptrdiff_t multiplier_stride, weight_stride; // between heads
  int32_t keys, first;                        // of the call's keys
};

// What all rows of a KV head share.
struct head_scales {
  float k, v; // the largest steps
  float mean; // the largest number of the mean key
};

struct weighted_sums {
  float k, v, kv; // of weights times the steps of keys, of values, and of both
};

class bounded_call {
 public:
  bounded_call(const opened& c, const fovea_attention& a, const f32::plan& p) : c_(c), a_(a), p_(p) {
    unit_k_ = unit_of(c.shape().k_largest, c.shape().score_multiplier);
    unit_v_ = unit_of(c.shape().v_largest, greatest_weight);
    scale_ = a.flags & FOVEA_SCALE ? size_of_float(a.scale) : 1 / square_root(static_cast<float>(a.dim));
  }

  void write(float* bounds) const {
    const int32_t heads = p_.kv_heads * p_.group;
    for (int32_t g = 0; g < p_.kv_heads; ++g) {
      const head_scales largest = scales_of(g);
      for (int32_t h = g * p_.group; h < (g + 1) * p_.group && h < heads; ++h)
        for (int32_t i = 0; i < a_.queries; ++i)
          bounds[ptrdiff_t{h} * a_.queries + i] = of_row(g, h, i, largest);
    }
  }

 private:
  const opened& c_;
  const fovea_attention& a_;
  const f32::plan& p_;
  float unit_k_, unit_v_, scale_;

  int32_t pieces() const { return a_.segments ? a_.segments->count : 1; }
  scale_piece piece(int32_t i) const {
    if (!a_.segments)
      return {static_cast<const int32_t*>(a_.k.scales),
              static_cast<const int16_t*>(a_.v.scales),
              p_.stored.k.scales.head,
              p_.stored.v.scales.head,
              a_.keys,
              0};
    const fovea_segment& s = a_.segments->at[i];
    const ptrdiff_t stride = stride_or(s.table_head_stride, s.keys);
    return {static_cast<const int32_t*>(s.key_multipliers),
            static_cast<const int16_t*>(s.value_weights),
            stride,
            stride,
            s.keys,
            s.first_key - a_.first_key};
  }

  head_scales scales_of(int32_t g) const {
    int32_t multiplier = 0, weight = 0;
    for (int32_t i = 0; i < pieces(); ++i) {
      const scale_piece s = piece(i);
      const int32_t* const m = s.multipliers + g * s.multiplier_stride;
      const int16_t* const w = s.weights + g * s.weight_stride;
      for (int32_t j = 0; j < s.keys; ++j) {
        multiplier = m[j] > multiplier ? m[j] : multiplier;
        weight = w[j] > weight ? w[j] : weight;
      }
    }
    float mean = 0;
    for (int32_t n = 0; c_.smoothed() && n < p_.dim; ++n)
      mean = larger_float(mean, size_of_float(c_.mean(g)[n]));
    return {static_cast<float>(multiplier) * unit_k_, static_cast<float>(weight) * unit_v_, mean};
  }

  float of_row(int32_t g, int32_t h, int32_t i, const head_scales& most) const {
    const float* const q = p_.q.data + h * p_.q.head + i * p_.q.token;
    float size = 0; // of a score, for each unit of the numbers of a key
    for (int32_t n = 0; n < p_.dim; ++n) size += size_of_float(q[n]);
    size *= scale_;
    if (!(size * (2 * largest_number) < 3e38f)) return float_of(0x7f800000); // a chain may have overflowed
    const float step = half_a_step * size, wrong = step * most.k;            // of the worst score
    const float v = largest_number * most.v;
    float bound = (wrong < 2 ? wrong / 2 : 1) * 2 * v + half_a_step * most.v;

    const float scores = size * (largest_number * most.k + most.mean) + bias_of(h, i),
                relative = 2 * static_cast<float>(p_.dim + 16) * scores * unit_roundoff;
    const float terms = static_cast<float>((a_.keys < 256 ? a_.keys : 256) + 80 + 2 * p_.spans);
    const float rounding = 2 * (terms * unit_roundoff + relative) * v;

    if (const float* const weights = weights_of(h, i)) {
      const weighted_sums sums = weigh(g, weights);
      const float more = 1 + 2 * relative, left = 1 - more * step * sums.k;
      const float largest_out = size_of_output(h, i) + rounding;
      const float of_keys = slope(wrong) * step * (largest_number * sums.kv + largest_out * sums.k),
                  of_values = (1 + wrong * slope(wrong)) * half_a_step * sums.v;
      const float weighted = more * (of_keys + of_values) / left;
      if (left > 0 && relative < 0.25f && weighted < bound) bound = weighted;
    }
    return own_roundings * (bound + rounding);
  }

  // (e^x - 1) / x for x >= 0, not less: 1 + x / 2 + x^2 / 6 e^x, and e^x as the sixteenth power of a
  // polynomial that is not less than the exponential up to 1.
  static float slope(float x) {
    const float y = x / 16;
    if (!(y <= 1)) return x <= 80 ? 1e35f : x; // its bound does not count; NaN stays
    float power = 1 + y + y * y / 2 + y * y * y / 4;
    for (int32_t n = 0; n < 4; ++n) power *= power;
    return 1 + x / 2 + x * x / 6 * power;
  }

  // The largest number that ALiBi adds to a score.
  float bias_of(int32_t h, int32_t i) const {
    if (!p_.modify.alibi) return 0;
    const int64_t at = p_.see.position + i, before = at - p_.see.first_key, behind = p_.see.end - at;
    return size_of_float(p_.modify.alibi[h]) * static_cast<float>(larger(larger(before, behind), 0));
  }

  const float* weights_of(int32_t h, int32_t i) const {
    const fovea_weights& w = p_.modify.weights;
    if (!w.data || w.stage || h < w.first_head || h >= w.first_head + w.heads || i < w.first_query ||
        i >= w.first_query + w.queries)
      return nullptr;
    return w.data + (ptrdiff_t{h - w.first_head} * w.queries + i - w.first_query) * a_.keys;
  }

  // By panels, so that the error of a sum does not grow with the length.
  weighted_sums weigh(int32_t g, const float* weights) const {
    weighted_sums all = {0, 0, 0};
    for (int32_t i = 0; i < pieces(); ++i) {
      const scale_piece s = piece(i);
      const int32_t* const m = s.multipliers + g * s.multiplier_stride;
      const int16_t* const w = s.weights + g * s.weight_stride;
      for (int32_t from = 0; from < s.keys; from += 64) {
        const int32_t to = from + 64 < s.keys ? from + 64 : s.keys;
        weighted_sums of_panel = {0, 0, 0};
        for (int32_t j = from; j < to; ++j) {
          const float p = weights[s.first + j], k = p * static_cast<float>(m[j]),
                      v = static_cast<float>(w[j]);
          of_panel.k += k;
          of_panel.v += p * v;
          of_panel.kv += k * v;
        }
        all.k += of_panel.k;
        all.v += of_panel.v;
        all.kv += of_panel.kv;
      }
    }
    return {all.k * unit_k_, all.v * unit_v_, all.kv * unit_k_ * unit_v_};
  }

  float size_of_output(int32_t h, int32_t i) const {
    const float* const out = p_.out.data + h * p_.out.head + i * p_.out.token;
    float largest = 0;
    for (int32_t n = 0; n < p_.v_dim; ++n) largest = larger_float(largest, size_of_float(out[n]));
    return largest;
  }
};

} // namespace
} // namespace fovea::cache

int32_t fovea_cache_error(const void* image, const fovea_attention* a, float* bounds) {
  using namespace fovea;
  using namespace fovea::cache;
  opened c;
  if (const int32_t status = open(image, c)) return status;
  if (!c.scaled()) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_IMAGE);
  f32::plan p;
  if (const int32_t status = f32::make_any_plan(a, p)) return status;
  if (const int32_t status = check_call(c, *a)) return status;
  if (a->q.dtype != FOVEA_F32) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_Q);
  if (a->k.dtype != FOVEA_I8 || !p.stored.k.scales.given) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_K);
  if (a->v.dtype != FOVEA_I8 || !p.stored.v.scales.given) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_V);
  if (a->k.scale_token_stride > 1) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_K);
  if (a->v.scale_token_stride > 1) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_V);
  if (a->out.dtype != FOVEA_F32) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_OUT);
  if (a->mask.data && a->mask.is_bias) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_MASK);
  if (c.smoothed() && !is_zero(a->softcap)) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_SOFTCAP);
  if (c.smoothed() && a->sinks) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_SINKS);
  if (bits_of(a->k.scale_unit) != bits_of(unit_of(c.shape().k_largest, c.shape().score_multiplier)) ||
      bits_of(a->v.scale_unit) != bits_of(unit_of(c.shape().v_largest, greatest_weight)))
    return refusal(FOVEA_RANGE, FOVEA_ARG_SCALE);
  extent e{1, p.kv_heads * p.group, 0, 0, a->queries};
  byte_range bytes, of_image;
  if (const int32_t reason = place<>(bounds, 0, 0, sizeof(float), true, e, bytes))
    return refusal(reason, FOVEA_ARG_ERROR);
  if (!range_of_image(c, of_image) || meet(bytes, of_image) || meets_any(p, bytes))
    return refusal(FOVEA_OVERLAP, FOVEA_ARG_ERROR);
  bounded_call(c, *a, p).write(bounds);
  return FOVEA_OK;
}
