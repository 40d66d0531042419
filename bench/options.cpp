// The flags of fovea_bench, one line each.
#include "options.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>

#include "chosen.hpp"
#include "fovea/fovea.h"
#include "peak.hpp"
#include "sweep.hpp"

namespace bench {

namespace {

constexpr scratch_size ladder[] = {scratch_size::least, scratch_size::k64, scratch_size::best};

bool usable(int32_t isa) { return fovea_has_isa(isa) == 1 && loops_of(isa); }

std::vector<int32_t> usable_isas() {
  std::vector<int32_t> isas;
  for (int32_t isa = FOVEA_ISA_BEST + 1; isa < FOVEA_ISA_END; ++isa)
    if (usable(isa)) isas.push_back(isa);
  return isas;
}

std::vector<std::string> parts_of(const std::string& list) { // between commas
  std::vector<std::string> parts(1);
  for (char c : list)
    if (c == ',')
      parts.emplace_back();
    else
      parts.back() += c;
  return parts;
}

int32_t isa_named(const std::string& name) {
  std::string names;
  for (int32_t isa : usable_isas()) {
    if (name == fovea_isa_name(isa)) return isa;
    names += std::string(names.empty() ? "" : ", ") + fovea_isa_name(isa);
  }
  throw usage_error("--isa " + name + " cannot run here; choose one of: " + names);
}

std::vector<int32_t> isas_named(const std::string& list) {
  std::vector<int32_t> isas;
  for (const std::string& name : parts_of(list)) {
    isas.push_back(isa_named(name));
    if (std::count(isas.begin(), isas.end(), isas.back()) > 1)
      throw usage_error("--isa " + list + " names " + name + " twice; name it once");
  }
  return isas;
}

std::vector<scratch_size> scratch_named(const std::string& name) {
  if (name == "all") return {std::begin(ladder), std::end(ladder)};
  for (scratch_size size : ladder)
    if (name == scratch_name(size)) return {size};
  throw usage_error("--scratch " + name + " is unknown; choose least, 64k, best or all");
}

int whole_number(const std::string& flag, const std::string& text, int most) {
  int number = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  if (parsed.ec != std::errc() || parsed.ptr != end || number < 1 || number > most)
    throw usage_error(flag + " " + text + " is not a number from 1 to " + std::to_string(most));
  return number;
}

constexpr int most_threads = 256;

std::vector<int> thread_counts(const std::string& text) {
  std::vector<int> counts;
  for (const std::string& part : parts_of(text)) {
    counts.push_back(whole_number("--threads", part, most_threads));
    if (counts.size() > 1 && counts.back() <= counts[counts.size() - 2])
      throw usage_error("--threads " + text + " does not ascend; give counts as in 1,2,4");
  }
  return counts;
}

double minutes_from(const std::string& text) {
  char* end = nullptr;
  const double minutes = std::strtod(text.c_str(), &end);
  if (text.empty() || *end || text.find_first_not_of("0123456789.") != std::string::npos ||
      !(minutes >= 0.01 && minutes <= 1440))
    throw usage_error("--sustained " + text + " is not a number of minutes from 0.01 to 1440");
  return minutes;
}

// Found out before the measuring, not after it; a file that was there keeps what it holds until the results
// are written.
std::string writable(const std::string& flag, const std::string& path) {
  std::error_code ignored;
  const bool was_there = std::filesystem::exists(path, ignored);
  std::FILE* file = std::fopen(path.c_str(), "ab");
  if (!file)
    throw usage_error(flag + ": cannot write " + path + " (" + std::strerror(errno) +
                      "); name a file in a folder that you may write to");
  std::fclose(file);
  if (!was_there) std::filesystem::remove(path, ignored);
  return path;
}

bool is_device(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored) && !std::filesystem::is_regular_file(path, ignored);
}

struct flag {
  const char *name, *value, *help; // value: what it is called in the help; null = the flag takes none
  void (*apply)(options&, const std::string& value);
  bool of_works = false; // makes no sense with --sweep
};

constexpr flag flags[] = {
    {"--filter", "TEXT", "only works (or curves) whose name contains TEXT: causal, gqa, \"8x64 512\"",
     [](options& o, const std::string& text) { o.filter = text; }},
    {"--isa", "LIST", "only these ISAs, as in avx2,avx512; without it every ISA this CPU can run",
     [](options& o, const std::string& name) { o.isas = isas_named(name), o.every_isa = false; }},
    {"--quick", nullptr, "fewer samples (of a sweep also fewer sizes): the whole table in under two minutes",
     [](options& o, const std::string&) { o.quick = true; }},
    {"--rounds", "N", "exactly N samples of each result; without it 61, fewer of a slow one, 21 of a sweep",
     [](options& o, const std::string& number) { o.rounds = whole_number("--rounds", number, 100000); }},
    {"--scratch", "SIZE", "scratch memory: least, 64k, best (default), or all three",
     [](options& o, const std::string& name) { o.scratch = scratch_named(name); }, true},
    {"--whole", nullptr, "never time a long call head by head",
     [](options& o, const std::string&) { o.whole = true; }, true},
    {"--most", "MFLOP", "leave out works of more than so many million operations, for slow machines",
     [](options& o, const std::string& number) {
       o.most_flops = 1e6 * whole_number("--most", number, 1000000);
     },
     true},
    {"--emulated", "NAME",
     "this machine is emulated, by NAME: two samples, and --most 10 unless you say otherwise",
     [](options& o, const std::string& name) { o.emulated = name; }},
    {"--threads", "LIST",
     "one call in parts on so many threads each, as in 1,2,4; and what they read together",
     [](options& o, const std::string& counts) { o.threads = thread_counts(counts); }},
    {"--sustained", "MINUTES", "one work for so long: does the rate fall? on the last count of --threads",
     [](options& o, const std::string& minutes) { o.sustained_seconds = 60 * minutes_from(minutes); }},
    {"--json", "FILE", "also write the results as a JSON array",
     [](options& o, const std::string& path) { o.json = writable("--json", path); }, true},
    {"--csv", "FILE", "also write the results as CSV",
     [](options& o, const std::string& path) { o.csv = writable("--csv", path); }},
    {"--svg", "FILE", "also draw the roofline of this core and the works under it, or the curves",
     [](options& o, const std::string& path) { o.svg = writable("--svg", path); }},
    {"--against", "FILE", "compare with a run that --json saved, as text and in the picture",
     [](options& o, const std::string& path) { o.against = path; }, true},
    {"--sweep", nullptr, "time per multiply-accumulate over one size at a time, to find cost cliffs",
     [](options& o, const std::string&) { o.sweep = true; }},
    {"--list", nullptr, "print the names of the works, or with --sweep of the curves",
     [](options& o, const std::string&) { o.list = true; }},
    {"--help", nullptr, "print this text", [](options& o, const std::string&) { o.help = true; }},
};

const flag& flag_named(const std::string& name) {
  for (const flag& f : flags)
    if (name == f.name) return f;
  throw usage_error(name + " is unknown; --help shows what there is");
}

// Takes one flag from the front of the words: "--flag value" or "--flag=value".
const flag& take(options& o, std::deque<std::string>& words) {
  const std::string word = words.front();
  words.pop_front();
  const size_t equals = word.find('=');
  const flag& f = flag_named(word.substr(0, equals));
  if (equals != std::string::npos) words.push_front(word.substr(equals + 1));
  if (!f.value && equals != std::string::npos) throw usage_error(std::string(f.name) + " takes no value");
  if (f.value && (words.empty() || words.front().empty()))
    throw usage_error(std::string(f.name) + " needs a value; see --help");
  f.apply(o, f.value ? words.front() : std::string());
  if (f.value) words.pop_front();
  return f;
}

bool names_nothing(const options& o) {
  if (o.sweep) return curves_with(o.filter).empty();
  return works_of(o).count() == 0;
}

// Threads and a sustained run have tables of their own.
void check_mode(const options& o) {
  const bool threads = !o.threads.empty(), sustained = o.sustained_seconds > 0;
  if (!threads && !sustained) return;
  const std::string mode = sustained ? "--sustained" : "--threads";
  const struct {
    bool given;
    const char* flag;
  } others[] = {{o.sweep, "--sweep"},
                {o.whole, "--whole"},
                {!o.svg.empty(), "--svg"},
                {!o.against.empty(), "--against"},
                {o.scratch.size() != 1 || o.scratch[0] != scratch_size::best, "--scratch"}};
  for (const auto& other : others)
    if (other.given)
      throw usage_error(mode + " makes no sense with " + other.flag + "; leave out one of the two");
}

constexpr double most_flops_emulated = 10e6; // a tenth of a second for each call

} // namespace

const char* scratch_name(scratch_size size) {
  switch (size) {
    case scratch_size::least:
      return "least";
    case scratch_size::k64:
      return "64k";
    default:
      return "best";
  }
}

std::string help_text() {
  std::string text = "fovea_bench: attention against the limits of this core, measured in the same run\n\n";
  for (const flag& f : flags) {
    std::string left = std::string("  ") + f.name + (f.value ? std::string(" ") + f.value : "");
    left.resize(20, ' ');
    text += left + f.help + "\n";
  }
  return text;
}

options parse(int argc, char** argv) {
  options o;
  o.isas = usable_isas();
  std::deque<std::string> words(argv + (argc > 0), argv + argc);
  std::string of_works;
  while (!words.empty())
    if (const flag& f = take(o, words); f.of_works) of_works = f.name;
  if (o.sweep && !of_works.empty())
    throw usage_error(of_works + " makes no sense with --sweep; leave out one of the two");
  check_mode(o);
  for (const auto& [one, other] :
       {std::pair{o.json, o.csv}, std::pair{o.json, o.svg}, std::pair{o.csv, o.svg}})
    if (!one.empty() && one == other && !is_device(one))
      throw usage_error(one + " is named twice; give each file a name of its own");
  if (!o.emulated.empty()) {
    if (o.rounds == 0) o.rounds = 2;
    if (o.most_flops == 0) o.most_flops = most_flops_emulated;
    o.quick = true;
  }
  if (names_nothing(o))
    throw usage_error(std::string(o.sweep ? "no curve" : "no work") + " has a name with \"" + o.filter +
                      "\" in it" + (o.most_flops > 0 && !o.sweep ? " and is as short as --most says" : "") +
                      "; --list shows the names");
  return o;
}

} // namespace bench
