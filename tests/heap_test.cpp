// The library takes no memory from the heap, sets no errno and changes no floating-point mode. For systems
// that have these things.
#include <doctest/doctest.h>

#include <cerrno>
#include <cfenv>
#include <cstdlib>

#include "isas.hpp"
#include "problem.hpp"
#include "report.hpp"

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define FOVEA_COUNTS_MALLOC 1
#endif

#ifdef FOVEA_COUNTS_MALLOC
namespace {
bool counting = false;
int allocations = 0;
} // namespace

// Everything that takes memory, operator new too, comes through these.
extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* old, size_t size);
void* __libc_memalign(size_t alignment, size_t size);

void* malloc(size_t size) { return allocations += counting, __libc_malloc(size); }
void* calloc(size_t count, size_t size) { return allocations += counting, __libc_calloc(count, size); }
void* realloc(void* old, size_t size) { return allocations += counting, __libc_realloc(old, size); }
void* memalign(size_t alignment, size_t size) {
  return allocations += counting, __libc_memalign(alignment, size);
}
void* aligned_alloc(size_t alignment, size_t size) {
  return allocations += counting, __libc_memalign(alignment, size);
}
}

namespace {

template <class Work>
int allocations_during(const Work& work) {
  allocations = 0;
  counting = true;
  work();
  counting = false;
  return allocations;
}

} // namespace

TEST_CASE("no_call_takes_memory_from_the_heap") {
  const auto allocate = [] {
    const char* volatile some = new char[1]; // volatile: a compiler may leave out what nobody looks at
    delete[] some;
  };
  CHECK(allocations_during(allocate) > 0); // the counter counts
  problem p(shape("two spans, prefill").heads(4, 2).dims(20).lengths(20, 4200).causal());
  problem told(shape("every modifier")
                   .heads(4, 2)
                   .dims(9)
                   .lengths(5, 60)
                   .softcap(5)
                   .alibi()
                   .sinks()
                   .mask(mask_kind::shown)
                   .lse()
                   .weights(0));
  isas::for_each([&](int32_t isa) {
    fovea_attention a = p.call(isa);
    const fovea_attention b = told.call(isa);
    data::guarded<unsigned char> partials(fovea_partials_size(&a)), scratch(fovea_scratch_best(&a));
    data::guarded<float> panels(FOVEA_UP16(p.k.tokens) * static_cast<size_t>(p.k.dim));
    a.partials = partials.data(), a.partials_size = partials.size();
    int32_t failures = 0;
    const int taken = allocations_during([&] {
      failures += fovea_check(&a) != FOVEA_OK;
      failures += fovea_attend(&a, scratch.data(), scratch.size()) != FOVEA_OK;
      failures += fovea_merge(&a) != FOVEA_OK;
      failures += fovea_pack_keys(panels.data(), 0, p.k.data, 0, p.k.tokens, p.k.dim) != FOVEA_OK;
      failures += fovea_attend(&b, scratch.data(), scratch.size()) != FOVEA_OK;
      failures += fovea_isa_name(isa)[0] == 0 || fovea_reason_text(3)[0] == 0 ||
                  fovea_argument_text(3 << 8)[0] == 0;
    });
    CHECK(failures == 0);
    CHECK(taken == 0);
  });
}
#else
TEST_CASE("no_call_takes_memory_from_the_heap") {
  report::skip("allocations are counted with glibc and without sanitizers");
}
#endif

TEST_CASE("errno_and_rounding_mode_stay") {
  problem p(shape("overflowing scores").dims(3).lengths(4, 40).scores(1e38f));
  isas::for_each([&](int32_t isa) {
    const fovea_attention a = p.call(isa);
    std::fenv_t before, after;
    errno = 77;
    CHECK(std::fegetenv(&before) == 0);
    CHECK(attend_in(a, fovea_scratch_best(&a)) == FOVEA_OK);
    CHECK(std::fegetenv(&after) == 0);
    CHECK(errno == 77);
    CHECK(std::fegetround() == FE_TONEAREST);
#if defined(__x86_64__)
    const unsigned flags = 0x3F; // what happened; the rest is the mode
    CHECK((before.__mxcsr & ~flags) == (after.__mxcsr & ~flags));
#endif
  });
}
