// Float calls that are changed in places nobody would change: each must be judged as the header says, and a
// refusal leaves no trace. And calls without work: they take no time, however large their counts are.
#pragma once
#include <iterator>

#include "breaches.hpp"
#include "float_attend.hpp"
#include "hostile.hpp"

namespace fuzz {

inline void change_pointer(fovea_attention& a, bytes& in) {
  const void** const fields[] = {field(a.q.data),       field(a.k.data),  field(a.v.data), field(a.out.data),
                                 field(a.mask.data),    field(a.alibi),   field(a.sinks),  field(a.lse),
                                 field(a.weights.data), field(a.partials)};
  change_one(in, fields);
}

inline void change_number(fovea_attention& a, bytes& in) {
  int32_t* const counts[] = {&a.q_heads,
                             &a.kv_heads,
                             &a.dim,
                             &a.v_dim,
                             &a.queries,
                             &a.keys,
                             &a.first_key,
                             &a.flags,
                             &a.position,
                             &a.window_left,
                             &a.window_right,
                             &a.prefix,
                             &a.keep_first,
                             &a.mask.is_bias,
                             &a.mask.keys,
                             &a.weights.first_head,
                             &a.weights.heads,
                             &a.weights.first_query,
                             &a.weights.queries,
                             &a.weights.stage,
                             &a.part.index,
                             &a.part.count,
                             &a.isa,
                             &a.ring,
                             &a.q.zero_point,
                             &a.k.zero_point,
                             &a.q.dtype,
                             &a.k.dtype,
                             &a.k.layout,
                             &a.q.layout,
                             &a.v.zero_point,
                             &a.v.dtype,
                             &a.out.dtype,
                             &a.out.reserved,
                             &a.out.zero_point,
                             &a.weights.reserved};
  ptrdiff_t* const all_strides[] = {&a.q.head_stride,     &a.q.token_stride,      &a.k.head_stride,
                                    &a.k.token_stride,    &a.v.head_stride,       &a.v.token_stride,
                                    &a.out.head_stride,   &a.out.token_stride,    &a.mask.head_stride,
                                    &a.mask.query_stride, &a.k.scale_head_stride, &a.v.scale_token_stride};
  float* const numbers[] = {&a.scale, &a.softcap, &a.out.scale, &a.v.scale_unit};
  switch (in.between(0, 3)) {
    case 0:
      *in.one_of(counts) = in.one_of(odd_counts);
      break;
    case 1:
      *in.one_of(all_strides) = in.one_of(odd_strides);
      break;
    case 2:
      put_bits(*in.one_of(numbers), in.one_of(special_bits));
      a.flags |= FOVEA_SCALE;
      break;
    default:
      a.partials_size = in.one_in(2) ? SIZE_MAX - in.byte() : in.word();
  }
}

// Tables of heads are read while a call is judged, so they must be there.
inline bool tables_are_there(const fovea_attention& a, const memory& all) {
  for (const float* x : {a.alibi, a.sinks}) {
    const range r = range_of(x, 1, 0, 1, 0, std::max(a.q_heads, 0), 4);
    if (x != nullptr && fits(r) && reinterpret_cast<uintptr_t>(x) % 4 == 0 && !all.owns(r)) return false;
  }
  return true;
}

inline void check_refusal(const fovea_attention& a, int32_t status, memory& all, bytes& in) {
  all.remember();
  memory own;
  const size_t size = in.one_in(4) ? in.word() : 65536;
  const auto refuses = [&](int32_t again, const char* by) {
    if (again != status)
      finding(std::string(by) + " says " + status_text(again) + ", fovea_check " + status_text(status),
              in_words(a));
  };
  refuses(fovea_attend(&a, own.take(size), size), "fovea_attend");
  refuses(fovea_merge(&a), "fovea_merge");
  refuses(fovea_check(&a), "fovea_check, asked again,");
  if (fovea_scratch_least(&a) != 0 || fovea_scratch_best(&a) != 0)
    finding("a refused call has a size of scratch", in_words(a));
  fovea_partials_size(&a);
  if (!all.unchanged()) finding("a refused call wrote", in_words(a));
}

inline void check_hostile(fovea_attention a, memory& all, bytes& in) {
  for (int32_t changes = in.between(1, 3); changes > 0; --changes) {
    if (in.one_in(3)) {
      data::lottery lot(in.word());
      in.one_of(breaches::all).commit(a, lot);
    } else {
      in.one_in(2) ? change_pointer(a, in) : change_number(a, in);
    }
  }
  make_checkable(a);
  if (!tables_are_there(a, all)) return;
  const naming name([&] { return in_words(a); });
  judge j;
  judge_call(a, true, j);
  const int32_t status = fovea_check(&a);
  check_status(j.result(), status, in_words(a));
  if (status != FOVEA_OK) return check_refusal(a, status, all, in);
  if (!is_of_floats(a)) return; // its memory was drawn for floats
  for (const range& x : j.inputs())
    if (!all.owns(x)) return;
  for (const range& x : j.outputs())
    if (!all.owns(x)) return;
  const wide work = (wide{a.queries} * (a.keys + 1) + a.keys + 1) * a.q_heads * (a.dim + reference::v_dim(a));
  a.partials = nullptr, a.partials_size = 0, a.part = {}; // runs choose their own
  if (work < 1000000) check_results(a, all, in, false);
}

// A mistake of the caller that needs no change of the call: too little scratch, scratch over an argument, or
// none.
inline void check_scratch(const fovea_attention& a, memory& all, bytes& in) {
  all.remember();
  memory own;
  const naming name([&] { return in_words(a); });
  const size_t least = fovea_scratch_least(&a);
  const auto refuses = [&](void* scratch, size_t size, int32_t reason) {
    const int32_t status = fovea_attend(&a, scratch, size);
    if (status != (reason | FOVEA_ARG_SCRATCH << 8))
      finding("bad scratch gives " + status_text(status), in_words(a));
    if (!all.unchanged()) finding("a call with bad scratch wrote", in_words(a));
  };
  refuses(nullptr, in.word(), FOVEA_NULL);
  const size_t less = in.one_in(2) ? least - 1 : in.word() % least;
  refuses(own.take(less), less, FOVEA_TOO_SMALL);
  void* const argument = const_cast<void*>(in.one_in(2) ? a.q.data : a.out.data);
  if (a.queries > 0) refuses(argument, least, FOVEA_OVERLAP);
  void* const end = reinterpret_cast<void*>(UINTPTR_MAX - in.word() % least);
  refuses(end, least + 1, FOVEA_OVERFLOW);
}

// Many heads, keys and spans, and no row or no key that a row sees.
inline void check_idle(bytes& in) {
  memory all;
  fovea_attention a = {};
  const bool no_queries = in.one_in(2);
  a.dim = in.between(1, 4);
  a.q_heads = no_queries ? 1 << in.between(0, 20) : in.between(1, 4);
  a.kv_heads = in.one_in(2) ? 1 : 0;
  a.queries = no_queries ? 0 : in.between(1, 6);
  const bool split = in.one_in(2);
  const wide room = static_cast<wide>(vast_bytes) / (wide{reference::kv_heads(a)} * a.dim * 4);
  const wide keys = wide{1} << in.between(0, split && !no_queries ? 20 : 30);
  a.keys = static_cast<int32_t>(no_queries ? keys : std::min(keys, room));
  if (in.one_in(2)) a.first_key = in.between(0, 1 << 20);
  a.flags = FOVEA_POSITION | FOVEA_CAUSAL;
  a.position = -7;
  if (in.one_in(2)) { // a few keys in the middle
    a.flags |= FOVEA_WINDOW, a.window_left = in.between(0, 9), a.window_right = in.between(0, 9);
    a.position = a.first_key + a.keys / 2, a.keep_first = in.between(0, 20), a.prefix = in.between(0, 20);
  }
  a.q.data = a.k.data = a.v.data = no_queries ? nowhere() : vast();
  const auto rows = static_cast<size_t>(a.queries) * static_cast<size_t>(a.q_heads);
  a.out.data = all.take_of<float>(rows * static_cast<size_t>(a.dim));
  if (in.one_in(2)) a.lse = all.take_of<float>(rows);
  if (in.one_in(2))
    a.part = {0, 1 << in.between(0, 30)}, a.part.index = in.between(0, 1) * (a.part.count - 1);
  const naming name([&] { return in_words(a); });
  const double begin = seconds();
  if (split) a.partials_size = fovea_partials_size(&a), a.partials = all.take(a.partials_size);
  const size_t size = FOVEA_SCRATCH(a.dim, a.dim);
  int32_t status = fovea_attend(&a, all.take(size), size);
  if (status == FOVEA_OK && split && a.part.count == 0) status = fovea_merge(&a);
  fovea_scratch_least(&a), fovea_scratch_best(&a);
  const double taken = seconds() - begin;
  if (status != FOVEA_OK) finding("a legal call is refused: " + status_text(status), in_words(a));
  if (taken > allowed_seconds)
    finding("a call without work takes " + std::to_string(taken) + " seconds", in_words(a));
  for (size_t n = 0; a.part.count == 0 && n < rows * static_cast<size_t>(a.dim); ++n)
    if (static_cast<float*>(a.out.data)[n] != 0) finding("a row that sees zeros is not zero", in_words(a));
}

} // namespace fuzz
