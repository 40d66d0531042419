// Every bad argument is refused with the reason and the name of the argument, and then nothing was written.
#include <doctest/doctest.h>

#include <cstring>
#include <limits>

#include "refusal.hpp"

namespace {

constexpr ptrdiff_t huge_stride = std::numeric_limits<ptrdiff_t>::max();

// A good call and all the memory that a spoiled one might wrongly write to.
struct good_call {
  problem p{shape("a good call").heads(4, 2).dims(8, 6).lengths(3, 20).in(storage::padded_rows)};
  fovea_attention a = p.call();
  data::guarded<float> partials{20000};
  float extra[64] = {};

  good_call() { p.wipe_results(); }
  void give_partials() { a.partials = partials.data(), a.partials_size = partials.size() * sizeof(float); }
};

struct bad_argument {
  const char* why;
  int32_t reason, argument;
  void (*spoil)(good_call&);
};

template <class T>
void move_bytes(T*& pointer, ptrdiff_t bytes) {
  pointer = const_cast<char*>(static_cast<const char*>(pointer)) + bytes;
}

void check_refused(const bad_argument& bad) {
  INFO(doctest::String(bad.why));
  good_call call;
  data::guarded<unsigned char> scratch(fovea_scratch_best(&call.a));
  REQUIRE(fovea_check(&call.a) == FOVEA_OK);
  bad.spoil(call);
  check_refusal(call.a, scratch, bad.reason, bad.argument);
  // How large partials must be is a fair question while the partials are wrong.
  CHECK((bad.argument == FOVEA_ARG_PARTIALS || fovea_partials_size(&call.a) == 0));
  CHECK(fovea_merge(&call.a) != FOVEA_OK);
  CHECK((call.p.out_memory.nothing_written() && call.partials.nothing_written()));
}

template <size_t Count>
void check_all_refused(const bad_argument (&table)[Count]) {
  for (const bad_argument& bad : table) check_refused(bad);
}

} // namespace

TEST_CASE("refuses_missing_and_misaligned_data") {
  const bad_argument table[] = {
      {"no queries given", FOVEA_NULL, FOVEA_ARG_Q, [](good_call& c) { c.a.q.data = nullptr; }},
      {"no keys given", FOVEA_NULL, FOVEA_ARG_K, [](good_call& c) { c.a.k.data = nullptr; }},
      {"no values given", FOVEA_NULL, FOVEA_ARG_V, [](good_call& c) { c.a.v.data = nullptr; }},
      {"no output given", FOVEA_NULL, FOVEA_ARG_OUT, [](good_call& c) { c.a.out.data = nullptr; }},
      {"q is no address of a float", FOVEA_ALIGN, FOVEA_ARG_Q,
       [](good_call& c) { move_bytes(c.a.q.data, 1); }},
      {"k is no address of a float", FOVEA_ALIGN, FOVEA_ARG_K,
       [](good_call& c) { move_bytes(c.a.k.data, 2); }},
      {"v is no address of a float", FOVEA_ALIGN, FOVEA_ARG_V,
       [](good_call& c) { move_bytes(c.a.v.data, 3); }},
      {"out is no address of a float", FOVEA_ALIGN, FOVEA_ARG_OUT,
       [](good_call& c) { move_bytes(c.a.out.data, 1); }},
      {"partials are no floats", FOVEA_ALIGN, FOVEA_ARG_PARTIALS,
       [](good_call& c) {
         c.give_partials();
         move_bytes(c.a.partials, 1);
         c.a.partials_size -= 1;
       }},
  };
  check_all_refused(table);
}

TEST_CASE("refuses_sizes_that_do_not_belong_together") {
  const bad_argument table[] = {
      {"no heads", FOVEA_SIZE, FOVEA_ARG_HEADS, [](good_call& c) { c.a.q_heads = 0; }},
      {"negative heads", FOVEA_SIZE, FOVEA_ARG_HEADS, [](good_call& c) { c.a.q_heads = -4; }},
      {"negative kv heads", FOVEA_SIZE, FOVEA_ARG_HEADS, [](good_call& c) { c.a.kv_heads = -2; }},
      {"both negative", FOVEA_SIZE, FOVEA_ARG_HEADS,
       [](good_call& c) { c.a.q_heads = -4, c.a.kv_heads = -2; }},
      {"kv heads do not divide", FOVEA_SIZE, FOVEA_ARG_HEADS, [](good_call& c) { c.a.kv_heads = 3; }},
      {"more kv heads than heads", FOVEA_SIZE, FOVEA_ARG_HEADS, [](good_call& c) { c.a.kv_heads = 8; }},
      {"no dims", FOVEA_SIZE, FOVEA_ARG_DIM, [](good_call& c) { c.a.dim = 0; }},
      {"negative dims", FOVEA_SIZE, FOVEA_ARG_DIM, [](good_call& c) { c.a.dim = -8; }},
      {"too many dims", FOVEA_SIZE, FOVEA_ARG_DIM, [](good_call& c) { c.a.dim = 1025; }},
      {"negative value dims", FOVEA_SIZE, FOVEA_ARG_V_DIM, [](good_call& c) { c.a.v_dim = -1; }},
      {"too many value dims", FOVEA_SIZE, FOVEA_ARG_V_DIM, [](good_call& c) { c.a.v_dim = 1025; }},
      {"negative queries", FOVEA_SIZE, FOVEA_ARG_QUERIES, [](good_call& c) { c.a.queries = -1; }},
      {"negative keys", FOVEA_SIZE, FOVEA_ARG_KEYS, [](good_call& c) { c.a.keys = -1; }},
      {"the lowest keys", FOVEA_SIZE, FOVEA_ARG_KEYS, [](good_call& c) { c.a.keys = INT32_MIN; }},
  };
  check_all_refused(table);
}

TEST_CASE("refuses_options_out_of_range") {
  const bad_argument table[] = {
      {"a negative first key", FOVEA_RANGE, FOVEA_ARG_FIRST_KEY, [](good_call& c) { c.a.first_key = -1; }},
      {"a negative prefix", FOVEA_RANGE, FOVEA_ARG_PREFIX, [](good_call& c) { c.a.prefix = -1; }},
      {"a negative count of kept keys", FOVEA_RANGE, FOVEA_ARG_KEEP_FIRST,
       [](good_call& c) { c.a.keep_first = -1; }},
      {"a scale that is no number", FOVEA_NOT_FINITE, FOVEA_ARG_SCALE,
       [](good_call& c) { c.a.flags |= FOVEA_SCALE, c.a.scale = std::numeric_limits<float>::quiet_NaN(); }},
      {"an infinite scale", FOVEA_NOT_FINITE, FOVEA_ARG_SCALE,
       [](good_call& c) { c.a.flags |= FOVEA_SCALE, c.a.scale = -std::numeric_limits<float>::infinity(); }},
      {"a part behind the last", FOVEA_RANGE, FOVEA_ARG_PART, [](good_call& c) { c.a.part = {3, 3}; }},
      {"a negative part", FOVEA_RANGE, FOVEA_ARG_PART, [](good_call& c) { c.a.part = {-1, 3}; }},
      {"a negative count of parts", FOVEA_RANGE, FOVEA_ARG_PART, [](good_call& c) { c.a.part = {0, -3}; }},
      {"part 1 of nothing", FOVEA_RANGE, FOVEA_ARG_PART, [](good_call& c) { c.a.part = {1, 0}; }},
      {"partials without room", FOVEA_TOO_SMALL, FOVEA_ARG_PARTIALS,
       [](good_call& c) {
         c.give_partials();
         c.a.partials_size = fovea_partials_size(&c.a) - 1;
       }},
  };
  check_all_refused(table);
}

TEST_CASE("refuses_strides_that_lead_nowhere") {
  const bad_argument table[] = {
      {"queries backwards", FOVEA_STRIDE, FOVEA_ARG_Q, [](good_call& c) { c.a.q.token_stride = -1; }},
      {"query heads backwards", FOVEA_STRIDE, FOVEA_ARG_Q, [](good_call& c) { c.a.q.head_stride = -1; }},
      {"keys backwards", FOVEA_STRIDE, FOVEA_ARG_K, [](good_call& c) { c.a.k.token_stride = -8; }},
      {"key heads backwards", FOVEA_STRIDE, FOVEA_ARG_K, [](good_call& c) { c.a.k.head_stride = -8; }},
      {"values backwards", FOVEA_STRIDE, FOVEA_ARG_V, [](good_call& c) { c.a.v.token_stride = -8; }},
      {"the lowest stride", FOVEA_STRIDE, FOVEA_ARG_V,
       [](good_call& c) { c.a.v.head_stride = std::numeric_limits<ptrdiff_t>::min(); }},
      {"results backwards", FOVEA_STRIDE, FOVEA_ARG_OUT, [](good_call& c) { c.a.out.token_stride = -6; }},
      {"rows of results overlap", FOVEA_STRIDE, FOVEA_ARG_OUT,
       [](good_call& c) { c.a.out.token_stride = 5; }},
      {"heads of results overlap", FOVEA_STRIDE, FOVEA_ARG_OUT,
       [](good_call& c) { c.a.out.head_stride = 5; }},
      {"heads of results fall into rows", FOVEA_STRIDE, FOVEA_ARG_OUT,
       [](good_call& c) { c.a.out.head_stride = c.a.out.token_stride; }},
      {"queries beyond all memory", FOVEA_OVERFLOW, FOVEA_ARG_Q,
       [](good_call& c) { c.a.q.token_stride = huge_stride; }},
      {"keys beyond all memory", FOVEA_OVERFLOW, FOVEA_ARG_K,
       [](good_call& c) { c.a.k.token_stride = huge_stride / 8; }},
      {"key heads beyond all memory", FOVEA_OVERFLOW, FOVEA_ARG_K,
       [](good_call& c) { c.a.k.head_stride = huge_stride; }},
      {"values beyond all memory", FOVEA_OVERFLOW, FOVEA_ARG_V,
       [](good_call& c) { c.a.v.head_stride = huge_stride / 2; }},
      {"results beyond all memory", FOVEA_OVERFLOW, FOVEA_ARG_OUT,
       [](good_call& c) { c.a.out.head_stride = huge_stride / 4; }},
      {"keys that end behind the last position", FOVEA_RANGE, FOVEA_ARG_FIRST_KEY,
       [](good_call& c) { c.a.first_key = INT32_MAX - 5; }},
  };
  check_all_refused(table);
}

TEST_CASE("refuses_memory_used_twice") {
  const bad_argument table[] = {
      {"out is q", FOVEA_OVERLAP, FOVEA_ARG_OUT, [](good_call& c) { c.a.q.data = c.a.out.data; }},
      {"out is k", FOVEA_OVERLAP, FOVEA_ARG_OUT, [](good_call& c) { c.a.k.data = c.a.out.data; }},
      {"out is v", FOVEA_OVERLAP, FOVEA_ARG_OUT, [](good_call& c) { c.a.v.data = c.a.out.data; }},
      {"the last key stands in out", FOVEA_OVERLAP, FOVEA_ARG_OUT,
       [](good_call& c) { c.a.k.data = c.p.out.data - (c.p.k_memory.size() - 1); }},
      {"the first value stands on the last result", FOVEA_OVERLAP, FOVEA_ARG_OUT,
       [](good_call& c) { c.a.v.data = c.p.out.data + c.p.out_memory.size() - 1; }},
      {"partials stand in out", FOVEA_OVERLAP, FOVEA_ARG_PARTIALS,
       [](good_call& c) {
         c.give_partials();
         c.a.partials = c.a.out.data;
       }},
      {"partials stand in v", FOVEA_OVERLAP, FOVEA_ARG_PARTIALS,
       [](good_call& c) {
         c.give_partials();
         c.a.v.data = c.a.partials;
       }},
  };
  check_all_refused(table);
}

TEST_CASE("scratch_is_refused_alone") {
  good_call call;
  const fovea_attention& a = call.a;
  const size_t least = fovea_scratch_least(&a);
  data::guarded<unsigned char> scratch(least);
  CHECK(fovea_attend(&a, nullptr, least) == (FOVEA_NULL | FOVEA_ARG_SCRATCH << 8));
  CHECK(fovea_attend(&a, scratch.data(), least - 1) == (FOVEA_TOO_SMALL | FOVEA_ARG_SCRATCH << 8));
  CHECK(fovea_attend(&a, scratch.data(), 0) == (FOVEA_TOO_SMALL | FOVEA_ARG_SCRATCH << 8));
  CHECK((call.p.out_memory.nothing_written()));
  CHECK(fovea_attend(nullptr, scratch.data(), least) == (FOVEA_NULL | FOVEA_ARG_CALL << 8));
  CHECK(fovea_check(nullptr) == (FOVEA_NULL | FOVEA_ARG_CALL << 8));
  CHECK(fovea_merge(nullptr) == (FOVEA_NULL | FOVEA_ARG_CALL << 8));
  CHECK((fovea_scratch_least(nullptr) == 0 && fovea_scratch_best(nullptr) == 0 &&
         fovea_partials_size(nullptr) == 0));
  CHECK(scratch.nothing_written());
}

TEST_CASE("a_merge_without_partials_is_refused") {
  good_call call;
  CHECK(fovea_check(&call.a) == FOVEA_OK);
  CHECK(fovea_merge(&call.a) == (FOVEA_NULL | FOVEA_ARG_PARTIALS << 8));
  CHECK(call.p.out_memory.nothing_written());
}

TEST_CASE("scratch_that_holds_other_data_is_refused") {
  good_call call;
  const size_t least = fovea_scratch_least(&call.a), floats = least / sizeof(float) + 1;
  data::guarded<float> scratch(floats + call.p.out_memory.size());
  const int32_t expected = FOVEA_OVERLAP | FOVEA_ARG_SCRATCH << 8;
  fovea_attention in_scratch = call.a;
  in_scratch.out.data = scratch.data() + floats - 1;
  CHECK(fovea_attend(&in_scratch, scratch.data(), floats * sizeof(float)) == expected);
  in_scratch.out.data = scratch.data() + floats; // right behind: no overlap
  CHECK(fovea_attend(&in_scratch, scratch.data(), floats * sizeof(float)) == FOVEA_OK);
  for (fovea_in fovea_attention::* input : {&fovea_attention::q, &fovea_attention::k, &fovea_attention::v}) {
    fovea_attention a = call.a;
    data::guarded<float> both(floats + 4000);
    (a.*input).data = both.data() + 3;
    CHECK(fovea_attend(&a, both.data(), floats * sizeof(float)) == expected);
    CHECK(both.nothing_written());
  }
  call.give_partials();
  CHECK(fovea_attend(&call.a, call.partials.data() + 1, least) == expected);
  CHECK((call.p.out_memory.nothing_written() && call.partials.nothing_written()));
}

TEST_CASE("inputs_may_share_memory") {
  good_call call;
  call.a.k.data = call.a.q.data, call.a.v.data = call.a.q.data;
  call.a.keys = call.a.queries, call.a.kv_heads = 4, call.a.v_dim = 8;
  call.a.k.token_stride = call.a.v.token_stride = call.a.q.token_stride;
  call.a.k.head_stride = call.a.v.head_stride = call.a.q.head_stride;
  call.a.out.token_stride = call.a.out.head_stride = 0;
  data::guarded<float> out(4 * 3 * 8);
  call.a.out.data = out.data();
  CHECK(attend_in(call.a, fovea_scratch_best(&call.a)) == FOVEA_OK);
}
