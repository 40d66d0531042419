// Rotary embedding: the bits of docs/numerics.md on each ISA, tables against long double, and what is
// refused.
#include <cfloat>

#include "ops_model.hpp"
#include "ops_table.hpp"

using namespace ops;

namespace {

struct rope_case {
  int32_t dim, rotary_dim, interleaved;
};
constexpr rope_case rope_cases[] = {
    {2, 2, 0},   {6, 6, 1},  {20, 20, 0}, {32, 32, 0},   {32, 32, 1}, {80, 32, 0}, {80, 32, 1},
    {96, 24, 0}, {64, 0, 0}, {64, 0, 1},  {128, 128, 0}, {40, 38, 1}, {7, 4, 0},   {16, 2, 1},
};

struct rotation {
  static constexpr int32_t heads = 2, tokens = 3, positions = 9;
  int32_t dim, half;
  data::guarded<float> in, out;
  std::vector<float> cosine, sine;
  int32_t where[3] = {8, 0, 5};
  fovea_rotation call = {};

  explicit rotation(const rope_case& c)
      : dim(c.dim),
        half((c.rotary_dim != 0 ? c.rotary_dim : c.dim) / 2),
        in(static_cast<size_t>(tokens * heads * dim)),
        out(static_cast<size_t>(tokens * heads * dim)),
        cosine(static_cast<size_t>(positions * half)),
        sine(cosine.size()) {
    for (size_t i = 0; i < in.size(); ++i) in[i] = data::noise(5, static_cast<uint32_t>(i));
    fovea_rope_frequencies f = {};
    f.rotary_dim = 2 * half;
    REQUIRE(fovea_rope_table(&f, 0, positions, cosine.data(), sine.data()) == FOVEA_OK);
    call.rope = {cosine.data(), sine.data(), positions, c.rotary_dim, c.interleaved, 0};
    call.in.data = in.data(), call.out.data = out.data();
    call.in.head_stride = call.out.head_stride = dim;
    call.in.token_stride = call.out.token_stride = ptrdiff_t{heads} * dim;
    call.heads = heads, call.tokens = tokens, call.dim = dim, call.positions = where;
  }
  std::vector<float> expected() const {
    std::vector<float> all(in.data(), in.data() + in.size());
    for (int32_t t = 0; t < tokens; ++t)
      for (int32_t h = 0; h < heads; ++h)
        for (int32_t i = 0; i < half; ++i) {
          float* x = all.data() + (t * heads + h) * dim;
          const int32_t position = call.positions != nullptr ? where[t] : call.first_position + t;
          const auto at = static_cast<size_t>(position * half + i);
          const int32_t a = call.rope.interleaved != 0 ? 2 * i : i,
                        b = call.rope.interleaved != 0 ? a + 1 : a + half;
          ops_model::turn(x[a], x[b], cosine[at], sine[at]);
        }
    return all;
  }
};

std::vector<float> numbers(const data::guarded<float>& x) {
  return std::vector<float>(x.data(), x.data() + x.size());
}

} // namespace

TEST_CASE("rotations_have_the_specified_bits") {
  for (const rope_case& c : rope_cases)
    isas::for_each([&](int32_t isa) {
      INFO("dim ", c.dim, ", rotary ", c.rotary_dim, ", interleaved ", c.interleaved);
      rotation r(c);
      r.call.isa = isa;
      for (const bool given : {true, false}) {
        r.call.positions = given ? r.where : nullptr, r.call.first_position = given ? -7 : 6;
        const std::vector<float> expected = r.expected();
        r.out.wipe();
        REQUIRE(fovea_rotate(&r.call) == FOVEA_OK);
        CHECK(r.out.guards_hold());
        if (isas::promises_bits(isa)) CHECK(data::same_bits(numbers(r.out), expected));
        for (size_t i = 0; i < expected.size(); ++i) CHECK(std::fabs(r.out[i] - expected[i]) <= 4 * u);
      }
      const std::vector<float> apart = numbers(r.out);
      r.call.out.data = r.in.data();
      REQUIRE(fovea_rotate(&r.call) == FOVEA_OK);
      CHECK(data::same_bits(numbers(r.in), apart));
      CHECK(r.in.guards_hold());
    });
}

TEST_CASE("rotations_refuse_bad_arguments") {
  struct bad_argument {
    const char* why;
    int32_t reason, argument;
    void (*spoil)(fovea_rotation&);
  };
  static const int32_t beyond[] = {0, 9, 1};
  const bad_argument bad[] = {
      {"a position behind the tables", FOVEA_RANGE, FOVEA_ARG_POSITIONS,
       [](fovea_rotation& r) { r.positions = beyond; }},
      {"positions that end behind the tables", FOVEA_RANGE, FOVEA_ARG_POSITIONS,
       [](fovea_rotation& r) { r.positions = nullptr, r.first_position = 7; }},
      {"a negative position", FOVEA_RANGE, FOVEA_ARG_POSITIONS,
       [](fovea_rotation& r) { r.positions = nullptr, r.first_position = -1; }},
      {"an odd rotary_dim", FOVEA_RANGE, FOVEA_ARG_ROPE, [](fovea_rotation& r) { r.rope.rotary_dim = 5; }},
      {"a rotary_dim larger than a head", FOVEA_RANGE, FOVEA_ARG_ROPE,
       [](fovea_rotation& r) { r.rope.rotary_dim = 66; }},
      {"no table", FOVEA_NULL, FOVEA_ARG_ROPE, [](fovea_rotation& r) { r.rope.sin = nullptr; }},
      {"a third pairing", FOVEA_RANGE, FOVEA_ARG_ROPE, [](fovea_rotation& r) { r.rope.interleaved = 2; }},
      {"no input", FOVEA_NULL, FOVEA_ARG_IN, [](fovea_rotation& r) { r.in.data = nullptr; }},
      {"half floats", FOVEA_UNSUPPORTED, FOVEA_ARG_IN, [](fovea_rotation& r) { r.in.dtype = FOVEA_F16; }},
      {"results overlap", FOVEA_STRIDE, FOVEA_ARG_OUT, [](fovea_rotation& r) { r.out.head_stride = 1; }},
      {"one behind in place", FOVEA_OVERLAP, FOVEA_ARG_OUT,
       [](fovea_rotation& r) { r.out.data = const_cast<float*>(static_cast<const float*>(r.in.data)) + 1; }},
      {"no head", FOVEA_SIZE, FOVEA_ARG_DIM, [](fovea_rotation& r) { r.dim = 0; }},
      {"a reserved word", FOVEA_UNSUPPORTED, FOVEA_ARG_RESERVED,
       [](fovea_rotation& r) { r.reserved[1] = 1; }},
      {"an unknown ISA", FOVEA_UNSUPPORTED, FOVEA_ARG_ISA, [](fovea_rotation& r) { r.isa = -1; }},
  };
  for (const bad_argument& b : bad) {
    INFO(doctest::String(b.why));
    rotation r({64, 64, 0});
    b.spoil(r.call);
    const std::vector<float> before = numbers(r.in);
    const int32_t status = fovea_rotate(&r.call);
    CHECK(FOVEA_REASON(status) == b.reason);
    CHECK(FOVEA_ARGUMENT(status) == b.argument);
    CHECK(r.out.nothing_written());
    CHECK(data::same_bits(numbers(r.in), before));
  }
  CHECK(fovea_rotate(nullptr) == (FOVEA_NULL | FOVEA_ARG_CALL << 8));
}

// The textbook. Its own error grows with the position: so far positions are for machines with wide long
// double.
namespace {
long double frequency(const fovea_rope_frequencies& f, int32_t i) {
  const long double two_pi = 6.283185307179586476925286766559L;
  const long double base = f.base != 0 ? static_cast<long double>(f.base) : 10000.0L;
  const long double usual = std::pow(base, -2.0L * i / f.rotary_dim);
  if (f.scaling == FOVEA_ROPE_DEFAULT) return usual;
  if (f.scaling == FOVEA_ROPE_LINEAR) return usual / (f.factor != 0 ? static_cast<long double>(f.factor) : 1);
  const long double factor = f.factor != 0 ? static_cast<long double>(f.factor) : 8,
                    low = f.low_factor != 0 ? static_cast<long double>(f.low_factor) : 1,
                    high = f.high_factor != 0 ? static_cast<long double>(f.high_factor) : 4,
                    turns = (f.original_positions != 0 ? f.original_positions : 8192) * usual / two_pi;
  if (turns < low) return usual / factor;
  if (turns > high) return usual;
  const long double ramp = (turns - low) / (high - low);
  return (1 - ramp) * usual / factor + ramp * usual;
}
} // namespace

TEST_CASE("tables_are_the_nearest_floats_of_cosines_and_sines") {
  const fovea_rope_frequencies all[] = {
      {0, 32, FOVEA_ROPE_DEFAULT, 0, 0, 0, 0, {}},
      {500000, 128, FOVEA_ROPE_LLAMA3, 0, 0, 0, 0, {}},
      {1e6f, 20, FOVEA_ROPE_LINEAR, 4, 0, 0, 0, {}},
      {500000, 64, FOVEA_ROPE_LLAMA3, 32, 1, 4, 8192, {}},
      {1.5f, 6, FOVEA_ROPE_DEFAULT, 0, 0, 0, 0, {}},
      {10000, 80, FOVEA_ROPE_LINEAR, 2.5f, 0, 0, 0, {}},
      {10000, 128, FOVEA_ROPE_LINEAR, 1.1f, 0, 0, 0, {}}, // a factor with all of its 24 bits
      {10000, 64, FOVEA_ROPE_LLAMA3, 3.3f, 1.7f, 30000.1f, 100000, {}},
      {0x1p60f, 1024, FOVEA_ROPE_DEFAULT, 0, 0, 0, 0, {}},
      {1, 2, FOVEA_ROPE_DEFAULT, 0, 0, 0, 0, {}},
  };
  digest bits;
  for (const fovea_rope_frequencies& f : all)
    for (int32_t first : {0, 1000, 131072, 0x7ffffff0}) {
      const auto half = static_cast<size_t>(f.rotary_dim / 2);
      std::vector<float> cosine(3 * half), sine(3 * half);
      REQUIRE(fovea_rope_table(&f, first, 3, cosine.data(), sine.data()) == FOVEA_OK);
      bits.add(cosine), bits.add(sine);
      if (first > 131072 && LDBL_MANT_DIG < 64) continue;
      // Half a unit in the last place below 1, the table's own error of a frequency, and the textbook's
      // rounding.
      const double ramp = f.scaling == FOVEA_ROPE_LLAMA3 ? 0x1p-50 : 0;
      const double own = first * (0x1p-54 + ramp + 4 * static_cast<double>(LDBL_EPSILON));
      int wrong = 0;
      for (size_t t = 0; t < 3; ++t)
        for (size_t i = 0; i < half; ++i) {
          const long double angle = (first + static_cast<long double>(t)) *
                                    frequency(f, static_cast<int32_t>(i));
          const double bound = 0.5 * 0x1p-24 + 0x1p-40 + own;
          wrong += !(std::fabs(static_cast<double>(cosine[t * half + i] - std::cos(angle))) <= bound);
          wrong += !(std::fabs(static_cast<double>(sine[t * half + i] - std::sin(angle))) <= bound);
        }
      CHECK(wrong == 0);
    }
  CHECK(bits.value() == 18324211653963295373u);
}

TEST_CASE("tables_refuse_bad_arguments") {
  struct bad_argument {
    const char* why;
    int32_t reason, argument;
    void (*spoil)(fovea_rope_frequencies&, int32_t&, int32_t&);
  };
  using frequencies = fovea_rope_frequencies;
  const bad_argument bad[] = {
      {"an odd rotary_dim", FOVEA_SIZE, FOVEA_ARG_DIM,
       [](frequencies& f, int32_t&, int32_t&) { f.rotary_dim = 3; }},
      {"no rotary_dim", FOVEA_SIZE, FOVEA_ARG_DIM,
       [](frequencies& f, int32_t&, int32_t&) { f.rotary_dim = 0; }},
      {"a base below 1", FOVEA_RANGE, FOVEA_ARG_BASE,
       [](frequencies& f, int32_t&, int32_t&) { f.base = 0.5f; }},
      {"a base that is none", FOVEA_NOT_FINITE, FOVEA_ARG_BASE,
       [](frequencies& f, int32_t&, int32_t&) { f.base = infinite; }},
      {"a factor below 1", FOVEA_RANGE, FOVEA_ARG_FACTOR,
       [](frequencies& f, int32_t&, int32_t&) { f.factor = 0.5f; }},
      {"a ramp without length", FOVEA_RANGE, FOVEA_ARG_FACTOR,
       [](frequencies& f, int32_t&, int32_t&) { f.low_factor = 4; }},
      {"another scaling", FOVEA_UNSUPPORTED, FOVEA_ARG_KIND,
       [](frequencies& f, int32_t&, int32_t&) { f.scaling = 3; }},
      {"negative positions", FOVEA_RANGE, FOVEA_ARG_POSITIONS,
       [](frequencies&, int32_t& first, int32_t&) { first = -1; }},
      {"positions behind the last", FOVEA_RANGE, FOVEA_ARG_POSITIONS,
       [](frequencies&, int32_t& first, int32_t&) { first = 0x7fffffff; }},
      {"a negative count", FOVEA_SIZE, FOVEA_ARG_POSITIONS,
       [](frequencies&, int32_t&, int32_t& count) { count = -1; }},
      {"a reserved word", FOVEA_UNSUPPORTED, FOVEA_ARG_RESERVED,
       [](frequencies& f, int32_t&, int32_t&) { f.reserved[0] = 1; }},
  };
  for (const bad_argument& b : bad) {
    INFO(doctest::String(b.why));
    float cosine[8] = {-2}, sine[8] = {-2};
    fovea_rope_frequencies f = {};
    f.rotary_dim = 4;
    int32_t first = 0, count = 2;
    b.spoil(f, first, count);
    CHECK(fovea_rope_table(&f, first, count, cosine, sine) == (b.reason | b.argument << 8));
    CHECK(cosine[0] == -2);
    CHECK(sine[0] == -2);
  }
  fovea_rope_frequencies f = {};
  f.rotary_dim = 4;
  float both[6] = {};
  CHECK(fovea_rope_table(&f, 0, 2, both, both + 2) == (FOVEA_OVERLAP | FOVEA_ARG_OUT << 8));
  CHECK(fovea_rope_table(&f, 0, 2, both, nullptr) == (FOVEA_NULL | FOVEA_ARG_OUT << 8));
  CHECK(fovea_rope_table(nullptr, 0, 0, both, both) == (FOVEA_NULL | FOVEA_ARG_CALL << 8));
}
