// The functions of integers other than attention: panels and sums of keys, softmax of rows, floats into
// integers. Legal calls against definitions written anew, hostile ones against the rules of the headers.
#pragma once
#include "fixed_hostile.hpp"
#include "fovea/fixed_quantize.h"
#include "fovea/fixed_softmax.hpp"

namespace fuzz {

// Calls with a judge: a status that contradicts the ruling, or bytes that a refusal wrote, are findings. True
// when the call was made.
template <class Make>
bool agrees(const judge& j, memory& all, const std::string& words, const Make& make) {
  for (const auto* ranges : {&j.inputs(), &j.outputs()})
    for (const range& r : *ranges)
      if (!j.decided() && !all.owns(r)) return false;
  all.remember();
  const naming name([&] { return words; });
  const int32_t status = make();
  check_status(j.result(), status, words);
  if (status != FOVEA_OK && !all.unchanged()) finding("a refused call wrote", words);
  return status == FOVEA_OK;
}

struct change { // of one argument
  std::vector<const void**> pointers;
  std::vector<int32_t*> counts;
  std::vector<ptrdiff_t*> strides;
};
inline void change_arguments(bytes& in, const change& arguments) {
  for (int32_t changes = in.between(1, 2); changes > 0; --changes) {
    std::vector<const void*> others;
    for (const void** p : arguments.pointers) others.push_back(*p);
    const uint32_t what = in.byte() % 3, which = in.byte();
    if (what == 0)
      *arguments.counts[which % arguments.counts.size()] = in.one_in(2) ? in.one_of(odd_counts)
                                                                        : in.between(-40, 40);
    if (what == 1 && !arguments.strides.empty())
      *arguments.strides[which % arguments.strides.size()] = in.one_of(odd_strides);
    if (what == 2)
      *arguments.pointers[which % arguments.pointers.size()] = odd_address(in, others[which % others.size()],
                                                                           others);
  }
}

template <class T>
T* to_write(const void* p) {
  return static_cast<T*>(const_cast<void*>(p));
}

// fovea_fixed_pack_keys, fovea_fixed_pack_values, fovea_fixed_sum_keys.
inline void check_pack(bytes& in, uint32_t kind) {
  memory all;
  int32_t dim = 1 + draw_length(in, 39, 200), count = draw_length(in, 80, 200), at = in.between(0, 140);
  ptrdiff_t stride = in.one_in(2) ? dim + in.between(0, 5) : in.one_in(4) ? in.between(1, 5) : 0;
  const ptrdiff_t row = stride == 0 ? dim : stride;
  const size_t size = count == 0 ? 0 : static_cast<size_t>((count - 1) * row + dim);
  const void* rows = all.take(size, static_cast<size_t>(in.between(0, 3)));
  fill(in, to_write<int8_t>(rows), size);
  if (kind == 2) at = 0;
  const size_t room = kind == 2 ? static_cast<size_t>(count) * 4 : FOVEA_FIXED_PANELS(at + count, dim);
  const void* to = all.take(room);
  const bool hostile = in.one_in(2);
  if (hostile) change_arguments(in, {{&rows, &to}, {&dim, &count, &at}, {&stride}});
  if (kind == 2) at = 0;
  const char* const names[] = {"fovea_fixed_pack_keys", "fovea_fixed_pack_values", "fovea_fixed_sum_keys"};
  std::ostringstream words;
  words << names[kind] << '(' << to << ", " << at << ", " << rows << ", " << stride << ", " << count << ", "
        << dim << ')';
  judge j;
  j.forbid(dim < 1 || dim > 1024 || count < 0 || at < 0 || stride < 0, "counts");
  j.leave_open(wide{at} + count > surely_allowed_fixed, "many keys");
  j.forbid(wide{at} + count > INT32_MAX, "positions beyond 31 bits");
  if (!j.decided()) {
    const range read = range_of(rows, 1, 0, count, stride == 0 ? dim : stride, dim, 1);
    const wide begin = address(to), depth = kind == 2 ? 4 : up_to(dim, 16), end = wide{at} + count;
    const wide together = kind == 2 ? 1 : kind == 0 ? 16 : 64; // keys that stand among each other
    const auto bytes = [&](wide first, wide behind) {
      return count == 0 || behind <= first ? range{begin, begin}
                                           : range{begin + first * depth, begin + behind * depth};
    };
    const range whole = bytes(0, up_to(end, together)), panels = bytes(0, up_to(end, kind == 2 ? 1 : 64));
    j.read(j.cover(rows, read, 1, "rows"));
    j.cover(to, whole, kind == 2 ? 4 : 1, "panels");
    j.leave_open(!fits(panels), "panels whose end no key needs");
    // Groups that are filled may not meet the rows; in others, rows may stand between the keys that are
    // written.
    j.forbid(meet(read, bytes(up_to(at, together), end / together * together)), "rows overlap the panels");
    j.leave_open(meet(read, bytes(at / together * together, up_to(end, together))), "rows within the panels");
    if (!j.decided() && !(all.owns(whole) && all.owns(read))) return;
  }
  const bool made = agrees(j, all, words.str(), [&] {
    const auto* x = static_cast<const int8_t*>(rows);
    if (kind == 2) return fovea_fixed_sum_keys(to_write<int32_t>(to), x, stride, count, dim);
    return (kind == 0 ? fovea_fixed_pack_keys : fovea_fixed_pack_values)(to_write<int8_t>(to), at, x, stride,
                                                                         count, dim);
  });
  if (!made || fovea_fixed_panel_order() != 1) return;
  const ptrdiff_t depth = static_cast<ptrdiff_t>(up_to(dim, 16));
  for (int32_t n = 0; n < count; ++n) {
    const int8_t* x = static_cast<const int8_t*>(rows) + n * (stride == 0 ? dim : stride);
    int32_t sum = 0;
    for (int32_t c = 0; c < (kind == 0 ? depth : dim); ++c) {
      const ptrdiff_t key = ptrdiff_t{at} + n,
                      keys = key / 16 * 16 * depth + c / 4 * 64 + key % 16 * 4 + c % 4,
                      values = key / 64 * 64 * depth + c / 16 * 1024 + key % 64 / 4 * 64 + c % 16 * 4 +
                               key % 4;
      sum += c < dim ? x[c] : 0;
      if (kind == 2) continue;
      int8_t* packed = to_write<int8_t>(to) + (kind == 0 ? keys : values);
      if (*packed != (c < dim ? x[c] : 0))
        finding("key " + std::to_string(n) + " is not where it belongs", words.str());
      *packed = static_cast<int8_t>(untouched);
    }
    if (kind != 2) continue;
    int32_t* written = to_write<int32_t>(to) + n;
    if (*written != sum) finding("sum " + std::to_string(n) + " is " + std::to_string(*written), words.str());
    *written = -1;
  }
  if (!hostile && !all.unchanged()) finding("memory beside the keys was written", words.str());
}

// A row of integers becomes another one, in place where their elements have the same size.
template <class From, class To>
void judge_row(const void* x, const void* out, int32_t count, judge& j) {
  const range from = j.cover(x, range_of(x, 1, 0, 1, 0, count, sizeof(From)), sizeof(From), "x");
  const range to = j.cover(out, range_of(out, 1, 0, 1, 0, count, sizeof(To)), sizeof(To), "out");
  if (out != x || sizeof(From) != sizeof(To)) j.read(from);
  j.write(to, "out overlaps");
}
// The row before a call that may overwrite it. Empty when no call is made.
template <class T>
std::vector<T> copy_of(const void* x, int32_t count, const judge& j, const memory& all) {
  if (j.decided() || !all.owns(range_of(x, 1, 0, 1, 0, count, sizeof(T)))) return {};
  const auto* row = static_cast<const T*>(x);
  return {row, row + count};
}

template <class T>
void check_softmax(bytes& in,
                   int32_t (*softmax)(const T*, const uint8_t*, int32_t, int32_t, int32_t, uint16_t*)) {
  memory all;
  int32_t count = draw_length(in, 80, 2000), multiplier = in.between(1, INT32_MAX), shift = in.between(1, 31);
  const void* x = all.take_of<T>(static_cast<size_t>(count));
  fill(in, to_write<T>(x), static_cast<size_t>(count));
  const void* mask = nullptr;
  if (in.one_in(2)) {
    const uint32_t seed = in.byte(), hidden = in.byte();
    unsigned char* m = all.take(static_cast<size_t>(count));
    for (int32_t n = 0; n < count; ++n)
      m[n] = data::noise(seed, static_cast<uint32_t>(n)) * 128 + 128 >= static_cast<float>(hidden);
    mask = m;
  }
  const void* out = all.take_of<uint16_t>(static_cast<size_t>(count));
  if (in.one_in(2)) change_arguments(in, {{&x, &mask, &out}, {&count, &multiplier, &shift}, {}});
  std::ostringstream words;
  words << "softmax of " << count << " numbers of " << sizeof(T) << " bytes at " << x << ", mask " << mask
        << ", scale " << multiplier << ' ' << shift << ", out " << out;
  judge j;
  j.forbid(count < 0 || count > 65536 || multiplier < 1 || shift < 1 || shift > 31, "counts or scale");
  if (!j.decided()) {
    if (mask != nullptr) j.read(j.cover(mask, range_of(mask, 1, 0, 1, 0, count, 1), 1, "mask"));
    judge_row<T, uint16_t>(x, out, count, j);
  }
  const std::vector<T> row = copy_of<T>(x, count, j, all);
  if (!agrees(j, all, words.str(), [&] {
        return softmax(static_cast<const T*>(x), static_cast<const uint8_t*>(mask), count, multiplier, shift,
                       to_write<uint16_t>(out));
      }))
    return;
  const auto counts = [&](int32_t n) { return mask == nullptr || static_cast<const uint8_t*>(mask)[n] != 0; };
  const auto at = [&](int32_t n) { return row[static_cast<size_t>(n)]; };
  const double unit = std::ldexp(multiplier, -shift - 16);
  double top = -1e300, sum = 0;
  for (int32_t n = 0; n < count; ++n)
    if (counts(n)) top = std::max(top, at(n) * unit);
  for (int32_t n = 0; n < count; ++n) sum += counts(n) ? std::exp2(at(n) * unit - top) : 0;
  for (int32_t n = 0; n < count; ++n) {
    const double right = counts(n) ? std::min(65536 * std::exp2(at(n) * unit - top) / sum, 65535.0) : 0;
    const double got = static_cast<const uint16_t*>(out)[n];
    if (counts(n) ? std::fabs(got - right) > 0.6 + count * 1e-5 : got != 0)
      finding("probability " + std::to_string(n) + " is " + number(got) + ", exactly " + number(right),
              words.str());
  }
}

// The converter's scales must give about the softmax; any others must only leave memory alone.
template <class T>
void check_tflite_bytes(bytes& in,
                        int32_t (*softmax)(const int8_t*, int32_t, const fovea_tflite_softmax*, T*)) {
  const double scales[] = {0.02, 0.1, 0.25, 1, 0.001};
  memory all;
  int32_t count = draw_length(in, 80, 8191);
  const double real = in.one_of(scales);
  const bool made = in.one_in(2);
  const fovea_tflite_softmax made_scale = fovea::tflite_softmax_scale(real, 1);
  fovea_tflite_softmax s = made_scale;
  if (!made) s = {in.between(0, INT32_MAX), in.between(0, 31), -in.between(0, INT32_MAX)};
  const void* x = all.take(static_cast<size_t>(count));
  fill(in, to_write<int8_t>(x), static_cast<size_t>(count));
  const void *out = all.take_of<T>(static_cast<size_t>(count)), *scale = &s;
  const bool hostile = in.one_in(2);
  if (hostile) change_arguments(in, {{&x, &out}, {&count, &s.multiplier, &s.left_shift, &s.diff_min}, {}});
  if (hostile && in.one_in(16)) scale = nullptr;
  std::ostringstream words;
  words << "TFLite's softmax of " << count << " bytes at " << x << " into " << sizeof(T) << " bytes at "
        << out << ", scale " << scale << " {" << s.multiplier << ", " << s.left_shift << ", " << s.diff_min
        << '}';
  judge j;
  j.forbid(scale == nullptr || count < 0 || count > 8191 || s.multiplier < 0 || s.left_shift < 0 ||
               s.left_shift > 31 || s.diff_min > 0,
           "scale");
  if (!j.decided()) judge_row<int8_t, T>(x, out, count, j);
  const std::vector<int8_t> row = copy_of<int8_t>(x, count, j, all);
  const bool done = agrees(j, all, words.str(), [&] {
    return softmax(static_cast<const int8_t*>(x), count, static_cast<const fovea_tflite_softmax*>(scale),
                   to_write<T>(out));
  });
  const bool as_made = s.multiplier == made_scale.multiplier && s.left_shift == made_scale.left_shift &&
                       s.diff_min == made_scale.diff_min;
  if (!done || !as_made) return;
  double sum = 0;
  for (int8_t y : row) sum += std::exp(y * real);
  const double whole = sizeof(T) == 1 ? 256 : 65536;
  for (int32_t n = 0; n < count; ++n) {
    const double right = std::min(whole * std::exp(row[static_cast<size_t>(n)] * real) / sum, whole - 1) -
                         whole / 2;
    const double got = static_cast<const T*>(out)[n];
    if (std::fabs(got - right) > 1 + whole * 2e-4)
      finding("probability " + std::to_string(n) + " is " + number(got) + ", exactly " + number(right),
              words.str());
  }
}

inline void check_tflite_words(bytes& in) {
  static const fovea::tflite_tables* const tables = [] {
    auto* t = new fovea::tflite_tables;
    return fovea::make_tflite_tables(1.0 / 4096, 1, *t), t;
  }();
  memory all;
  int32_t count = draw_length(in, 80, 8191);
  const void* x = all.take_of<int16_t>(static_cast<size_t>(count));
  fill(in, to_write<int16_t>(x), static_cast<size_t>(count));
  const void* out = all.take_of<int16_t>(static_cast<size_t>(count));
  fovea_tflite_softmax_tables t = tables->scale;
  const bool any = in.one_in(2), hostile = in.one_in(2);
  if (any) t.multiplier = in.between(0, INT32_MAX), t.shift = in.between(-31, 14);
  if (any && in.one_in(2)) { // tables of any powers and inverses
    int16_t *exp = all.take_of<int16_t>(513), *inverse = all.take_of<int16_t>(513);
    fill(in, exp, 513), fill(in, inverse, 513);
    for (int n = 0; n < 513; ++n)
      exp[n] = static_cast<int16_t>(exp[n] & 32767), inverse[n] = static_cast<int16_t>(inverse[n] & 32767);
    exp[512] = exp[511] = 32767; // e^0
    t.exp = exp, t.one_over_one_plus = inverse;
  }
  const fovea_tflite_softmax_tables right_tables = t;
  if (hostile)
    change_arguments(
        in, {{&x, &out, field(t.exp), field(t.one_over_one_plus)}, {&count, &t.multiplier, &t.shift}, {}});
  if (hostile && in.one_in(16)) t.exp = nullptr;
  std::ostringstream words;
  words << "TFLite's softmax of " << count << " words at " << x << " into " << out << ", scale "
        << t.multiplier << ' ' << t.shift << (t.exp == tables->exp ? "" : ", tables of anything");
  judge j;
  j.forbid(count < 0 || count > 8191 || t.multiplier < 0, "counts");
  j.leave_open(t.shift < -31 || t.shift > 14, "shift");
  if (!j.decided()) {
    judge_row<int16_t, int16_t>(x, out, count, j);
    const range written = range_of(out, 1, 0, 1, 0, count, 2);
    for (const int16_t* table : {t.exp, t.one_over_one_plus})
      j.forbid(meet(j.cover(table, range_of(table, 1, 0, 1, 0, 513, 2), 2, "a table"), written),
               "out overlaps a table");
  }
  if (!j.decided() && (t.exp != right_tables.exp || t.one_over_one_plus != right_tables.one_over_one_plus))
    return; // numbers that are no powers
  const std::vector<int16_t> row = copy_of<int16_t>(x, count, j, all);
  const bool done = agrees(j, all, words.str(), [&] {
    return fovea_tflite_softmax_s16(static_cast<const int16_t*>(x), count, &t, to_write<int16_t>(out));
  });
  if (!done || any || hostile) return;
  double sum = 0, top = -32768;
  for (int16_t y : row) top = std::max<double>(top, y);
  for (int16_t y : row) sum += std::exp((y - top) / 4096);
  for (int32_t n = 0; n < count; ++n) {
    const double right = 32768 * std::exp((row[static_cast<size_t>(n)] - top) / 4096) / sum,
                 got = static_cast<const int16_t*>(out)[n];
    if (std::fabs(got - right) > 24)
      finding("probability " + std::to_string(n) + " is " + number(got) + ", exactly " + number(right),
              words.str());
  }
}

} // namespace fuzz
