// A legal float call, made in every way: each ISA, any scratch, any parts, K in rows and in panels. All must
// give the bits of the written arithmetic, and where the arithmetic promises an error bound, the textbook's
// numbers.
#pragma once
#include "data.hpp"
#include "float_draw.hpp"
#include "isas.hpp"
#include "numerics.hpp"
#include "spoilt.hpp"

namespace fuzz {

// Runs calls on one set of memory and gathers their results, in the order of numerics::attend.
class runner {
 public:
  runner(const fovea_attention& call, memory& all) : call_(call), all_(all) {
    each_result([](float* x, size_t count) { std::memset(x, untouched, count * sizeof(float)); });
    all_.remember();
  }

  std::vector<float> run(fovea_attention a, bytes& in) const {
    const int32_t parts = std::max(1, in.between(0, 9) - 5);
    const size_t offset = in.one_in(2) ? static_cast<size_t>(in.between(0, 63)) : 0;
    memory own; // not seen by `all_`
    const bool split = in.one_in(3) && a.weights.data == nullptr;
    if (split) {
      a.partials_size = fovea_partials_size(&a);
      a.partials = own.take(a.partials_size);
    }
    for (int32_t n = 0, first = in.between(0, parts - 1); n < parts; ++n) {
      if (parts > 1) a.part = {(first + n) % parts, parts};
      const size_t size = draw_scratch(a, in);
      unsigned char* scratch = own.take(size, offset);
      const naming name([&] { return in_words(a); });
      expect(fovea_attend(&a, scratch, size), "attend");
    }
    if (split) expect(fovea_merge(&a), "merge");
    return take_results();
  }

  [[noreturn]] void wrong(const std::string& what, const fovea_attention& a) const {
    finding(what, in_words(a));
  }

 private:
  size_t draw_scratch(const fovea_attention& a, bytes& in) const {
    const size_t least = fovea_scratch_least(&a), best = fovea_scratch_best(&a),
                 promised = FOVEA_SCRATCH(a.dim, reference::v_dim(a));
    if (least == 0 || best < least || least > promised)
      wrong("scratch of " + std::to_string(least) + " to " + std::to_string(best), a);
    return draw_scratch_size(in, least, promised, best);
  }

  void expect(int32_t status, const char* by) const {
    if (status != FOVEA_OK)
      wrong(std::string("a legal call is refused by ") + by + ": " + status_text(status), call_);
  }

  // Results leave their memory as it was; then nothing may differ from what was remembered.
  std::vector<float> take_results() const {
    std::vector<float> results;
    each_result([&](float* x, size_t count) {
      results.insert(results.end(), x, x + count);
      std::memset(x, untouched, count * sizeof(float));
    });
    if (!all_.unchanged()) wrong("memory beside the results was written", call_);
    return results;
  }

  template <class Visit>
  void each_result(const Visit& visit) const {
    const fovea_attention a = resolved(call_);
    const auto dim = static_cast<size_t>(reference::v_dim(a)), keys = static_cast<size_t>(a.keys);
    for (int32_t h = 0; h < a.q_heads; ++h)
      for (int32_t i = 0; i < a.queries; ++i)
        visit(static_cast<float*>(a.out.data) + h * a.out.head_stride + i * a.out.token_stride, dim);
    if (a.lse != nullptr) visit(a.lse, static_cast<size_t>(a.q_heads) * static_cast<size_t>(a.queries));
    size_t told = 0;
    for (int32_t h = 0; h < a.q_heads; ++h)
      for (int32_t i = 0; i < a.queries; ++i) told += reference::is_told(a, h, i);
    if (told > 0) visit(a.weights.data, told * keys);
  }

  const fovea_attention& call_;
  memory& all_;
};

// What the textbook's bound needs to know of a call: how large its numbers are, and whether all of them are
// numbers.
struct magnitudes {
  bool finite = true, finite_values = true;
  double q = 0, k = 0, v = 0;

  explicit magnitudes(const fovea_attention& a) {
    const int32_t kv_heads = reference::kv_heads(a);
    q = largest(a.q, a.q_heads, a.queries, a.dim), k = largest(a.k, kv_heads, a.keys, a.dim);
    const bool others = finite;
    finite = true;
    v = largest(a.v, kv_heads, a.keys, reference::v_dim(a));
    finite_values = finite;
    finite = finite && others;
  }
  double largest(const fovea_in& in, int32_t heads, int32_t tokens, int32_t dim) {
    double size = 0;
    for (int32_t h = 0; h < heads; ++h)
      for (int32_t t = 0; t < tokens; ++t)
        for (int32_t c = 0; c < dim; ++c) {
          const float x = reference::row(in, h, t, tokens, dim)[c];
          finite = finite && std::isfinite(x);
          size = std::max(size, std::fabs(static_cast<double>(x)));
        }
    return size;
  }
};

// docs/numerics.md, section 7: where the promise of accuracy ends. Sizes are upper bounds, so some calls are
// left out for nothing.
inline double far_from(const fovea_attention& a) { // no key is further from a query
  const int64_t first = a.queries > 0 ? reference::position(a, 0) : 0;
  return std::fabs(static_cast<double>(first)) + a.queries + a.first_key + static_cast<double>(a.keys);
}
struct score_sizes {
  double highest, largest; // of scores, and of their absolute values

  score_sizes(const fovea_attention& a, const magnitudes& m) {
    const double product = std::fabs(reference::scale(a)) * m.q * m.k * a.dim;
    double up = 0, down = 0;
    const auto may_add = [&](double x) { up = std::max(up, x), down = std::max(down, -x); };
    for (int32_t h = 0; h < a.q_heads; ++h) {
      if (a.alibi != nullptr) may_add(-static_cast<double>(a.alibi[h]) * far_from(a));
      if (a.sinks != nullptr && std::isfinite(a.sinks[h])) may_add(static_cast<double>(a.sinks[h]));
    }
    for (int32_t h = 0; a.mask.data != nullptr && a.mask.is_bias != 0 && h < a.q_heads; ++h)
      for (int32_t i = 0; i < a.queries; ++i)
        for (int32_t j = 0; j < a.keys; ++j) {
          const float bias = reference::bias_of(a, h, i, j);
          if (bias != bias || bias > 1e38f) may_add(-reference::minus_infinity);
          if (std::isfinite(bias)) may_add(static_cast<double>(bias));
        }
    highest = product + 2 * up, largest = product + 2 * std::max(up, down);
  }
};
inline bool bound_holds(const fovea_attention& a, const magnitudes& m) {
  return m.finite && score_sizes(a, m).largest < 1e38 && m.v * (a.keys + 1) < 0x1p126;
}

// What the bound leaves out: denormal products of q, k and v, and scores that are nothing compared with their
// softcap. Where q times the scale overflows, products are stretched by a power of two afterwards.
inline double slack(const fovea_attention& a, const magnitudes& m) {
  const double scale = std::fabs(reference::scale(a)) * 1.4426950408889634;
  const double stretch = scale > 1 && m.q * scale > 3.4e38 ? 2 * scale : 1;
  return a.dim * 0x1p-147 * (m.k + stretch) + 0x1p-120 * static_cast<double>(a.softcap) + 0x1p-140;
}

inline void check_textbook(const fovea_attention& a, const magnitudes& m, const std::vector<float>& got,
                           const char* isa) {
  const reference::answer exact = reference::attend(a);
  const double more = slack(a, m);
  const bool coarse = reference::c2(a) * reference::eps * score_sizes(a, m).largest >
                      0.05; // then weights may be off by any factor
  const auto rows = static_cast<size_t>(a.q_heads) * static_cast<size_t>(a.queries),
             dim = static_cast<size_t>(reference::v_dim(a));
  for (size_t n = 0; n < got.size(); ++n) {
    const double value = static_cast<double>(got[n]), right = exact.out[n];
    if (value == right || !std::isfinite(right) || !std::isfinite(exact.bound[n])) continue;
    const double bound = exact.bound[n] + more * (2 + m.v) + a.keys * 0x1p-147;
    const bool is_weight = n >= rows * (dim + (a.lse != nullptr)) && a.weights.stage == 0,
               is_output = n < rows * dim;
    if ((is_weight && coarse) || (is_output && bound > 0.05 * m.v))
      continue; // the bound holds to first order
    if (is_weight && right < 1e-16 && value < 1e-16)
      continue; // which cannot be seen: how exact such a score is does not matter
    if (std::fabs(value - right) <= bound) continue;
    std::ostringstream to;
    to << "result " << n << " of " << isa << " is " << value << ", the textbook's " << right << ", the bound "
       << bound;
    finding(to.str(), in_words(a));
  }
}

// Only where rows have elements of their own: else keys that are seen would be spoilt, too.
inline void spoil_hidden(const fovea_attention& a, uint32_t pattern) {
  for (const fovea_in* in : {&a.k, &a.v})
    if (!rows_apart(reference::kv_heads(a), in->head_stride, a.keys, in->token_stride,
                    in == &a.k ? a.dim : reference::v_dim(a)))
      return;
  for (int32_t g = 0; g < reference::kv_heads(a); ++g)
    for (int32_t j = 0; j < a.keys; ++j) {
      if (spoilt::anybody_attends(a, g, j)) continue;
      float *k = const_cast<float*>(reference::row(a.k, g, j, a.keys, a.dim)),
            *v = const_cast<float*>(reference::row(a.v, g, j, a.keys, 0));
      for (int32_t c = 0; c < a.dim; ++c) put_bits(k[c], pattern);
      for (int32_t c = 0; c < reference::v_dim(a); ++c) put_bits(v[c], pattern);
    }
}

inline fovea_attention in_panels(fovea_attention a, bytes& in, memory& own) {
  const size_t head = FOVEA_UP16(a.keys) * static_cast<size_t>(a.dim) + static_cast<size_t>(in.between(0, 9));
  const auto kv_heads = static_cast<size_t>(reference::kv_heads(a));
  float* panels = own.take_of<float>(
      a.keys == 0 ? 0 : (kv_heads - 1) * head + FOVEA_UP16(a.keys) * static_cast<size_t>(a.dim));
  for (size_t g = 0; g < kv_heads && a.keys > 0; ++g) {
    const float* rows = reference::row(a.k, static_cast<int64_t>(g), 0, a.keys, a.dim);
    const int32_t status = fovea_pack_keys(panels + g * head, 0, rows, a.k.token_stride, a.keys, a.dim);
    if (status != FOVEA_OK)
      finding("keys of a legal call are not packed: " + status_text(status), in_words(a));
  }
  a.k.data = panels, a.k.layout = FOVEA_PANELS, a.k.head_stride = static_cast<ptrdiff_t>(head),
  a.k.token_stride = 0;
  return a;
}

// Any NaN is as good as another.
inline size_t first_difference(const std::vector<float>& got, const std::vector<float>& expected) {
  for (size_t n = 0; n < got.size(); ++n)
    if (std::memcmp(&got[n], &expected[n], 4) != 0 && (got[n] == got[n] || expected[n] == expected[n]))
      return n;
  return got.size();
}

// `call` is legal, owns its memory and is small. `own_tensors`: K and V stand in no memory of another
// argument.
inline void check_results(const fovea_attention& call, memory& all, bytes& in, bool own_tensors) {
  const fovea_attention a = resolved(call);
  if (a.k.layout == FOVEA_PANELS) return; // references read rows
  const magnitudes size(a);
  // Products that overflow may be minus infinity, and the lowest score may lie more than any float below the
  // highest one: then no page says what a weight is, 0 or 2^-100 of the largest; but it is the same
  // everywhere.
  const bool beyond = !(score_sizes(a, size).highest < 2e37);
  if (beyond && !size.finite_values) return; // a value times a weight of 0 or of 2^-100: a NaN, or nothing
  const bool exact = bound_holds(a, size);
  if (own_tensors && in.one_in(2)) spoil_hidden(a, in.one_of(spoilt::all_patterns));
  const runner runs(call, all);
  std::vector<float> written = beyond ? std::vector<float>() : numerics::attend(a);
  for (int32_t isa = FOVEA_SCALAR; isa < FOVEA_ISA_END; ++isa) {
    if (fovea_has_isa(isa) == 0) continue;
    fovea_attention b = call;
    b.isa = isa;
    memory own;
    std::vector<float> expected = written;
    if (!isas::promises_bits(isa) || written.empty()) {
      bytes ordinary(nullptr, 0);
      expected = runs.run(b, ordinary);
      if (isas::promises_bits(isa)) written = expected;
    }
    if (exact && !data::same_bits(expected, written)) check_textbook(a, size, expected, fovea_isa_name(isa));
    if (a.first_key % 16 == 0 && in.one_in(2)) b = in_panels(resolved(b), in, own);
    const std::vector<float> got = runs.run(b, in);
    const size_t n = first_difference(got, expected);
    if (n == got.size()) continue;
    std::ostringstream to;
    to << "result " << n << " of " << got.size() << " is " << got[n] << " instead of " << expected[n]
       << " on " << fovea_isa_name(isa);
    finding(to.str(), in_words(b));
  }
  if (exact) check_textbook(a, size, written, "the written arithmetic");
}

} // namespace fuzz
