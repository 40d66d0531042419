// How deep float calls reach into the stack of a Cortex-M: the numbers of docs/firmware.md are limits.
#include "bench/cost/stack.hpp"

#include <algorithm>

#include "isas.hpp"
#include "problem.hpp"
#include "stored_problem.hpp"

#if defined(FOVEA_SMALL)
namespace {

enum class entry { plain, f32, all };

// In least scratch, and in the best one.
size_t deepest(const fovea_attention& a, entry call) {
  size_t found = 0;
  for (size_t size : {fovea_scratch_least(&a), fovea_scratch_best(&a)}) {
    data::guarded<unsigned char> scratch(size);
    auto* const attend = call == entry::plain ? fovea_attend_plain
                         : call == entry::f32 ? fovea_attend_f32
                                              : fovea_attend;
    attend(&a, scratch.data(), size); // what runs once on a board, such as its unaligned trap, has run
    paint_stack();
    const int32_t status = attend(&a, scratch.data(), size);
    found = std::max(found, stack_painted_over());
    CHECK(status == FOVEA_OK);
  }
  return found;
}

} // namespace

TEST_CASE("stack_of_float_calls_has_a_limit") {
  if (!isas::tested(FOVEA_SCALAR)) return;
  using stored::types;
  constexpr int32_t f32 = FOVEA_F32, f16 = FOVEA_F16, i8 = FOVEA_I8;
  const types floats = {"floats", f32, f32, f32, f32}, halves = {"halves", f16, f16, f16, f16},
              bytes = {"bytes with scales", f32, i8, i8, f16, FOVEA_ROWS, FOVEA_ROWS, true},
              panels = {"panels of bytes", f16, i8, i8, f16, FOVEA_PANELS, FOVEA_PANELS, true};
  const struct {
    shape of;
    types stored;
    entry call;
    size_t limit;
  } rows[] = {
      {shape("plain").lengths(2, 600).dims(17, 25), floats, entry::plain, 1536},
      {shape("plain, a window").lengths(20, 600).dims(16).causal().window(90, 0), floats, entry::plain, 1536},
      {shape("no option").heads(4, 2).lengths(2, 600).dims(17, 25), floats, entry::f32, 1536},
      {shape("kept keys").lengths(2, 900).dims(17).causal().window(300, 0).keep_first(4), floats, entry::f32,
       2048},
      {shape("a softcap").lengths(2, 300).dims(17).softcap(3), floats, entry::f32, 2048},
      {shape("ALiBi").lengths(2, 300).dims(17).alibi(), floats, entry::f32, 2048},
      {shape("a bias").lengths(2, 300).dims(17).mask(mask_kind::bias), floats, entry::f32, 2048},
      {shape("a bool mask").lengths(2, 300).dims(17, 25).mask(mask_kind::shown), floats, entry::f32, 2048},
      {shape("sinks, log-sum-exp").lengths(2, 300).dims(17).sinks().lse(), floats, entry::f32, 2048},
      {shape("a tree").lengths(20, 300).dims(17).tree(7), floats, entry::f32, 2048},
      {shape("weights").lengths(2, 300).dims(17).weights(0), floats, entry::f32, 2048},
      {shape("tree, ALiBi, mask, weights")
           .lengths(20, 300)
           .dims(17)
           .tree(7)
           .alibi()
           .mask(mask_kind::shown)
           .weights(2),
       floats, entry::f32, 2048},
      {shape("no option").lengths(2, 600).dims(17, 25), halves, entry::all, 2048},
      {shape("no option").lengths(2, 600).dims(17, 25), bytes, entry::all, 2048},
      {shape("no option").lengths(2, 600).dims(17, 25), panels, entry::all, 2048},
      {shape("tree, ALiBi, mask, weights")
           .lengths(20, 300)
           .dims(17)
           .tree(7)
           .alibi()
           .mask(mask_kind::bias)
           .weights(2),
       panels, entry::all, 2048},
  };
  for (const auto& row : rows) {
    INFO(doctest::String(row.of.why), ", ", doctest::String(row.stored.why));
    stored::stored_problem p(row.of, row.stored);
    const size_t deep = deepest(p.call(FOVEA_SCALAR), row.call);
    INFO("bytes: ", deep);
    CHECK(deep <= row.limit);
    CHECK(deep > 600); // it was painted: a plan alone takes that
  }
}
#endif
