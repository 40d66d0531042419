// fovea_softmax: legal calls against the textbook, hostile ones against the rules of its header.
#pragma once
#include "float_hostile.hpp"
#include "ops_table.hpp"

namespace fuzz {

inline float* noise_of(bytes& in, memory& all, size_t count, float size) {
  float* x = all.take_of<float>(count);
  const uint32_t seed = in.byte();
  for (size_t n = 0; n < count; ++n) x[n] = size * data::noise(seed, static_cast<uint32_t>(n));
  for (int32_t specials = std::max(0, in.between(0, 15) - 12); count > 0 && specials > 0; --specials)
    put_bits(x[in.word() % count], in.one_of(special_bits));
  return x;
}
inline size_t extent(int32_t rows, ptrdiff_t stride, int32_t columns) {
  return rows == 0 ? 0 : static_cast<size_t>((rows - 1) * stride + columns);
}
inline range rows_of(const void* data, wide rows, ptrdiff_t stride, wide columns, wide element = 4) {
  return range_of(data, 1, 0, rows, stride == 0 ? columns : wide{stride}, columns, element);
}

inline std::string in_words(const fovea_softmax_rows& s) {
  std::ostringstream to;
  to << "softmax of " << s.rows << " x " << s.columns << ", in " << s.in << " stride " << s.in_stride
     << ", out " << s.out << " stride " << s.out_stride << ", flags " << s.flags << ", scale " << s.scale
     << ", softcap " << s.softcap << ", mask " << s.mask.data << " stride " << s.mask.query_stride << " keys "
     << s.mask.keys << " is_bias " << s.mask.is_bias << ", lse " << s.lse << ", isa " << s.isa;
  return to.str();
}

inline void judge_softmax(const fovea_softmax_rows& s, judge& j) {
  const int32_t reserved = s.reserved[0] | s.reserved[1] | s.reserved[2] | s.reserved[3];
  j.forbid(reserved != 0 || (s.flags & ~FOVEA_SCALE) != 0, "a reserved word or an unknown flag");
  j.forbid(s.rows < 0 || s.columns < 0 || s.columns > FOVEA_COLUMNS_MAX, "counts out of range");
  j.forbid(s.in_stride < 0 || s.out_stride < 0, "a negative stride");
  j.forbid((s.flags & FOVEA_SCALE) != 0 && !std::isfinite(s.scale * 1.44269504f),
           "a scale that is not finite");
  j.forbid(!(s.softcap >= 0) || !std::isfinite(s.softcap * 1.44269504f) ||
               (s.softcap > 0 && !std::isfinite(2 / s.softcap)),
           "softcap");
  j.forbid(fovea_has_isa(s.isa) == 0, "an ISA that is not here");
  if (j.decided()) return;
  j.forbid(s.rows > 1 && s.out_stride != 0 && s.out_stride < s.columns, "rows of out that share elements");
  const range in = j.cover(s.in, rows_of(s.in, s.rows, s.in_stride, s.columns), 4, "in");
  const ptrdiff_t in_stride = s.in_stride == 0 ? s.columns : s.in_stride,
                  out_stride = s.out_stride == 0 ? s.columns : s.out_stride;
  const bool in_place = s.in == s.out && (s.rows < 2 || in_stride == out_stride);
  if (!in_place) j.read(in);
  if (s.mask.data != nullptr) {
    j.forbid(s.mask.head_stride != 0 || s.mask.query_stride < 0 || s.mask.keys < 0, "a mask that is none");
    j.forbid(s.mask.is_bias != 0 && s.mask.is_bias != 1, "a mask that is none");
    const int32_t keys = s.mask.keys == 0 || s.mask.keys > s.columns ? s.columns : s.mask.keys;
    const size_t element = s.mask.is_bias != 0 ? 4 : 1;
    const range r = range_of(s.mask.data, 1, 0, s.rows, s.mask.query_stride, keys,
                             static_cast<wide>(element));
    j.read(j.cover(s.mask.data, r, element, "mask"));
  }
  j.write(j.cover(s.out, rows_of(s.out, s.rows, s.out_stride, s.columns), 4, "out"), "out overlaps");
  if (s.lse != nullptr) {
    if (in_place) j.read(in);
    j.write(j.cover(s.lse, range_of(s.lse, 1, 0, s.rows, 1, 1, 4), 4, "lse"), "lse overlaps");
  }
}

inline fovea_softmax_rows draw_softmax(bytes& in, memory& all) {
  const float some[] = {1, 3, 30, 1e4f, 1e-3f, 1e19f, 1e30f, 1e-42f},
              scales[] = {1, -0.5f, 0, 1e-3f, 1e-45f, 1e10f, 1e-30f, 1e38f};
  const float caps[] = {5, 0.01f, 30, 1e30f};
  fovea_softmax_rows s = {};
  const uint32_t which = in.byte();
  s.rows = in.between(0, 7), s.columns = draw_length(in, 80, 600);
  if ((which & 1) != 0) s.in_stride = s.columns + in.between(0, 5);
  if ((which & 2) != 0) s.out_stride = s.columns + in.between(0, 5);
  if ((which & 12) == 12) s.in_stride = in.between(1, 5);
  if ((which & 16) != 0) s.flags = FOVEA_SCALE, s.scale = in.one_of(scales);
  if ((which & 32) != 0) s.softcap = in.one_of(caps);
  const ptrdiff_t in_stride = s.in_stride == 0 ? s.columns : s.in_stride,
                  out_stride = s.out_stride == 0 ? s.columns : s.out_stride;
  s.in = noise_of(in, all, extent(s.rows, in_stride, s.columns), in.one_of(some));
  s.out = all.take_of<float>(extent(s.rows, out_stride, s.columns));
  if ((which & 64) != 0) s.lse = all.take_of<float>(static_cast<size_t>(s.rows));
  if ((which & 128) == 0) return s;
  fovea_mask& m = s.mask;
  const uint32_t kind = in.byte(), seed = in.byte(), hidden = in.byte();
  m.is_bias = kind & 1, m.query_stride = (kind & 2) != 0 ? s.columns + in.between(0, 3) : 0;
  if ((kind & 4) != 0) m.keys = in.between(0, s.columns + 3);
  const size_t count = extent(s.rows, m.query_stride, m.keys == 0 ? s.columns : std::min(m.keys, s.columns));
  const auto hides = [&](size_t n) {
    return data::noise(seed, static_cast<uint32_t>(n)) * 128 + 128 < static_cast<float>(hidden);
  };
  if (m.is_bias != 0) {
    float* bias = noise_of(in, all, count, in.one_of(some));
    for (size_t n = 0; n < count; ++n)
      if (hides(n)) bias[n] = -ops::infinite;
    m.data = bias;
  } else {
    unsigned char* shown = all.take(count);
    for (size_t n = 0; n < count; ++n) shown[n] = !hides(n);
    m.data = shown;
  }
  return s;
}

// A row of which the definition says what it is: 0 numbers, 1 NaN, 2 nothing can be said, since single
// precision overflows.
inline int kind_of_row(const fovea_softmax_rows& s, const float* row, int32_t r, double& size) {
  const float scale = (s.flags & FOVEA_SCALE) != 0 ? s.scale : 1;
  double low = 1e300, high = -1e300;
  size = 0;
  for (int32_t c = 0; c < s.columns; ++c)
    if (std::isfinite(row[c]) && std::isinf(row[c] * scale)) return 2;
  for (int32_t c = 0; c < s.columns; ++c) {
    const double bias = ops::bias_of(s, r, c);
    if (bias == static_cast<double>(-ops::infinite)) continue;
    const bool infinite = std::isinf(row[c]);
    const float scaled = infinite ? row[c] * scale : row[c]; // what is finite may be scaled beyond all floats
    if (scaled != scaled || bias != bias || (scaled == ops::infinite && infinite && s.softcap == 0)) return 1;
    if (scaled == -ops::infinite) continue;
    if (infinite || bias > 2e38) return 2;
    const double x = static_cast<double>(row[c]), score = x * static_cast<double>(scale);
    low = std::min(low, x), high = std::max(high, x);
    size = std::max(size, std::fabs(score) + std::fabs(bias));
  }
  const double scale2 = std::fabs(static_cast<double>(scale)) * 1.4426950408889634;
  return high - low > 3e38 || size > 1e38 || (scale2 > 0 && scale2 < 0x1p-126) ? 2 : 0;
}

inline void check_softmax_row(const fovea_softmax_rows& s, const float* in, int32_t r, const float* out,
                              const float* lse) {
  double size;
  const int kind = kind_of_row(s, in, r, size);
  const ops::answer exact = ops::textbook(s, in, r);
  const bool modified = s.mask.data != nullptr || s.softcap != 0;
  const bool coarse = modified && 8 * exact.size * 0x1p-24 > 0.05; // the bound holds to first order
  for (int32_t c = 0; c < s.columns && kind != 2; ++c) {
    const double weight = exact.weight[static_cast<size_t>(c)], got = static_cast<double>(out[c]);
    const bool unseen = std::isinf(exact.score[static_cast<size_t>(c)]) && got == 0;
    const bool right = kind == 1 ? got != got || unseen
                                 : coarse || std::fabs(got - weight) <=
                                                 ops::weight_bound(s, exact, weight) + 0x1p-140;
    if (right) continue;
    finding("column " + std::to_string(c) + " of row " + std::to_string(r) + " is " + number(got) +
                ", the textbook's " + number(weight),
            in_words(s));
  }
  if (lse == nullptr || kind == 2) return;
  const double got = static_cast<double>(*lse);
  if (kind == 1 ? got != got
                : got == exact.lse || std::fabs(got - exact.lse) <= ops::lse_bound(s, exact) + 0x1p-140)
    return;
  if (s.columns > 0)
    finding(
        "the log-sum-exp of row " + std::to_string(r) + " is " + number(got) + ", not " + number(exact.lse),
        in_words(s));
}

inline std::vector<float> results_of(const fovea_softmax_rows& s) {
  std::vector<float> all;
  const ptrdiff_t stride = s.out_stride == 0 ? s.columns : s.out_stride;
  for (int32_t r = 0; r < s.rows; ++r) {
    all.insert(all.end(), s.out + r * stride, s.out + r * stride + s.columns);
    std::memset(s.out + r * stride, untouched, static_cast<size_t>(s.columns) * 4);
  }
  if (s.lse != nullptr)
    all.insert(all.end(), s.lse, s.lse + s.rows),
        std::memset(s.lse, untouched, static_cast<size_t>(s.rows) * 4);
  return all;
}

inline void check_softmax(bytes& in) {
  memory all;
  const fovea_softmax_rows s = draw_softmax(in, all);
  all.remember();
  std::vector<float> promised;
  const ptrdiff_t in_stride = s.in_stride == 0 ? s.columns : s.in_stride;
  for (int32_t isa = FOVEA_SCALAR; isa < FOVEA_ISA_END; ++isa) {
    if (fovea_has_isa(isa) == 0) continue;
    fovea_softmax_rows b = s;
    b.isa = isa;
    const naming name([&] { return in_words(b); });
    if (const int32_t status = fovea_softmax(&b))
      finding("a legal call is refused: " + status_text(status), in_words(b));
    const std::vector<float> got = results_of(b);
    if (!all.unchanged()) finding("memory beside the results was written", in_words(b));
    const auto at = [&](int32_t r) {
      return got.data() + static_cast<size_t>(r) * static_cast<size_t>(s.columns);
    };
    for (int32_t r = 0; r < s.rows; ++r)
      check_softmax_row(b, s.in + r * in_stride, r, at(r), s.lse == nullptr ? nullptr : at(s.rows) + r);
    if (!isas::promises_bits(isa)) continue;
    if (promised.empty()) promised = got;
    if (!data::same_numbers(promised, got)) finding("ISAs disagree", in_words(b));
    if (in_stride < s.columns && s.rows > 1) continue;
    memory own; // the same in place
    b.in = b.out = static_cast<float*>(std::memcpy(own.take(extent(s.rows, in_stride, s.columns) * 4), s.in,
                                                   extent(s.rows, in_stride, s.columns) * 4));
    b.in_stride = b.out_stride = s.in_stride;
    if (const int32_t status = fovea_softmax(&b))
      finding("a legal call in place is refused: " + status_text(status), in_words(b));
    if (!data::same_numbers(promised, results_of(b))) finding("in place the results differ", in_words(b));
  }
}

inline void check_hostile_softmax(bytes& in) {
  memory all;
  fovea_softmax_rows s = draw_softmax(in, all);
  const void** const pointers[] = {field(s.in), field(s.out), field(s.mask.data), field(s.lse)};
  int32_t* const counts[] = {&s.rows,         &s.columns,   &s.flags,       &s.isa,
                             &s.mask.is_bias, &s.mask.keys, &s.reserved[0], &s.reserved[3]};
  ptrdiff_t* const all_strides[] = {&s.in_stride, &s.out_stride, &s.mask.query_stride, &s.mask.head_stride};
  float* const numbers[] = {&s.scale, &s.softcap};
  for (int32_t changes = in.between(1, 3); changes > 0; --changes) {
    const void** p = in.one_of(pointers);
    const uint32_t what = in.byte() % 5;
    if (what == 0) *in.one_of(counts) = in.one_of(odd_counts);
    if (what == 1) *in.one_of(all_strides) = in.one_of(odd_strides);
    if (what == 2) put_bits(*in.one_of(numbers), in.one_of(special_bits)), s.flags |= FOVEA_SCALE;
    if (what > 2) *p = odd_address(in, *p, {s.in, s.out, s.mask.data, s.lse});
  }
  const naming name([&] { return in_words(s); });
  judge j;
  judge_softmax(s, j);
  for (const range& r : j.inputs())
    if (!all.owns(r) && !j.decided()) return;
  for (const range& r : j.outputs())
    if (!all.owns(r) && !j.decided()) return;
  if (!j.decided() && !all.owns(rows_of(s.in, s.rows, s.in_stride, s.columns))) return;
  if (!j.decided() && s.columns == 0 && s.rows > 1000)
    return; // lse was changed to null: rows without an element
  all.remember();
  const double begin = seconds();
  const int32_t status = fovea_softmax(&s);
  if (seconds() - begin > allowed_seconds) finding("a small softmax takes long", in_words(s));
  if (status != FOVEA_OK && !all.unchanged()) finding("a refused call wrote", in_words(s));
  if (j.decided() && status == FOVEA_OK)
    finding(std::string("an illegal call is accepted: ") + j.result().why, in_words(s));
  if (j.result().is == verdict::legal && status != FOVEA_OK)
    finding("a legal call is refused: " + status_text(status), in_words(s));
}

} // namespace fuzz
