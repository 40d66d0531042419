// The command line program `fovea`: shows how attention computes, and what this machine makes of it.
#include <csignal>
#include <cstdio>
#include <new>
#include <string>
#include <vector>

#include "commands.hpp"
#include "demo.hpp"
#include "output.hpp"
#include "pack.hpp"
#include "sentence_model.hpp"
#include "story_model.hpp"
#include "svg.hpp"
#include "terminal.hpp"

namespace {

using namespace demo;

struct example {
  const char* name;
  const char* title;
  void (*show)(page& out, const setup& how);
};

// In the order in which they build on each other.
const std::vector<example> examples = {
    {"cat", "The cat sat: attention by hand", show_cat},
    {"scale", "Why scores are divided by sqrt(d)", show_scale},
    {"geometry", "Attention moves a vector", show_geometry},
    {"bank", "One word, two sentences, two vectors", show_bank},
    {"it", "What \"it\" refers to", show_it},
    {"method", "The whole method in one table", show_method},
    {"heads", "Two heads, two readings", show_heads},
    {"translation", "Attention between two sentences", show_translation},
    {"apple", "The same word twice in one sentence", show_apple},
};

std::string version_text() {
  const int32_t version = fovea_version();
  return format("%d.%d.%d", version / 10000, version / 100 % 100, version % 100);
}

const char* const help_text =
    "fovea: attention for the CPUs of edge devices\n"
    "\n"
    "  fovea demo [flags]     attention on worked examples or on your own sentence\n"
    "  fovea stories [flags]  a small language model that writes stories\n"
    "  fovea embed [flags]    embeddings of lines of text, by the model all-MiniLM-L6-v2\n"
    "  fovea bank [flags]     what this model makes of one word in two sentences\n"
    "  fovea tokens [flags]   the tokens that this model reads\n"
    "  fovea attend [flags]   attention on arrays of numpy\n"
    "  fovea pack [flags]     weights of a model file as a C header or an image for flash\n"
    "  fovea size [flags]     bytes of scratch, caches, weights and code for given sizes\n"
    "  fovea scale [flags]    the integers of a fovea_fixed_scale, for C\n"
    "  fovea info             version, CPU, caches and instruction sets\n"
    "  fovea isa              the instruction sets that calls may use here\n"
    "  fovea version          the version of the library\n"
    "  fovea help             this text\n"
    "\n"
    "fovea demo --help lists the flags of demo; so do the others.\n";

std::string demo_help() {
  return "fovea demo [flags]\n\nWithout flags: equal bits and speed on this machine, then all worked "
         "examples in short.\n\n" +
         flags_help(demo_flags()) +
         "\n  fovea demo --sentence \"the cat sat on the mat\" --heads 2 --svg attention.svg\n";
}

std::string examples_list() {
  std::string text;
  for (size_t i = 0; i < examples.size(); ++i)
    text += format("  %zu  %-12s  %s\n", i + 1, examples[i].name, examples[i].title);
  return text;
}

size_t example_index(const std::string& wanted) {
  for (size_t i = 0; i < examples.size(); ++i)
    if (wanted == examples[i].name || wanted == std::to_string(i + 1)) return i;
  throw usage_error("there is no example " + quote(wanted) +
                    ": fovea demo --list has their names and numbers");
}

void show_example(page& out, size_t index, int32_t isa, bool brief) {
  out.heading(format("%zu  %s", index + 1, examples[index].title));
  examples[index].show(out, {isa, brief});
}

void show_introduction(page& out, int32_t isa) {
  const int32_t used = isa == FOVEA_ISA_BEST ? fovea_isa() : isa;
  const char* name = used == 0 ? "of none: this build refuses floats" : fovea_isa_name(used);
  out.heading("fovea " + version_text() + ": attention on the CPU");
  out.say(
      "fovea computes attention on the CPUs of edge devices. Attention gives each word of a sentence a new "
      "vector, which collects what the word needs from the other words:");
  out.apart({"  out_i = sum_j w_ij v_j", "  w_ij  = softmax_j(q_i . k_j / sqrt(d))"});
  out.say(
      format("q, k and v (query, key, value) are vectors of a word with d dims. w_ij is the weight that word "
             "i gives to word j. The examples below are computed by the kernel %s.",
             name));
}

void show_examples(page& out, const request& asked) {
  if (!asked.words.empty()) return show_sentence(out, asked);
  if (!asked.example.empty()) return show_example(out, example_index(asked.example), asked.isa, false);
  for (size_t i = 0; i < examples.size(); ++i) show_example(out, i, asked.isa, true);
}

// The examples are computed first, so that wrong arguments are refused before the timing.
page page_of_demo(const request& asked, const terminal& shown, bool& same_bits) {
  page examples_page(shown.width, shown.colour), out(shown.width, shown.colour);
  show_examples(examples_page, asked);
  if (asked.svg && examples_page.pictures().empty())
    throw usage_error("--svg has nothing to draw, as this example has no weights: try --example heads");
  show_introduction(out, asked.isa);
  same_bits = show_machine(out, asked);
  out.append(examples_page);
  if (asked.svg) {
    write_whole(*asked.svg, svg_document(out.pictures(), "Attention weights"));
    out.apart(wrap("The pictures are in " + printable(*asked.svg) + ".", shown.width));
  }
  if (asked.words.empty())
    out.apart({"Next: fovea demo --example heads", "or:   fovea demo --sentence \"your words\""});
  return out;
}

int run_demo(const std::vector<std::string>& arguments) {
  const request asked = read_request(arguments);
  bool same_bits = true;
  const terminal shown = terminal_of_output(asked.plain, asked.color);
  const std::string text = asked.help   ? demo_help()
                           : asked.list ? examples_list()
                                        : page_of_demo(asked, shown, same_bits).text();
  print(shown.utf8 ? text : to_ascii(text));
  return same_bits ? 0 : 1;
}

std::string isa_text() {
  table t{"", {"ISA", "here", "bits"}, {}, "l"};
  for (int32_t isa = 1; isa < FOVEA_ISA_END; ++isa) {
    const std::string here = isa == fovea_isa() ? "the best" : fovea_has_isa(isa) ? "yes" : "no";
    const std::string own = why_own_bits(isa);
    t.rows.push_back({fovea_isa_name(isa), here, own.empty() ? "equal" : own});
  }
  page out(terminal_of_output(true, false).width, false);
  out.show(t);
  return to_ascii(out.text());
}

int run(const std::string& command, const std::vector<std::string>& arguments) {
  if (command == "demo") return run_demo(arguments);
  if (command == "embed") return run_embed(arguments);
  if (command == "bank") return run_bank(arguments);
  if (command == "tokens") return run_tokens(arguments);
  if (command == "stories") return run_stories(arguments);
  if (command == "pack") return run_pack(arguments);
  if (command == "attend") return run_attend(arguments);
  if (command == "size") return run_size(arguments);
  if (command == "scale") return run_scale(arguments);
  if (command == "info") return run_info(arguments);
  const bool help = command == "help" || command == "--help" || command == "-h";
  const bool version = command == "version" || command == "--version";
  if (!help && !version && command != "isa")
    throw usage_error(
        "there is no command " + quote(command) +
        ": choose demo, stories, embed, bank, tokens, pack, attend, size, scale, info, isa, version or help");
  const bool of_command = arguments == std::vector<std::string>{"--help"};
  if (!arguments.empty() && !of_command)
    throw usage_error("the command " + command + " takes nothing more: leave out " + quote(arguments[0]));
  print(help || of_command ? help_text : version ? "fovea " + version_text() + "\n" : isa_text());
  return 0;
}

} // namespace

int main(int count, char** words) {
#if defined(SIGPIPE)
  std::signal(SIGPIPE, SIG_IGN); // a closed pipe is then an error of print
#endif
  std::vector<std::string> arguments(words + (count > 1 ? 2 : count), words + count);
  try {
    return run(count > 1 ? words[1] : "help", arguments);
  } catch (const std::exception& failed) {
    progress("");
    const bool is_memory = dynamic_cast<const std::bad_alloc*>(&failed) != nullptr;
    const std::string sentence = std::string("fovea: ") +
                                 (is_memory ? "there is not enough memory for this: give smaller sizes"
                                            : failed.what()) +
                                 ".\n";
    std::fputs((terminal_of_output(false, false).utf8 ? sentence : to_ascii(sentence)).c_str(), stderr);
    return 1;
  }
}
