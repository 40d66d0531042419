// fovea_multiply and fovea_pack_linear: legal calls against the written arithmetic, in all parts and with any
// scratch; hostile ones against the rules of the header.
#pragma once
#include <iterator>

#include "product_draw.hpp"

namespace fuzz {

// Numbers that are NaN in both are equal, whichever NaN they are.
inline bool same_number(float a, float b) { return std::memcmp(&a, &b, sizeof a) == 0 || (a != a && b != b); }

class product_runner {
 public:
  product_runner(drawn_product& drawn, bytes& in) : d_(drawn), in_(in), before_(take_y()) { put_y(before_); }

  // y of a call that is made in parts, in any order, each with scratch of its own.
  std::vector<float> run(int32_t isa, int32_t fixed_isa) {
    fovea_product p = d_.call;
    p.isa = isa, p.fixed_isa = fixed_isa;
    const int32_t parts = std::max(1, in_.between(0, 9) - 5), first = in_.between(0, parts - 1);
    put_y(before_);
    d_.all.remember();
    for (int32_t n = 0; n < parts; ++n) {
      if (parts > 1) p.part = {(first + n) % parts, parts};
      const naming name([&] { return in_words(p); });
      memory own;
      const size_t size = draw_size(p);
      unsigned char* scratch = size > 0 ? own.take(size, static_cast<size_t>(in_.between(0, 63))) : nullptr;
      const int32_t status = fovea_multiply(&p, scratch, size);
      if (status != FOVEA_OK) finding("a legal call is refused: " + status_text(status), in_words(p));
    }
    const std::vector<float> y = take_y();
    put_y(before_);
    if (!d_.all.unchanged()) finding("memory beside the results was written", in_words(d_.call));
    return y;
  }

 private:
  size_t draw_size(const fovea_product& p) const {
    const size_t best = fovea_multiply_scratch(&p), least = FOVEA_MULTIPLY_SCRATCH(p.w->in, 1, p.w->dtype);
    if (!is_integer(p.w->dtype)) return best == 0 ? 0 : (finding("floats want scratch", in_words(p)), 0);
    if (best == 0) finding("a legal call of integers wants no scratch", in_words(p));
    return draw_scratch_size(in_, std::min(least, best), least, best);
  }
  std::vector<float> take_y() const {
    std::vector<float> y;
    for (int32_t r = 0; r < d_.call.rows; ++r) y.insert(y.end(), d_.y(r), d_.y(r) + d_.width);
    return y;
  }
  void put_y(const std::vector<float>& y) const {
    const auto width = static_cast<size_t>(d_.width);
    for (int32_t r = 0; r < d_.call.rows; ++r)
      std::memcpy(d_.y(r), y.data() + static_cast<size_t>(r) * width, width * sizeof(float));
  }

  drawn_product& d_;
  bytes& in_;
  const std::vector<float> before_;
};

inline void check_product(bytes& in) {
  drawn_product d(in);
  product_runner runner(d, in);
  const std::vector<float> expected = d.expected();
  const bool integers = is_integer(d.linear.dtype);
  const int32_t fixed_end = integers ? int32_t{FOVEA_FIXED_ISA_END} : 1;
  for (int32_t isa = 0; isa < FOVEA_ISA_END; ++isa)
    for (int32_t fixed_isa = 0; fixed_isa < fixed_end; ++fixed_isa) {
      if (fovea_has_isa(isa) == 0 || (integers && fovea_fixed_has_isa(fixed_isa) == 0)) continue;
      if (integers && isa > 1 && fixed_isa > 0) continue; // each kind once with the best of the other
      const std::vector<float> y = runner.run(isa, fixed_isa);
      for (size_t i = 0; d.promises_bits(isa) && i < y.size(); ++i)
        if (!same_number(y[i], expected[i]))
          finding("number " + std::to_string(i) + " of y is " + number(static_cast<double>(y[i])) + ", not " +
                      number(static_cast<double>(expected[i])) + ", isa " + std::to_string(isa) + ", " +
                      std::to_string(fixed_isa),
                  in_words(d.call));
    }
}

inline void judge_product(const fovea_product& p, judge& j) {
  const int32_t reserved = p.reserved[0] | p.reserved[1] | p.reserved[2] | p.reserved[3];
  j.forbid(reserved != 0 || p.w == nullptr, "a reserved word, or no weights");
  if (j.decided()) return;
  const fovea_linear& w = *p.w;
  const bool floats = w.dtype == FOVEA_F32 || w.dtype == FOVEA_F16 || w.dtype == FOVEA_BF16;
  j.forbid((w.reserved[0] | w.reserved[1]) != 0, "a reserved word of the weights");
  j.forbid(!floats && !is_integer(w.dtype), "weights of no dtype");
  j.forbid(w.in < 1 || w.in > FOVEA_LINEAR_MAX || w.out < 1 || w.out > FOVEA_LINEAR_MAX, "counts");
  j.forbid(w.dtype == FOVEA_I8 && w.in > 65536, "too many inputs of integers");
  j.forbid(p.activation < 0 || p.activation >= FOVEA_ACTIVATION_END, "an activation that is none");
  const bool halves = p.activation == FOVEA_SILU_TIMES;
  j.forbid(halves && (w.out % 2 != 0 || p.residual.data != nullptr), "halves");
  j.forbid(p.rows < 0, "rows");
  j.forbid(p.x.dtype != FOVEA_F32 || p.x.reserved != 0 || p.y.dtype != FOVEA_F32 || p.y.reserved != 0,
           "rows of no float");
  j.forbid(p.residual.data != nullptr && (p.residual.dtype != FOVEA_F32 || p.residual.reserved != 0),
           "a residual of no float");
  const bool all = p.part.index == 0 && p.part.count == 0;
  j.forbid(!all && (p.part.index < 0 || p.part.index >= p.part.count), "a part that is none");
  j.forbid(fovea_has_isa(p.isa) == 0, "an ISA that is not here");
  j.forbid(!floats && fovea_fixed_has_isa(p.fixed_isa) == 0, "an ISA of integers that is not here");
  if (j.decided()) return;
  const int32_t columns = halves ? w.out / 2 : w.out;
  for (const ptrdiff_t stride :
       {p.x.stride, p.y.stride, p.residual.data != nullptr ? p.residual.stride : 0}) {
    j.forbid(p.rows > 1 && stride < 0, "a negative stride");
    j.leave_open(stride < 0, "a negative stride of one row");
  }
  j.forbid(p.rows > 1 && p.y.stride != 0 && p.y.stride < columns, "rows of y that share elements");
  if (j.decided()) return;
  const wide size = (wide{w.out} + 15) / 16 * static_cast<wide>(FOVEA_LINEAR_BYTES(w.in, 1, w.dtype));
  const auto stride_of = [](ptrdiff_t stride, int32_t columns) { return stride == 0 ? columns : stride; };
  j.read(j.cover(w.packed, {address(w.packed), address(w.packed) + size}, 4, "packed weights"));
  if (w.bias != nullptr) j.read(j.cover(w.bias, range_of(w.bias, 1, 0, 1, 0, w.out, 4), 4, "bias"));
  j.read(j.cover(p.x.data, rows_of(p.x.data, p.rows, p.x.stride, w.in), 4, "x"));
  const bool in_place = p.residual.data == p.y.data && (p.rows < 2 || stride_of(p.residual.stride, columns) ==
                                                                          stride_of(p.y.stride, columns));
  if (p.residual.data != nullptr) {
    const range r = j.cover(p.residual.data, rows_of(p.residual.data, p.rows, p.residual.stride, columns), 4,
                            "residual");
    if (!in_place) j.read(r);
  }
  j.write(j.cover(p.y.data, rows_of(p.y.data, p.rows, p.y.stride, columns), 4, "y"), "y overlaps");
}

inline void change(fovea_product& p, fovea_linear& w, bytes& in) {
  const void** const pointers[] = {field(p.x.data), field(p.y.data), field(p.residual.data), field(w.packed),
                                   field(w.bias)};
  int32_t* const counts[] = {&p.rows,
                             &p.activation,
                             &p.isa,
                             &p.fixed_isa,
                             &p.part.index,
                             &p.part.count,
                             &p.reserved[0],
                             std::end(p.reserved) - 1,
                             &p.x.dtype,
                             &p.y.dtype,
                             &p.x.reserved,
                             &p.y.reserved,
                             &w.in,
                             &w.out,
                             &w.dtype,
                             &w.reserved[0],
                             &w.reserved[1],
                             &p.rows,
                             &p.residual.dtype,
                             &p.residual.reserved};
  ptrdiff_t* const strides[] = {&p.x.stride, &p.y.stride, &p.residual.stride};
  switch (in.between(0, 3)) {
    case 0:
      *in.one_of(counts) = in.one_of(odd_counts);
      break;
    case 1:
      *in.one_of(counts) = in.between(-3, 40);
      break;
    case 2:
      *in.one_of(strides) = in.one_of(odd_strides);
      break;
    default:
      change_one(in, pointers);
  }
}

inline void check_hostile_product(bytes& in) {
  drawn_product d(in);
  fovea_product p = d.call;
  for (int32_t changes = in.between(1, 3); changes > 0; --changes) change(p, d.linear, in);
  if (in.one_in(32)) p.w = nullptr;
  const naming name([&] { return in_words(p); });
  judge j;
  judge_product(p, j);
  const int32_t status = fovea_check_product(&p);
  check_status(j.result(), status, in_words(p));
  memory own;
  const size_t size = status == FOVEA_OK ? fovea_multiply_scratch(&p) : 4096;
  unsigned char* scratch = own.take(size);
  own.remember(), d.all.remember();
  if (status != FOVEA_OK) {
    if (fovea_multiply_scratch(&p) != 0) finding("a refused call has a size of scratch", in_words(p));
    const int32_t again = fovea_multiply(&p, scratch, size);
    if (again != status) finding("fovea_multiply says " + status_text(again), in_words(p));
    if (!d.all.unchanged() || !own.unchanged()) finding("a refused call wrote", in_words(p));
    return;
  }
  for (const auto* ranges : {&j.inputs(), &j.outputs()})
    for (const range& r : *ranges)
      if (!d.all.owns(r)) return;
  if (p.residual.data == p.y.data && p.residual.stride != p.y.stride) return; // one of them is not judged
  if (size > 0) { // mistakes with scratch: none of them writes
    const auto refuses = [&](void* at, size_t given, int32_t reason) {
      const int32_t refused = fovea_multiply(&p, at, given);
      if (refused != (reason | FOVEA_ARG_SCRATCH << 8))
        finding("bad scratch gives " + status_text(refused), in_words(p));
      if (!d.all.unchanged()) finding("a call with bad scratch wrote", in_words(p));
    };
    refuses(nullptr, size, FOVEA_NULL);
    refuses(scratch, static_cast<size_t>(in.between(0, 63)), FOVEA_TOO_SMALL);
    if (p.rows > 0) refuses(const_cast<void*>(p.x.data), size, FOVEA_OVERLAP);
  }
  if (wide{p.rows} * p.w->in * p.w->out > 1000000) return;
  if (const int32_t refused = fovea_multiply(&p, scratch, size))
    finding("a call that was accepted is refused: " + status_text(refused), in_words(p));
}

// Calls to pack that are changed in places nobody would change.
inline void check_hostile_pack(bytes& in) {
  memory all;
  int32_t columns = 1 + draw_length(in, 70, 300), outputs = 1 + draw_length(in, 40, 100);
  int32_t dtype = in.one_of(dtypes_of_weights);
  const float some[] = {1, 1e5f, 3e38f, 1e-42f, 1e6f, 1e-30f};
  fovea_rows_in w = {};
  const int32_t given[] = {FOVEA_F32, FOVEA_F16, FOVEA_BF16, FOVEA_I4};
  w.dtype = in.one_of(given); // any bits are numbers of any of these
  w.data = noise_of(in, all, static_cast<size_t>(columns) * static_cast<size_t>(outputs), in.one_of(some));
  size_t size = fovea_linear_size(columns, outputs, dtype);
  const void* packed = all.take(size);
  int32_t at = 0, rows = in.between(0, outputs);
  for (int32_t changes = in.between(0, 3); changes > 0; --changes) {
    const void** const pointers[] = {&packed, &w.data};
    int32_t* const counts[] = {&columns, &outputs, &dtype, &at, &rows, &w.dtype, &w.reserved};
    const uint32_t what = in.byte() % 5;
    if (what == 0) *in.one_of(counts) = in.one_of(odd_counts);
    if (what == 1) *in.one_of(counts) = in.between(-3, 70);
    if (what == 2) w.stride = in.one_of(odd_strides);
    if (what == 3) change_one(in, pointers);
    if (what == 4) size = in.one_in(2) ? size - 1 : in.word();
  }
  std::ostringstream to;
  to << "fovea_pack_linear(" << packed << ", " << size << ", " << columns << ", " << outputs << ", " << dtype
     << ", " << at << ", " << in_words(w) << ", " << rows << ")";
  const std::string words = to.str();
  const naming name([&] { return words; });
  const wide needed = columns > 0 && outputs > 0 && columns <= FOVEA_LINEAR_MAX && outputs <= FOVEA_LINEAR_MAX
                          ? (wide{outputs} + 15) / 16 *
                                static_cast<wide>(FOVEA_LINEAR_BYTES(columns, 1, dtype))
                          : 0;
  if (needed > 0 && !all.owns({address(packed), address(packed) + needed}) && size >= needed &&
      packed != nullptr)
    return; // the caller says that it has this memory
  const bool blocks = w.dtype == FOVEA_I4;
  const wide row = blocks ? wide{columns} / 32 * 18 : wide{columns} * (w.dtype == FOVEA_F32 ? 4 : 2);
  const wide apart = w.stride == 0 ? row
                     : blocks      ? wide{w.stride} / 32 * 18
                                   : w.stride * wide{w.dtype == FOVEA_F32 ? 4 : 2};
  if (rows > 0 && w.data != nullptr && apart >= 0 && columns > 0 &&
      !all.owns({address(w.data), address(w.data) + (rows - 1) * apart + row}) && rows <= outputs)
    return; // numbers are read while a call is judged
  all.remember();
  const int32_t status = fovea_pack_linear(const_cast<void*>(packed), size, columns, outputs, dtype, at, &w,
                                           rows);
  if (status != FOVEA_OK && !all.unchanged()) finding("a refused call wrote", words);
  if (status != FOVEA_OK) return;
  if (at < 0 || rows < 0 || at + wide{rows} > outputs || needed == 0 || static_cast<wide>(size) < needed)
    finding("an illegal call is accepted", words);
}

} // namespace fuzz
