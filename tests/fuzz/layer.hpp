// fovea_run_layer: legal calls have the same bits for any ISA with fma, any scratch and number of workers,
// and with a context that was projected before; hostile calls that are refused write nothing.
#pragma once
#include <iterator>

#include "layer_draw.hpp"
#include "product.hpp"

namespace fuzz {

class layer_runner {
 public:
  layer_runner(drawn_layer& drawn, bytes& in) : d_(drawn), in_(in), before_(take_y()) {}

  // One call with scratch of any size, or workers that go stage by stage.
  std::vector<float> run(fovea_layer_call c, bool simple) {
    put_y(before_);
    d_.all.remember();
    memory own;
    const naming name([&] { return in_words(c); });
    const int32_t workers = simple ? 1 : std::max(1, in_.between(0, 7) - 3);
    if (workers == 1) {
      make(c, own, simple);
    } else {
      c.stage = FOVEA_LAYER_PROJECT;
      c.shared_size = fovea_layer_shared(&c);
      c.shared = own.take(c.shared_size, static_cast<size_t>(in_.between(0, 15)) * 4);
      for (; c.stage < FOVEA_LAYER_END; ++c.stage)
        for (int32_t n = 0, first = in_.between(0, workers - 1); n < workers; ++n) {
          c.part = {(first + n) % workers, workers};
          make(c, own, false);
        }
    }
    const std::vector<float> y = take_y();
    put_y(before_);
    if (!d_.all.unchanged()) finding("memory beside the results was written", in_words(c));
    return y;
  }

  std::vector<float> take_y() const {
    std::vector<float> y;
    for (int32_t t = 0; t < d_.call.tokens; ++t) y.insert(y.end(), d_.y(t), d_.y(t) + d_.layer.out.out);
    return y;
  }

 private:
  void make(const fovea_layer_call& c, memory& own, bool simple) {
    const size_t least = fovea_layer_scratch_least(&c), best = fovea_layer_scratch_best(&c);
    if (least == 0 || best < least)
      finding("scratch of " + std::to_string(least) + " to " + std::to_string(best), in_words(c));
    const size_t size = simple ? best : draw_scratch_size(in_, least, best, best);
    const int32_t status = fovea_run_layer(
        &c, own.take(size, simple ? 0 : static_cast<size_t>(in_.between(0, 63))), size);
    if (status != FOVEA_OK) finding("a legal call is refused: " + status_text(status), in_words(c));
  }
  void put_y(const std::vector<float>& y) const {
    const auto width = static_cast<size_t>(d_.layer.out.out);
    for (int32_t t = 0; t < d_.call.tokens; ++t)
      std::memcpy(d_.y(t), y.data() + static_cast<size_t>(t) * width, width * sizeof(float));
  }

  drawn_layer& d_;
  bytes& in_;
  const std::vector<float> before_;
};

inline void expect_same(const std::vector<float>& a, const std::vector<float>& b, const char* why,
                        const fovea_layer_call& c) {
  for (size_t i = 0; i < a.size(); ++i)
    if (!same_number(a[i], b[i]))
      finding(std::string(why) + ": number " + std::to_string(i) + " of y is " +
                  number(static_cast<double>(b[i])) + ", not " + number(static_cast<double>(a[i])),
              in_words(c));
}

inline void check_layer(bytes& in) {
  drawn_layer d(in);
  layer_runner runner(d, in);
  if (const int32_t status = fovea_check_layer(&d.call))
    finding("a legal call is refused: " + status_text(status), in_words(d.call));
  const std::vector<float> expected = runner.run(d.call, true);
  for (int32_t isa = 1; isa < FOVEA_ISA_END; ++isa) {
    fovea_layer_call c = d.call;
    c.how.isa = isa;
    if (fovea_has_isa(isa) == 0) continue;
    const std::vector<float> y = runner.run(c, false);
    if (isas::promises_bits(isa) && isas::promises_bits(fovea_isa()))
      expect_same(expected, y, "another ISA", c);
  }
  if (!d.cross || d.layer.attention == FOVEA_I8) return;
  fovea_layer_call c = d.call;
  memory own;
  const size_t size = FOVEA_LAYER_KV_BYTES(c.context_tokens, c.sequences, d.layer.kv_heads, d.layer.dim,
                                           d.layer.v_dim),
               scratch = FOVEA_LAYER_KV_SCRATCH(std::max(d.layer.q.in, d.layer.k.in), d.layer.kv_heads,
                                                d.layer.dim);
  void* kv = own.take(size);
  if (const int32_t status = fovea_project_context(
          &c, kv, size, own.take(scratch, static_cast<size_t>(in.between(0, 63))), scratch))
    finding("a legal context is refused: " + status_text(status), in_words(c));
  c.context = c.values = {};
  c.kv = kv;
  expect_same(expected, runner.run(c, false), "a context that was projected before", c);
}

// Lists that are read while a call is judged, so they must be there.
inline bool lists_are_there(const fovea_layer_call& c, const memory& all) {
  const wide sequences = c.sequences == 0 ? 1 : c.sequences;
  const struct {
    const int32_t* at;
    wide count;
  } lists[] = {{c.starts, sequences + 1},
               {c.context_starts, sequences + 1},
               {c.lengths, sequences},
               {c.positions, c.tokens}};
  for (const auto& list : lists) {
    if (list.at == nullptr || list.count <= 0 || reinterpret_cast<uintptr_t>(list.at) % 4 != 0) continue;
    if (!all.owns(range_of(list.at, 1, 0, 1, 0, list.count, 4))) return false;
  }
  return true;
}

inline void change(fovea_layer_call& c, fovea_layer& l, bytes& in) {
  const void** const pointers[] = {field(c.x.data),       field(c.y.data),         field(c.residual.data),
                                   field(c.context.data), field(c.values.data),    field(c.kv),
                                   field(c.starts),       field(c.context_starts), field(c.lengths),
                                   field(c.positions),    field(c.shared),         field(c.cache),
                                   field(l.q.packed),     field(l.k.packed),       field(l.out.packed),
                                   field(l.q.bias),       field(l.out.bias),       field(l.q_norm),
                                   field(l.k_norm),       field(l.rope.cos),       field(l.rope.sin)};
  int32_t* const counts[] = {&c.tokens,
                             &c.context_tokens,
                             &c.sequences,
                             &c.first_position,
                             &c.fixed_isa,
                             &c.stage,
                             &c.part.index,
                             &c.part.count,
                             &c.reserved[0],
                             std::end(c.reserved) - 1,
                             &c.x.dtype,
                             &c.y.dtype,
                             &c.how.isa,
                             &c.how.flags,
                             &c.how.queries,
                             &c.how.q_heads,
                             &l.q_heads,
                             &l.kv_heads,
                             &l.dim,
                             &l.v_dim,
                             &l.q.in,
                             &l.q.out,
                             &l.q.dtype,
                             &l.k.in,
                             &l.k.out,
                             &l.v.in,
                             &l.v.dtype,
                             &l.out.in,
                             &l.out.out,
                             &l.out.dtype,
                             &l.attention,
                             &l.norm_plus_one,
                             &l.reserved[0],
                             &l.rope.positions,
                             &l.rope.rotary_dim,
                             &l.rope.interleaved,
                             &l.rope.reserved};
  ptrdiff_t* const strides[] = {&c.x.stride, &c.y.stride, &c.residual.stride, &c.context.stride,
                                &c.values.stride};
  switch (in.between(0, 4)) {
    case 0:
      *in.one_of(counts) = in.one_of(odd_counts);
      break;
    case 1:
      *in.one_of(counts) = in.between(-3, 40);
      break;
    case 2:
      *in.one_of(strides) = in.one_of(odd_strides);
      break;
    case 3:
      c.shared_size = in.word();
      break;
    default:
      change_one(in, pointers);
  }
}

// A call that is changed, and refused, writes nothing; all functions that judge it say the same.
inline void check_hostile_layer(bytes& in) {
  drawn_layer d(in);
  for (int32_t changes = in.between(1, 3); changes > 0; --changes) change(d.call, d.layer, in);
  const fovea_layer_call& c = d.call;
  if (!lists_are_there(c, d.all)) return;
  const naming name([&] { return in_words(c); });
  const int32_t status = fovea_check_layer(&c);
  if (status == FOVEA_OK) return; // who owns what it covers is a question for check_layer
  memory own;
  const size_t size = in.one_in(4) ? in.word() : 65536;
  unsigned char* scratch = own.take(size);
  own.remember(), d.all.remember();
  const int32_t again = fovea_run_layer(&c, scratch, size);
  if (again != status) finding("fovea_run_layer says " + status_text(again), in_words(c));
  if (fovea_layer_scratch_least(&c) != 0 || fovea_layer_scratch_best(&c) != 0)
    finding("a refused call has a size of scratch", in_words(c));
  if (!d.all.unchanged() || !own.unchanged()) finding("a refused call wrote", in_words(c));
}

} // namespace fuzz
