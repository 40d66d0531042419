// The test program: doctest, a choice of ISA, and one line of report at the end that a script can read.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>
#include <cstring>
#include <ctime>
#include <sstream>
#include <vector>

#include "isa_choice.hpp"
#include "report.hpp"

namespace {

struct digest_of_isa {
  const char* isa;
  bool promises_bits;
  uint64_t value;
};

struct run_report {
  int passed = 0, failed = 0, skipped = 0;
  const char* skip_reason = nullptr;     // of the test that is running
  std::vector<const char*> skip_reasons; // each once
  std::vector<digest_of_isa> digests;
  double share_of_bound = 0;
  bool accuracy_wanted = false;
  bool times_wanted = false;
};

run_report& the_run() {
  static run_report run;
  return run;
}

void note_skip(const char* reason) {
  auto& known = the_run().skip_reasons;
  for (const char* other : known)
    if (std::strcmp(other, reason) == 0) return;
  known.push_back(reason);
}

void count_test(bool success) {
  run_report& run = the_run();
  if (!success) {
    ++run.failed;
  } else if (run.skip_reason != nullptr) {
    ++run.skipped;
  } else {
    ++run.passed;
  }
  if (run.skip_reason != nullptr) note_skip(run.skip_reason);
  run.skip_reason = nullptr;
}

// One digest speaks for the run when all ISAs that promise bits agree; an ISA without the promise speaks only
// when it is alone.
bool common_digest(uint64_t* digest) {
  const auto& digests = the_run().digests;
  bool found = false;
  for (const digest_of_isa& each : digests) {
    if (digests.size() > 1 && !each.promises_bits) continue;
    if (found && each.value != *digest) return false;
    *digest = each.value;
    found = true;
  }
  return found;
}

void print_report() {
  const run_report& run = the_run();
  for (const digest_of_isa& each : run.digests)
    std::printf("digest: %s %08lx%08lx\n", each.isa, static_cast<unsigned long>(each.value >> 32),
                static_cast<unsigned long>(each.value & 0xFFFFFFFFu));
  if (run.share_of_bound > 0)
    std::printf("error: at most %d/1000 of the bound\n", static_cast<int>(1000 * run.share_of_bound) + 1);
  for (const char* reason : run.skip_reasons) std::printf("report-skip: %s\n", reason);
  char digest[17] = "-";
  uint64_t value = 0;
  if (common_digest(&value))
    std::snprintf(digest, sizeof digest, "%08lx%08lx", static_cast<unsigned long>(value >> 32),
                  static_cast<unsigned long>(value & 0xFFFFFFFFu));
  std::printf("report: isa=%s tests=%d passed=%d failed=%d skipped=%d digest=%s\n", isa_choice::name(),
              run.passed + run.failed + run.skipped, run.passed, run.failed, run.skipped, digest);
}

struct report_listener : doctest::IReporter {
  explicit report_listener(const doctest::ContextOptions&) {}
  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats&) override { print_report(); }
  void test_case_start(const doctest::TestCaseData& test) override {
    name_ = test.m_name;
    if (the_run().times_wanted) began_ = std::clock();
  }
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_end(const doctest::CurrentTestCaseStats& stats) override {
    count_test(stats.testCaseSuccess);
    if (the_run().times_wanted) print_time();
  }
  void test_case_exception(const doctest::TestCaseException& exception) override {
    if (exception.is_crash) tell_contexts();
  }
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData&) override {}
  void log_message(const doctest::MessageData&) override {}
  void test_case_skipped(const doctest::TestCaseData& test) override {
    if (!test.m_skip) return; // left out by a filter: not part of this run
    ++the_run().skipped;
    note_skip("long proofs run with --no-skip");
  }

 private:
  // In hundredths, as an emulated board has no better clock.
  void print_time() const {
    const auto hundredths = static_cast<long>((std::clock() - began_) * 100 / CLOCKS_PER_SEC);
    std::printf("time: %ld.%02ld s %s\n", hundredths / 100, hundredths % 100, name_);
  }

  const char* name_ = ""; // of the test that is running
  clock_t began_ = 0;

  // doctest tells them after a failed check, but not after a crash.
  static void tell_contexts() {
    for (int i = 0; i < get_num_active_contexts(); ++i) {
      std::ostringstream words;
      get_active_contexts()[i]->stringify(&words);
      std::printf("crashed with: %s\n", words.str().c_str());
    }
  }
};

REGISTER_LISTENER("report", 1, report_listener);

} // namespace

void report::skip(const char* reason) { the_run().skip_reason = reason; }

void report::digest(const char* isa, bool promises_bits, uint64_t value) {
  the_run().digests.push_back({isa, promises_bits, value});
}

void report::share_of_bound(double share) {
  if (share > the_run().share_of_bound) the_run().share_of_bound = share;
}

bool report::accuracy_wanted() { return the_run().accuracy_wanted; }

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--list-isas") == 0) {
      isa_choice::list();
      return 0;
    }
    if (std::strcmp(argv[i], "--accuracy") == 0) the_run().accuracy_wanted = true;
    if (std::strcmp(argv[i], "--times") == 0) the_run().times_wanted = true;
    if (std::strncmp(argv[i], "--isa=", 6) == 0 && !isa_choice::choose(argv[i] + 6)) {
      std::fprintf(stderr, "This machine does not run the ISA \"%s\": choose one that --list-isas prints.\n",
                   argv[i] + 6);
      return 2;
    }
  }
  doctest::Context context(argc, argv);
  return context.run();
}
