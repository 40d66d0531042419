// The command line program `fovea`: shows how attention computes, and what this machine makes of it.
#include <cstdio>
#include <string>
#include <vector>

#include "demo.hpp"
#include "output.hpp"
#include "svg.hpp"
#include "terminal.hpp"

namespace {

using namespace demo;

std::string version_text(int32_t version) {
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

const char* const help_text =
    "fovea: attention on memory that the caller owns\n"
    "\n"
    "  fovea demo [flags]  worked examples, or your own sentence, step by step\n"
    "  fovea isa           the instruction sets that calls may use here\n"
    "  fovea version       the version of the library\n"
    "  fovea help          this text\n"
    "\n"
    "fovea demo --help lists the flags of demo.\n";

std::string demo_help() {
  return "fovea demo [flags]\n\nWithout flags: all worked examples in short, the proof of equal bits, and "
         "the speed.\n\n" +
         flags_help(demo_flags()) +
         "\n  fovea demo --sentence \"the cat sat on the mat\" --heads 2 --svg attention.svg\n";
}

std::string examples_list() {
  std::string text;
  for (size_t i = 0; i < examples().size(); ++i)
    text += "  " + std::to_string(i + 1) + "  " + pad_right(examples()[i].name, 12) + "  " +
            examples()[i].title + "\n";
  return text;
}

size_t example_index(const std::string& wanted) {
  for (size_t i = 0; i < examples().size(); ++i)
    if (wanted == examples()[i].name || wanted == std::to_string(i + 1)) return i;
  throw usage_error("there is no example \"" + wanted + "\": fovea demo --list has their names and numbers");
}

void show_example(page& out, size_t index, int32_t isa, bool brief) {
  const example& one = examples()[index];
  out.heading(std::to_string(index + 1) + "  " + one.title);
  one.show(out, {isa, brief});
}

void show_what_is_asked(page& out, const request& asked) {
  if (!asked.words.empty()) return show_sentence(out, asked);
  if (!asked.example.empty()) return show_example(out, example_index(asked.example), asked.isa, false);
  for (size_t i = 0; i < examples().size(); ++i) show_example(out, i, asked.isa, true);
}

std::string isa_used(const request& asked) {
  const int32_t isa = asked.isa == FOVEA_ISA_BEST ? fovea_isa() : asked.isa;
  return std::string("Computed by fovea ") + version_text(fovea_version()) + " on " + fovea_isa_name(isa) +
         ".";
}

// Prints what is complete; the exit code.
int finish(const std::string& text) {
  if (print(text)) return 0;
  throw std::runtime_error("cannot write the output: is the disk full, or the reader gone?");
}

int run_demo(const std::vector<std::string>& arguments) {
  const request asked = read_request(arguments);
  if (asked.help) return finish(demo_help());
  if (asked.list) return finish(examples_list());
  page out(style_of_output(asked.plain, asked.color));
  show_what_is_asked(out, asked);
  if (asked.svg && out.pictures().empty())
    throw usage_error("--svg has nothing to draw, this example has no weights: try --example heads");
  const bool same = show_same_bits(out, asked);
  if (asked.timed) show_speed(out);
  out.line("");
  out.say(isa_used(asked));
  if (asked.svg) {
    write_whole(*asked.svg, svg_document(out.pictures(), "Attention weights"));
    out.say("The pictures are in " + *asked.svg + ".");
  }
  return finish(out.text()) == 0 && same ? 0 : 1;
}

bool has_bits_of_its_own(int32_t isa) {
  return isa == FOVEA_SSE41 || isa == FOVEA_SCALAR_NO_FMA || isa == FOVEA_NEON;
}

std::string isa_text() {
  table t{"", {"ISA", "here", "same bits as all others"}, {}};
  t.align = "l";
  for (int32_t isa = 1; isa < FOVEA_ISA_END; ++isa) {
    const std::string here = isa == fovea_isa() ? "the best" : fovea_has_isa(isa) ? "yes" : "no";
    t.rows.push_back({fovea_isa_name(isa), here, has_bits_of_its_own(isa) ? "no" : "yes"});
  }
  std::string text;
  for (const std::string& line : table_lines(t, style_of_output(true, false))) text += line + "\n";
  return text;
}

void expect_no_more(const std::vector<std::string>& arguments, const std::string& command) {
  if (!arguments.empty())
    throw usage_error("the command " + command + " takes nothing more: leave out \"" + arguments[0] + "\"");
}

int run(const std::string& command, const std::vector<std::string>& arguments) {
  if (command == "demo") return run_demo(arguments);
  if (command == "help" || command == "--help" || command == "-h") return finish(help_text);
  if (arguments == std::vector<std::string>{"--help"}) return finish(help_text);
  expect_no_more(arguments, command);
  if (command == "isa") return finish(isa_text());
  if (command == "version" || command == "--version")
    return finish("fovea " + version_text(fovea_version()) + "\n");
  throw usage_error("there is no command \"" + command + "\": choose demo, isa, version or help");
}

} // namespace

int main(int count, char** words) {
  std::vector<std::string> arguments(words + (count > 1 ? 2 : count), words + count);
  try {
    return run(count > 1 ? words[1] : "help", arguments);
  } catch (const usage_error& wrong) {
    std::fprintf(stderr, "fovea: %s.\n", wrong.what());
    return 2;
  } catch (const std::exception& failed) {
    std::fprintf(stderr, "fovea: %s\n", failed.what());
    return 1;
  }
}
