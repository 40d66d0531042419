// fovea_bench: how fast attention is on this core, as a share of what the core can do.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <iterator>
#include <new>
#include <string>
#include <vector>

#include "against.hpp"
#include "chosen.hpp"
#include "conditions.hpp"
#include "finish.hpp"
#include "fovea/fovea.h"
#include "machine.hpp"
#include "measure.hpp"
#include "options.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "roofline.hpp"
#include "sustained.hpp"
#include "sweep.hpp"
#include "threads.hpp"

namespace {

using namespace bench;

// SSE4.1 and scalar-no-fma have no fused multiply-add: they have bits of their own. So has armv7 NEON, which
// flushes denormals.
bool has_fma(int32_t isa) { return isa != FOVEA_SSE41 && isa != FOVEA_SCALAR_NO_FMA; }
bool promises_bits(const result& r) { return r.integer_isa != 0 || (has_fma(r.isa) && r.isa != FOVEA_NEON); }

// Compares the results of one work, and says what is wrong with them; empty when all is well.
std::string faults(const std::vector<result>& of_one_work) {
  std::string text;
  const result* first = nullptr;
  for (const result& r : of_one_work) {
    if (!r.finite) text += "note: " + r.what.name() + " on " + r.isa_name() + " is not finite\n";
    if (!promises_bits(r)) continue;
    if (!first) first = &r;
    if (r.digest != first->digest)
      text += "note: " + r.what.name() + " has other bits on " + r.isa_name() + " with scratch " +
              scratch_name(r.scratch) + " than on " + first->isa_name() + " with scratch " +
              scratch_name(first->scratch) + "\n";
  }
  return text;
}

struct machine_limits {
  std::vector<level> levels = memory_levels();
  std::vector<limits> of_isas = {};
};

machine_limits measure_machine(const options& o, const run_info& about, progress& p) {
  const std::string now = about.emulated ? "" : conditions_text(conditions_now());
  print(p, about.text() + (now.empty() ? "" : ", " + now) + "; one thread\n\n");
  machine_limits machine;
  for (int32_t isa : o.isas) {
    p.step(std::string("limits of ") + fovea_isa_name(isa));
    machine.of_isas.push_back(limits_of(isa, machine.levels, o.quick));
  }
  print(p, limits_table(machine.levels, machine.of_isas) + "\n");
  return machine;
}

std::vector<result> measure_work(const work& w, const options& o, progress& p) {
  std::vector<result> results;
  p.step(w.name() + ", random numbers");
  problem data(w);
  for (int32_t isa : o.isas)
    for (const kernel& by : kernels_of(w, isa))
      for (scratch_size scratch : o.scratch) {
        p.step(w.name() + ", " + fovea_isa_name(isa));
        const result r = measure(data, w, by, scratch, pace_of(o));
        print(p, table_row(r));
        if (r.status == FOVEA_OK) results.push_back(r);
      }
  return results;
}

// Row operations or products on every ISA go behind `results`; returned is what is wrong with their bits.
template <class Work, class Result>
std::string measure_all(const std::vector<Work>& works, const std::string& head, const options& o,
                        progress& p, std::vector<Result>& results) {
  std::string found;
  if (!works.empty()) print(p, "\n" + head);
  for (const Work& w : works) {
    uint64_t first = 0;
    for (int32_t isa : o.isas) {
      p.step(w.name() + ", " + fovea_isa_name(isa));
      const Result r = measure(w, isa, pace_of(o));
      print(p, table_row(r));
      if (r.status == FOVEA_OK) results.push_back(r);
      if (r.status != FOVEA_OK || !has_fma(isa)) continue;
      if (first != 0 && r.digest != first)
        found += "note: " + w.name() + " has other bits on " + fovea_isa_name(isa) + "\n";
      first = r.digest;
    }
  }
  print(p, found);
  return found;
}

// One line under the pictures; the clock and temperature are those of the last result of attention.
std::string circumstances(const all_results& all) {
  const std::string at = all.attention.empty() || all.about.emulated
                             ? ""
                             : conditions_text(all.attention.back().at);
  return all.about.text() + (at.empty() ? "" : ", " + at);
}

std::string note_on_left_out(const options& o, size_t count) {
  return std::to_string(count) + " works of more than " + std::to_string(std::lround(o.most_flops * 1e-6)) +
         " million operations are left out: --most\n\n";
}

std::string pictures(const machine_limits& machine, const all_results& all_of_run,
                     const std::vector<saved_result>& before, const std::string& path) {
  const std::vector<result>& results = all_of_run.attention;
  std::vector<drawing> all;
  std::vector<result> drawn; // other types have the roofs of floats, and would hide them
  std::copy_if(results.begin(), results.end(), std::back_inserter(drawn),
               [](const result& r) { return r.what.type == dtype::f32 || r.what.type == dtype::int8; });
  if (!drawn.empty()) all.push_back(roofline(machine.levels, machine.of_isas, drawn));
  if (!before.empty()) all.push_back(against_bars(results, before, path));
  return svg_page("fovea on " + all_of_run.about.cpu, circumstances(all_of_run), all);
}

int run(const options& o) {
  const std::vector<saved_result> before = o.against.empty() ? std::vector<saved_result>{}
                                                             : read_saved(o.against);
  const chosen_works chosen = works_of(o);
  const std::vector<work>& works = chosen.attention;
  progress p(o.isas.size() * (1 + chosen.rows.size() + chosen.products.size()) +
             works.size() * (1 + o.isas.size() * o.scratch.size()));
  all_results all;
  all.about = this_run(o.emulated);
  const machine_limits machine = measure_machine(o, all.about, p);
  if (chosen.left_out > 0) print(p, note_on_left_out(o, chosen.left_out));
  if (!works.empty()) print(p, table_head());
  std::vector<result>& results = all.attention;
  std::string found;
  for (const work& w : works) {
    const std::vector<result> of_work = measure_work(w, o, p);
    const std::string fault = faults(of_work);
    print(p, fault);
    found += fault;
    results.insert(results.end(), of_work.begin(), of_work.end());
  }
  found += measure_all(chosen.rows, row_table_head(), o, p, all.rows);
  found += measure_all(chosen.products, linear_table_head(), o, p, all.products);
  print(p,
        "\nshare: of the limit, both as medians. quiet: the 10th percentile of the time instead. of f32: how "
        "many times as fast as floats.\n"
        "bench/README.md says more.\n");
  if (any_disturbed(machine.of_isas) || any_disturbed(results) || any_disturbed(all.rows) ||
      any_disturbed(all.products))
    print(p, note_on_disturbed());
  if (found.empty() && results.size() > works.size())
    print(p,
          "All results are finite, and those of one work have the same bits on every ISA that promises "
          "bits.\n");
  if (!before.empty()) print(p, against_table(results, before, o.against));
  const int saved = write_files(o, fields_of(all), pictures(machine, all, before, o.against));
  return saved != 0 ? saved : found.empty() ? 0 : 1;
}

// Without --isa the best one alone.
options of_best_isa(options o) {
  if (o.every_isa && std::count(o.isas.begin(), o.isas.end(), fovea_isa())) o.isas = {fovea_isa()};
  return o;
}

int start(int argc, char** argv) {
  const options o = parse(argc, argv);
  if (o.help) return std::fputs(help_text().c_str(), stdout) < 0;
  if (!o.list)
    return o.sweep                   ? run_sweep(o)
           : o.sustained_seconds > 0 ? run_sustained(of_best_isa(o))
           : !o.threads.empty()      ? run_threads(of_best_isa(o))
                                     : run(o);
  if (o.sweep) {
    for (const curve& c : curves_with(o.filter)) std::puts(c.name().c_str());
    return 0;
  }
  const chosen_works chosen = works_of(o);
  for (const work& w : chosen.attention) std::puts(w.name().c_str());
  for (const row_work& w : chosen.rows) std::puts(w.name().c_str());
  for (const linear_work& w : chosen.products) std::puts(w.name().c_str());
  return 0;
}

} // namespace

int main(int argc, char** argv) {
  try {
    return finish("fovea_bench", start(argc, argv));
  } catch (const usage_error& error) {
    std::fprintf(stderr, "fovea_bench: %s\n", error.what());
    return 2;
  } catch (const saved_error& error) {
    std::fprintf(stderr, "fovea_bench: --against: %s\n", error.what());
    return 2;
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr,
                 "fovea_bench: not enough memory for the next work; choose smaller ones with --filter\n");
    return 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "fovea_bench: %s\n", error.what());
    return 1;
  }
}
