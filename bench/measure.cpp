// Samples are short and alternate: a peak, a pass over K and V, the work. What disturbs one disturbs its
// neighbours, and their medians stay comparable. This is why the loop is plain code: nanobench times one
// thing after another, and shares of limits that were measured at another moment say little on a shared
// machine. Its doNotOptimizeAway serves here all the same.
#include "measure.hpp"

#include <nanobench.h>

#include <algorithm>
#include <cmath>

#include "product_meter.hpp"

namespace bench {
namespace {

int32_t attend(const fovea_attention& call, const page_buffer& scratch) {
  return fovea_attend(&call, scratch.data(), scratch.size());
}
int32_t attend(const fovea_fixed_attention& call, const page_buffer& scratch) {
  return fovea_fixed_attend(&call, scratch.data(), scratch.size());
}

// From floats to floats: the work of quantising is part of the call.
struct call_from_floats : fovea_fixed_attention {
  float_inputs inputs;
};
int32_t attend(const call_from_floats& call, const page_buffer& scratch) {
  const int32_t status = quantise_heads(call.inputs, call);
  return status == FOVEA_OK ? fovea_fixed_attend(&call, scratch.data(), scratch.size()) : status;
}

constexpr double least_sample = 150e-6; // far above the resolution of any clock
constexpr double long_call = 5e-3;      // samples beyond this meet interrupts and neighbours

// One work ready to run: the call, its scratch, and how it is cut into samples.
template <class Call>
struct job {
  Call call;
  page_buffer scratch;
  int32_t parts = 1; // a long call is timed head by head, in turn: the caches hold what the loop over heads
                     // leaves in them
  int32_t next_part = 0;
  int calls = 1; // a short one is repeated
  int32_t status = FOVEA_OK;

  void run() {
    const int32_t now = attend(call, scratch);
    if (now != FOVEA_OK) status = now;
  }

  timing sample() {
    if (parts > 1) call.part = {next_part, parts};
    next_part = (next_part + 1) % parts;
    const timing t = time_of([&] {
      for (int i = 0; i < calls; ++i) run();
    });
    ankerl::nanobench::doNotOptimizeAway(call.out.data);
    return t;
  }

  double whole_calls() const { return static_cast<double>(calls) / parts; } // in one sample
};

size_t bytes_of(scratch_size size, size_t least, size_t best) {
  return size == scratch_size::best    ? best
         : size == scratch_size::least ? least
                                       : std::max(size_t{64} * 1024, least);
}
size_t bytes_of(scratch_size size, const fovea_attention& call) {
  return bytes_of(size, fovea_scratch_least(&call), fovea_scratch_best(&call));
}
size_t bytes_of(scratch_size size, const fovea_fixed_attention& call) {
  return bytes_of(size, fovea_fixed_scratch(&call), fovea_fixed_scratch_best(&call));
}

// What a work of integers is compared with: nothing for floats, else the same work in floats.
struct no_rival {
  timing sample() { return {}; }
  double whole_calls() const { return 1; }
};

// A first call has warmed up; the second tells how to cut the samples.
template <class Call>
void cut(job<Call>& j, const pace& speed) {
  const double once = ran(j.sample());
  j.calls = std::max(1, static_cast<int>(std::ceil(least_sample / once)));
  if (once > long_call && !speed.whole) j.parts = j.call.kv_heads;
}

// The first call checks the result and warms up.
template <class Call>
void check_and_cut(job<Call>& j, problem& p, const pace& speed, result& r) {
  p.spoil();
  j.run();
  r.finite = p.finite();
  r.digest = p.digest();
  cut(j, speed);
}

template <class Call, class Rival>
void take_samples(job<Call>& j, Rival& rival, const page_buffer& cache, const pace& speed, result& r) {
  const product_meter of_bytes(r.isa, r.integer_isa);
  const product_meter meter = of_bytes.knows() ? of_bytes : product_meter(r.isa, 0);
  const isa_loops& loops = *loops_of(r.isa);
  const int passes = std::max(1, static_cast<int>(least_sample * 50e9 / static_cast<double>(cache.size())));
  std::vector<timing> works, peaks, rivals;
  loop_samples reads;
  const stopwatch watch;
  for (int round = 0; round < speed.rounds; ++round) {
    if (round >= speed.least_rounds && watch.read().wall >= speed.seconds) break;
    peaks.push_back(undisturbed([&] { return meter.time(); }));
    if (r.what.decode())
      reads.take(read_loops,
                 [&](int loop) { return time_of_reading(loops, loop, cache.data(), cache.size(), passes); });
    works.push_back(undisturbed([&] { return j.sample(); }));
    rivals.push_back(undisturbed([&] { return rival.sample(); }));
  }
  const summary work = summarise(works), peak = summarise(peaks), read = reads.fastest(),
                in_floats = summarise(rivals);
  r.samples = work.samples;
  r.seconds = work.median / j.whole_calls();
  r.quiet_seconds = work.lowest_tenth / j.whole_calls();
  r.f32_seconds = in_floats.median / rival.whole_calls();
  r.peak = meter.flops() / peak.median;
  r.read = r.what.decode() ? static_cast<double>(cache.size()) * passes / read.median : 0;
  r.quiet_limit = std::max(r.what.flops() / meter.flops() * peak.lowest_tenth, read.lowest_tenth / passes);
  r.disturbed = work.disturbed || peak.disturbed || read.disturbed || in_floats.disturbed;
  r.at = conditions_now();
}

} // namespace

pace pace_of(const options& o) {
  if (o.rounds > 0) return {o.rounds, o.rounds, 0, o.whole};
  return o.quick ? pace{31, 5, 0.5, o.whole} : pace{61, 7, 2.0, o.whole};
}

namespace {

template <class Call, class Rival>
void measure_call(const Call& call, Rival& rival, problem& p, const pace& speed, result& r) {
  r.scratch_bytes = bytes_of(r.scratch, call);
  job<Call> j{call, page_buffer(r.scratch_bytes)};
  check_and_cut(j, p, speed, r);
  if (j.status == FOVEA_OK) take_samples(j, rival, p.cache(), speed, r);
  r.status = j.status;
  r.parts = j.parts;
}

void measure_integers(problem& p, const pace& speed, result& r) {
  const fovea_fixed_attention call = p.integer_call(r.integer_isa);
  const fovea_attention floats = p.call(r.isa);
  job<fovea_attention> rival{floats, page_buffer(fovea_scratch_best(&floats))};
  rival.run();
  cut(rival, speed);
  if (!r.what.from_floats()) return measure_call(call, rival, p, speed, r);
  call_from_floats whole = {};
  static_cast<fovea_fixed_attention&>(whole) = call;
  whole.inputs = p.inputs();
  measure_call(whole, rival, p, speed, r);
}

void measure_floats(problem& p, const pace& speed, result& r) {
  no_rival nobody;
  measure_call(p.call(r.isa), nobody, p, speed, r);
}

} // namespace

std::vector<kernel> kernels_of(const work& w, int32_t isa) {
  if (!w.integers()) return {{isa, 0}};
  constexpr kernel pairs[] = {{FOVEA_SCALAR, FOVEA_FIXED_SCALAR},     {FOVEA_SSE41, FOVEA_FIXED_SSE41},
                              {FOVEA_AVX2, FOVEA_FIXED_AVX2},         {FOVEA_AVX2, FOVEA_FIXED_AVXVNNI},
                              {FOVEA_AVX512, FOVEA_FIXED_AVX512VNNI}, {FOVEA_NEON64, FOVEA_FIXED_NEON},
                              {FOVEA_NEON64, FOVEA_FIXED_DOTPROD},    {FOVEA_NEON64, FOVEA_FIXED_I8MM},
                              {FOVEA_NEON, FOVEA_FIXED_NEON}};
  std::vector<kernel> found;
  for (const kernel& pair : pairs)
    if (pair.isa == isa && fovea_fixed_has_isa(pair.integer_isa)) found.push_back(pair);
  if (isa == FOVEA_SCALAR_NO_FMA && fovea_has_isa(FOVEA_SCALAR) != 1) // the only scalar ISA here
    found.push_back({isa, FOVEA_FIXED_SCALAR});
  return found;
}

result measure(problem& p, const work& w, const kernel& by, scratch_size scratch, const pace& speed) {
  result r{};
  r.what = w;
  r.isa = by.isa;
  r.integer_isa = by.integer_isa;
  r.scratch = scratch;
  const fovea_attention floats = p.call(by.isa);
  const fovea_fixed_attention integers = p.integer_call(by.integer_isa);
  r.status = w.integers() ? fovea_fixed_check(&integers) : fovea_check(&floats);
  if (r.status == FOVEA_OK) w.integers() ? measure_integers(p, speed, r) : measure_floats(p, speed, r);
  return r;
}

} // namespace bench
