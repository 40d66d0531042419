// Samples of an operation alternate with samples of its limit, as those of attention do.
#include "rows.hpp"

#include <nanobench.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <iterator>

#include "exp2.hpp"
#include "f32/kernel.hpp"
#include "fovea/ops.h"
#include "peak.hpp"
#include "random.hpp"
#include "stopwatch.hpp"

namespace bench {
namespace {

constexpr double least_sample = 150e-6;

constexpr row_work table[] = {
    {row_work::softmax, 64, 64},
    {row_work::softmax, 197, 197},
    {row_work::softmax, 512, 512},
    {row_work::softmax, 1, 4096},
    {row_work::softmax, 2048, 2048},
    {row_work::softmax, 8192, 4096},
    {row_work::exp2, 1, 4096},
    {row_work::exp2, 64, 4096},
    {row_work::matvec, 1, 4096},
    {row_work::matvec, 256, 256},
    {row_work::matvec, 2048, 2048},
    {row_work::quantise, 512, 64},
    {row_work::quantise, 4096, 4096},
    {row_work::quantise_tokens, 128, 384},
    {row_work::quantise_tokens, 512, 64},
};

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

size_t bytes_of(double elements) { return sizeof(float) * static_cast<size_t>(elements); }

// The memory of one work; logits as a classifier or attention has them, within a few units of 0.
struct rows_problem {
  explicit rows_problem(const row_work& w)
      : what(w),
        in(bytes_of(w.elements()) + 512),
        out(bytes_of(w.elements()) + 512),
        x(bytes_of(std::max(w.columns, w.rows))) {
    random_numbers random(3);
    for (const page_buffer* buffer : {&in, &x})
      for (size_t i = 0; i < buffer->size() / sizeof(float); ++i)
        buffer->floats()[i] = static_cast<float>(random.sixteen_bits()) * (1.0f / 8192);
  }

  int32_t run(int32_t isa) const {
    if (what.what == row_work::exp2) return run_exp2(isa);
    if (what.quantises()) return run_quantise(isa);
    if (what.what == row_work::matvec)
      return fovea_matvec(in.floats(), 0, x.floats(), what.rows, what.columns, isa, out.floats());
    fovea_softmax_rows s = {};
    s.in = in.floats(), s.out = out.floats();
    s.rows = what.rows, s.columns = what.columns;
    s.isa = isa;
    return fovea_softmax(&s);
  }
  // What the calls of fixed_quantize.h do, on an ISA of choice: the range, which finds NaN, then integers.
  int32_t run_quantise(int32_t isa) const {
    const int32_t place = fovea::f32::find_isa(isa);
    const fovea::f32::float_rows rows = {in.floats(), what.columns, what.columns, what.rows};
    fovea::f32::float_range range;
    fovea::f32::run_at(place, fovea::f32::range_job{rows, &range});
    ankerl::nanobench::doNotOptimizeAway(range);
    float* const scales = what.what == row_work::quantise ? nullptr : x.floats();
    fovea::f32::run_at(place, fovea::f32::quantize_job{rows, 4.0f / 127, 4, 0, scales,
                                                       static_cast<int8_t*>(out.data()), nullptr});
    return FOVEA_OK;
  }
  int32_t run_exp2(int32_t isa) const {
    for (const exp2_kernel* k = exp2_kernels; k->isa != 0; ++k) {
      if (k->isa != isa) continue;
      k->run(in.floats(), out.floats(), what.rows * what.columns);
      return FOVEA_OK;
    }
    return FOVEA_UNSUPPORTED | FOVEA_ARG_ISA << 8;
  }
  void move(const isa_loops& loops, int loop) const {
    const size_t bytes = (bytes_of(what.elements()) + 511) / 512 * 512;
    if (what.only_reads())
      loops.read[loop](in.data(), bytes);
    else
      loops.copy(in.data(), out.data(), bytes);
  }
  uint64_t digest() const {
    const size_t elements = static_cast<size_t>(what.elements()),
                 count = what.what == row_work::matvec ? static_cast<size_t>(what.rows)
                         : what.quantises()            ? elements / sizeof(float)
                                                       : elements;
    word_digest digest;
    for (size_t i = 0; i < count; ++i) {
      uint32_t bits;
      std::memcpy(&bits, out.floats() + i, sizeof bits);
      digest.add(bits);
    }
    return digest.value();
  }

  row_work what;
  page_buffer in, out, x;
};

template <class Run>
timing time_of_calls(int calls, Run run) {
  return time_of([&] {
    for (int i = 0; i < calls; ++i) run();
  });
}

std::string time_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, seconds < 1e-3 ? "%.3g us" : "%.3g ms",
                seconds * (seconds < 1e-3 ? 1e6 : 1e3));
  return text;
}

std::string line(const std::string& work, const char* isa, const std::string& time, const std::string& rate,
                 const std::string& limit, const std::string& share, const std::string& quiet) {
  char text[160];
  std::snprintf(text, sizeof text, "%-35s %-10s %9s %16s %16s %7s %7s\n", work.c_str(), isa, time.c_str(),
                rate.c_str(), limit.c_str(), share.c_str(), quiet.c_str());
  return text;
}

std::string number(double x, int digits, const char* unit = "") {
  char text[48];
  std::snprintf(text, sizeof text, "%.*f%s", digits, x, unit);
  return text;
}

} // namespace

std::string row_work::name() const {
  const auto named = [&](const char* verb) {
    return verb + std::to_string(rows) + "x" + std::to_string(columns);
  };
  if (what == softmax) return named("softmax ");
  if (what == exp2) return named("exp2 ");
  if (what == quantise) return named("quantise ");
  if (what == quantise_tokens) return named("quantise tokens ");
  return rows == 1 ? "dot " + std::to_string(columns)
                   : "matvec " + std::to_string(rows) + "x" + std::to_string(columns);
}

std::vector<row_work> row_works_with(const std::string& filter) {
  std::vector<row_work> chosen;
  std::copy_if(std::begin(table), std::end(table), std::back_inserter(chosen),
               [&](const row_work& w) { return lower(w.name()).find(lower(filter)) != std::string::npos; });
  return chosen;
}

row_result measure(const row_work& w, int32_t isa, const pace& speed) {
  const rows_problem p(w);
  const isa_loops& loops = *loops_of(isa);
  row_result r{};
  r.what = w, r.isa = isa, r.status = p.run(isa);
  if (r.status != FOVEA_OK) return r;
  r.digest = p.digest();
  const auto cut = [](double once) { return std::max(1, static_cast<int>(std::ceil(least_sample / once))); };
  const auto work = [&] { p.run(isa); };
  const int calls = cut(ran(time_of(work)));
  const int moves = cut(ran(time_of([&] { p.move(loops, 0); })));
  std::vector<timing> works;
  loop_samples limits;
  const stopwatch watch;
  for (int round = 0; round < speed.rounds; ++round) {
    if (round >= speed.least_rounds && watch.read().wall >= speed.seconds) break;
    limits.take(w.only_reads() ? read_loops : 1,
                [&](int loop) { return time_of_calls(moves, [&] { p.move(loops, loop); }); });
    works.push_back(undisturbed([&] { return time_of_calls(calls, work); }));
  }
  const summary of_work = summarise(works), of_limit = limits.fastest();
  r.samples = of_work.samples;
  r.seconds = of_work.median / calls;
  r.quiet_seconds = of_work.lowest_tenth / calls;
  r.limit_seconds = of_limit.median / moves;
  r.quiet_limit = of_limit.lowest_tenth / moves;
  r.disturbed = of_work.disturbed || of_limit.disturbed;
  r.at = conditions_now();
  return r;
}

std::string row_table_head() {
  return line("rows of floats", "isa", "time", "rate", "memory", "share %", "quiet %");
}

std::string table_row(const row_result& r) {
  const std::string name = r.what.name();
  if (r.status != FOVEA_OK)
    return name + " refused: " + fovea_argument_text(r.status) + ": " + fovea_reason_text(r.status) + "\n";
  const double giga = r.what.elements() * 1e-9;
  const char* const mark = r.disturbed ? disturbed_mark : "";
  return line(name, fovea_isa_name(r.isa), time_text(r.seconds), number(giga / r.seconds, 2, " Gelem/s"),
              number(giga / r.limit_seconds, 2, " Gelem/s"),
              number(100 * r.limit_seconds / r.seconds, 1, mark),
              number(100 * r.quiet_limit / r.quiet_seconds, 1, mark));
}

} // namespace bench
