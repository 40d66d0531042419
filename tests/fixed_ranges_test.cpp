// The ranges of integer calls: their ends are accepted, one step further is refused by name.
#include <doctest/doctest.h>

#include <string>

#include "fixed_problem.hpp"

namespace {

constexpr int32_t any = INT32_MIN; // an end that a number of 32 bits cannot pass

// A call of one query whose score multiplier is 1, so that no scale is too steep.
struct small_call {
  std::vector<int16_t> tensor = std::vector<int16_t>(1024), out = std::vector<int16_t>(1024);
  std::vector<int32_t> sums = std::vector<int32_t>(2);
  fovea_fixed_attention a{};

  small_call(int32_t type, int32_t out_type) {
    a.q.data = a.k.data = a.v.data = tensor.data(), a.out.data = out.data();
    a.q.dtype = a.k.dtype = a.v.dtype = type, a.out.dtype = out_type;
    a.q_heads = 1, a.dim = 16, a.queries = 1, a.keys = 2;
    a.key_sums.data = sums.data();
    a.scale = {1, 31, type == FOVEA_FIXED_S16 ? 20 : 0, 1, 0, 0x3f800000u};
  }
};

struct range {
  const char* why;
  int32_t type, out_type, argument, least, most;
  void (*set)(fovea_fixed_attention& a, int32_t x);
};

int32_t refused(int32_t argument) { return FOVEA_RANGE | argument << 8; }

} // namespace

TEST_CASE("integers: the ends of a range are accepted, and what lies beside it is refused by name") {
  constexpr int32_t s8 = FOVEA_FIXED_S8, s16 = FOVEA_FIXED_S16, f32 = FOVEA_FIXED_F32;
  const auto set_q = [](fovea_fixed_attention& a, int32_t x) { a.q.zero_point = x; };
  const auto set_k = [](fovea_fixed_attention& a, int32_t x) { a.k.zero_point = x; };
  const auto set_v = [](fovea_fixed_attention& a, int32_t x) { a.v.zero_point = x; };
  const auto set_out = [](fovea_fixed_attention& a, int32_t x) { a.out.zero_point = x; };
  const auto set_pre_shift = [](fovea_fixed_attention& a, int32_t x) { a.scale.score_pre_shift = x; };
  const range ranges[] = {
      {"zero point of q", s8, s8, FOVEA_ARG_Q, -128, 127, set_q},
      {"zero point of k", s8, s8, FOVEA_ARG_K, -128, 127, set_k},
      {"zero point of v", s8, s8, FOVEA_ARG_V, -128, 127, set_v},
      {"zero point of an output of 8 bits", s8, s8, FOVEA_ARG_OUT, -128, 127, set_out},
      {"zero point of an output of 16 bits", s8, s16, FOVEA_ARG_OUT, -32768, 32767, set_out},
      {"floats have no zero point", s8, f32, FOVEA_ARG_OUT, 0, 0, set_out},
      {"16 bits: q has no zero point", s16, s16, FOVEA_ARG_Q, 0, 0, set_q},
      {"16 bits: k has no zero point", s16, s16, FOVEA_ARG_K, 0, 0, set_k},
      {"16 bits: v has no zero point", s16, s16, FOVEA_ARG_V, 0, 0, set_v},
      {"16 bits: zero point of the output", s16, s16, FOVEA_ARG_OUT, -32768, 32767, set_out},
      {"score multiplier", s8, s8, FOVEA_ARG_SCALE, 1, any,
       [](fovea_fixed_attention& a, int32_t x) { a.scale.score_multiplier = x; }},
      {"score shift", s8, s8, FOVEA_ARG_SCALE, 1, 31,
       [](fovea_fixed_attention& a, int32_t x) { a.scale.score_shift = x; }},
      {"8 bits need no shift of scores before", s8, s8, FOVEA_ARG_SCALE, 0, 0, set_pre_shift},
      {"16 bits: a shift of scores before", s16, s16, FOVEA_ARG_SCALE, 4, 24,
       set_pre_shift}, // less leaves 2^31 and more
      {"output multiplier", s8, s8, FOVEA_ARG_SCALE, 1, any,
       [](fovea_fixed_attention& a, int32_t x) { a.scale.out_multiplier = x; }},
      {"output shift", s8, s8, FOVEA_ARG_SCALE, -30, 20,
       [](fovea_fixed_attention& a, int32_t x) { a.scale.out_shift = x; }},
      {"float scale: 2^-86 and more", s8, f32, FOVEA_ARG_SCALE, 41 << 23, 0x7f7fffff,
       [](fovea_fixed_attention& a, int32_t x) { a.scale.f32_scale = static_cast<uint32_t>(x); }},
      {"max_keys", s8, s8, FOVEA_ARG_KEYS, 0, 131072,
       [](fovea_fixed_attention& a, int32_t x) { a.max_keys = x; }},
      {"prefix", s8, s8, FOVEA_ARG_PREFIX, 0, any, [](fovea_fixed_attention& a, int32_t x) { a.prefix = x; }},
      {"kept keys", s8, s8, FOVEA_ARG_KEEP_FIRST, 0, any,
       [](fovea_fixed_attention& a, int32_t x) { a.keep_first = x; }},
  };
  for (const range& r : ranges) {
    INFO(std::string(r.why));
    small_call call(r.type, r.out_type);
    fovea_fixed_attention& a = call.a;
    const auto status_of = [&](int32_t x) {
      CAPTURE(x);
      return r.set(a, x), fovea_fixed_check(&a);
    };
    CHECK(status_of(r.least) == FOVEA_OK);
    CHECK(status_of(r.least - 1) == refused(r.argument));
    CHECK(status_of(INT32_MIN) == refused(r.argument));
    if (r.most == any) continue;
    CHECK(status_of(r.most) == FOVEA_OK);
    CHECK(status_of(r.most + 1) == refused(r.argument));
    CHECK(status_of(INT32_MAX) == refused(r.argument));
  }
}

TEST_CASE("integers: a scale is refused from 4,096 octaves on") {
  struct steep {
    const char* why;
    int32_t type, dim, zero_k;
    fovea_fixed_scale good; // the steepest; with the next multiplier it is refused
  };
  // The greatest score + 1, times the multiplier, stays below 2^(28 + shift): its quotient by 2^28 is cut
  // off.
  const steep all[] = {
      {"dim 1", FOVEA_FIXED_S8, 1, 0, {32766, 1, 0, 1, 0, 0}},
      {"dim 16", FOVEA_FIXED_S8, 16, 0, {16383, 4, 0, 1, 0, 0}},
      {"a zero point of k", FOVEA_FIXED_S8, 16, 1, {4128, 4, 0, 1, 0, 0}},
      {"dim 1024", FOVEA_FIXED_S8, 1024, 0, {255, 4, 0, 1, 0, 0}},
      {"16 bits, dim 16, shifted by 4", FOVEA_FIXED_S16, 16, 0, {7, 5, 4, 1, 0, 0}},
      {"16 bits, dim 1024, shifted by 10", FOVEA_FIXED_S16, 1024, 0, {7, 5, 10, 1, 0, 0}},
      {"16 bits, dim 1, not shifted", FOVEA_FIXED_S16, 1, 0, {7, 5, 0, 1, 0, 0}},
  };
  for (const steep& s : all) {
    INFO(std::string(s.why));
    small_call call(s.type, FOVEA_FIXED_S16);
    fovea_fixed_attention& a = call.a;
    a.dim = s.dim, a.k.zero_point = s.zero_k;
    a.queries = a.keys = 0; // scales are looked at all the same
    a.scale = s.good;
    CHECK(fovea_fixed_check(&a) == FOVEA_OK);
    ++a.scale.score_multiplier;
    CHECK(fovea_fixed_check(&a) == refused(FOVEA_ARG_SCALE));
    a.scale = s.good, --a.scale.score_shift;
    CHECK(fovea_fixed_check(&a) == refused(FOVEA_ARG_SCALE));
    if (s.type == FOVEA_FIXED_S8) continue;
    a.scale = {1, 31, s.good.score_pre_shift - 1, 1, 0, 0};
    CHECK(fovea_fixed_check(&a) == refused(FOVEA_ARG_SCALE));
  }
}

TEST_CASE("integers: a scale of one head is held to the same ranges") {
  small_call call(FOVEA_FIXED_S8, FOVEA_FIXED_S8);
  fovea_fixed_attention& a = call.a;
  a.q_heads = 3, a.kv_heads = 1;
  const fovea_fixed_scale good = a.scale;
  for (int bad : {0, 1, 2}) {
    CAPTURE(bad);
    fovea_fixed_scale scales[3] = {good, good, good};
    a.head_scales = scales;
    a.scale = {}; // not read
    CHECK(fovea_fixed_check(&a) == FOVEA_OK);
    scales[bad].out_shift = 21;
    CHECK(fovea_fixed_check(&a) == refused(FOVEA_ARG_SCALE));
  }
}

TEST_CASE("integers: types and layouts that do not belong together are refused by name") {
  constexpr int32_t s8 = FOVEA_FIXED_S8, s16 = FOVEA_FIXED_S16, f32 = FOVEA_FIXED_F32, rows = FOVEA_ROWS,
                    panels = FOVEA_PANELS;
  struct mix {
    const char* why;
    int32_t q, k, v, out, k_layout, v_layout, weight_bits;
    int32_t reason, argument;
  };
  const mix mixes[] = {
      {"8 bits", s8, s8, s8, s8, rows, rows, 0, FOVEA_OK, 0},
      {"8 bits, a float output", s8, s8, s8, f32, rows, rows, 15, FOVEA_OK, 0},
      {"8 bits in panels", s8, s8, s8, s16, panels, panels, 0, FOVEA_OK, 0},
      {"16 bits", s16, s16, s16, s16, rows, rows, 0, FOVEA_OK, 0},
      {"16 bits, fine weights", s16, s16, s16, f32, rows, rows, 22, FOVEA_OK, 0},
      {"k of 16 bits", s8, s16, s8, s8, rows, rows, 0, FOVEA_UNSUPPORTED, FOVEA_ARG_K},
      {"k of 8 bits", s16, s8, s16, s16, rows, rows, 0, FOVEA_UNSUPPORTED, FOVEA_ARG_K},
      {"v of 16 bits", s8, s8, s16, s8, rows, rows, 0, FOVEA_UNSUPPORTED, FOVEA_ARG_V},
      {"v of 8 bits", s16, s16, s8, s16, rows, rows, 0, FOVEA_UNSUPPORTED, FOVEA_ARG_V},
      {"q of floats", f32, f32, f32, f32, rows, rows, 0, FOVEA_UNSUPPORTED, FOVEA_ARG_Q},
      {"q of a negative type", -1, -1, -1, s8, rows, rows, 0, FOVEA_UNSUPPORTED, FOVEA_ARG_Q},
      {"out of a type without a name", s8, s8, s8, 3, rows, rows, 0, FOVEA_UNSUPPORTED, FOVEA_ARG_OUT},
      {"out of a negative type", s8, s8, s8, -1, rows, rows, 0, FOVEA_UNSUPPORTED, FOVEA_ARG_OUT},
      {"out of 8 bits after 16", s16, s16, s16, s8, rows, rows, 0, FOVEA_UNSUPPORTED, FOVEA_ARG_OUT},
      {"v alone in panels", s8, s8, s8, s8, rows, panels, 0, FOVEA_UNSUPPORTED, FOVEA_ARG_V},
      {"k alone in panels", s8, s8, s8, s8, panels, rows, 0, FOVEA_UNSUPPORTED, FOVEA_ARG_V},
      {"16 bits in panels", s16, s16, s16, s16, panels, panels, 0, FOVEA_UNSUPPORTED, FOVEA_ARG_K},
      {"a layout without a name", s8, s8, s8, s8, 2, 2, 0, FOVEA_UNSUPPORTED, FOVEA_ARG_K},
      {"fine weights of 8 bits", s8, s8, s8, s8, rows, rows, 22, FOVEA_UNSUPPORTED, FOVEA_ARG_WEIGHTS},
      {"weights of 16 bits", s16, s16, s16, s16, rows, rows, 16, FOVEA_UNSUPPORTED, FOVEA_ARG_WEIGHTS},
      {"weights of -15 bits", s8, s8, s8, s8, rows, rows, -15, FOVEA_UNSUPPORTED, FOVEA_ARG_WEIGHTS},
  };
  for (const mix& m : mixes) {
    INFO(std::string(m.why));
    small_call call(m.q == s16 ? s16 : s8, m.out);
    fovea_fixed_attention& a = call.a;
    std::vector<float> floats(16);
    if (m.out == f32) a.out.data = floats.data();
    a.q.dtype = m.q, a.k.dtype = m.k, a.v.dtype = m.v;
    a.k.layout = m.k_layout, a.v.layout = m.v_layout, a.weight_bits = m.weight_bits;
    CHECK(fovea_fixed_check(&a) == (m.reason | m.argument << 8));
  }
  small_call call(s8, s8);
  call.a.q.layout = panels;
  CHECK(fovea_fixed_check(&call.a) == (FOVEA_UNSUPPORTED | FOVEA_ARG_Q << 8));
  small_call late(s8, s8);
  late.a.k.layout = late.a.v.layout = panels, late.a.first_key = 63;
  CHECK(fovea_fixed_check(&late.a) == (FOVEA_ALIGN | FOVEA_ARG_FIRST_KEY << 8));
  late.a.first_key = 64;
  CHECK(fovea_fixed_check(&late.a) == FOVEA_OK);
}

TEST_CASE("integers: memory beyond the address space, missing and misaligned memory is refused by name") {
  struct tensor {
    const char* why;
    int32_t argument;
    void (*set)(fovea_fixed_attention& a, uintptr_t at);
  };
  const tensor tensors[] = {
      {"q", FOVEA_ARG_Q,
       [](fovea_fixed_attention& a, uintptr_t at) { a.q.data = reinterpret_cast<void*>(at); }},
      {"k", FOVEA_ARG_K,
       [](fovea_fixed_attention& a, uintptr_t at) { a.k.data = reinterpret_cast<void*>(at); }},
      {"v", FOVEA_ARG_V,
       [](fovea_fixed_attention& a, uintptr_t at) { a.v.data = reinterpret_cast<void*>(at); }},
      {"out", FOVEA_ARG_OUT,
       [](fovea_fixed_attention& a, uintptr_t at) { a.out.data = reinterpret_cast<void*>(at); }},
  };
  for (const tensor& t : tensors)
    for (ptrdiff_t stride : {0, 16}) {
      INFO(std::string(t.why));
      CAPTURE(stride);
      small_call call(FOVEA_FIXED_S16, FOVEA_FIXED_S16);
      fovea_fixed_attention& a = call.a;
      a.keys = 1; // each tensor is a row of 32 bytes
      a.q.token_stride = a.k.token_stride = a.v.token_stride = a.out.token_stride = stride;
      const uintptr_t end = UINTPTR_MAX - 1; // the last address that is even
      t.set(a, end - 32);
      CHECK(fovea_fixed_check(&a) == FOVEA_OK);
      t.set(a, end - 30);
      CHECK(fovea_fixed_check(&a) == (FOVEA_OVERFLOW | t.argument << 8));
      t.set(a, end - 33);
      CHECK(fovea_fixed_check(&a) == (FOVEA_ALIGN | t.argument << 8));
      t.set(a, 0);
      CHECK(fovea_fixed_check(&a) == (FOVEA_NULL | t.argument << 8));
    }
}

TEST_CASE("integers: no queries take no time") { // walking these heads took six seconds
  small_call call(FOVEA_FIXED_S8, FOVEA_FIXED_S8);
  fovea_fixed_attention& a = call.a;
  a.q_heads = 0x3fffffff, a.kv_heads = 0, a.queries = a.keys = 0;
  std::vector<unsigned char> scratch(fovea_fixed_scratch(&a));
  for (int32_t n = 0; n < 100; ++n)
    REQUIRE(fovea_fixed_attend(&a, scratch.data(), scratch.size()) == FOVEA_OK);
}

TEST_CASE("integers: counts at their ends") {
  struct counted {
    const char* why;
    int32_t reason, argument, least, most;
    void (*set)(fovea_fixed_attention& a, int32_t x);
  };
  constexpr int32_t most = 0x3fffffff; // of heads, queries and keys
  const counted counts[] = {
      {"dim", FOVEA_SIZE, FOVEA_ARG_DIM, 1, 1024, [](fovea_fixed_attention& a, int32_t x) { a.dim = x; }},
      {"dim of values", FOVEA_SIZE, FOVEA_ARG_V_DIM, 0, 1024,
       [](fovea_fixed_attention& a, int32_t x) { a.v_dim = x; }},
      {"query heads", FOVEA_SIZE, FOVEA_ARG_HEADS, 1, most,
       [](fovea_fixed_attention& a, int32_t x) { a.q_heads = x; }},
      {"queries", FOVEA_SIZE, FOVEA_ARG_QUERIES, 0, most,
       [](fovea_fixed_attention& a, int32_t x) { a.queries = x; }},
      {"keys", FOVEA_SIZE, FOVEA_ARG_KEYS, 0, 512, [](fovea_fixed_attention& a, int32_t x) { a.keys = x; }},
      {"keys of a longer sequence", FOVEA_SIZE, FOVEA_ARG_KEYS, 0, 1000,
       [](fovea_fixed_attention& a, int32_t x) { a.max_keys = 1000, a.keys = x; }},
      {"part of three", FOVEA_RANGE, FOVEA_ARG_PART, 0, 2,
       [](fovea_fixed_attention& a, int32_t x) { a.part = {x, 3}; }},
  };
  for (const counted& c : counts) {
    INFO(std::string(c.why));
    small_call call(FOVEA_FIXED_S8, FOVEA_FIXED_S8);
    fovea_fixed_attention& a = call.a;
    a.keys = a.queries = 0; // no tensor has an element
    const auto status_of = [&](int32_t x) {
      CAPTURE(x);
      c.set(a, x);
      a.q.data = a.k.data = a.v.data = a.out.data = reinterpret_cast<void*>(
          uintptr_t{4096}); // only looked at
      if (a.queries) a.out.data = reinterpret_cast<void*>(UINTPTR_MAX / 2);
      return fovea_fixed_check(&a);
    };
    CHECK(status_of(c.least) == FOVEA_OK);
    CHECK(status_of(c.least - 1) == (c.reason | c.argument << 8));
    if (UINTPTR_MAX > 0xffffffffu || c.most < most) CHECK(status_of(c.most) == FOVEA_OK);
    CHECK(status_of(c.most + 1) == (c.reason | c.argument << 8));
  }
  small_call call(FOVEA_FIXED_S8, FOVEA_FIXED_S8);
  call.a.q_heads = 6, call.a.queries = 0;
  for (int32_t kv_heads : {-1, 4, 5, 7}) {
    call.a.kv_heads = kv_heads;
    CHECK(fovea_fixed_check(&call.a) == (FOVEA_SIZE | FOVEA_ARG_HEADS << 8));
  }
  for (int32_t kv_heads : {0, 1, 2, 3, 6}) {
    call.a.kv_heads = kv_heads;
    CHECK(fovea_fixed_check(&call.a) == FOVEA_OK);
  }
  call.a.q_heads = 2, call.a.kv_heads = 1, call.a.queries = most; // 2^31 - 2 rows of one kv head
  CHECK(fovea_fixed_check(&call.a) == (FOVEA_SIZE | FOVEA_ARG_QUERIES << 8));
  call.a.q_heads = 4;
  CHECK(fovea_fixed_check(&call.a) == (FOVEA_SIZE | FOVEA_ARG_QUERIES << 8));
}
