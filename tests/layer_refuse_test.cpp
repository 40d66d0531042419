// Layers refuse what they cannot do, name the argument, and write nothing. And what they read, fenced.
#include <doctest/doctest.h>

#include "fence.hpp"
#include "layer_problem.hpp"

using namespace layers;

namespace {

constexpr layer_case self{"self-attention", 32, 0, 2, 2, 16, 16, true, true, true, true, true};
constexpr layer_case cross{"cross-attention", 32, 24, 2, 2, 16, 16, false, true, false, true, false};
const batch two{{0, 3, 8}, {0, 4, 6}, {3, 2}, {}};

struct bad_argument {
  const char* why;
  int32_t reason, argument;
  void (*spoil)(fovea_layer_call&, fovea_layer&);
};
constexpr int32_t most = std::numeric_limits<int32_t>::max();
constexpr ptrdiff_t huge = std::numeric_limits<ptrdiff_t>::max();
int32_t falling[] = {0, 9, 8}, beginning_late[] = {1, 3, 8}, ending_early[] = {0, 3, 7}, too_long[] = {4, 2},
        negative[] = {-1, 2}, far_away[] = {0, 1, 64, 0, 0, 0, 0, 0};
float some_floats[4096];

const bad_argument bad_calls[] = {
    {"no layer", FOVEA_NULL, FOVEA_ARG_LAYER, [](fovea_layer_call& c, fovea_layer&) { c.layer = nullptr; }},
    {"no input", FOVEA_NULL, FOVEA_ARG_X, [](fovea_layer_call& c, fovea_layer&) { c.x.data = nullptr; }},
    {"no output", FOVEA_NULL, FOVEA_ARG_Y, [](fovea_layer_call& c, fovea_layer&) { c.y.data = nullptr; }},
    {"input at no address of a float", FOVEA_ALIGN, FOVEA_ARG_X,
     [](fovea_layer_call& c, fovea_layer&) { c.x.data = static_cast<const char*>(c.x.data) + 2; }},
    {"half floats", FOVEA_UNSUPPORTED, FOVEA_ARG_X,
     [](fovea_layer_call& c, fovea_layer&) { c.x.dtype = FOVEA_F16; }},
    {"rows backwards", FOVEA_STRIDE, FOVEA_ARG_X,
     [](fovea_layer_call& c, fovea_layer&) { c.x.stride = -32; }},
    {"results overlap", FOVEA_STRIDE, FOVEA_ARG_Y,
     [](fovea_layer_call& c, fovea_layer&) { c.y.stride = 31; }},
    {"a residual one row before y", FOVEA_OVERLAP, FOVEA_ARG_RESIDUAL,
     [](fovea_layer_call& c, fovea_layer&) {
       c.residual.data = static_cast<const char*>(c.y.data) - 32 * sizeof(float);
     }},
    {"a residual in y with another stride", FOVEA_OVERLAP, FOVEA_ARG_RESIDUAL,
     [](fovea_layer_call& c, fovea_layer&) {
       c.residual.data = c.y.data;
       c.residual.stride = 64;
     }},
    {"rows beyond all memory", FOVEA_OVERFLOW, FOVEA_ARG_X,
     [](fovea_layer_call& c, fovea_layer&) { c.x.stride = huge / 4; }},
    {"one behind in place", FOVEA_OVERLAP, FOVEA_ARG_Y,
     [](fovea_layer_call& c, fovea_layer&) { c.x.data = static_cast<float*>(c.y.data) + 1; }},
    {"in place with another stride", FOVEA_OVERLAP, FOVEA_ARG_Y,
     [](fovea_layer_call& c, fovea_layer&) { c.x.data = c.y.data, c.y.stride = 40; }},
    {"residual one behind the result", FOVEA_OVERLAP, FOVEA_ARG_RESIDUAL,
     [](fovea_layer_call& c, fovea_layer&) { c.residual.data = static_cast<float*>(c.y.data) + 1; }},
    {"negative tokens", FOVEA_SIZE, FOVEA_ARG_TOKENS,
     [](fovea_layer_call& c, fovea_layer&) { c.tokens = -1; }},
    {"too many tokens", FOVEA_SIZE, FOVEA_ARG_TOKENS,
     [](fovea_layer_call& c, fovea_layer&) { c.tokens = most; }},
    {"negative sequences", FOVEA_SIZE, FOVEA_ARG_SEQUENCES,
     [](fovea_layer_call& c, fovea_layer&) { c.sequences = -1; }},
    {"too many sequences", FOVEA_SIZE, FOVEA_ARG_SEQUENCES,
     [](fovea_layer_call& c, fovea_layer&) { c.sequences = most; }},
    {"starts that fall", FOVEA_RANGE, FOVEA_ARG_STARTS,
     [](fovea_layer_call& c, fovea_layer&) { c.starts = falling; }},
    {"starts that begin late", FOVEA_RANGE, FOVEA_ARG_STARTS,
     [](fovea_layer_call& c, fovea_layer&) { c.starts = beginning_late; }},
    {"starts that end early", FOVEA_RANGE, FOVEA_ARG_STARTS,
     [](fovea_layer_call& c, fovea_layer&) { c.starts = ending_early; }},
    {"sequences of unequal length without starts", FOVEA_SIZE, FOVEA_ARG_STARTS,
     [](fovea_layer_call& c, fovea_layer&) { c.starts = nullptr, c.sequences = 3; }},
    {"a length beyond its sequence", FOVEA_RANGE, FOVEA_ARG_LENGTHS,
     [](fovea_layer_call& c, fovea_layer&) { c.lengths = too_long; }},
    {"a negative length", FOVEA_RANGE, FOVEA_ARG_LENGTHS,
     [](fovea_layer_call& c, fovea_layer&) { c.lengths = negative; }},
    {"a context without rows", FOVEA_NULL, FOVEA_ARG_CONTEXT,
     [](fovea_layer_call& c, fovea_layer&) { c.context_tokens = 6; }},
    {"values without a context", FOVEA_NULL, FOVEA_ARG_CONTEXT,
     [](fovea_layer_call& c, fovea_layer&) { c.values.data = some_floats; }},
    {"context and kv", FOVEA_UNSUPPORTED, FOVEA_ARG_KV,
     [](fovea_layer_call& c, fovea_layer&) { c.context.data = c.kv = some_floats; }},
    {"a cache", FOVEA_UNSUPPORTED, FOVEA_ARG_CACHE,
     [](fovea_layer_call& c, fovea_layer&) { c.cache = some_floats; }},
    {"positions behind the tables", FOVEA_RANGE, FOVEA_ARG_POSITIONS,
     [](fovea_layer_call& c, fovea_layer&) { c.positions = far_away; }},
    {"a first position behind the tables", FOVEA_RANGE, FOVEA_ARG_POSITIONS,
     [](fovea_layer_call& c, fovea_layer&) { c.first_position = 60; }},
    {"a stage that is none", FOVEA_RANGE, FOVEA_ARG_STAGE,
     [](fovea_layer_call& c, fovea_layer&) { c.stage = FOVEA_LAYER_END; }},
    {"workers without stages", FOVEA_RANGE, FOVEA_ARG_STAGE,
     [](fovea_layer_call& c, fovea_layer&) { c.part = {0, 2}; }},
    {"a part beyond all parts", FOVEA_RANGE, FOVEA_ARG_PART,
     [](fovea_layer_call& c, fovea_layer&) { c.stage = 1, c.part = {2, 2}; }},
    {"a stage without shared memory", FOVEA_NULL, FOVEA_ARG_SHARED,
     [](fovea_layer_call& c, fovea_layer&) { c.stage = FOVEA_LAYER_ATTEND; }},
    {"too little shared memory", FOVEA_TOO_SMALL, FOVEA_ARG_SHARED,
     [](fovea_layer_call& c, fovea_layer&) { c.stage = 2, c.shared = some_floats, c.shared_size = 512; }},
    {"shared memory without stages", FOVEA_UNSUPPORTED, FOVEA_ARG_SHARED,
     [](fovea_layer_call& c, fovea_layer&) { c.shared = some_floats, c.shared_size = sizeof some_floats; }},
    {"a tensor of attention", FOVEA_UNSUPPORTED, FOVEA_ARG_ATTENTION,
     [](fovea_layer_call& c, fovea_layer&) { c.how.q.data = some_floats; }},
    {"panels", FOVEA_UNSUPPORTED, FOVEA_ARG_ATTENTION,
     [](fovea_layer_call& c, fovea_layer&) { c.how.k.layout = FOVEA_PANELS; }},
    {"strides of attention", FOVEA_UNSUPPORTED, FOVEA_ARG_ATTENTION,
     [](fovea_layer_call& c, fovea_layer&) { c.how.out.token_stride = 64; }},
    {"keys in segments", FOVEA_UNSUPPORTED, FOVEA_ARG_ATTENTION,
     [](fovea_layer_call& c, fovea_layer&) {
       static const fovea_segments none = {};
       c.how.segments = &none;
     }},
    {"a tree", FOVEA_UNSUPPORTED, FOVEA_ARG_ATTENTION,
     [](fovea_layer_call& c, fovea_layer&) {
       static const int16_t parents[64] = {};
       static const fovea_pattern tree = {parents, 0, 0, {0, 0, 0, 0}};
       c.how.pattern = &tree;
     }},
    {"a size of attention", FOVEA_UNSUPPORTED, FOVEA_ARG_ATTENTION,
     [](fovea_layer_call& c, fovea_layer&) { c.how.queries = 8; }},
    {"a scale that is no number", FOVEA_NOT_FINITE, FOVEA_ARG_SCALE,
     [](fovea_layer_call& c, fovea_layer&) {
       c.how.flags = FOVEA_SCALE, c.how.scale = std::numeric_limits<float>::infinity();
     }},
    {"weights of a head that is none", FOVEA_RANGE, FOVEA_ARG_WEIGHTS,
     [](fovea_layer_call& c, fovea_layer&) {
       c.how.weights.data = some_floats, c.how.weights.first_head = 3;
     }},
    {"weights of some queries of several sequences", FOVEA_UNSUPPORTED, FOVEA_ARG_WEIGHTS,
     [](fovea_layer_call& c, fovea_layer&) { c.how.weights.data = some_floats, c.how.weights.queries = 1; }},
    {"log-sum-exps in the result", FOVEA_OVERLAP, FOVEA_ARG_LSE,
     [](fovea_layer_call& c, fovea_layer&) { c.how.lse = static_cast<float*>(c.y.data); }},
    {"weights in the input", FOVEA_OVERLAP, FOVEA_ARG_WEIGHTS,
     [](fovea_layer_call& c, fovea_layer&) {
       c.how.weights.data = const_cast<float*>(static_cast<const float*>(c.x.data));
     }},
    {"an unknown ISA", FOVEA_UNSUPPORTED, FOVEA_ARG_ISA,
     [](fovea_layer_call& c, fovea_layer&) { c.how.isa = 99; }},
    {"a reserved word", FOVEA_UNSUPPORTED, FOVEA_ARG_RESERVED,
     [](fovea_layer_call& c, fovea_layer&) { c.reserved[1] = 1; }},
    {"a reserved word of the layer", FOVEA_UNSUPPORTED, FOVEA_ARG_RESERVED,
     [](fovea_layer_call&, fovea_layer& l) { l.reserved[0] = 1; }},
    {"no head", FOVEA_SIZE, FOVEA_ARG_HEADS, [](fovea_layer_call&, fovea_layer& l) { l.q_heads = 0; }},
    {"heads that make no groups", FOVEA_SIZE, FOVEA_ARG_HEADS,
     [](fovea_layer_call&, fovea_layer& l) { l.q_heads = 3, l.kv_heads = 2; }},
    {"more heads than outputs", FOVEA_SIZE, FOVEA_ARG_Q,
     [](fovea_layer_call&, fovea_layer& l) { l.q_heads = l.kv_heads = 4; }},
    {"more heads than any product", FOVEA_SIZE, FOVEA_ARG_HEADS,
     [](fovea_layer_call&, fovea_layer& l) { l.q_heads = l.kv_heads = 1 << 20; }},
    {"heads too long", FOVEA_SIZE, FOVEA_ARG_DIM, [](fovea_layer_call&, fovea_layer& l) { l.dim = 2048; }},
    {"no weights", FOVEA_NULL, FOVEA_ARG_Q, [](fovea_layer_call&, fovea_layer& l) { l.q.packed = nullptr; }},
    {"no W_O", FOVEA_SIZE, FOVEA_ARG_OUT, [](fovea_layer_call&, fovea_layer& l) { l.out = {}; }},
    {"W_O without weights", FOVEA_NULL, FOVEA_ARG_OUT,
     [](fovea_layer_call&, fovea_layer& l) { l.out.packed = nullptr; }},
    {"W_K without W_V", FOVEA_SIZE, FOVEA_ARG_Q, [](fovea_layer_call&, fovea_layer& l) { l.k = l.out; }},
    {"weights of no type", FOVEA_UNSUPPORTED, FOVEA_ARG_Q,
     [](fovea_layer_call&, fovea_layer& l) { l.q.dtype = FOVEA_I16; }},
    {"a rotation without sines", FOVEA_NULL, FOVEA_ARG_ROPE,
     [](fovea_layer_call&, fovea_layer& l) { l.rope.sin = nullptr; }},
    {"a rotation of more than a head", FOVEA_RANGE, FOVEA_ARG_ROPE,
     [](fovea_layer_call&, fovea_layer& l) { l.rope.rotary_dim = 18; }},
    {"a negative epsilon", FOVEA_RANGE, FOVEA_ARG_EPSILON,
     [](fovea_layer_call&, fovea_layer& l) { l.norm_epsilon = -1; }},
    {"attention of another type", FOVEA_UNSUPPORTED, FOVEA_ARG_ATTENTION,
     [](fovea_layer_call&, fovea_layer& l) { l.attention = FOVEA_F16; }},
};

} // namespace

TEST_CASE("layers_refuse_bad_arguments") {
  for (const bad_argument& b : bad_calls) {
    INFO(doctest::String(b.why));
    layer_problem p(self);
    batch of_self = two;
    of_self.context_starts.clear();
    layer_data d(p, of_self);
    data::guarded<unsigned char> scratch(fovea_layer_scratch_best(&d.call));
    fovea_layer layer = p.layer;
    d.call.layer = &layer;
    b.spoil(d.call, layer);
    const int32_t status = fovea_run_layer(&d.call, scratch.data(), scratch.size());
    CHECK(FOVEA_REASON(status) == b.reason);
    CHECK(FOVEA_ARGUMENT(status) == b.argument);
    const bool of_shared = b.argument == FOVEA_ARG_SHARED &&
                           b.reason == FOVEA_NULL; // sizes are asked for without
    if (!of_shared) CHECK(fovea_check_layer(&d.call) == status);
    if (!of_shared) CHECK(fovea_layer_scratch_best(&d.call) == 0);
    CHECK(d.y.nothing_written());
    CHECK(scratch.nothing_written());
  }
  CHECK(fovea_run_layer(nullptr, nullptr, 0) == (FOVEA_NULL | FOVEA_ARG_CALL << 8));
  CHECK(fovea_layer_shared(nullptr) == 0);
}

TEST_CASE("layers_refuse_scratch_that_is_too_small_or_in_use") {
  const layer_problem p(self);
  batch b = two;
  b.context_starts.clear();
  layer_data d(p, b);
  CHECK(fovea_check_layer(&d.call) == FOVEA_OK);
  const size_t least = fovea_layer_scratch_least(&d.call), best = fovea_layer_scratch_best(&d.call);
  CHECK(least <= FOVEA_LAYER_SCRATCH(5, 5, 32, 2, 2, 16, 16));
  CHECK(best <= FOVEA_LAYER_SCRATCH_FAST(8, 8, 32, 2, 2, 16, 16));
  data::guarded<unsigned char> scratch(best);
  const auto refused = [&](void* at, size_t size, int32_t reason) {
    CHECK(fovea_run_layer(&d.call, at, size) == (reason | FOVEA_ARG_SCRATCH << 8));
    CHECK((d.y.nothing_written() && scratch.nothing_written()));
  };
  refused(nullptr, best, FOVEA_NULL);
  refused(scratch.data(), 0, FOVEA_TOO_SMALL);
  refused(scratch.data(), least - 64, FOVEA_TOO_SMALL);
  refused(scratch.data(), static_cast<size_t>(-1), FOVEA_OVERFLOW);
  refused(d.x.data(), best, FOVEA_OVERLAP);
  refused(const_cast<float*>(p.packed_out.packed.data()), best, FOVEA_OVERLAP);
  refused(d.y.data(), best, FOVEA_OVERLAP);
}

TEST_CASE("layers_without_weights_are_refused_where_heads_are_cut_out_of_them") {
  layer_problem p(self);
  batch b = two;
  b.context_starts.clear();
  layer_data d(p, b);
  data::guarded<unsigned char> scratch(fovea_layer_scratch_least(&d.call)); // for one KV head at a time
  p.layer.q.packed = nullptr;
  CHECK(fovea_run_layer(&d.call, scratch.data(), scratch.size()) == (FOVEA_NULL | FOVEA_ARG_Q << 8));
  CHECK((d.y.nothing_written() && scratch.nothing_written()));

  layer_problem of_context({"W_Q, W_K, W_V in one", 32, 32, 2, 2, 16, 16, true, true, false, false, false});
  layer_data c(of_context, two);
  data::guarded<float> kv(FOVEA_LAYER_KV_BYTES(6, 2, 2, 16, 16) / sizeof(float));
  data::guarded<unsigned char> own(FOVEA_LAYER_KV_SCRATCH(32, 2, 16));
  const auto status = [&] {
    return fovea_project_context(&c.call, kv.data(), kv.size() * sizeof(float), own.data(), own.size());
  };
  of_context.layer.q.packed = nullptr;
  CHECK(status() == (FOVEA_NULL | FOVEA_ARG_V << 8));
  CHECK((kv.nothing_written() && own.nothing_written()));
}

TEST_CASE("contexts_are_refused_with_the_name_of_the_argument") {
  const layer_problem p(cross);
  const layer_data d(p, two);
  const size_t size = FOVEA_LAYER_KV_BYTES(6, 2, 2, 16, 16), scratch_size = FOVEA_LAYER_KV_SCRATCH(24, 2, 16);
  data::guarded<float> kv(size / sizeof(float));
  floats scratch(scratch_size / sizeof(float));
  const auto status = [&](const fovea_layer_call& c, void* to, size_t to_size, void* at, size_t at_size) {
    const int32_t found = fovea_project_context(&c, to, to_size, at, at_size);
    CHECK(kv.nothing_written());
    return found;
  };
  fovea_layer_call call = d.call;
  CHECK(status(call, nullptr, size, scratch.data(), scratch_size) == (FOVEA_NULL | FOVEA_ARG_KV << 8));
  CHECK(status(call, kv.data(), size - 4, scratch.data(), scratch_size) ==
        (FOVEA_TOO_SMALL | FOVEA_ARG_KV << 8));
  CHECK(status(call, kv.data(), size, nullptr, scratch_size) == (FOVEA_NULL | FOVEA_ARG_SCRATCH << 8));
  CHECK(status(call, kv.data(), size, scratch.data(), 64) == (FOVEA_TOO_SMALL | FOVEA_ARG_SCRATCH << 8));
  CHECK(status(call, kv.data(), size, kv.data(), size) == (FOVEA_OVERLAP | FOVEA_ARG_KV << 8));
  call.context.data = nullptr;
  CHECK(status(call, kv.data(), size, scratch.data(), scratch_size) == (FOVEA_NULL | FOVEA_ARG_CONTEXT << 8));
  CHECK(fovea_project_context(nullptr, kv.data(), size, scratch.data(), scratch_size) ==
        (FOVEA_NULL | FOVEA_ARG_CALL << 8));
  fovea_layer joined = p.layer; // W_K cannot be taken out of this matrix
  joined.k = joined.v = {};
  joined.q_heads = 2, joined.kv_heads = 2, joined.dim = 10, joined.v_dim = 10, joined.q.out = 60;
  joined.out.in = 20;
  call = d.call;
  call.layer = &joined;
  CHECK(status(call, kv.data(), size, scratch.data(), scratch_size) == (FOVEA_ALIGN | FOVEA_ARG_Q << 8));
}

#if defined(__linux__)
TEST_CASE("layers_read_and_write_nothing_beside_what_they_were_given") {
  for (const layer_case& c : {self, cross})
    for (const fence::side where : {fence::behind, fence::before}) {
      const layer_problem p(c);
      batch b = two;
      if (c.context_width == 0) b.context_starts.clear();
      layer_data d(p, b);
      const answer expected = model(p, b, d);
      const fence x(d.x.size() * 4, where), context(d.context.size() * 4, where), y(d.y.size() * 4, where),
          packed(p.packed_q.packed.size() * 4, where), out(p.packed_out.packed.size() * 4, where);
      std::memcpy(x.data<void>(), d.x.data(), d.x.size() * 4);
      std::memcpy(context.data<void>(), d.context.data(), d.context.size() * 4);
      std::memcpy(packed.data<void>(), p.packed_q.packed.data(), p.packed_q.packed.size() * 4);
      std::memcpy(out.data<void>(), p.packed_out.packed.data(), p.packed_out.packed.size() * 4);
      fovea_layer layer = p.layer;
      layer.q.packed = packed.data<void>(), layer.out.packed = out.data<void>();
      fovea_layer_call call = d.call;
      call.layer = &layer, call.x.data = x.data<void>(), call.y.data = y.data<void>();
      if (c.context_width != 0) call.context.data = context.data<void>();
      isas::for_each([&](int32_t isa) {
        call.how.isa = isa;
        for (const bool best : {true, false}) {
          const size_t size = best ? fovea_layer_scratch_best(&call) : fovea_layer_scratch_least(&call);
          const fence scratch(size, where);
          REQUIRE(fovea_run_layer(&call, scratch.data<void>(), size) == FOVEA_OK);
          check_same(floats(y.data<float>(), y.data<float>() + d.y.size()), expected.y, isa);
        }
      });
    }
}
#endif
