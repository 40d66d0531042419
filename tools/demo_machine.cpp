// What this machine does: the same attention on every ISA of its CPU, their bits compared and their speed.
#include <algorithm>
#include <chrono>

#include "attention.hpp"
#include "bench/peak.hpp"
#include "bench/stopwatch.hpp"
#include "demo.hpp"
#include "terminal.hpp"

namespace demo {

// Equal bits need fused multiply-add and denormals.
std::string why_own_bits(int32_t isa) {
  if (isa == FOVEA_SSE41 || isa == FOVEA_SCALAR_NO_FMA) return "own: no FMA";
  return isa == FOVEA_NEON ? "own: no denormals" : "";
}

namespace {

// One attention that every ISA computes.
struct work {
  matrix q, k, v;
  int heads;
};

work random_work(int heads, int dim, int queries, int keys) {
  return {random_matrix(queries, heads * dim, 1, 1), random_matrix(keys, heads * dim, 1, 2),
          random_matrix(keys, heads * dim, 1, 3), heads};
}

constexpr int heads = 8, dim = 64, words = 512; // of the work that is timed

std::vector<work> works_of(const request& asked) {
  std::vector<work> works = {random_work(heads, dim, words, words), random_work(2, 20, 17, 4099)};
  if (asked.words.empty()) return works;
  const matrix x = seeded_embeddings(asked.words, asked.dim, asked.seed);
  const projections w = seeded_projections(asked.dim, asked.seed);
  works.push_back({product(x, w.q), product(x, w.k), product(x, w.v), asked.heads});
  return works;
}

std::vector<int32_t> usable_isas() {
  std::vector<int32_t> all;
  for (int32_t isa = 1; isa < FOVEA_ISA_END; ++isa)
    if (fovea_has_isa(isa)) all.push_back(isa);
  return all;
}

// The bytes of all results, one after the other.
std::string results_of(const std::vector<work>& works, int32_t isa) {
  std::string bytes;
  for (const work& one : works) {
    attention_options options;
    options.heads = one.heads;
    options.isa = isa;
    const matrix result = attend(one.q, one.k, one.v, options);
    bytes.append(reinterpret_cast<const char*>(result.values.data()), result.values.size() * sizeof(float));
  }
  return bytes;
}

// Attention and peak in turn, so that both meet the same clock; at most 31 times and about a third of a
// second. Here each head is contiguous, as in ./dev bench. Returns milliseconds, GFLOP/s, peak and share.
row speed_cells(const work& one, int32_t isa) {
  using clock = std::chrono::steady_clock;
  const bench::peak_meter meter(isa);
  attention_options options;
  options.heads = one.heads;
  options.isa = isa;
  matrix result(one.q.rows, one.v.columns);
  fovea_attention call = call_of(one.q, one.k, one.v, result, options);
  for (fovea_in* tensor : {&call.q, &call.k, &call.v}) tensor->token_stride = tensor->head_stride = 0;
  call.out.token_stride = call.out.head_stride = 0;
  std::vector<unsigned char> scratch(fovea_scratch_best(&call));
  std::vector<bench::timing> runs, bare_loops;
  const auto begin = clock::now();
  do {
    runs.push_back(bench::time_of([&] { attend_or_throw(call, scratch); }));
    if (meter.flops() > 0) bare_loops.push_back(meter.time());
  } while (runs.size() < 31 && clock::now() - begin < std::chrono::milliseconds(350));
  const bench::summary run = bench::summarise(runs), bare = bench::summarise(bare_loops);
  const double rate = 4.0 * heads * words * words * dim / run.median * 1e-9;
  const std::string mark = run.disturbed ? bench::disturbed_mark : "";
  // Compilers make vectors of the scalar loops: they have no peak of their own.
  if (isa == FOVEA_SCALAR || isa == FOVEA_SCALAR_NO_FMA || bare_loops.empty())
    return {number(run.median * 1e3, 2) + mark, number(rate, 1), "-", "-"};
  const double peak = meter.flops() / bare.median * 1e-9;
  return {number(run.median * 1e3, 2) + mark, number(rate, 1), number(peak, 1),
          number(100 * rate / peak, 0) + " %"};
}

} // namespace

bool show_machine(page& out, const request& asked) {
  const std::vector<work> works = works_of(asked);
  const std::vector<int32_t> isas = usable_isas();
  table t{"", {"kernel", "hash of results", "bits"}, {}, "lllr"};
  if (asked.timed) t.head.insert(t.head.end(), {"ms", "GFLOP/s", "peak", "share"});
  bool all_same = true;
  std::string reference;
  for (int32_t isa : isas) {
    progress("computing with " + std::string(fovea_isa_name(isa)) +
             format(" (%zu of %zu)", t.rows.size() + 1, isas.size()));
    const std::string results = results_of(works, isa), own = why_own_bits(isa);
    if (reference.empty() && own.empty()) reference = results;
    const bool same = results == reference || !own.empty();
    all_same = all_same && same;
    t.rows.push_back({fovea_isa_name(isa), format("%016llx", static_cast<unsigned long long>(fnv1a(results))),
                      !own.empty() ? own
                      : same       ? "equal"
                                   : "DIFFERENT"});
    const row speed = asked.timed ? speed_cells(works[0], isa) : row();
    t.rows.back().insert(t.rows.back().end(), speed.begin(), speed.end());
  }
  progress("");
  out.heading("This machine: equal bits, and speed");
  out.say(
      "fovea has a kernel for each instruction set. Here every kernel that this CPU can run computes the "
      "same attention on random numbers" +
      std::string(asked.words.empty() ? "." : " and on your sentence."));
  if (asked.timed)
    out.say(format(
        "The speed is that of %d heads of %d dims, %d words, float32, one thread. Peak is the rate of bare "
        "multiply-adds in the same run; share is GFLOP/s divided by peak.",
        heads, dim, words));
  out.show(t);
  out.say(all_same
              ? "Kernels marked \"equal\" agree to the last bit. Kernels without fused multiply-add (FMA) "
                "round differently."
              : "The bits differ: that is a defect of this build. Please report it with this table.");
  const auto estimated = [](const row& cells) { return cells.size() > 3 && cells[3].back() == '*'; };
  if (std::any_of(t.rows.begin(), t.rows.end(), estimated))
    out.say("A * marks an estimate from CPU time: other programs interrupted the measurement.");
  return all_same;
}

} // namespace demo
