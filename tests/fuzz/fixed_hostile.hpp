// Integer calls that are changed in places nobody would change: each must be judged as the header says, and a
// refusal leaves no trace. And calls without work: they take no time, however large their counts are.
#pragma once
#include <iterator>

#include "fixed_attend.hpp"
#include "hostile.hpp"

namespace fuzz {

inline void change_pointer(fovea_fixed_attention& a, bytes& in) {
  const void** const fields[] = {field(a.q.data),
                                 field(a.k.data),
                                 field(a.v.data),
                                 field(a.out.data),
                                 field(a.head_scales),
                                 field(a.key_sums.data),
                                 field(a.key_multipliers.data),
                                 field(a.value_weights.data),
                                 field(a.mask.data),
                                 field(a.bias.data),
                                 field(a.alibi),
                                 field(a.sinks)};
  change_one(in, fields);
}

inline void change_number(fovea_fixed_attention& a, bytes& in) {
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
                             &a.max_keys,
                             &a.weight_bits,
                             &a.part.index,
                             &a.part.count,
                             &a.isa,
                             &a.softcap,
                             &a.k.reserved,
                             &a.v.reserved,
                             &a.q.reserved,
                             &a.q.dtype,
                             &a.k.dtype,
                             &a.v.dtype,
                             &a.out.dtype,
                             &a.q.layout,
                             &a.k.layout,
                             &a.v.layout,
                             &a.q.zero_point,
                             &a.k.zero_point,
                             &a.v.zero_point,
                             &a.out.zero_point,
                             &a.scale.score_multiplier,
                             &a.scale.score_shift,
                             &a.scale.score_pre_shift,
                             &a.scale.out_multiplier,
                             &a.scale.out_shift};
  ptrdiff_t* const all_strides[] = {&a.q.head_stride,
                                    &a.q.token_stride,
                                    &a.k.head_stride,
                                    &a.k.token_stride,
                                    &a.v.head_stride,
                                    &a.v.token_stride,
                                    &a.out.head_stride,
                                    &a.out.token_stride,
                                    &a.mask.head_stride,
                                    &a.mask.query_stride,
                                    &a.bias.head_stride,
                                    &a.bias.query_stride,
                                    &a.key_multipliers.head_stride,
                                    &a.key_sums.head_stride,
                                    &a.value_weights.head_stride};
  switch (in.between(0, 3)) {
    case 0:
      *in.one_of(counts) = in.one_of(odd_counts);
      break;
    case 1:
      *in.one_of(counts) = in.between(-256, 256);
      break;
    case 2:
      *in.one_of(all_strides) = in.one_of(odd_strides);
      break;
    default:
      a.scale.f32_scale = static_cast<uint32_t>(in.between(0, 511)) << 23 | in.word();
  }
}

// The scales of heads are read while a call is judged, so they must be there, unless they are misaligned.
inline bool scales_are_there(const fovea_fixed_attention& a, const memory& all) {
  const bool misaligned = reinterpret_cast<uintptr_t>(a.head_scales) % 4 != 0;
  return a.head_scales == nullptr || a.q_heads < 1 || misaligned || all.owns(head_scales_of(a));
}

inline void check_refusal(const fovea_fixed_attention& a, int32_t status, memory& all, bytes& in) {
  all.remember();
  memory own;
  const size_t size = in.one_in(4) ? in.word() : 65536;
  const int32_t again = fovea_fixed_attend(&a, own.take(size), size);
  if (again != status)
    finding("fovea_fixed_attend says " + status_text(again) + ", fovea_fixed_check " + status_text(status),
            in_words(a));
  for (entry small : {fovea_fixed_attend_s8, fovea_fixed_attend_plain})
    if (small(&a, own.take(size), size) == FOVEA_OK)
      finding("a small entry accepts what is refused: " + status_text(status), in_words(a));
  if (fovea_fixed_check(&a) != status) finding("fovea_fixed_check changes its mind", in_words(a));
  if (fovea_fixed_scratch(&a) != 0 || fovea_fixed_scratch_best(&a) != 0)
    finding("a refused call has a size of scratch", in_words(a));
  if (!all.unchanged()) finding("a refused call wrote", in_words(a));
}

// What an integer entry multiplies: numbers of keys that a row sees must come from the functions that make
// them.
inline bool numbers_are_made(const fovea_fixed_attention& before, const fovea_fixed_attention& a) {
  const auto same = [](const fovea_fixed_per_key& x, const fovea_fixed_per_key& y) {
    return x.data == y.data && x.head_stride == y.head_stride;
  };
  const bool counts = a.keys == before.keys && a.q_heads == before.q_heads && a.kv_heads == before.kv_heads &&
                      a.dim == before.dim && a.first_key == before.first_key && a.flags == before.flags &&
                      a.position == before.position && a.queries == before.queries;
  return same(before.key_multipliers, a.key_multipliers) && same(before.key_sums, a.key_sums) &&
         same(before.value_weights, a.value_weights) && (counts || !has_tables(a)) &&
         a.q.data == before.q.data && a.k.data == before.k.data && a.mask.data == before.mask.data &&
         a.bias.data == before.bias.data && a.prefix == before.prefix && a.keep_first == before.keep_first &&
         a.window_left == before.window_left && a.window_right == before.window_right &&
         a.k.head_stride == before.k.head_stride && a.k.token_stride == before.k.token_stride &&
         a.head_scales == before.head_scales && a.scale.score_multiplier == before.scale.score_multiplier &&
         a.mask.head_stride == before.mask.head_stride && a.mask.query_stride == before.mask.query_stride &&
         a.bias.head_stride == before.bias.head_stride && a.bias.query_stride == before.bias.query_stride;
}

inline void check_hostile(const fovea_fixed_attention& before, memory& all, bytes& in) {
  fovea_fixed_attention a = before;
  for (int32_t changes = in.between(1, 3); changes > 0; --changes)
    in.one_in(2) ? change_pointer(a, in) : change_number(a, in);
  make_checkable(a);
  if (!scales_are_there(a, all)) return;
  const naming name([&] { return in_words(a); });
  judge j;
  judge_call(a, true, j);
  const int32_t status = fovea_fixed_check(&a);
  check_status(j.result(), status, in_words(a));
  if (status != FOVEA_OK) return check_refusal(a, status, all, in);
  for (const auto* ranges : {&j.inputs(), &j.outputs()})
    for (const range& x : *ranges)
      if (!all.owns(x)) return;
  const wide work = (wide{a.queries} * (a.keys + 1) + a.keys + 1) * a.q_heads * (a.dim + v_dim(a));
  a.part = {}; // runs choose their own
  if (work < 1000000 && numbers_are_made(before, a)) check_results(a, all, in);
}

// A mistake of the caller that needs no change of the call: too little scratch, scratch over an argument, or
// none.
inline void check_scratch(const fovea_fixed_attention& a, memory& all, bytes& in) {
  all.remember();
  memory own;
  const naming name([&] { return in_words(a); });
  const size_t least = fovea_fixed_scratch(&a);
  const auto refuses = [&](void* scratch, size_t size, int32_t reason) {
    const int32_t status = fovea_fixed_attend(&a, scratch, size);
    if (status != (reason | FOVEA_ARG_SCRATCH << 8))
      finding("bad scratch gives " + status_text(status), in_words(a));
    if (!all.unchanged()) finding("a call with bad scratch wrote", in_words(a));
  };
  refuses(nullptr, in.word(), FOVEA_NULL);
  const size_t less = in.one_in(2) ? least - 1 : in.word() % least;
  refuses(own.take(less), less, FOVEA_TOO_SMALL);
  if (a.queries > 0) refuses(const_cast<void*>(in.one_in(2) ? a.q.data : a.out.data), least, FOVEA_OVERLAP);
  refuses(reinterpret_cast<void*>(UINTPTR_MAX - in.word() % least), least + 1, FOVEA_OVERFLOW);
}

// Many heads, keys and dims, and no row or no key that a row sees.
inline void check_idle(bytes& in) {
  memory all;
  fovea_fixed_attention a = {};
  const bool no_queries = in.one_in(2), s16 = in.one_in(4);
  a.dim = 1 << in.between(0, no_queries ? 10 : 4);
  a.q_heads = no_queries ? 1 << in.between(0, 20) : in.between(1, 4);
  a.kv_heads = in.one_in(2) ? 1 : 0;
  a.queries = no_queries ? 0 : in.between(1, 6);
  a.max_keys = 1 << 17;
  a.keys = 1 << in.between(0, 16);
  a.first_key = 64 * in.between(0, 1024);
  a.flags = FOVEA_POSITION | FOVEA_CAUSAL;
  a.position = -7;
  if (in.one_in(2)) { // a few keys in the middle
    a.flags |= FOVEA_WINDOW, a.window_left = in.between(0, 9), a.window_right = in.between(0, 9);
    a.position = a.first_key + a.keys / 2, a.keep_first = in.between(0, 20), a.prefix = in.between(0, 20);
  }
  a.q.data = a.k.data = a.v.data = no_queries ? nowhere() : vast();
  a.q.dtype = a.k.dtype = a.v.dtype = s16 ? FOVEA_FIXED_S16 : FOVEA_FIXED_S8;
  a.out.dtype = s16 ? FOVEA_FIXED_S16 : FOVEA_FIXED_S8;
  if (!s16 && in.one_in(2)) a.k.layout = a.v.layout = FOVEA_PANELS;
  a.scale = {1 << 28, 31, s16 ? 11 : 0, 1 << 30, 1, 0x3f800000u};
  const size_t results = static_cast<size_t>(a.queries) * static_cast<size_t>(a.q_heads) *
                             static_cast<size_t>(a.dim)
                         << a.out.dtype;
  a.out.data = all.take(results);
  if (in.one_in(2))
    a.part = {0, 1 << in.between(0, 30)}, a.part.index = in.between(0, 1) * (a.part.count - 1);
  const naming name([&] { return in_words(a); });
  const size_t size = FOVEA_FIXED_SCRATCH_ROWS(a.dim, a.dim);
  unsigned char* scratch = all.take(size);
  const double begin = seconds();
  const int32_t status = fovea_fixed_attend(&a, scratch, size);
  fovea_fixed_scratch(&a), fovea_fixed_scratch_best(&a);
  const double taken = seconds() - begin;
  if (status != FOVEA_OK) finding("a legal call is refused: " + status_text(status), in_words(a));
  if (taken > allowed_seconds)
    finding("a call without work takes " + std::to_string(taken) + " seconds", in_words(a));
  for (size_t n = 0; a.part.count == 0 && n < results; ++n)
    if (static_cast<unsigned char*>(a.out.data)[n] != 0)
      finding("a row that sees zeros is not zero", in_words(a));
}

} // namespace fuzz
