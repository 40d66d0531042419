// fovea_matvec, fovea_dot and fovea_pack_keys: legal calls against their definitions, hostile ones against
// the rules of the headers.
#pragma once
#include "float_softmax.hpp"

namespace fuzz {

// docs/numerics.md, section 9.
inline float written_dot(const float* w, const float* x, int32_t columns) {
  float chains[4][16] = {}, sums[16];
  const int32_t vectors = (columns + 15) / 16;
  for (int32_t v = 0; v < vectors; ++v) {
    const bool rest = (v + 1) * 16 > columns;
    const int32_t first = rest ? columns - 16 : v * 16;
    for (int32_t lane = 0; lane < 16; ++lane) {
      const bool counts = !rest || lane >= 16 - columns % 16;
      float& sum = chains[v % 4][lane];
      sum = counts ? numerics::fma(w[first + lane], x[first + lane], sum) : numerics::fma(0, 0, sum);
    }
  }
  for (int lane = 0; lane < 16; ++lane)
    sums[lane] = (chains[0][lane] + chains[2][lane]) + (chains[1][lane] + chains[3][lane]);
  for (int half = 8; half > 0; half /= 2)
    for (int lane = 0; lane < half; ++lane) sums[lane] += sums[lane + half];
  return sums[0];
}

inline void check_matvec(bytes& in, bool hostile) {
  const float some[] = {1, 30, 1e4f, 1e19f, 1e-19f, 3e38f, 1e-42f, 1e-3f};
  memory all;
  int32_t rows = in.between(0, 9), columns = draw_length(in, 80, 600), isa = 0;
  ptrdiff_t stride = in.one_in(2) ? columns + in.between(0, 5) : in.one_in(4) ? in.between(1, 5) : 0;
  const void* w = noise_of(in, all, extent(rows, stride == 0 ? columns : stride, columns), in.one_of(some));
  const void* x = noise_of(in, all, static_cast<size_t>(columns), in.one_of(some));
  const void* out = all.take_of<float>(static_cast<size_t>(rows));
  for (int32_t changes = hostile ? in.between(1, 2) : 0; changes > 0; --changes) {
    const void** const pointers[] = {&w, &x, &out};
    int32_t* const counts[] = {&rows, &columns, &isa};
    const void** p = in.one_of(pointers);
    const uint32_t what = in.byte() % 3;
    if (what == 0) *in.one_of(counts) = in.one_of(odd_counts);
    if (what == 1) stride = in.one_of(odd_strides);
    if (what == 2) *p = odd_address(in, *p, {w, x, out});
  }
  std::ostringstream to;
  to << "matvec of " << rows << " x " << columns << ", w " << w << " stride " << stride << ", x " << x
     << ", out " << out << ", isa " << isa;
  const std::string words = to.str();
  const naming name([&] { return words; });
  judge j;
  j.forbid(rows < 0 || columns < 0 || columns > FOVEA_COLUMNS_MAX || stride < 0 || fovea_has_isa(isa) == 0,
           "counts");
  if (!j.decided()) {
    j.read(j.cover(w, rows_of(w, rows, stride, columns), 4, "w"));
    j.read(j.cover(x, rows_of(x, 1, 0, columns), 4, "x"));
    j.write(j.cover(out, range_of(out, 1, 0, rows, 1, 1, 4), 4, "out"), "out overlaps");
  }
  for (const auto* ranges : {&j.inputs(), &j.outputs()})
    for (const range& r : *ranges)
      if (!j.decided() && !all.owns(r)) return;
  all.remember();
  const auto *matrix = static_cast<const float*>(w), *vector = static_cast<const float*>(x);
  float* result = static_cast<float*>(const_cast<void*>(out));
  const int64_t first = hostile ? isa : int32_t{FOVEA_SCALAR},
                end = hostile ? first + 1 : int64_t{FOVEA_ISA_END};
  for (int64_t n = first; n < end; ++n) {
    const auto which = static_cast<int32_t>(n);
    if (!hostile && fovea_has_isa(which) == 0) continue;
    const int32_t status = rows == 1 && stride == 0 && in.one_in(2)
                               ? fovea_dot(matrix, vector, columns, which, result)
                               : fovea_matvec(matrix, stride, vector, rows, columns, which, result);
    check_status(j.result(), status, words);
    for (int32_t r = 0; status == FOVEA_OK && r < rows; ++r) {
      const float expected = written_dot(matrix + r * (stride == 0 ? columns : stride), vector, columns);
      const bool same = std::memcmp(&result[r], &expected, 4) == 0 ||
                        (result[r] != result[r] && expected != expected);
      if (!same && isas::promises_bits(which == 0 ? fovea_isa() : which))
        finding("row " + std::to_string(r) + " is " + number(static_cast<double>(result[r])) + ", not " +
                    number(static_cast<double>(expected)),
                words);
      std::memset(&result[r], untouched, 4);
    }
    if (!all.unchanged() && !hostile) finding("memory beside the results was written", words);
    if (!all.unchanged() && status != FOVEA_OK) finding("a refused call wrote", words);
  }
}

inline void check_pack(bytes& in) {
  memory all;
  int32_t dim = 1 + draw_length(in, 39, 200), count = draw_length(in, 40, 200), at = in.between(0, 40);
  const int32_t room = at + count;
  ptrdiff_t stride = in.one_in(2) ? dim + in.between(0, 5) : in.one_in(4) ? in.between(1, 5) : 0;
  const void* rows = noise_of(in, all, extent(count, stride == 0 ? dim : stride, dim), 1);
  const void* panels = all.take_of<float>(FOVEA_UP16(room) * static_cast<size_t>(dim));
  const bool hostile = in.one_in(2);
  for (int32_t changes = hostile ? in.between(1, 2) : 0; changes > 0; --changes) {
    const void** const pointers[] = {&rows, &panels};
    int32_t* const counts[] = {&dim, &count, &at};
    const void** p = in.one_of(pointers);
    const uint32_t what = in.byte() % 4;
    if (what == 0) *in.one_of(counts) = in.one_of(odd_counts);
    if (what == 1) stride = in.one_of(odd_strides);
    if (what == 2) *p = odd_address(in, *p, {rows, panels});
    if (what == 3) *p = reinterpret_cast<const void*>(UINTPTR_MAX - 3 - 4 * in.word());
  }
  std::ostringstream to;
  to << "fovea_pack_keys(" << panels << ", " << at << ", " << rows << ", " << stride << ", " << count << ", "
     << dim << ")";
  const std::string words = to.str();
  const naming name([&] { return words; });
  judge j;
  j.forbid(dim < 1 || dim > 1024 || count < 0 || at < 0 || (count > 1 && stride < 0), "counts");
  j.leave_open(stride < 0 || wide{at} + count > surely_allowed, "one key, or many");
  j.forbid(wide{at} + count > INT32_MAX, "positions beyond 31 bits");
  const wide panel = wide{64} * dim, first = at / 16, last = count > 0 ? (wide{at} + count - 1) / 16 : first;
  if (!j.decided()) {
    const range read = j.cover(rows, rows_of(rows, count, stride, dim), 4, "rows");
    const wide begin = address(panels);
    const range whole{begin + panel * first, begin + panel * (last + 1)}; // with lanes of others
    const range written{whole.begin + at % 16 * 4, whole.end - (15 - (at + std::max(count, 1) - 1) % 16) * 4};
    j.cover(panels, {begin, count > 0 ? whole.end : begin}, 4, "panels");
    if (count > 0)
      j.forbid(meet(read, written), "rows overlap the panels"),
          j.leave_open(meet(read, whole), "rows between lanes");
    if (!j.decided() && !(all.owns(read) && all.owns(whole)) && count > 0) return;
  }
  all.remember();
  const int32_t status = fovea_pack_keys(static_cast<float*>(const_cast<void*>(panels)), at,
                                         static_cast<const float*>(rows), stride, count, dim);
  if (j.decided() && status == FOVEA_OK)
    finding(std::string("an illegal call is accepted: ") + j.result().why, words);
  if (j.result().is == verdict::legal && status != FOVEA_OK)
    finding("a legal call is refused: " + status_text(status), words);
  if (status != FOVEA_OK) return all.unchanged() ? void() : finding("a refused call wrote", words);
  for (int32_t n = 0; n < count; ++n)
    for (int32_t c = 0; c < dim; ++c) {
      float* packed = static_cast<float*>(const_cast<void*>(panels)) + (ptrdiff_t{at} + n) / 16 * 16 * dim +
                      c * 16 + (at + n) % 16;
      const float* row = static_cast<const float*>(rows) + n * (stride == 0 ? dim : stride) + c;
      if (std::memcmp(packed, row, 4) != 0)
        finding("key " + std::to_string(n) + " is not where it belongs", words);
      if (!hostile) std::memset(packed, untouched, 4);
    }
  if (!hostile && !all.unchanged()) finding("memory beside the keys was written", words);
}

inline void check_rows(bytes& in, uint32_t what) {
  switch (what) {
    case 0:
    case 1:
      return check_softmax(in);
    case 2:
      return check_hostile_softmax(in);
    case 3:
      return check_matvec(in, false);
    case 4:
      return check_matvec(in, true);
    default:
      return check_pack(in);
  }
}

} // namespace fuzz
