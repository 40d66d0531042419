// The test program of boards without doctest: runs the tests that --test-case names and --test-case-exclude
// does not, counts, and prints the line of report that a script reads.
#include <doctest/doctest.h>

#include <cinttypes>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "isa_choice.hpp"
#include "report.hpp"

namespace {

struct digest_of_isa {
  const char* isa;
  uint64_t value;
};

struct run_report {
  int passed = 0, failed = 0, skipped = 0;
  long checks = 0, failed_checks = 0;
  const doctest::test_case* test = nullptr; // that is running
  bool fails = false, skips = false;        // it does
  bool proofs_skipped = false;
  std::vector<const char*> skip_reasons;
  std::vector<digest_of_isa> digests;
};

run_report& the_run() {
  static run_report run;
  return run;
}

// Does the whole text match a pattern in which * stands for anything?
bool matches(const char* pattern, const char* text) {
  if (*pattern == 0) return *text == 0;
  if (*pattern == '*') return matches(pattern + 1, text) || (*text != 0 && matches(pattern, text + 1));
  return *text == *pattern && matches(pattern + 1, text + 1);
}

// Does the text match one of the patterns between commas?
bool matches_one(const char* patterns, const char* text) {
  for (const char* at = patterns; *at != 0;) {
    const size_t length = std::strcspn(at, ",");
    if (matches(std::string(at, length).c_str(), text)) return true;
    at += length + (at[length] == ',');
  }
  return false;
}

void run_test(const doctest::test_case& test) {
  run_report& run = the_run();
  run.test = &test;
  run.fails = run.skips = false;
  test.run();
  ++(run.fails ? run.failed : run.skips ? run.skipped : run.passed);
}

int print_report() {
  const run_report& run = the_run();
  char digest[17] = "-";
  for (const digest_of_isa& each : run.digests) {
    std::snprintf(digest, sizeof digest, "%016" PRIx64, each.value);
    std::printf("digest: %s %s\n", each.isa, digest);
  }
  if (run.digests.size() != 1) std::strcpy(digest, "-");
  if (run.proofs_skipped) std::puts("report-skip: long proofs run with --no-skip");
  for (const char* reason : run.skip_reasons) std::printf("report-skip: %s\n", reason);
  std::printf("report: isa=%s tests=%d passed=%d failed=%d skipped=%d digest=%s\n", isa_choice::name(),
              run.passed + run.failed + run.skipped, run.passed, run.failed, run.skipped, digest);
  std::printf("[tests] checks: %ld, failed: %ld\n", run.checks, run.failed_checks);
  return run.failed > 0;
}

} // namespace

void doctest::count_check(bool passed, bool required, const char* what, const char* file, int at) {
  run_report& run = the_run();
  ++run.checks;
  if (passed) return;
  ++run.failed_checks;
  if (!run.fails) std::printf("TEST CASE:  %s\n", run.test->name);
  run.fails = true;
  std::printf("%s:%d: ERROR: %s is NOT correct!\n", file, at, what);
  context::tell_all();
  if (!required) return;
  ++run.failed;
  print_report();
  std::exit(1);
}

void report::skip(const char* reason) {
  the_run().skips = true;
  the_run().skip_reasons.push_back(reason);
}

void report::digest(const char* isa, bool, uint64_t value) { the_run().digests.push_back({isa, value}); }

void report::share_of_bound(double) {}
bool report::accuracy_wanted() { return false; }

int main(int argc, char** argv) {
  const char *wanted = "*", *unwanted = "";
  bool no_skip = false;
  for (int i = 1; i < argc; ++i) {
    const char* word = argv[i];
    if (std::strcmp(word, "--list-isas") == 0) return isa_choice::list(), 0;
    if (std::strcmp(word, "--no-skip") == 0) {
      no_skip = true;
    } else if (std::strncmp(word, "--test-case=", 12) == 0) {
      wanted = word + 12;
    } else if (std::strncmp(word, "--test-case-exclude=", 20) == 0) {
      unwanted = word + 20;
    } else if (std::strncmp(word, "--isa=", 6) != 0 || !isa_choice::choose(word + 6)) {
      std::printf(
          "These tests know --list-isas, --isa=%s, --test-case=PATTERNS, --test-case-exclude=PATTERNS and "
          "--no-skip, not \"%s\".\n",
          isa_choice::name(), word);
      return 2;
    }
  }
  for (const doctest::test_case* test = doctest::test_case::first(); test != nullptr; test = test->next) {
    if (!matches_one(wanted, test->name) || matches_one(unwanted, test->name)) continue;
    if (test->skipped && !no_skip) {
      ++the_run().skipped;
      the_run().proofs_skipped = true;
    } else {
      run_test(*test);
    }
  }
  return print_report();
}
