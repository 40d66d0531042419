// Static linear layers that cannot be packed, and calls that cannot be made: the status names the argument,
// and nothing is written.
#include "fixed_linear_problem.hpp"

using fixed_linear::problem;

TEST_CASE("fixed_linear_refuses_layers") {
  problem p(20, 3, 1, 4);
  std::vector<int8_t> to(FOVEA_FIXED_LINEAR_BYTES(20, 3), 0x55);
  const std::vector<int8_t> before = to;
  const auto refused = [&](int32_t reason, int32_t argument, int32_t in, int32_t out, size_t size,
                           auto spoil) {
    fovea_fixed_weights w = p.weights();
    spoil(w);
    CHECK(fovea_fixed_pack_linear(to.data(), size, in, out, &w) == (reason | argument << 8));
    CHECK(to == before);
  };
  const auto nothing = [](fovea_fixed_weights&) {};
  const size_t size = to.size();
  refused(FOVEA_SIZE, FOVEA_ARG_IN, 0, 3, size, nothing);
  refused(FOVEA_SIZE, FOVEA_ARG_IN, -1, 3, size, nothing);
  refused(FOVEA_SIZE, FOVEA_ARG_IN, FOVEA_FIXED_LINEAR_MAX + 1, 3, size, nothing);
  refused(FOVEA_SIZE, FOVEA_ARG_OUT, 20, 0, size, nothing);
  refused(FOVEA_SIZE, FOVEA_ARG_OUT, 20, INT32_MAX, size, nothing);
  refused(FOVEA_TOO_SMALL, FOVEA_ARG_PACKED, 20, 3, size - 1, nothing);
  refused(FOVEA_TOO_SMALL, FOVEA_ARG_PACKED, 65536, 65536, size, nothing);
  refused(FOVEA_RANGE, FOVEA_ARG_X, 20, 3, size, [](fovea_fixed_weights& w) { w.zero_x = 128; });
  refused(FOVEA_NULL, FOVEA_ARG_W, 20, 3, size, [](fovea_fixed_weights& w) { w.rows = nullptr; });
  refused(FOVEA_STRIDE, FOVEA_ARG_W, 20, 3, size, [](fovea_fixed_weights& w) { w.stride = -1; });
  refused(FOVEA_NULL, FOVEA_ARG_SCALE, 20, 3, size, [](fovea_fixed_weights& w) { w.shifts = nullptr; });
  refused(FOVEA_NULL, FOVEA_ARG_SCALE, 20, 3, size, [](fovea_fixed_weights& w) { w.multipliers = nullptr; });
  refused(FOVEA_UNSUPPORTED, FOVEA_ARG_RESERVED, 20, 3, size,
          [](fovea_fixed_weights& w) { w.reserved[2] = 1; });
  refused(FOVEA_OVERLAP, FOVEA_ARG_PACKED, 20, 3, size,
          [&](fovea_fixed_weights& w) { w.rows = to.data() + 8; });
  p.l.bias[2] = INT32_MAX;
  refused(FOVEA_RANGE, FOVEA_ARG_W, 20, 3, size, nothing);
  p.l.bias[2] = INT32_MIN;
  refused(FOVEA_RANGE, FOVEA_ARG_W, 20, 3, size, nothing);
  p.l.bias[2] = 1 << 20, p.l.shifts[2] = 11;
  refused(FOVEA_RANGE, FOVEA_ARG_W, 20, 3, size, nothing);
  p.l.bias[2] = 0, p.l.shifts[2] = 31;
  refused(FOVEA_RANGE, FOVEA_ARG_SCALE, 20, 3, size, nothing);
  p.l.shifts[2] = -32;
  refused(FOVEA_RANGE, FOVEA_ARG_SCALE, 20, 3, size, nothing);
  p.l.shifts[2] = -31, p.l.multipliers[2] = -1;
  refused(FOVEA_RANGE, FOVEA_ARG_SCALE, 20, 3, size, nothing);
  CHECK(fovea_fixed_pack_linear(nullptr, size, 20, 3, nullptr) == (FOVEA_NULL | FOVEA_ARG_W << 8));
  const fovea_fixed_weights w = p.weights();
  CHECK(fovea_fixed_pack_linear(nullptr, size, 20, 3, &w) == (FOVEA_NULL | FOVEA_ARG_PACKED << 8));
  CHECK(fovea_fixed_pack_linear(to.data() + 1, size, 20, 3, &w) == (FOVEA_ALIGN | FOVEA_ARG_PACKED << 8));
}

TEST_CASE("fixed_linear_refuses_calls") {
  problem p(20, 18, 2, 4);
  REQUIRE(p.pack() == FOVEA_OK);
  data::guarded<int8_t> y(2 * 18);
  std::vector<unsigned char> scratch(FOVEA_FIXED_LINEAR_SCRATCH(20, 2));
  const auto refused = [&](int32_t reason, int32_t argument, auto spoil) {
    fovea_fixed_linear w = p.linear();
    fovea_fixed_product call = {};
    call.w = &w, call.x = p.x.data(), call.y = y.data(), call.rows = 2;
    struct {
      void* at;
      size_t size;
    } memory = {scratch.data(), scratch.size()};
    spoil(call, w, memory.at, memory.size);
    CHECK(fovea_fixed_multiply(&call, memory.at, memory.size) == (reason | argument << 8));
    CHECK(y.nothing_written());
  };
  using call_t = fovea_fixed_product;
  using linear_t = fovea_fixed_linear;
  refused(FOVEA_NULL, FOVEA_ARG_W, [](call_t& c, linear_t&, void*&, size_t&) { c.w = nullptr; });
  refused(FOVEA_NULL, FOVEA_ARG_PACKED, [](call_t&, linear_t& w, void*&, size_t&) { w.packed = nullptr; });
  refused(FOVEA_ALIGN, FOVEA_ARG_PACKED,
          [&](call_t&, linear_t& w, void*&, size_t&) { w.packed = p.packed.data() + 2; });
  refused(FOVEA_UNSUPPORTED, FOVEA_ARG_PACKED,
          [&](call_t&, linear_t& w, void*&, size_t&) { w.packed = p.packed.data() + 64; });
  refused(FOVEA_SIZE, FOVEA_ARG_IN, [](call_t&, linear_t& w, void*&, size_t&) { w.in = 21; });
  refused(FOVEA_SIZE, FOVEA_ARG_OUT, [](call_t&, linear_t& w, void*&, size_t&) { w.out = 17; });
  refused(FOVEA_RANGE, FOVEA_ARG_OUT, [](call_t&, linear_t& w, void*&, size_t&) { w.zero_out = -129; });
  refused(FOVEA_RANGE, FOVEA_ARG_OUT, [](call_t&, linear_t& w, void*&, size_t&) { w.low = 5, w.high = 4; });
  refused(FOVEA_RANGE, FOVEA_ARG_OUT, [](call_t&, linear_t& w, void*&, size_t&) { w.high = 128; });
  refused(FOVEA_UNSUPPORTED, FOVEA_ARG_RESERVED,
          [](call_t&, linear_t& w, void*&, size_t&) { w.reserved[0] = 1; });
  refused(FOVEA_UNSUPPORTED, FOVEA_ARG_RESERVED,
          [](call_t& c, linear_t&, void*&, size_t&) { c.reserved[2] = 1; });
  refused(FOVEA_NULL, FOVEA_ARG_X, [](call_t& c, linear_t&, void*&, size_t&) { c.x = nullptr; });
  refused(FOVEA_NULL, FOVEA_ARG_Y, [](call_t& c, linear_t&, void*&, size_t&) { c.y = nullptr; });
  refused(FOVEA_STRIDE, FOVEA_ARG_X, [](call_t& c, linear_t&, void*&, size_t&) { c.x_stride = -20; });
  refused(FOVEA_STRIDE, FOVEA_ARG_Y, [](call_t& c, linear_t&, void*&, size_t&) { c.y_stride = 17; });
  refused(FOVEA_OVERLAP, FOVEA_ARG_Y, [&](call_t& c, linear_t&, void*&, size_t&) { c.x = y.data() + 30; });
  refused(FOVEA_SIZE, FOVEA_ARG_ROWS, [](call_t& c, linear_t&, void*&, size_t&) { c.rows = -1; });
  refused(FOVEA_RANGE, FOVEA_ARG_PART, [](call_t& c, linear_t&, void*&, size_t&) { c.part = {2, 2}; });
  refused(FOVEA_RANGE, FOVEA_ARG_PART, [](call_t& c, linear_t&, void*&, size_t&) { c.part = {0, -1}; });
  refused(FOVEA_RANGE, FOVEA_ARG_PART, [](call_t& c, linear_t&, void*&, size_t&) { c.part = {1, 0}; });
  refused(FOVEA_UNSUPPORTED, FOVEA_ARG_ISA, [](call_t& c, linear_t&, void*&, size_t&) { c.isa = 999; });
  refused(FOVEA_NULL, FOVEA_ARG_SCRATCH, [](call_t&, linear_t&, void*& at, size_t&) { at = nullptr; });
  refused(FOVEA_TOO_SMALL, FOVEA_ARG_SCRATCH, [](call_t&, linear_t&, void*&, size_t& size) { size = 64; });
  refused(FOVEA_OVERLAP, FOVEA_ARG_SCRATCH,
          [&](call_t&, linear_t&, void*& at, size_t&) { at = y.data() - 8; });
  CHECK(fovea_fixed_multiply(nullptr, scratch.data(), scratch.size()) == (FOVEA_NULL | FOVEA_ARG_CALL << 8));
  const fovea_fixed_linear w = p.linear();
  fovea_fixed_product none = {};
  none.w = &w;
  CHECK(fovea_fixed_multiply(&none, scratch.data(), scratch.size()) == FOVEA_OK); // zero rows
}
