// The ranges of float calls: their ends are accepted, one step further is refused by name.
#include <doctest/doctest.h>

#include <cstring>
#include <initializer_list>
#include <limits>

#include "fovea/fovea.h"

#if UINTPTR_MAX > 0xffffffffu // counts of 2^31 have addresses
namespace {

constexpr int32_t most = INT32_MAX - 4 * 4096; // of heads, queries and keys
constexpr int32_t any = INT32_MIN;             // an end that a number of 32 bits cannot pass

// Addresses that only validation looks at, 2^56 bytes apart.
void* place(uintptr_t n) { return reinterpret_cast<void*>(n << 56); }

fovea_attention small_call() {
  fovea_attention a = {};
  a.q.data = place(1), a.k.data = place(2), a.v.data = place(3), a.out.data = place(4);
  a.q_heads = a.dim = a.queries = a.keys = 1;
  return a;
}

struct range {
  const char* why;
  int32_t reason, argument, least, most;
  void (*set)(fovea_attention& a, int32_t x);
};

struct scale_case {
  const char* why;
  float x;
  int32_t status;
};

} // namespace

TEST_CASE("the_ends_of_a_range_are_accepted_and_what_lies_beside_it_is_refused") {
  const range ranges[] = {
      {"query heads", FOVEA_SIZE, FOVEA_ARG_HEADS, 1, most,
       [](fovea_attention& a, int32_t x) { a.q_heads = x; }},
      {"query heads of one kv head", FOVEA_SIZE, FOVEA_ARG_HEADS, 1, most,
       [](fovea_attention& a, int32_t x) { a.q_heads = x, a.kv_heads = 1; }},
      {"kv heads of six", FOVEA_SIZE, FOVEA_ARG_HEADS, 0, 3,
       [](fovea_attention& a, int32_t x) { a.q_heads = 6, a.kv_heads = x; }},
      {"dim", FOVEA_SIZE, FOVEA_ARG_DIM, 1, 1024, [](fovea_attention& a, int32_t x) { a.dim = x; }},
      {"dim of values", FOVEA_SIZE, FOVEA_ARG_V_DIM, 0, 1024,
       [](fovea_attention& a, int32_t x) { a.v_dim = x; }},
      {"queries", FOVEA_SIZE, FOVEA_ARG_QUERIES, 0, most,
       [](fovea_attention& a, int32_t x) { a.queries = x; }},
      {"keys", FOVEA_SIZE, FOVEA_ARG_KEYS, 0, most, [](fovea_attention& a, int32_t x) { a.keys = x; }},
      {"first key", FOVEA_RANGE, FOVEA_ARG_FIRST_KEY, 0, most - 10,
       [](fovea_attention& a, int32_t x) { a.keys = 10, a.first_key = x; }},
      {"prefix", FOVEA_RANGE, FOVEA_ARG_PREFIX, 0, any, [](fovea_attention& a, int32_t x) { a.prefix = x; }},
      {"kept keys", FOVEA_RANGE, FOVEA_ARG_KEEP_FIRST, 0, any,
       [](fovea_attention& a, int32_t x) { a.keep_first = x; }},
      {"part of three", FOVEA_RANGE, FOVEA_ARG_PART, 0, 2,
       [](fovea_attention& a, int32_t x) { a.part = {x, 3}; }},
      {"parts", FOVEA_RANGE, FOVEA_ARG_PART, 0, any, [](fovea_attention& a, int32_t x) { a.part = {0, x}; }},
      {"keys of a mask", FOVEA_RANGE, FOVEA_ARG_MASK, 0, any,
       [](fovea_attention& a, int32_t x) { a.mask.data = place(5), a.mask.keys = x; }},
      {"kind of a mask", FOVEA_RANGE, FOVEA_ARG_MASK, 0, 1,
       [](fovea_attention& a, int32_t x) { a.mask.data = place(5), a.mask.is_bias = x; }},
      {"stage of weights", FOVEA_RANGE, FOVEA_ARG_WEIGHTS, 0, 3,
       [](fovea_attention& a, int32_t x) {
         a.weights.data = static_cast<float*>(place(5)), a.weights.stage = x;
       }},
      {"heads of weights", FOVEA_RANGE, FOVEA_ARG_WEIGHTS, 0, 1,
       [](fovea_attention& a, int32_t x) {
         a.weights.data = static_cast<float*>(place(5)), a.weights.heads = x;
       }},
      {"first head of weights", FOVEA_RANGE, FOVEA_ARG_WEIGHTS, 0, 1,
       [](fovea_attention& a, int32_t x) {
         a.weights.data = static_cast<float*>(place(5)), a.weights.first_head = x;
       }},
      {"queries of weights", FOVEA_RANGE, FOVEA_ARG_WEIGHTS, 0, 1,
       [](fovea_attention& a, int32_t x) {
         a.weights.data = static_cast<float*>(place(5)), a.weights.queries = x;
       }},
      {"first query of weights", FOVEA_RANGE, FOVEA_ARG_WEIGHTS, 0, 1,
       [](fovea_attention& a, int32_t x) {
         a.weights.data = static_cast<float*>(place(5)), a.weights.first_query = x;
       }},
  };
  for (const range& r : ranges) {
    INFO(doctest::String(r.why));
    fovea_attention a = small_call();
    const int32_t refused = r.reason | r.argument << 8;
    const auto status_of = [&](int32_t x) {
      CAPTURE(x);
      return r.set(a, x), fovea_check(&a);
    };
    CHECK(status_of(r.least) == FOVEA_OK);
    CHECK(status_of(r.least - 1) == refused);
    CHECK(status_of(INT32_MIN) == refused);
    if (r.most == any) CHECK(status_of(INT32_MAX) == FOVEA_OK);
    if (r.most == any) continue;
    CHECK(status_of(r.most) == FOVEA_OK);
    CHECK(status_of(r.most + 1) == refused);
    CHECK(status_of(INT32_MAX) == refused);
  }
}

TEST_CASE("memory_beyond_the_address_space_is_refused_by_name") {
  const auto refused = [](int32_t argument) { return FOVEA_OVERFLOW | argument << 8; };
  const uintptr_t last = UINTPTR_MAX - 3; // the last float
  fovea_attention a = small_call();
  a.dim = 2;
  const fovea_attention good = a;
  for (uintptr_t from : {last - 4, last - 8}) { // of 8 bytes the end lies behind the last address, or fits
    const bool fits = from == last - 8;
    a = good, a.q.data = reinterpret_cast<void*>(from);
    CHECK(fovea_check(&a) == (fits ? int32_t{FOVEA_OK} : refused(FOVEA_ARG_Q)));
    a = good, a.k.data = reinterpret_cast<void*>(from);
    CHECK(fovea_check(&a) == (fits ? int32_t{FOVEA_OK} : refused(FOVEA_ARG_K)));
    a = good, a.out.data = reinterpret_cast<void*>(from);
    CHECK(fovea_check(&a) == (fits ? int32_t{FOVEA_OK} : refused(FOVEA_ARG_OUT)));
    a = good, a.queries = 2, a.lse = reinterpret_cast<float*>(from);
    CHECK(fovea_check(&a) == (fits ? int32_t{FOVEA_OK} : refused(FOVEA_ARG_LSE)));
    a = good, a.keys = 2, a.mask.data = reinterpret_cast<void*>(from), a.mask.is_bias = 1;
    CHECK(fovea_check(&a) == (fits ? int32_t{FOVEA_OK} : refused(FOVEA_ARG_MASK)));
    a = good, a.keys = 2, a.weights.data = reinterpret_cast<float*>(from);
    CHECK(fovea_check(&a) == (fits ? int32_t{FOVEA_OK} : refused(FOVEA_ARG_WEIGHTS)));
  }
  a = small_call(), a.q_heads = a.queries = most, a.dim = 1024;
  CHECK(fovea_check(&a) == refused(FOVEA_ARG_Q));
  a = small_call(), a.queries = most, a.keys = most, a.weights.data = static_cast<float*>(place(5));
  CHECK(fovea_check(&a) == refused(FOVEA_ARG_WEIGHTS));
  a = small_call(), a.queries = a.q_heads = 1 << 20, a.keys = most, a.v_dim = 1024, a.kv_heads = 1;
  CHECK(fovea_partials_size(&a) == 0); // more than the address space
}

TEST_CASE("scales_and_softcaps_at_the_ends_of_floats") {
  const float largest = std::numeric_limits<float>::max(), infinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto refused = [](int32_t reason, int32_t argument) { return reason | argument << 8; };
  const int32_t no_scale = refused(FOVEA_RANGE, FOVEA_ARG_SCALE),
                no_cap = refused(FOVEA_RANGE, FOVEA_ARG_SOFTCAP);
  const scale_case scales[] = {
      {"zero", 0, FOVEA_OK},
      {"negative", -2, FOVEA_OK},
      {"large", 2e38f, FOVEA_OK},
      {"times log2(e) too large", largest, no_scale},
      {"negative, times log2(e) too large", -largest, no_scale},
      {"infinite", infinity, refused(FOVEA_NOT_FINITE, FOVEA_ARG_SCALE)},
      {"no number", nan, refused(FOVEA_NOT_FINITE, FOVEA_ARG_SCALE)},
  };
  for (const scale_case& s : scales) {
    INFO(doctest::String(s.why));
    fovea_attention a = small_call();
    a.scale = s.x;
    CHECK(fovea_check(&a) == FOVEA_OK); // without its flag nobody looks at it
    a.flags = FOVEA_SCALE;
    CHECK(fovea_check(&a) == s.status);
  }
  const scale_case caps[] = {
      {"off", 0, FOVEA_OK},
      {"off, too", -0.0f, FOVEA_OK},
      {"large", 2e38f, FOVEA_OK},
      {"small", 1e-37f, FOVEA_OK},
      {"times log2(e) too large", largest, no_cap},
      {"its inverse too large", 1e-39f, no_cap},
      {"negative", -1, no_cap},
      {"negative and small", -1e-39f, no_cap},
      {"infinite", infinity, refused(FOVEA_NOT_FINITE, FOVEA_ARG_SOFTCAP)},
      {"no number", nan, refused(FOVEA_NOT_FINITE, FOVEA_ARG_SOFTCAP)},
  };
  for (const scale_case& s : caps) {
    INFO(doctest::String(s.why));
    fovea_attention a = small_call();
    a.softcap = s.x;
    CHECK(fovea_check(&a) == s.status);
  }
}
#endif

TEST_CASE("texts_stand_at_the_numbers_of_the_header") {
  const auto same = [](const char* a, const char* b) { return std::strcmp(a, b) == 0; };
  CHECK(same(fovea_reason_text(FOVEA_OK), "ok"));
  CHECK(same(fovea_argument_text(FOVEA_ARG_CALL << 8), "call"));
  CHECK(same(fovea_argument_text(FOVEA_ARG_COLUMNS << 8), "columns"));
  CHECK(same(fovea_argument_text(FOVEA_ARG_SCRATCH << 8 | FOVEA_TOO_SMALL), "scratch"));
  CHECK(same(fovea_isa_name(FOVEA_ISA_BEST), "best"));
  CHECK(same(fovea_isa_name(FOVEA_NEON64), "neon64"));
  const char* unknown = fovea_isa_name(-1);
  CHECK((same(fovea_isa_name(FOVEA_ISA_END), unknown) && same(fovea_isa_name(INT32_MAX), unknown)));
  CHECK(same(fovea_reason_text(FOVEA_REASON_END), fovea_reason_text(-1)));
  CHECK(same(fovea_argument_text(FOVEA_ARG_END << 8), fovea_argument_text(-1)));
}
