// Each half through a load and a store, on every ISA; what is refused; panels of halves.
#include "isas.hpp"
#include "stored_problem.hpp"

namespace {

bool same_float(float a, float b) { return std::memcmp(&a, &b, sizeof a) == 0 || (a != a && b != b); }

// One head of one key for each value: its weight is 1, so the result is the value.
struct one_key {
  fovea_attention a = {};
  one_key(int32_t isa, const float* q, const float* k) {
    a.q_heads = 1, a.dim = 4, a.queries = 1, a.keys = 1;
    a.q.data = q, a.k.data = k;
    a.isa = isa;
  }
};

} // namespace

TEST_CASE("stored: all halves as values, and all results that are halves") {
  const float q[4] = {}, k[4] = {};
  constexpr int32_t width = 1024;
  isas::for_each([&](int32_t isa) {
    for (int32_t type : {FOVEA_F16, FOVEA_BF16}) {
      int wrong_values = 0, wrong_results = 0;
      for (int32_t first = 0; first < 65536; first += width) {
        std::vector<uint16_t> halves(width), out(width);
        std::vector<float> floats(width);
        for (int32_t i = 0; i < width; ++i) halves[static_cast<size_t>(i)] = static_cast<uint16_t>(first + i);
        one_key c(isa, q, k);
        c.a.v_dim = width;
        c.a.v.data = halves.data(), c.a.v.dtype = type;
        c.a.out.data = floats.data();
        data::guarded<unsigned char> scratch(fovea_scratch_best(&c.a));
        CHECK(fovea_attend(&c.a, scratch.data(), scratch.size()) == FOVEA_OK);
        c.a.out.data = out.data(), c.a.out.dtype = type;
        CHECK(fovea_attend(&c.a, scratch.data(), scratch.size()) == FOVEA_OK);
        for (size_t i = 0; i < halves.size(); ++i) {
          const float expected = stored::widened(halves[i], type);
          if (!isas::keeps_denormals(isa) && expected != 0 && std::fabs(expected) < 1.2e-38f) continue;
          const bool zero = expected == 0; // -0 becomes +0
          wrong_values += zero ? floats[i] != 0 : !same_float(floats[i], expected);
          wrong_results += zero ? out[i] != 0 : !same_float(stored::widened(out[i], type), expected);
        }
      }
      CHECK(wrong_values == 0);
      CHECK(wrong_results == 0);
    }
  });
}

// What the tests round by, against the definition: each half, its neighbours, what lies between, and noise.
TEST_CASE("stored: the rounding of the tests is the definition") {
#if defined(FOVEA_SMALL)
  constexpr uint32_t stride = 67;
#else
  constexpr uint32_t stride = 1;
#endif
  for (int32_t type : {FOVEA_F16, FOVEA_BF16}) {
    int wrong = 0;
    const auto compare = [&](uint32_t bits) {
      const float x = stored::of_bits(bits);
      wrong += stored::nearest(x, type) != stored::nearest_by_definition(x, type);
    };
    for (uint32_t half = 0; half < 0x10000u; half += stride) {
      uint32_t bits;
      const float x = stored::widened(static_cast<uint16_t>(half), type);
      std::memcpy(&bits, &x, sizeof bits);
      const uint32_t step = type == FOVEA_BF16 || std::fabs(x) < 0x1p-14f ? 0x8000u : 0x1000u;
      for (uint32_t near : {bits - 1, bits, bits + 1, bits + step - 1, bits + step, bits + step + 1})
        compare(near);
      compare(half * 0x9E3779B1u);
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("stored: results are rounded to nearest even") {
  const float q[4] = {}, k[4] = {};
  isas::for_each([&](int32_t isa) {
    for (int32_t type : {FOVEA_F16, FOVEA_BF16}) {
      int wrong = 0;
      for (uint32_t round = 0; round < 40; ++round) {
        constexpr size_t width = 333;
        std::vector<float> v(width);
        std::vector<uint16_t> out(width);
        for (size_t i = 0; i < width; ++i) {
          const uint32_t index = round * width + static_cast<uint32_t>(i);
          const auto half = static_cast<uint16_t>(index * 40503u >> 4);
          const float low = stored::widened(half, type),
                      high = stored::widened(static_cast<uint16_t>(half + 1), type);
          v[i] = index % 3 == 0 ? low / 2 + high / 2 : low * (1 + 1e-3f * data::noise(7, index));
        }
        one_key c(isa, q, k);
        c.a.v_dim = static_cast<int32_t>(width);
        c.a.v.data = v.data();
        c.a.out.data = out.data(), c.a.out.dtype = type;
        data::guarded<unsigned char> scratch(fovea_scratch_least(&c.a));
        CHECK(fovea_attend(&c.a, scratch.data(), scratch.size()) == FOVEA_OK);
        for (size_t i = 0; i < width; ++i) {
          if (std::fabs(v[i]) < 1.2e-38f) continue;
          wrong += !same_float(stored::widened(out[i], type),
                               stored::widened(stored::nearest(v[i], type), type));
        }
      }
      CHECK(wrong == 0);
    }
  });
}

TEST_CASE("stored: panels of halves are packed from floats and from halves") {
  for (int32_t type : {FOVEA_F16, FOVEA_BF16}) {
    const int32_t keys = 37, dim = 5, stride = 7;
    data::guarded<float> rows(static_cast<size_t>((keys - 1) * stride + dim));
    data::guarded<uint16_t> halves(rows.size()), from_floats(48 * dim), from_halves(48 * dim);
    for (int32_t j = 0; j < keys; ++j)
      for (int32_t c = 0; c < dim; ++c) {
        const auto at = static_cast<size_t>(j * stride + c);
        rows[at] = data::noise(3, static_cast<uint32_t>(at));
        halves[at] = stored::nearest(rows[at], type);
      }
    const int32_t parts[] = {0, 1, 17, 37};
    for (int n = 0; n < 3; ++n) {
      const int32_t at = parts[n], count = parts[n + 1] - at;
      CHECK(fovea_pack_keys_as(type, from_floats.data(), at, FOVEA_F32, rows.data() + at * stride, stride,
                               count, dim) == FOVEA_OK);
      CHECK(fovea_pack_keys_as(type, from_halves.data(), at, type, halves.data() + at * stride, stride, count,
                               dim) == FOVEA_OK);
    }
    int wrong = 0;
    for (int32_t j = 0; j < keys; ++j)
      for (int32_t c = 0; c < dim; ++c)
        wrong += from_floats[static_cast<size_t>((j / 16 * dim + c) * 16 + j % 16)] !=
                 halves[static_cast<size_t>(j * stride + c)];
    CHECK(wrong == 0);
    CHECK((from_floats == from_halves && from_floats.guards_hold()));
  }
}

TEST_CASE("stored: packing of halves refuses") {
  float rows[32] = {};
  uint16_t panels[64] = {};
  const auto status = [&](int32_t type, void* to, int32_t row_type, const void* from, int32_t count,
                          int32_t dim) {
    return fovea_pack_keys_as(type, to, 0, row_type, from, 0, count, dim);
  };
  CHECK(status(FOVEA_F16, panels, FOVEA_F32, rows, 2, 4) == FOVEA_OK);
  CHECK(status(FOVEA_F32, panels, FOVEA_F32, rows, 2, 4) == (FOVEA_UNSUPPORTED | FOVEA_ARG_DTYPE << 8));
  CHECK(status(FOVEA_I8, panels, FOVEA_F32, rows, 2, 4) == (FOVEA_UNSUPPORTED | FOVEA_ARG_DTYPE << 8));
  CHECK(status(FOVEA_F16, panels, FOVEA_BF16, rows, 2, 4) == (FOVEA_UNSUPPORTED | FOVEA_ARG_K << 8));
  CHECK(status(FOVEA_F16, panels, FOVEA_F32, rows, 2, 0) == (FOVEA_SIZE | FOVEA_ARG_DIM << 8));
  CHECK(status(FOVEA_F16, nullptr, FOVEA_F32, rows, 2, 4) == (FOVEA_NULL | FOVEA_ARG_OUT << 8));
  CHECK(status(FOVEA_F16, panels, FOVEA_F32, nullptr, 2, 4) == (FOVEA_NULL | FOVEA_ARG_K << 8));
  CHECK(status(FOVEA_F16, reinterpret_cast<unsigned char*>(panels) + 1, FOVEA_F32, rows, 2, 4) ==
        (FOVEA_ALIGN | FOVEA_ARG_OUT << 8));
  CHECK(status(FOVEA_F16, panels, FOVEA_F16, panels, 2, 4) == (FOVEA_OVERLAP | FOVEA_ARG_OUT << 8));
}

TEST_CASE("stored: refusals name the argument, and write nothing") {
  static uint16_t halves[4096];
  static float scales[64];
  struct bad {
    const char* why;
    int32_t reason, argument;
    void (*spoil)(fovea_attention&);
  };
  const bad table[] = {
      {"bytes of q", FOVEA_UNSUPPORTED, FOVEA_ARG_Q, [](fovea_attention& a) { a.q.dtype = FOVEA_I8; }},
      {"halves of q in panels", FOVEA_UNSUPPORTED, FOVEA_ARG_Q,
       [](fovea_attention& a) { a.q.layout = FOVEA_PANELS; }},
      {"halves of v in panels", FOVEA_UNSUPPORTED, FOVEA_ARG_V,
       [](fovea_attention& a) { a.v.dtype = FOVEA_F16, a.v.layout = FOVEA_PANELS; }},
      {"int16 of k", FOVEA_UNSUPPORTED, FOVEA_ARG_K, [](fovea_attention& a) { a.k.dtype = FOVEA_I16; }},
      {"bytes of out", FOVEA_UNSUPPORTED, FOVEA_ARG_OUT, [](fovea_attention& a) { a.out.dtype = FOVEA_I8; }},
      {"a scale of out", FOVEA_UNSUPPORTED, FOVEA_ARG_OUT, [](fovea_attention& a) { a.out.scale = 1; }},
      {"scales of halves", FOVEA_UNSUPPORTED, FOVEA_ARG_K,
       [](fovea_attention& a) { a.k.dtype = FOVEA_F16, a.k.scales = scales; }},
      {"a zero point", FOVEA_UNSUPPORTED, FOVEA_ARG_K, [](fovea_attention& a) { a.k.zero_point = 1; }},
      {"q at an odd address", FOVEA_ALIGN, FOVEA_ARG_Q,
       [](fovea_attention& a) { a.q.data = reinterpret_cast<const char*>(halves) + 1; }},
      {"a negative stride", FOVEA_STRIDE, FOVEA_ARG_V, [](fovea_attention& a) { a.v.token_stride = -1; }},
      {"a stride of tokens in panels", FOVEA_STRIDE, FOVEA_ARG_K,
       [](fovea_attention& a) { a.k.layout = FOVEA_PANELS, a.k.token_stride = 16; }},
      {"no k", FOVEA_NULL, FOVEA_ARG_K, [](fovea_attention& a) { a.k.data = nullptr; }},
      {"strides of scales without scales", FOVEA_NULL, FOVEA_ARG_K,
       [](fovea_attention& a) { a.k.scale_token_stride = 1; }},
      {"a unit without scales", FOVEA_NULL, FOVEA_ARG_K, [](fovea_attention& a) { a.k.scale_unit = 1; }},
      {"a negative unit", FOVEA_RANGE, FOVEA_ARG_K,
       [](fovea_attention& a) { a.k.scales = scales, a.k.scale_unit = -1; }},
      {"a unit of NaN", FOVEA_NOT_FINITE, FOVEA_ARG_K,
       [](fovea_attention& a) { a.k.scales = scales, a.k.scale_unit = __builtin_nanf(""); }},
      {"scales at an odd address", FOVEA_ALIGN, FOVEA_ARG_K,
       [](fovea_attention& a) { a.k.scales = reinterpret_cast<const char*>(scales) + 2; }},
      {"a negative stride of scales", FOVEA_STRIDE, FOVEA_ARG_V,
       [](fovea_attention& a) { a.v.scales = scales, a.v.scale_head_stride = -1; }},
      {"panels of bytes that begin inside a panel", FOVEA_ALIGN, FOVEA_ARG_FIRST_KEY,
       [](fovea_attention& a) { a.k.layout = FOVEA_PANELS, a.first_key = 16; }},
      {"out over v", FOVEA_OVERLAP, FOVEA_ARG_OUT,
       [](fovea_attention& a) { a.out.data = const_cast<void*>(a.v.data); }},
      {"out over scales", FOVEA_OVERLAP, FOVEA_ARG_OUT,
       [](fovea_attention& a) { a.k.scales = scales, a.out.data = scales; }},
  };
  for (const bad& b : table) {
    INFO(doctest::String(b.why));
    fovea_attention a = {};
    a.q_heads = 1, a.dim = 8, a.queries = 2, a.keys = 20;
    a.q.data = halves, a.q.dtype = FOVEA_F16;
    a.k.data = halves + 512, a.k.dtype = FOVEA_I8;
    a.v.data = halves + 1024, a.v.dtype = FOVEA_I8;
    a.out.data = halves + 2048, a.out.dtype = FOVEA_BF16;
    data::guarded<unsigned char> scratch(fovea_scratch_best(&a));
    REQUIRE(fovea_check(&a) == FOVEA_OK);
    CHECK(fovea_attend_f32(&a, scratch.data(), scratch.size()) == (FOVEA_UNSUPPORTED | FOVEA_ARG_Q << 8));
    b.spoil(a);
    const int32_t status = fovea_attend(&a, scratch.data(), scratch.size());
    CHECK_MESSAGE(status == (b.reason | b.argument << 8), status_text(status));
    CHECK(fovea_check(&a) == status);
    CHECK(scratch.nothing_written());
    int written = 0;
    for (uint16_t x : halves) written += x != 0;
    CHECK(written == 0);
  }
}
