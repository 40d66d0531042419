// fovea_board_bench: the works of fovea_bench that fit a microcontroller, in cycles of its core, printed over
// semihosting as a table and as the JSON of fovea_bench.
//   fovea_board_bench [--emulated] [--filter TEXT] [--list]
// --emulated: runs in QEMU with -icount, so instructions are counted. In TEXT "_" stands for a blank.
#include "../../platforms/cortex-m/semihosting.hpp"
#include "result.hpp"
#include "work.hpp"

namespace {

using namespace board;
using bench::shape;

constexpr int all_works = sizeof bench::small_works / sizeof bench::small_works[0];

struct options {
  bool emulated = false, list = false;
  const char* filter = "";
  const char* mistake = nullptr; // what is wrong, in words
};

bool same(const char* a, const char* b) {
  while (*a && *a == *b) ++a, ++b;
  return *a == *b;
}

char lower(char c) { return c == '_' ? ' ' : c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool contains(const char* words, const char* part) {
  for (;; ++words) {
    int i = 0;
    while (part[i] && lower(words[i]) == lower(part[i])) ++i;
    if (!part[i]) return true;
    if (!*words) return false;
  }
}

options parse(int argc, char** argv) {
  options o;
  for (int i = 1; i < argc; ++i) {
    if (same(argv[i], "--emulated")) {
      o.emulated = true;
    } else if (same(argv[i], "--list")) {
      o.list = true;
    } else if (same(argv[i], "--filter") && i + 1 < argc) {
      o.filter = argv[++i];
    } else {
      o.mistake = same(argv[i], "--filter") ? "--filter needs a value: a part of the name of a work"
                                            : "a board has the flags --filter TEXT and --list only";
    }
  }
  return o;
}

bool wanted(const shape& s, const options& o) {
  char name[bench::longest_name];
  bench::write_name(s, name);
  return (s.integers() || has_floats) && contains(name, o.filter);
}

// Samples of one work: the first call has warmed up. Cycles: the least of three samples. Instructions are the
// same each time, and ticks are coarse: so many calls that a tick more or less does not show.
uint64_t count_one(problem& p, const machine& m, int32_t* samples) {
  uint64_t least = UINT64_MAX;
  *samples = m.emulated ? 1 : 3;
  for (int32_t sample = 0; sample < *samples; ++sample) {
    uint64_t ticks = 0, calls = 0;
    const uint64_t enough = m.emulated ? 20000 : 1, begin = read_counter();
    do {
      p.run();
      ++calls;
      ticks = elapsed(begin, read_counter());
    } while (ticks < enough);
    const double each = static_cast<double>(ticks) * m.per_tick / static_cast<double>(calls);
    const uint64_t count = static_cast<uint64_t>(each + 0.5);
    least = count < least ? count : least;
  }
  return least;
}

bool measure(const shape& what, const machine& m, result* r) {
  problem p(what);
  if (!p.fits()) return print_refusal(what, "too little memory on this board"), false;
  const int32_t status = p.run();
  if (status != FOVEA_OK) {
    text reason(fovea_argument_text(status));
    print_refusal(what, reason.add(": ").add(fovea_reason_text(status)).words());
    return false;
  }
  *r = {&what, p.isa_name(), multiply_adds(what), 0, p.digest(), p.scratch_bytes(), 0};
  r->count = count_one(p, m, &r->samples);
  print_row(*r);
  return true;
}

int run(const options& o) {
  static result results[all_works];
  const machine m = find_machine(o.emulated);
  text title("fovea ");
  title.add(version_text().words()).add(", code of " FOVEA_BOARD_NAME " on ").add(core_name());
  if (m.emulated)
    title.add(", emulated: instructions are counted, and say nothing about cycles");
  else
    title.add(m.counter == counter_kind::cyccnt ? ", cycles by CYCCNT" : ", cycles by SysTick");
  write_text(title.add("\n\n").words());
  print_table_head(m);
  int count = 0;
  bool complete = true;
  for (const shape& s : bench::small_works)
    if (wanted(s, o)) measure(s, m, &results[count]) ? void(++count) : void(complete = false);
  write_text("\n");
  print_json(m, results, count);
  return complete ? 0 : 1;
}

int list(const options& o) {
  for (const shape& s : bench::small_works) {
    char name[bench::longest_name];
    bench::write_name(s, name);
    if (wanted(s, o)) write_text(text(name).add('\n').words());
  }
  return 0;
}

int fail(const char* reason) {
  write_text(text("fovea_board_bench: ").add(reason).add('\n').words());
  return 2;
}

} // namespace

int main(int argc, char** argv) {
  const options o = parse(argc, argv);
  if (o.mistake) return fail(o.mistake);
  bool any = false;
  for (const shape& s : bench::small_works) any = any || wanted(s, o);
  if (!any) return fail("no work has a name with this --filter in it; --list shows the names");
  return o.list ? list(o) : run(o);
}
