// What this machine does: which ISA ran, that all of them give the same bits, and how fast they are.
#include <algorithm>
#include <chrono>

#include "attention.hpp"
#include "bench/peak.hpp"
#include "demo.hpp"
#include "terminal.hpp"

namespace demo {
namespace {

// What every ISA computes for the comparison.
struct work {
  std::string name;
  matrix q, k, v;
  int heads;
};

std::string_view bytes_of(const matrix& x) {
  return {reinterpret_cast<const char*>(x.values.data()), x.values.size() * sizeof(float)};
}

std::string digest(const matrix& x) {
  char text[20];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(fnv1a(bytes_of(x))));
  return text;
}

work seeded_work(const std::string& name, int heads, int dim, int queries, int keys) {
  return {name, random_matrix(queries, heads * dim, 1, 1), random_matrix(keys, heads * dim, 1, 2),
          random_matrix(keys, heads * dim, 1, 3), heads};
}

std::vector<work> works_of(const request& asked) {
  std::vector<work> works = {seeded_work("4 x 64, 100 x 300", 4, 64, 100, 300),
                             seeded_work("2 x 20, 17 x 4,099", 2, 20, 17, 4099)};
  if (asked.words.empty()) return works;
  const matrix x = seeded_embeddings(asked.words, asked.dim, asked.seed);
  const projections w = seeded_projections(asked.dim, asked.seed);
  works.insert(works.begin(),
               {"your sentence", product(x, w.q), product(x, w.k), product(x, w.v), asked.heads});
  return works;
}

std::vector<int32_t> usable_isas() {
  std::vector<int32_t> all;
  for (int32_t isa = 1; isa < FOVEA_ISA_END; ++isa)
    if (fovea_has_isa(isa)) all.push_back(isa);
  return all;
}

// The promise of equal bits needs fused multiply-add (SSE4.1 and scalar-no-fma have none) and denormals (NEON
// of armv7 has none).
std::string no_promise(int32_t isa) {
  if (isa == FOVEA_SSE41 || isa == FOVEA_SCALAR_NO_FMA) return "no fma: no bit promise";
  return isa == FOVEA_NEON ? "flushes denormals: no bit promise" : "";
}

matrix run_on(const work& one, int32_t isa) {
  attention_options options;
  options.heads = one.heads;
  options.isa = isa;
  return attend(one.q, one.k, one.v, options);
}

// The row of one ISA: its digests, and whether the bits are those of the reference.
row proof_row(int32_t isa, const std::vector<work>& works, const std::vector<matrix>& reference,
              bool& all_same) {
  row cells = {fovea_isa_name(isa)};
  bool same = true;
  for (size_t i = 0; i < works.size(); ++i) {
    const matrix result = run_on(works[i], isa);
    same = same && bytes_of(result) == bytes_of(reference[i]);
    cells.push_back(digest(result));
  }
  const std::string excuse = no_promise(isa);
  cells.push_back(!excuse.empty() ? excuse : same ? "same bits" : "DIFFERENT");
  all_same = all_same && (same || !excuse.empty());
  return cells;
}

} // namespace

bool show_same_bits(page& out, const request& asked) {
  const std::vector<work> works = works_of(asked);
  std::vector<matrix> reference;
  for (const work& one : works) reference.push_back(run_on(one, usable_isas().front()));
  table t{"Digests of the results. heads x dim, queries x keys.", {"ISA"}, {}, "l"};
  for (const work& one : works) t.head.push_back(one.name);
  t.head.push_back("");
  bool all_same = true;
  for (int32_t isa : usable_isas()) t.rows.push_back(proof_row(isa, works, reference, all_same));
  out.heading("The same bits on every ISA");
  out.say(
      "The same attention, computed by each instruction set of this CPU and compared byte by byte with the "
      "first of them.");
  out.show(t);
  out.say(all_same ? "Equal, to the last bit."
                   : "The bits differ: that is a defect of this build. Please report it with this table.");
  return all_same;
}

namespace {

using stopwatch = std::chrono::steady_clock;

struct pace {
  double median, quiet,
      peak; // seconds of the attention, and of its fastest tenth; flop/s of bare multiply-adds
};

double sample_at(std::vector<double> samples, double share) {
  std::sort(samples.begin(), samples.end());
  return samples[static_cast<size_t>(static_cast<double>(samples.size()) * share)];
}

// Attention and peak in turn, so that both meet the same clock; at most 31 times and about a third of a
// second.
pace measure(const fovea_attention& call) {
  std::vector<unsigned char> scratch(fovea_scratch_best(&call));
  const bench::peak_meter meter(call.isa);
  std::vector<double> seconds, peaks;
  const auto begin = stopwatch::now();
  do {
    const auto start = stopwatch::now();
    attend_or_throw(call, scratch);
    seconds.push_back(std::chrono::duration<double>(stopwatch::now() - start).count());
    peaks.push_back(meter.sample());
  } while (seconds.size() < 31 && stopwatch::now() - begin < std::chrono::milliseconds(350));
  return {sample_at(seconds, 0.5), sample_at(seconds, 0.1), sample_at(peaks, 0.5)};
}

row speed_row(const fovea_attention& call, double flops) {
  const pace found = measure(call);
  row cells = {fovea_isa_name(call.isa),
               number(found.median * 1e3, 2),
               number(flops / found.median * 1e-9, 1),
               "-",
               "-",
               "-"};
  const bool scalar = call.isa == FOVEA_SCALAR || call.isa == FOVEA_SCALAR_NO_FMA;
  if (scalar || found.peak <= 0)
    return cells; // compilers make vectors of scalar code: it has no peak of its own
  cells[3] = number(found.peak * 1e-9, 1);
  cells[4] = number(100 * flops / found.median / found.peak, 1) + " %";
  cells[5] = number(100 * flops / found.quiet / found.peak, 1) + " %";
  return cells;
}

// The call that is timed, with memory of its own.
struct prefill {
  static constexpr int heads = 8, dim = 64, tokens = 512;
  matrix q = numbers(1), k = numbers(2), v = numbers(3), out = matrix(heads * tokens, dim);

  static matrix numbers(uint64_t seed) { return random_matrix(heads * tokens, dim, 1, seed); }
  static double flops() { return 4.0 * heads * tokens * tokens * dim; }

  fovea_attention call(int32_t isa) {
    fovea_attention a = {};
    a.q.data = q.values.data();
    a.k.data = k.values.data();
    a.v.data = v.values.data();
    a.out.data = out.values.data();
    a.q_heads = heads;
    a.dim = dim;
    a.queries = a.keys = tokens;
    a.isa = isa;
    return a;
  }
};

} // namespace

void show_speed(page& out) {
  prefill work;
  table t{"Prefill, 8 heads x 64 dims x 512 tokens, one thread.",
          {"ISA", "ms", "GFLOP/s", "peak", "share of it", "when undisturbed"},
          {}};
  for (int32_t isa : usable_isas()) {
    progress("timing " + std::string(fovea_isa_name(isa)));
    t.rows.push_back(speed_row(work.call(isa), prefill::flops()));
  }
  progress("");
  out.heading("Speed");
  out.say(
      "The peak is what bare multiply-adds reach on the same core in the same second. Medians of up to 31 "
      "runs; undisturbed is the fastest "
      "tenth of them. ./dev bench measures more.");
  out.show(t);
}

} // namespace demo
