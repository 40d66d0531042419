// Softmax of rows refuses what it cannot do, names the argument, and writes nothing.
#include "ops_table.hpp"

using namespace ops;

TEST_CASE("row_operations_refuse_bad_arguments") {
  struct bad_argument {
    const char* why;
    int32_t reason, argument;
    void (*spoil)(fovea_softmax_rows&);
  };
  constexpr ptrdiff_t huge = std::numeric_limits<ptrdiff_t>::max();
  static uint8_t mask[64];
  const bad_argument bad[] = {
      {"no input", FOVEA_NULL, FOVEA_ARG_IN, [](fovea_softmax_rows& s) { s.in = nullptr; }},
      {"no output", FOVEA_NULL, FOVEA_ARG_OUT, [](fovea_softmax_rows& s) { s.out = nullptr; }},
      {"negative rows", FOVEA_SIZE, FOVEA_ARG_ROWS, [](fovea_softmax_rows& s) { s.rows = -1; }},
      {"negative columns", FOVEA_SIZE, FOVEA_ARG_COLUMNS, [](fovea_softmax_rows& s) { s.columns = -1; }},
      {"too many columns", FOVEA_SIZE, FOVEA_ARG_COLUMNS,
       [](fovea_softmax_rows& s) { s.columns = FOVEA_COLUMNS_MAX + 1; }},
      {"rows backwards", FOVEA_STRIDE, FOVEA_ARG_IN, [](fovea_softmax_rows& s) { s.in_stride = -20; }},
      {"results backwards", FOVEA_STRIDE, FOVEA_ARG_OUT, [](fovea_softmax_rows& s) { s.out_stride = -20; }},
      {"results overlap", FOVEA_STRIDE, FOVEA_ARG_OUT, [](fovea_softmax_rows& s) { s.out_stride = 19; }},
      {"rows beyond all memory", FOVEA_OVERFLOW, FOVEA_ARG_IN,
       [](fovea_softmax_rows& s) { s.in_stride = huge; }},
      {"results beyond all memory", FOVEA_OVERFLOW, FOVEA_ARG_OUT,
       [](fovea_softmax_rows& s) { s.out_stride = huge / 4; }},
      {"in is no address of a float", FOVEA_ALIGN, FOVEA_ARG_IN,
       [](fovea_softmax_rows& s) {
         s.in = reinterpret_cast<const float*>(reinterpret_cast<const char*>(s.in) + 1);
       }},
      {"in place with other strides", FOVEA_OVERLAP, FOVEA_ARG_OUT,
       [](fovea_softmax_rows& s) { s.in = s.out, s.in_stride = 30; }},
      {"one behind in place", FOVEA_OVERLAP, FOVEA_ARG_OUT, [](fovea_softmax_rows& s) { s.in = s.out + 1; }},
      {"the mask stands in the output", FOVEA_OVERLAP, FOVEA_ARG_OUT,
       [](fovea_softmax_rows& s) { s.mask.data = s.out; }},
      {"lse stands in the output", FOVEA_OVERLAP, FOVEA_ARG_LSE,
       [](fovea_softmax_rows& s) { s.lse = s.out + 59; }},
      {"a scale that is no number", FOVEA_NOT_FINITE, FOVEA_ARG_SCALE,
       [](fovea_softmax_rows& s) {
         s.flags = FOVEA_SCALE, s.scale = std::numeric_limits<float>::quiet_NaN();
       }},
      {"a scale that overflows", FOVEA_RANGE, FOVEA_ARG_SCALE,
       [](fovea_softmax_rows& s) { s.flags = FOVEA_SCALE, s.scale = 3e38f; }},
      {"a negative softcap", FOVEA_RANGE, FOVEA_ARG_SOFTCAP, [](fovea_softmax_rows& s) { s.softcap = -1; }},
      {"an infinite softcap", FOVEA_NOT_FINITE, FOVEA_ARG_SOFTCAP,
       [](fovea_softmax_rows& s) { s.softcap = infinite; }},
      {"a flag of attention", FOVEA_UNSUPPORTED, FOVEA_ARG_FLAGS,
       [](fovea_softmax_rows& s) { s.flags = FOVEA_CAUSAL; }},
      {"an unknown ISA", FOVEA_UNSUPPORTED, FOVEA_ARG_ISA,
       [](fovea_softmax_rows& s) { s.isa = FOVEA_ISA_END; }},
      {"a reserved word", FOVEA_UNSUPPORTED, FOVEA_ARG_RESERVED,
       [](fovea_softmax_rows& s) { s.reserved[3] = 1; }},
      {"a mask with heads", FOVEA_STRIDE, FOVEA_ARG_MASK,
       [](fovea_softmax_rows& s) { s.mask.data = mask, s.mask.head_stride = 1; }},
      {"a mask backwards", FOVEA_STRIDE, FOVEA_ARG_MASK,
       [](fovea_softmax_rows& s) { s.mask.data = mask, s.mask.query_stride = -1; }},
      {"a mask of negative length", FOVEA_RANGE, FOVEA_ARG_MASK,
       [](fovea_softmax_rows& s) { s.mask.data = mask, s.mask.keys = -1; }},
      {"a mask of a third kind", FOVEA_RANGE, FOVEA_ARG_MASK,
       [](fovea_softmax_rows& s) { s.mask.data = mask, s.mask.is_bias = 2; }},
      {"a bias that is no float", FOVEA_ALIGN, FOVEA_ARG_MASK,
       [](fovea_softmax_rows& s) {
         s.mask.data = reinterpret_cast<const char*>(s.in) + 2, s.mask.is_bias = 1;
       }},
  };
  for (const bad_argument& b : bad) {
    INFO(doctest::String(b.why));
    table t(3, 20, 1);
    fovea_softmax_rows s = t.call();
    b.spoil(s);
    const int32_t status = fovea_softmax(&s);
    CHECK(FOVEA_REASON(status) == b.reason);
    CHECK(FOVEA_ARGUMENT(status) == b.argument);
    CHECK((t.out.nothing_written() && t.lse.nothing_written()));
  }
  CHECK(fovea_softmax(nullptr) == (FOVEA_NULL | FOVEA_ARG_CALL << 8));
}
