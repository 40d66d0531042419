// A sample lasts two milliseconds or one call, whichever is longer: threads begin it together, and each
// repeats its part without waiting for the others. Speed-up is against one thread of the same run.
#include "threads.hpp"

#include <algorithm>
#include <cstdio>

#include "chart.hpp"
#include "chosen.hpp"
#include "files.hpp"
#include "machine.hpp"
#include "part_job.hpp"
#include "peak.hpp"
#include "progress.hpp"
#include "report.hpp"

namespace bench {
namespace {

constexpr double least_sample = 2e-3;

struct threads_result {
  const work* what; // null: threads read memory
  std::string name, isa;
  int threads, samples;
  double seconds, single; // of one call, or of one pass over all buffers; of one thread the same
  double bytes;           // read by all threads; else 0
  uint64_t digest;
  bool disturbed;
  conditions at;

  double speedup() const { return bytes > 0 ? single / seconds * threads : single / seconds; }
  double efficiency() const { return speedup() / threads; }
};

std::string line(const std::string& work, const std::string& isa, const std::string& threads,
                 const std::string& time, const std::string& rate, const std::string& speedup,
                 const std::string& efficiency) {
  return format("%-35s %-12s %7s %9s %14s %8s %12s\n", work.c_str(), isa.c_str(), threads.c_str(),
                time.c_str(), rate.c_str(), speedup.c_str(), efficiency.c_str());
}

std::string rate_text(const threads_result& r) {
  return r.what ? format("%.1f GFLOP/s", r.what->flops() / r.seconds * 1e-9)
                : format("%.1f GB/s", r.bytes / r.seconds * 1e-9);
}

std::string table_row(const threads_result& r) {
  const char* const mark = r.disturbed ? disturbed_mark : "";
  return line(r.name, r.isa, std::to_string(r.threads), time_text(r.seconds), rate_text(r),
              format("%.2fx%s", r.speedup(), mark), format("%.0f %%%s", 100 * r.efficiency(), mark));
}

saved_fields fields(const threads_result& r, const run_info& about) {
  saved_fields known = {{"work", quoted(r.name)},
                        {"isa", quoted(r.isa)},
                        {"seconds", format("%.6g", r.seconds)},
                        {"samples", format("%d", r.samples)},
                        {"parts", format("%d", r.what ? r.threads : 1)},
                        {"disturbed", r.disturbed ? "true" : "false"},
                        {"threads", format("%d", r.threads)},
                        {"speedup", format("%.4f", r.speedup())},
                        {"efficiency", format("%.4f", r.efficiency())}};
  if (r.what) {
    const saved_fields of_shape = fields_of_shape(*r.what);
    known.insert(known.end(), of_shape.begin(), of_shape.end());
    known.push_back({"gflops", format("%.6g", r.what->flops() / r.seconds * 1e-9)});
    known.push_back({"scratch", quoted("best")});
    known.push_back({"digest", quoted(format("%016llx", static_cast<unsigned long long>(r.digest)))});
  } else {
    known.push_back({"read_gbs", format("%.6g", r.bytes / r.seconds * 1e-9)});
  }
  add_circumstances(known, about, r.at);
  return known;
}

class run_of_threads {
 public:
  explicit run_of_threads(const options& o)
      : options_(o), about_(this_run(o.emulated)), chosen_(works_of(o).attention), progress_(steps()) {
    chosen_.erase(std::remove_if(chosen_.begin(), chosen_.end(), [](const work& w) { return !has_parts(w); }),
                  chosen_.end());
    for (int count : o.threads) teams_.push_back(std::make_unique<team>(count));
  }

  int run() {
    print(progress_, about_.text() + "; threads compute parts of one call\n\n");
    print(progress_, line("work", "isa", "threads", "time", "rate", "speed-up", "efficiency"));
    if (options_.filter.empty()) measure_memory();
    for (const work& w : chosen_) measure_work(w);
    print(progress_,
          "\nspeed-up: against one thread. efficiency: speed-up / threads. read: each thread reads memory of "
          "its own.\n" +
              faults_);
    if (any_disturbed(results_)) print(progress_, note_on_disturbed());
    std::vector<saved_fields> all;
    for (const threads_result& r : results_) all.push_back(fields(r, about_));
    const int saved = write_files(options_, all, "");
    return saved != 0 ? saved : faults_.empty() ? 0 : 1;
  }

 private:
  size_t steps() const { return chosen_.size() * options_.isas.size() + 1; }

  void add(threads_result r) {
    r.at = conditions_now();
    results_.push_back(r);
    print(progress_, table_row(r));
  }

  template <class Sample>
  summary samples_of(Sample sample) const {
    const pace speed = pace_of(options_);
    std::vector<timing> all;
    const stopwatch watch;
    for (int round = 0; round < speed.rounds; ++round) {
      if (round >= speed.least_rounds && watch.read().wall >= speed.seconds / 4) break;
      all.push_back(undisturbed(sample));
    }
    return summarise(all);
  }

  void measure_memory() {
    const isa_loops& loops = *loops_of(options_.isas.back());
    for (const level& l : memory_levels()) {
      progress_.step("read " + l.name);
      double single = 0;
      for (const auto& all : teams_) {
        std::vector<page_buffer> data;
        for (int i = 0; i < all->count(); ++i) data.emplace_back(l.bytes);
        const int passes = std::max(1, static_cast<int>(least_sample * 20e9 / static_cast<double>(l.bytes)));
        const summary found = samples_of([&] {
          return all->run([&](int thread) {
            const page_buffer& own = data[static_cast<size_t>(thread)];
            for (int pass = 0; pass < passes; ++pass) loops.read[1](own.data(), own.size());
          });
        });
        const double seconds = found.median / passes;
        if (single == 0) single = seconds;
        add({nullptr,
             "read " + l.name,
             fovea_isa_name(options_.isas.back()),
             all->count(),
             found.samples,
             seconds,
             single,
             static_cast<double>(l.bytes) * all->count(),
             0,
             found.disturbed,
             {}});
      }
    }
  }

  void measure_work(const work& w) {
    problem data(w);
    for (int32_t isa : options_.isas)
      for (const kernel& by : kernels_of(w, isa)) {
        progress_.step(w.name() + ", " + fovea_isa_name(isa));
        measure_kernel(data, w, by);
      }
  }

  void measure_kernel(problem& data, const work& w, const kernel& by) {
    const std::string isa = by.integer_isa ? fovea_fixed_isa_name(by.integer_isa) : fovea_isa_name(by.isa);
    double single = 0;
    uint64_t digest = 0;
    for (const auto& all : teams_) {
      part_job job(data, w, by, all->count());
      data.spoil();
      const int calls = job.calls_for(*all, least_sample);
      const uint64_t now = data.digest();
      const summary found = samples_of([&] { return job.sample(*all, calls); });
      if (const int32_t status = job.status()) {
        print(progress_, format("%-35s %-12s refused: %s: %s\n", w.name().c_str(), isa.c_str(),
                                fovea_argument_text(status), fovea_reason_text(status)));
        return;
      }
      const double seconds = found.median / calls;
      if (single == 0) single = seconds, digest = now;
      if (now != digest)
        faults_ += "note: " + w.name() + " on " + isa + " has other bits with " +
                   std::to_string(all->count()) + " threads\n";
      add({&w, w.name(), isa, all->count(), found.samples, seconds, single, 0, now, found.disturbed, {}});
    }
  }

  const options& options_;
  const run_info about_;
  std::vector<work> chosen_;
  progress progress_;
  std::vector<std::unique_ptr<team>> teams_;
  std::vector<threads_result> results_;
  std::string faults_;
};

} // namespace

int run_threads(const options& o) { return run_of_threads(o).run(); }

} // namespace bench
