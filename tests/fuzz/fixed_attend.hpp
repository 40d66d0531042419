// A legal integer call, made in every way: each ISA and entry, any scratch, any parts, K and V in rows and in
// panels. All must give the bits of the written arithmetic (S8), the same bits (S16), and what the textbook
// says.
#pragma once
#include "fixed_textbook.hpp"

namespace fuzz {

using entry = int32_t (*)(const fovea_fixed_attention*, void*, size_t);

class runner {
 public:
  runner(const fovea_fixed_attention& call, memory& all) : call_(call), all_(all) {
    each_result([](unsigned char* x, size_t count) { std::memset(x, untouched, count); });
    all_.remember();
  }

  std::vector<unsigned char> run(fovea_fixed_attention a, entry attend, bytes& in) const {
    const int32_t parts = std::max(1, in.between(0, 9) - 5);
    const size_t offset = in.one_in(2) ? static_cast<size_t>(in.between(0, 63)) : 0;
    memory own; // not seen by `all_`
    for (int32_t n = 0, first = in.between(0, parts - 1); n < parts; ++n) {
      if (parts > 1) a.part = {(first + n) % parts, parts};
      const size_t size = draw_scratch(a, in);
      unsigned char* scratch = own.take(size, offset);
      const naming name([&] { return in_words(a); });
      const int32_t status = attend(&a, scratch, size);
      if (status != FOVEA_OK) finding("a legal call is refused: " + status_text(status), in_words(a));
    }
    return take_results();
  }

 private:
  size_t draw_scratch(const fovea_fixed_attention& a, bytes& in) const {
    const size_t least = fovea_fixed_scratch(&a), best = fovea_fixed_scratch_best(&a);
    const bool rows = !in_panels(a) && a.q.dtype == FOVEA_FIXED_S8;
    const size_t promised = rows ? FOVEA_FIXED_SCRATCH_ROWS(a.dim, v_dim(a))
                                 : FOVEA_FIXED_SCRATCH(a.dim, v_dim(a));
    if (least == 0 || best < least || least > promised)
      finding("scratch of " + std::to_string(least) + " to " + std::to_string(best) + ", promised " +
                  std::to_string(promised),
              in_words(a));
    return draw_scratch_size(in, least, promised, best);
  }

  // Results leave their memory as it was; then nothing may differ from what was remembered.
  std::vector<unsigned char> take_results() const {
    std::vector<unsigned char> results;
    each_result([&](unsigned char* x, size_t count) {
      results.insert(results.end(), x, x + count);
      std::memset(x, untouched, count);
    });
    if (!all_.unchanged()) finding("memory beside the results was written", in_words(call_));
    return results;
  }

  template <class Visit>
  void each_result(const Visit& visit) const {
    const fovea_fixed_attention a = resolved(call_);
    for (int32_t h = 0; h < a.q_heads; ++h)
      for (int32_t i = 0; i < a.queries; ++i)
        visit(static_cast<unsigned char*>(a.out.data) +
                  (h * a.out.head_stride + i * a.out.token_stride) * (1 << a.out.dtype),
              static_cast<size_t>(v_dim(a)) << a.out.dtype);
  }

  const fovea_fixed_attention& call_;
  memory& all_;
};

// K and V as a cache holds them, packed in two steps; what stands behind the last key is garbage.
inline fovea_fixed_attention packed(const fovea_fixed_attention& a, bytes& in, memory& own) {
  fovea_fixed_attention b = a;
  const auto pack = [&](auto by, fovea_fixed_in& x, int32_t dim) {
    const size_t whole = FOVEA_FIXED_PANELS(a.keys, dim),
                 gap = in.one_in(2) ? static_cast<size_t>(in.between(0, 9)) : 0;
    const auto heads = static_cast<size_t>(kv_heads(a));
    int8_t* panels = own.take_of<int8_t>(a.keys == 0 ? 0 : (heads - 1) * (whole + gap) + whole,
                                         static_cast<size_t>(in.between(0, 3)));
    const int32_t before = in.between(0, a.keys);
    for (size_t g = 0; g < heads; ++g) {
      const int8_t* rows = static_cast<const int8_t*>(x.data) + static_cast<ptrdiff_t>(g) * x.head_stride;
      int8_t* to = panels + g * (whole + gap);
      int32_t status = by(to, 0, rows, x.token_stride, before, dim);
      if (status == FOVEA_OK)
        status = by(to, before, rows + before * x.token_stride, x.token_stride, a.keys - before, dim);
      if (status != FOVEA_OK)
        finding("keys or values of a legal call are not packed: " + status_text(status), in_words(a));
    }
    x.data = panels, x.layout = FOVEA_PANELS, x.token_stride = 0,
    x.head_stride = gap == 0 ? 0 : static_cast<ptrdiff_t>(whole + gap);
  };
  pack(fovea_fixed_pack_keys, b.k, a.dim);
  pack(fovea_fixed_pack_values, b.v, v_dim(a));
  return b;
}

inline bool has_tables(const fovea_fixed_attention& a) {
  return a.head_scales != nullptr || a.key_multipliers.data != nullptr || a.value_weights.data != nullptr ||
         a.key_sums.data != nullptr || a.mask.data != nullptr || a.bias.data != nullptr ||
         a.alibi != nullptr || a.sinks != nullptr || pattern::parents(a) != nullptr;
}

// What fovea_fixed_attend_plain takes for certain, of calls that are legal.
inline bool is_plain(const fovea_fixed_attention& a) {
  const bool usual_scale = a.scale.score_multiplier >= 1 << 30 || a.scale.score_shift == 31;
  return in_panels(a) && !has_tables(a) && a.out.dtype != FOVEA_FIXED_F32 && usual_scale;
}

// `call` is legal, owns its memory and is small.
inline void check_results(const fovea_fixed_attention& call, memory& all, bytes& in) {
  fovea_fixed_attention a = resolved(call);
  if (in_panels(a)) return; // references read rows
  const runner runs(call, all);
  const bool s16 = a.q.dtype == FOVEA_FIXED_S16;
  std::vector<int32_t> sinks; // the written arithmetic takes them as they are
  for (int32_t h = 0; a.sinks != nullptr && h < a.q_heads; ++h)
    sinks.push_back(std::clamp(a.sinks[h], 1 - (1 << 28), (1 << 28) - 1));
  if (a.sinks != nullptr) a.sinks = sinks.data();
  std::vector<unsigned char> expected;
  if (!s16) expected = fixed_reference::output(a);
  for (int32_t isa = FOVEA_FIXED_SCALAR; isa < FOVEA_FIXED_ISA_END; ++isa) {
    if (fovea_fixed_has_isa(isa) == 0) continue;
    fovea_fixed_attention b = call;
    memory own;
    b.isa = isa;
    if (!s16 && a.first_key % 64 == 0 && in.one_in(2)) b = packed(resolved(b), in, own);
    const bool other = in.one_in(4);
    const std::vector<unsigned char> got = runs.run(b,
                                                    !other || s16 ? fovea_fixed_attend
                                                    : is_plain(b) ? fovea_fixed_attend_plain
                                                                  : fovea_fixed_attend_s8,
                                                    in);
    if (expected.empty()) expected = got;
    if (got == expected) continue;
    const size_t n = static_cast<size_t>(std::mismatch(got.begin(), got.end(), expected.begin()).first -
                                         got.begin()) >>
                     a.out.dtype;
    finding("result " + std::to_string(n) + " is " + number(number_at(a, got.data() + (n << a.out.dtype))) +
                " instead of " + number(number_at(a, expected.data() + (n << a.out.dtype))) + " on " +
                fovea_fixed_isa_name(isa),
            in_words(b));
  }
  check_textbook(a, expected);
}

} // namespace fuzz
