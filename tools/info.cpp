// `fovea info`: the version, the CPU, its caches, and the instruction sets that calls may use here.
#include "arguments.hpp"
#include "bench/system.hpp"
#include "commands.hpp"
#include "demo.hpp"
#include "fovea/fixed.h"
#include "output.hpp"
#include "terminal.hpp"

namespace demo {
namespace {

std::string bytes_text(size_t bytes) {
  if (bytes >= size_t{1} << 20) return short_number(static_cast<double>(bytes) / 1048576, 1) + " MiB";
  return short_number(static_cast<double>(bytes) / 1024, 1) + " KiB";
}

std::string caches_text() {
  std::string text;
  for (int level = 1; level <= 4; ++level)
    if (const size_t bytes = bench::cache_size(level, 0))
      text += (text.empty() ? "L" : ", L") + std::to_string(level) + " " + bytes_text(bytes);
  return text.empty() ? "not known to this system" : text;
}

table isas_table() {
  table t{"Instruction sets. Those with equal bits give the same floats; integers are equal on all.",
          {"name", "of", "here", "bits"},
          {},
          "l"};
  for (int32_t isa = 1; isa < FOVEA_ISA_END; ++isa) {
    const std::string own = why_own_bits(isa);
    t.rows.push_back({fovea_isa_name(isa), "floats",
                      isa == fovea_isa()   ? "the best"
                      : fovea_has_isa(isa) ? "yes"
                                           : "no",
                      own.empty() ? "equal" : own});
  }
  for (int32_t isa = 1; isa < FOVEA_FIXED_ISA_END; ++isa)
    t.rows.push_back({fovea_fixed_isa_name(isa), "integers",
                      isa == fovea_fixed_isa()   ? "the best"
                      : fovea_fixed_has_isa(isa) ? "yes"
                                                 : "no",
                      "equal"});
  return t;
}

} // namespace

int run_info(const std::vector<std::string>& arguments) {
  const std::vector<flag> known = {{"--help", "", "this text"}};
  if (parse_flags(arguments, known, "fovea info").count("--help")) {
    print(
        "fovea info\n\nThe version, the CPU, its caches, and the instruction sets that calls may use "
        "here.\n\n" +
        flags_help(known));
    return 0;
  }
  const int32_t version = fovea_version();
  page out(terminal_of_output(true, false).width, false);
  table about{
      "", {"fovea", format("%d.%d.%d", version / 10000, version / 100 % 100, version % 100)}, {}, "l"};
  about.rows = {{"compiler", bench::compiler_name()},
                {"CPU", bench::machine_name()},
                {"caches", caches_text()},
                {"panel order", format("%d (of packed integers)", fovea_fixed_panel_order())}};
  about.ruled = false;
  out.show(about);
  out.show(isas_table());
  print(to_ascii(out.text()));
  return 0;
}

} // namespace demo
