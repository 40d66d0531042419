// Which kind of file it is, and what is wanted of it.
#include "pack.hpp"

#include "c_header.hpp"
#include "fovea/fovea.h"
#include "output.hpp"

namespace demo {
namespace {

std::vector<flag> pack_flags() {
  return {{"--file", "FILE", "a .safetensors file; or a .bin file of llama2.c, which is packed as a whole"},
          {"--header", "OUT", "writes a C header; beside --image it has offsets in place of arrays"},
          {"--image", "OUT", "writes the bytes alone"},
          {"--name", "NAME", "begins all names in the header (weights)"},
          {"--f32", "", "matrices in float32 (so it is without this flag)"},
          {"--f16", "", "of safetensors: matrices in float16"},
          {"--bf16", "", "of safetensors: matrices in bfloat16"},
          {"--int8", "", "matrices in int8, a scale for each output"},
          {"--int4", "", "matrices in int4, a scale for each 32 inputs"},
          {"--helium", "", "integers in the order of cores with Helium, as Cortex-M55"},
          {"--smlad", "", "matrices of int8 in the order that Cortex-M4, M7 and M33 multiply fastest"},
          {"--golden", "", "adds an input and what comes out, for the board's own check"},
          {"--tensors", "NAMES", "of safetensors: only these, with commas between them"},
          {"--join", "NEW=A+B", "of safetensors: packs A, B and so on as one; NEW=A+B,OTHER=C+D"},
          {"--words", "FILE", "of llama2.c: adds the tokenizer, tok512.bin"},
          {"--prompt", "TEXT", "of llama2.c, needs --words: adds caches that have read this text"},
          {"--int8-cache", "", "of llama2.c: caches of int8"},
          {"--help", "", "this text"}};
}

int32_t read_dtype(const flags& given) {
  constexpr struct {
    const char* name;
    int32_t dtype;
  } dtypes[] = {{"--f32", FOVEA_F32},
                {"--f16", FOVEA_F16},
                {"--bf16", FOVEA_BF16},
                {"--int8", FOVEA_I8},
                {"--int4", FOVEA_I4}};
  const char* chosen = nullptr;
  int32_t dtype = FOVEA_F32;
  for (const auto& one : dtypes) {
    if (!given.count(one.name)) continue;
    if (chosen)
      throw usage_error(std::string(chosen) + " and " + one.name + " exclude each other: keep one of them");
    chosen = one.name;
    dtype = one.dtype;
  }
  return dtype;
}

pack_wish read_wish(const flags& given) {
  pack_wish w;
  if (!given.count("--file"))
    throw usage_error("there is no file: add --file model.safetensors or --file stories260K.bin");
  w.file = given.at("--file");
  if (given.count("--header")) w.header = given.at("--header");
  if (given.count("--image")) w.image = given.at("--image");
  if (w.header.empty() && w.image.empty())
    throw usage_error("nothing would be written: add --header weights.h or --image weights.bin");
  w.dtype = read_dtype(given);
  w.name = given.count("--name") ? given.at("--name") : "weights";
  if (!is_identifier(w.name))
    throw usage_error("--name is " + quote(w.name) + ": give a name of C, such as weights");
  w.helium = given.count("--helium") > 0;
  w.smlad = given.count("--smlad") > 0;
  if (w.helium && w.smlad) throw usage_error("--helium excludes --smlad: keep the one of your core");
  if ((w.helium || w.smlad) && w.dtype != FOVEA_I8 && w.dtype != FOVEA_I4)
    throw usage_error("--helium and --smlad are orders of integers: add --int8 or --int4, or leave them out");
  w.golden = given.count("--golden") > 0;
  if (w.golden && w.header.empty()) throw usage_error("--golden goes into a header: add --header weights.h");
  if (given.count("--prompt") && !given.count("--words"))
    throw usage_error("--prompt needs the tokenizer: add --words tok512.bin");
  if (given.count("--prompt") && given.count("--int8-cache") && w.helium)
    throw usage_error("caches of int8 cannot be put in the order of Helium here: leave out --prompt");
  return w;
}

void refuse_flags_of(const flags& given, const std::vector<const char*>& others, const char* kind) {
  for (const char* name : others)
    if (given.count(name)) throw usage_error(std::string(name) + " is for " + kind + " files: leave it out");
}

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

} // namespace

int run_pack(const std::vector<std::string>& arguments) {
  const flags given = parse_flags(arguments, pack_flags(), "fovea pack");
  if (given.count("--help")) {
    print(
        "fovea pack [flags]\n\nTurns the weights of a model file into packed weights for fovea/linear.h, as "
        "a C header "
        "or as a\nbinary image. Prints where each one is. A file that cannot be used leaves nothing "
        "behind.\n\n" +
        flags_help(pack_flags()) +
        "\n  fovea pack --file model.safetensors --int8 --tensors fc.weight,fc.bias --header weights.h "
        "--golden\n"
        "  fovea pack --file stories260K.bin --int8 --header stories.h --name stories\n");
    return 0;
  }
  const pack_wish wish = read_wish(given);
  const minilm::mapped_file file(wish.file);
  if (!file.problem().empty())
    throw usage_error("cannot read " + quote(wish.file) + " (" + file.problem() +
                      "): --file names a .safetensors file or a .bin file of llama2.c");
  if (ends_with(wish.file, ".safetensors")) {
    refuse_flags_of(given, {"--words", "--prompt", "--int8-cache"}, "llama2.c");
    print(pack_safetensors(file, wish, given));
  } else if (ends_with(wish.file, ".bin")) {
    refuse_flags_of(given, {"--tensors", "--join", "--f16", "--bf16"}, "safetensors");
    print(pack_llama2c(file, wish, given));
  } else {
    throw usage_error("--file is " + quote(wish.file) + ": its name must end in .safetensors or .bin");
  }
  return 0;
}

} // namespace demo
