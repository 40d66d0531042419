// What products with packed weights refuse: each wrong argument by its name, and nothing is written.
#include "linear_problem.hpp"

using namespace linear;

namespace {

constexpr shape good_shape = {"", 3, 5, 20, FOVEA_F32, FOVEA_GELU, true, true, 2};

struct refused_call {
  const char* why;
  int32_t reason, argument;
  void (*spoil)(problem&);
};

template <class T>
const T* moved(const void* p, ptrdiff_t bytes) {
  return reinterpret_cast<const T*>(static_cast<const unsigned char*>(p) + bytes);
}

const refused_call refused_calls[] = {
    {"no weights", FOVEA_NULL, FOVEA_ARG_W, [](problem& p) { p.call.w = nullptr; }},
    {"no packed weights", FOVEA_NULL, FOVEA_ARG_PACKED, [](problem& p) { p.linear.packed = nullptr; }},
    {"packed weights are not aligned", FOVEA_ALIGN, FOVEA_ARG_PACKED,
     [](problem& p) { p.linear.packed = moved<void>(p.linear.packed, 2); }},
    {"packed weights leave the address space", FOVEA_OVERFLOW, FOVEA_ARG_PACKED,
     [](problem& p) { p.linear.packed = reinterpret_cast<const void*>(UINTPTR_MAX - 63); }},
    {"no inputs", FOVEA_SIZE, FOVEA_ARG_IN, [](problem& p) { p.linear.in = 0; }},
    {"negative inputs", FOVEA_SIZE, FOVEA_ARG_IN, [](problem& p) { p.linear.in = INT32_MIN; }},
    {"too many inputs", FOVEA_SIZE, FOVEA_ARG_IN, [](problem& p) { p.linear.in = FOVEA_LINEAR_MAX + 1; }},
    {"no outputs", FOVEA_SIZE, FOVEA_ARG_OUT, [](problem& p) { p.linear.out = 0; }},
    {"too many outputs", FOVEA_SIZE, FOVEA_ARG_OUT, [](problem& p) { p.linear.out = INT32_MAX; }},
    {"int16 weights", FOVEA_UNSUPPORTED, FOVEA_ARG_W, [](problem& p) { p.linear.dtype = FOVEA_I16; }},
    {"weights of no dtype", FOVEA_UNSUPPORTED, FOVEA_ARG_W, [](problem& p) { p.linear.dtype = -1; }},
    {"reserved words of the weights", FOVEA_UNSUPPORTED, FOVEA_ARG_RESERVED,
     [](problem& p) { p.linear.reserved[1] = 1; }},
    {"a bias that is no float", FOVEA_ALIGN, FOVEA_ARG_BIAS,
     [](problem& p) { p.linear.bias = moved<float>(p.linear.bias, 1); }},
    {"a bias that leaves the address space", FOVEA_OVERFLOW, FOVEA_ARG_BIAS,
     [](problem& p) { p.linear.bias = reinterpret_cast<const float*>(UINTPTR_MAX - 15); }},
    {"reserved words", FOVEA_UNSUPPORTED, FOVEA_ARG_RESERVED, [](problem& p) { p.call.reserved[3] = 1; }},
    {"an unknown activation", FOVEA_UNSUPPORTED, FOVEA_ARG_ACTIVATION,
     [](problem& p) { p.call.activation = FOVEA_ACTIVATION_END; }},
    {"a negative activation", FOVEA_UNSUPPORTED, FOVEA_ARG_ACTIVATION,
     [](problem& p) { p.call.activation = -1; }},
    {"halves of an odd number of outputs", FOVEA_SIZE, FOVEA_ARG_OUT,
     [](problem& p) { p.linear.out = 19, p.call.activation = FOVEA_SILU_TIMES; }},
    {"halves with a residual", FOVEA_UNSUPPORTED, FOVEA_ARG_RESIDUAL,
     [](problem& p) { p.call.activation = FOVEA_SILU_TIMES; }},
    {"negative rows", FOVEA_SIZE, FOVEA_ARG_ROWS, [](problem& p) { p.call.rows = -1; }},
    {"more rows than memory has addresses for", FOVEA_OVERFLOW, FOVEA_ARG_X,
     [](problem& p) { p.call.rows = INT32_MAX, p.call.x.stride = PTRDIFF_MAX / 8; }},
    {"no x", FOVEA_NULL, FOVEA_ARG_X, [](problem& p) { p.call.x.data = nullptr; }},
    {"x is no float", FOVEA_ALIGN, FOVEA_ARG_X,
     [](problem& p) { p.call.x.data = moved<void>(p.call.x.data, 2); }},
    {"x of another dtype", FOVEA_UNSUPPORTED, FOVEA_ARG_X, [](problem& p) { p.call.x.dtype = FOVEA_F16; }},
    {"a reserved word of x", FOVEA_UNSUPPORTED, FOVEA_ARG_X, [](problem& p) { p.call.x.reserved = 1; }},
    {"a negative stride of x", FOVEA_STRIDE, FOVEA_ARG_X, [](problem& p) { p.call.x.stride = -5; }},
    {"no y", FOVEA_NULL, FOVEA_ARG_Y, [](problem& p) { p.call.y.data = nullptr; }},
    {"y is no float", FOVEA_ALIGN, FOVEA_ARG_Y,
     [](problem& p) { p.call.y.data = static_cast<unsigned char*>(p.call.y.data) + 1; }},
    {"y of another dtype", FOVEA_UNSUPPORTED, FOVEA_ARG_Y, [](problem& p) { p.call.y.dtype = FOVEA_BF16; }},
    {"rows of y that share numbers", FOVEA_STRIDE, FOVEA_ARG_Y, [](problem& p) { p.call.y.stride = 19; }},
    {"a negative stride of y", FOVEA_STRIDE, FOVEA_ARG_Y, [](problem& p) { p.call.y.stride = -20; }},
    {"y over x", FOVEA_OVERLAP, FOVEA_ARG_Y, [](problem& p) { p.call.x = rows_of(p.y.data() + 10); }},
    {"y over the packed weights", FOVEA_OVERLAP, FOVEA_ARG_Y,
     [](problem& p) { p.call.y.data = p.packed.data() + 5; }},
    {"y over the bias", FOVEA_OVERLAP, FOVEA_ARG_Y, [](problem& p) { p.linear.bias = p.y.data() + 10; }},
    {"a residual of another dtype", FOVEA_UNSUPPORTED, FOVEA_ARG_RESIDUAL,
     [](problem& p) { p.call.residual.dtype = FOVEA_F16; }},
    {"a residual that is no float", FOVEA_ALIGN, FOVEA_ARG_RESIDUAL,
     [](problem& p) { p.call.residual.data = moved<void>(p.call.residual.data, 3); }},
    {"a negative stride of the residual", FOVEA_STRIDE, FOVEA_ARG_RESIDUAL,
     [](problem& p) { p.call.residual.stride = -1; }},
    {"a residual that begins within y", FOVEA_OVERLAP, FOVEA_ARG_RESIDUAL,
     [](problem& p) { p.call.residual.data = p.y.data() + 1; }},
    {"a residual in y with another stride", FOVEA_OVERLAP, FOVEA_ARG_RESIDUAL,
     [](problem& p) { p.call.residual = rows_of(p.y.data(), 21); }},
    {"a part that is not one of them", FOVEA_RANGE, FOVEA_ARG_PART,
     [](problem& p) { p.call.part.index = 2, p.call.part.count = 2; }},
    {"a negative part", FOVEA_RANGE, FOVEA_ARG_PART,
     [](problem& p) { p.call.part.index = -1, p.call.part.count = 2; }},
    {"an unknown ISA", FOVEA_UNSUPPORTED, FOVEA_ARG_ISA, [](problem& p) { p.call.isa = FOVEA_ISA_END; }},
};

struct pack_call {
  void* packed;
  size_t size;
  int32_t in, out, dtype, at;
  fovea_rows_in w;
  const fovea_rows_in* rows_given;
  int32_t rows;
};
struct refused_pack {
  const char* why;
  int32_t reason, argument;
  void (*spoil)(pack_call&);
};

const refused_pack refused_packs[] = {
    {"no inputs", FOVEA_SIZE, FOVEA_ARG_IN, [](pack_call& c) { c.in = 0; }},
    {"no outputs", FOVEA_SIZE, FOVEA_ARG_OUT, [](pack_call& c) { c.out = 0; }},
    {"negative outputs", FOVEA_SIZE, FOVEA_ARG_OUT, [](pack_call& c) { c.out = -1; }},
    {"to int16", FOVEA_UNSUPPORTED, FOVEA_ARG_DTYPE, [](pack_call& c) { c.dtype = FOVEA_I16; }},
    {"no memory", FOVEA_NULL, FOVEA_ARG_PACKED, [](pack_call& c) { c.packed = nullptr; }},
    {"memory that is not aligned", FOVEA_ALIGN, FOVEA_ARG_PACKED,
     [](pack_call& c) { c.packed = static_cast<unsigned char*>(c.packed) + 2; }},
    {"a byte too few", FOVEA_TOO_SMALL, FOVEA_ARG_PACKED, [](pack_call& c) { c.size -= 1; }},
    {"no size", FOVEA_TOO_SMALL, FOVEA_ARG_PACKED, [](pack_call& c) { c.size = 0; }},
    {"negative rows", FOVEA_SIZE, FOVEA_ARG_ROWS, [](pack_call& c) { c.rows = -1; }},
    {"more rows than outputs", FOVEA_SIZE, FOVEA_ARG_ROWS, [](pack_call& c) { c.rows = 21; }},
    {"rows behind the last output", FOVEA_RANGE, FOVEA_ARG_AT, [](pack_call& c) { c.at = 18; }},
    {"a negative place", FOVEA_RANGE, FOVEA_ARG_AT, [](pack_call& c) { c.at = INT32_MIN; }},
    {"no rows given", FOVEA_NULL, FOVEA_ARG_W, [](pack_call& c) { c.rows_given = nullptr; }},
    {"no numbers given", FOVEA_NULL, FOVEA_ARG_W, [](pack_call& c) { c.w.data = nullptr; }},
    {"from int16", FOVEA_UNSUPPORTED, FOVEA_ARG_W, [](pack_call& c) { c.w.dtype = FOVEA_I16; }},
    {"a reserved word", FOVEA_UNSUPPORTED, FOVEA_ARG_W, [](pack_call& c) { c.w.reserved = 1; }},
    {"a negative stride", FOVEA_STRIDE, FOVEA_ARG_W, [](pack_call& c) { c.w.stride = -5; }},
    {"an address of no float", FOVEA_ALIGN, FOVEA_ARG_W,
     [](pack_call& c) { c.w.data = moved<void>(c.w.data, 2); }},
    {"an address of no half", FOVEA_ALIGN, FOVEA_ARG_W,
     [](pack_call& c) { c.w.data = moved<void>(c.w.data, 1), c.w.dtype = FOVEA_F16; }},
    {"rows beyond the address space", FOVEA_OVERFLOW, FOVEA_ARG_W,
     [](pack_call& c) { c.w.stride = PTRDIFF_MAX / 4; }},
    {"weights where they are packed", FOVEA_OVERLAP, FOVEA_ARG_PACKED,
     [](pack_call& c) { c.w.data = c.packed; }},
};

} // namespace

TEST_CASE("linear_refuses_each_wrong_argument_by_name") {
  for (const refused_call& bad : refused_calls) {
    INFO(doctest::String(bad.why));
    problem p(good_shape);
    bad.spoil(p);
    const data::guarded<float> packed = p.packed;
    CHECK(multiply(p.call) == (bad.reason | bad.argument << 8));
    CHECK(fovea_check_product(&p.call) == (bad.reason | bad.argument << 8));
    CHECK(fovea_multiply_scratch(&p.call) == 0);
    CHECK(p.y.nothing_written());
    CHECK(p.packed == packed);
  }
  CHECK(fovea_multiply(nullptr, nullptr, 0) == FOVEA_NULL);
  CHECK(fovea_check_product(nullptr) == FOVEA_NULL);
  CHECK(fovea_multiply_scratch(nullptr) == 0);
  const fovea_product zeroed = {};
  CHECK(multiply(zeroed) == (FOVEA_NULL | FOVEA_ARG_W << 8));
}

TEST_CASE("linear_accepts_what_is_not_wrong") {
  problem p(good_shape);
  CHECK(fovea_check_product(&p.call) == FOVEA_OK);
  p.call.residual = rows_of(p.x.data(), p.y_stride); // x is 3 rows of 7: a residual may share numbers with it
  p.call.rows = 1;
  CHECK(fovea_check_product(&p.call) == FOVEA_OK);
  p.call.y.stride = 3; // of one row: nothing walks over it
  CHECK(fovea_check_product(&p.call) == FOVEA_OK);
}

TEST_CASE("linear_packing_refuses_each_wrong_argument_by_name") {
  const std::vector<float> weights(20 * 5, 1.0f);
  for (const refused_pack& bad : refused_packs) {
    INFO(doctest::String(bad.why));
    data::guarded<float> packed(FOVEA_LINEAR_BYTES(5, 20, FOVEA_F32) / sizeof(float));
    pack_call c = {packed.data(),
                   packed.size() * sizeof(float),
                   5,
                   20,
                   FOVEA_F32,
                   0,
                   rows_of(weights.data()),
                   nullptr,
                   20};
    c.rows_given = &c.w;
    bad.spoil(c);
    CHECK(fovea_pack_linear(c.packed, c.size, c.in, c.out, c.dtype, c.at, c.rows_given, c.rows) ==
          (bad.reason | bad.argument << 8));
    CHECK(packed.nothing_written());
  }
}
