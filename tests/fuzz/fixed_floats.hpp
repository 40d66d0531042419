// fixed_quantize.h: floats into integers, and the preparation of keys. Legal calls against definitions
// written anew.
#pragma once
#include <cfenv>

#include "fixed_rows.hpp"

namespace fuzz {

struct float_rows_call {
  memory all;
  fovea_float_rows rows = {};
  const fovea_float_rows* x = &rows;
  const void *data = nullptr, *table = nullptr, *out = nullptr; // table: scales, mean; out: what is written
  int32_t zero = 0, choice = 0;                                 // choice: dtype, or whether to divide
  float scale = 1;

  ptrdiff_t stride() const { return rows.stride == 0 ? rows.dim : rows.stride; }
  float at(int32_t r, int32_t c) const { return rows.data[r * stride() + c]; }
  range read() const { return range_of(rows.data, 1, 0, rows.rows, stride(), rows.dim, 4); }
  wide elements() const { return wide{rows.rows} * rows.dim; }
};

enum quantizing {
  symmetric,
  asymmetric,
  to_s8,
  to_s16,
  tokens,
  mean,
  subtract,
  channel_scales,
  fold,
  quantizings
};

inline size_t bytes_written(const float_rows_call& q, int32_t kind) {
  const auto all = static_cast<size_t>(q.elements()), dim = static_cast<size_t>(q.rows.dim);
  const size_t sizes[] = {4, 4, all, 2 * all, all, 4 * dim, 4 * all, 4 * dim, 4 * all};
  return sizes[kind];
}
inline size_t element_written(int32_t kind) {
  const size_t sizes[] = {4, 4, 1, 2, 1, 4, 4, 4, 4};
  return sizes[kind];
}
// Of floats: read by subtract and fold, written by tokens (scales) and asymmetric (one zero point).
inline size_t table_bytes(const float_rows_call& q, int32_t kind) {
  if (kind == tokens) return 4 * static_cast<size_t>(q.rows.rows);
  if (kind == asymmetric) return 4;
  return kind == subtract || kind == fold ? 4 * static_cast<size_t>(q.rows.dim) : 0;
}
inline bool may_be_in_place(int32_t kind) { return kind == subtract || kind == fold; }
inline bool writes_table(int32_t kind) { return kind == tokens || kind == asymmetric; }

inline void draw_floats(bytes& in, float_rows_call& q, int32_t kind) {
  const float sizes[] = {1, 30, 1e-3f, 1e9f, 3e38f, 1e-38f, 1e-42f, 1e-45f, 0, 1e20f};
  q.rows.rows = in.between(0, 7), q.rows.dim = 1 + draw_length(in, 20, 200);
  if (in.one_in(2)) q.rows.stride = q.rows.dim + in.between(0, 3);
  const size_t size = q.rows.rows == 0 ? 0 : static_cast<size_t>((q.rows.rows - 1) * q.stride() + q.rows.dim);
  const auto fill_floats = [&](size_t count, float least) {
    float* x = q.all.take_of<float>(count);
    const float some = in.one_of(sizes);
    const uint32_t seed = in.byte();
    for (size_t n = 0; n < count; ++n) x[n] = some * (least + data::noise(seed, static_cast<uint32_t>(n)));
    for (int32_t specials = std::max(0, in.between(0, 15) - 12); count > 0 && specials > 0; --specials) {
      const uint32_t bits = in.one_of(special_bits);
      std::memcpy(&x[in.word() % count], &bits, 4);
    }
    return x;
  };
  const float leasts[] = {0, 1, -1, 3};
  q.rows.data = fill_floats(size, in.one_of(leasts));
  const size_t table = table_bytes(q, kind);
  q.table = writes_table(kind) ? q.all.take_of<float>(table / 4) : fill_floats(table / 4, 1.5f);
  q.out = q.all.take(bytes_written(q, kind));
  if (in.one_in(8) && may_be_in_place(kind) && q.rows.stride == 0) q.out = q.rows.data;
  q.scale = in.one_of(sizes), q.choice = in.between(0, 1), q.zero = in.one_in(2) ? in.between(-128, 127) : 0;
}

inline int32_t call_quantizing(const float_rows_call& q, int32_t kind) {
  float* floats = to_write<float>(q.out);
  const auto* table = static_cast<const float*>(q.table);
  switch (kind) {
    case symmetric:
      return fovea_fixed_symmetric(q.x, q.choice, floats);
    case asymmetric:
      return fovea_fixed_asymmetric(q.x, floats, to_write<int32_t>(q.table));
    case to_s8:
      return fovea_fixed_quantize_s8(q.x, q.scale, q.zero, to_write<int8_t>(q.out));
    case to_s16:
      return fovea_fixed_quantize_s16(q.x, q.scale, to_write<int16_t>(q.out));
    case tokens:
      return fovea_fixed_quantize_tokens(q.x, to_write<float>(q.table), to_write<int8_t>(q.out));
    case mean:
      return fovea_fixed_mean(q.x, floats);
    case subtract:
      return fovea_fixed_subtract(q.x, table, floats);
    case channel_scales:
      return fovea_fixed_channel_scales(q.x, floats);
    default:
      return fovea_fixed_fold(q.x, table, q.choice, floats);
  }
}

inline void judge_floats(const float_rows_call& q, int32_t kind, judge& j) {
  j.forbid(q.x == nullptr || q.rows.rows < 0 || q.rows.dim < 1 || q.rows.stride < 0, "counts");
  if (j.decided()) return;
  const range in = j.cover(q.rows.data, q.read(), 4, "x");
  if (kind == symmetric) j.forbid(q.choice != FOVEA_FIXED_S8 && q.choice != FOVEA_FIXED_S16, "dtype");
  if (kind == to_s8 || kind == to_s16) j.forbid(!std::isfinite(q.scale) || !(q.scale > 0), "scale");
  if (kind == to_s8) j.forbid(q.zero < -128 || q.zero > 127, "zero point");
  if (j.decided()) return;
  const range table = range_of(q.table, 1, 0, 1, 0, static_cast<wide>(table_bytes(q, kind)), 1);
  const range out = range_of(q.out, 1, 0, 1, 0, static_cast<wide>(bytes_written(q, kind)), 1);
  const bool in_place = may_be_in_place(kind) && q.out == q.rows.data &&
                        (q.rows.rows < 2 || q.stride() == q.rows.dim);
  if (!in_place) j.read(in);
  j.leave_open(q.out == nullptr || (table_bytes(q, kind) == 0 && q.table == nullptr), "nothing to write");
  if (writes_table(kind) || may_be_in_place(kind)) {
    j.cover(q.table, table, 4, "table");
    writes_table(kind) ? j.write(table, "table overlaps") : j.read(table);
  }
  j.write(j.cover(q.out, out, element_written(kind), "out"), "out overlaps");
  if (j.decided() || !q.all.owns(in)) return;
  for (int32_t r = 0; r < q.rows.rows; ++r)
    for (int32_t c = 0; c < q.rows.dim; ++c)
      j.forbid(!std::isfinite(q.at(r, c)), "a number that is not finite");
  for (int32_t c = 0; kind == fold && q.all.owns(table) && c < q.rows.dim; ++c) {
    const float scale = static_cast<const float*>(q.table)[c];
    j.forbid(!std::isfinite(scale) || !(scale > 0), "a scale of a channel");
  }
}

inline std::string in_words(const float_rows_call& q, int32_t kind) {
  const char* const names[] = {"symmetric", "asymmetric", "quantize_s8",    "quantize_s16", "quantize_tokens",
                               "mean",      "subtract",   "channel_scales", "fold"};
  std::ostringstream to;
  to << "fovea_fixed_" << names[kind] << " of " << q.rows.rows << " x " << q.rows.dim << " at " << q.rows.data
     << " stride " << q.rows.stride << ", out " << q.out << ", table " << q.table << ", scale " << q.scale
     << ", zero " << q.zero << ", choice " << q.choice;
  return to.str();
}

inline float largest(const float_rows_call& q, int32_t from, int32_t end, int32_t first, int32_t last) {
  float size = 0;
  for (int32_t r = from; r < end; ++r)
    for (int32_t c = first; c < last; ++c) size = std::max(size, std::fabs(q.at(r, c)));
  return size;
}

inline double nearest(float x, float scale, int32_t zero, double low, double high) {
  const auto y = static_cast<double>(std::nearbyint(x / scale)); // rounded as floats are divided
  return std::clamp(y + zero, low, high);
}

constexpr float least_scale = std::numeric_limits<float>::min(); // no scale is denormal

// What a definition says of element n of the output, from the numbers before the call.
inline void check_floats(const float_rows_call& q, const float_rows_call& before, int32_t kind,
                         const std::string& words) {
  const auto wrong = [&](const char* what, double got, double right) {
    finding(std::string(what) + " is " + number(got) + ", not " + number(right), words);
  };
  const auto* floats = static_cast<const float*>(q.out);
  const int32_t rows = q.rows.rows, dim = q.rows.dim;
  const float size = largest(before, 0, rows, 0, dim);
  if (kind == symmetric) {
    const float steps = q.choice == FOVEA_FIXED_S8 ? 127.0f : 32767.0f;
    const float right = size > 0 ? std::max(size / steps, least_scale) : 1;
    if (!(std::fabs(*floats - right) <= 1e-6f * right))
      wrong("the scale", static_cast<double>(*floats), static_cast<double>(right));
  }
  if (kind == asymmetric && !(*floats >= least_scale))
    wrong("the scale", static_cast<double>(*floats), static_cast<double>(size));
  if (kind == asymmetric) {
    const int32_t zero = *static_cast<const int32_t*>(q.table);
    for (int32_t r = 0; r < rows; ++r)
      for (int32_t c = 0; c < dim; ++c) {
        const double y = static_cast<double>(before.at(r, c)) / static_cast<double>(*floats) + zero;
        if (size > 1e-30f && (y < -128.52 || y > 127.52)) wrong("a number in steps", y, 127);
      }
  }
  for (int32_t r = 0; r < rows; ++r)
    for (int32_t c = 0; c < dim; ++c) {
      const ptrdiff_t n = ptrdiff_t{r} * dim + c;
      const float x = before.at(r, c),
                  scale = kind == tokens ? static_cast<const float*>(q.table)[r] : q.scale;
      double got = 0, right = 0;
      if (kind == to_s8 || kind == tokens)
        got = static_cast<const int8_t*>(q.out)[n],
        right = nearest(x, scale, kind == tokens ? 0 : q.zero, -128, 127);
      if (kind == to_s16)
        got = static_cast<const int16_t*>(q.out)[n], right = nearest(x, scale, 0, -32768, 32767);
      if (kind == subtract)
        got = static_cast<double>(floats[n]),
        right = static_cast<double>(x - static_cast<const float*>(q.table)[c]);
      if (kind == fold) {
        const float by = static_cast<const float*>(q.table)[c];
        got = static_cast<double>(floats[n]), right = static_cast<double>(q.choice != 0 ? x / by : x * by);
      }
      if (got != right && right == right) wrong("an element", got, right);
    }
  for (int32_t c = 0; c < dim && kind == channel_scales; ++c) {
    const float right = largest(before, 0, rows, c, c + 1);
    if (floats[c] != (right > 0 ? right : 1))
      wrong("the scale of a channel", static_cast<double>(floats[c]), static_cast<double>(right));
  }
  for (int32_t c = 0; c < dim && kind == mean; ++c) {
    double sum = 0;
    for (int32_t r = 0; r < rows; ++r) sum += static_cast<double>(before.at(r, c)) / rows;
    if (!(std::fabs(static_cast<double>(floats[c]) - sum) <= static_cast<double>(size) * 2e-6 + 1e-40))
      wrong("a mean", static_cast<double>(floats[c]), sum);
  }
  for (int32_t r = 0; r < rows && kind == tokens; ++r) {
    const float of_row = largest(before, r, r + 1, 0, dim),
                right = of_row > 0 ? std::max(of_row / 127, least_scale) : 1,
                got = static_cast<const float*>(q.table)[r];
    if (!(std::fabs(got - right) <= 1e-6f * right))
      wrong("the scale of a token", static_cast<double>(got), static_cast<double>(right));
  }
}

inline void check_quantizing(bytes& in) {
  const int32_t kind = static_cast<int32_t>(in.byte() % quantizings);
  float_rows_call q;
  draw_floats(in, q, kind);
  const bool hostile = in.one_in(2);
  q.data = q.rows.data;
  if (hostile) {
    change_arguments(
        in, {{&q.data, &q.out, &q.table}, {&q.rows.rows, &q.rows.dim, &q.zero, &q.choice}, {&q.rows.stride}});
    if (in.one_in(8)) std::memcpy(&q.scale, &in.one_of(special_bits), 4);
    if (in.one_in(16)) q.x = nullptr;
    q.rows.data = static_cast<const float*>(q.data);
  }
  const bool countable = q.rows.rows >= 0 && q.rows.dim >= 1 && q.rows.stride >= 0;
  if (countable && (q.elements() > 100000 || q.rows.dim > 100000 || q.rows.rows > 100000)) return;
  const std::string words = in_words(q, kind);
  judge j;
  judge_floats(q, kind, j);
  const bool there = !countable ||
                     (q.all.owns(q.read()) &&
                      q.all.owns(range_of(q.table, 1, 0, 1, 0, static_cast<wide>(table_bytes(q, kind)), 1)));
  if (!there && fits(q.read()) && q.x != nullptr && q.rows.data != nullptr &&
      reinterpret_cast<uintptr_t>(q.rows.data) % 4 == 0)
    return; // numbers are read to be judged
  float_rows_call before;
  before.rows = q.rows;
  std::vector<float> copy;
  if (countable && there && q.x != nullptr && !j.decided()) {
    const wide count = (q.read().end - q.read().begin) / 4;
    copy.assign(q.rows.data, q.rows.data + static_cast<ptrdiff_t>(count));
    before.rows.data = copy.data();
  }
  if (!agrees(j, q.all, words, [&] { return call_quantizing(q, kind); })) return;
  check_floats(q, before, kind, words);
}

inline void check_rows(bytes& in, uint32_t what) {
  switch (what) {
    case 0:
      return check_pack(in, in.byte() % 3);
    case 1:
      return in.one_in(2) ? check_softmax<int8_t>(in, fovea_fixed_softmax_s8)
                          : check_softmax<int16_t>(in, fovea_fixed_softmax_s16);
    case 2:
      return in.one_in(2) ? check_tflite_bytes<int8_t>(in, fovea_tflite_softmax_s8)
                          : check_tflite_bytes<int16_t>(in, fovea_tflite_softmax_s8_s16);
    case 3:
      return check_tflite_words(in);
    default:
      return check_quantizing(in);
  }
}

} // namespace fuzz
