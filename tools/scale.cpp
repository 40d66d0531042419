// `fovea scale`: the integers of a fovea_fixed_scale, for projects in C, which cannot use fixed.hpp.
#include "arguments.hpp"
#include "commands.hpp"
#include "fovea/fixed.hpp"
#include "output.hpp"

namespace demo {
namespace {

std::vector<flag> scale_flags() {
  return {
      {"--q", "S", "the scale of q: real = scale * integer"},
      {"--k", "S", "the scale of k"},
      {"--v", "S", "the scale of v"},
      {"--out", "S", "the scale of integer output (none: output in float)"},
      {"--largest", "", "--q, --k, --v and --out are the largest sizes of numbers, not scales"},
      {"--dim", "N", "numbers of a row of q and k, 1 to 1024"},
      {"--max-keys", "N", "max_keys of the call, up to 131072 (512)"},
      {"--softmax", "X", "what scores are multiplied by (1 / sqrt(dim))"},
      {"--s16", "", "q, k and v have 16 bits"},
      {"--zero-points", "", "q and k have zero points"},
      {"--name", "NAME", "of the constant in C (scale)"},
      {"--product", "X", "alone: multiplier and shift of fixed_linear.h, for scale_x * scale_w / scale_y"},
      {"--help", "", "this text"}};
}

double scale_of(const flags& given, const char* name, double steps) {
  return real_number(given, name, 0, 1e-30, 1e30) / (given.count("--largest") ? steps : 1);
}

std::string product_text(const flags& given) {
  if (given.size() > 1) throw usage_error("--product stands alone: leave out the other flags");
  const double real = real_number(given, "--product", 0, 2.4e-10, 1e9); // what a shift makes
  const fovea::fixed_multiplier m = fovea::make_fixed_multiplier(real);
  const double made = static_cast<double>(m.multiplier) * fovea::detail::power_of_two(m.shift - 31);
  return format("/* %.9g, as multiplier * 2^(shift - 31) = %.9g */\nmultiplier = %d, shift = %d\n", real,
                made, m.multiplier, m.shift);
}

std::string scale_text(const flags& given) {
  for (const char* name : {"--q", "--k", "--v", "--dim"})
    if (!given.count(name))
      throw usage_error(std::string(name) + " is missing: fovea scale --help has an example");
  const bool wide = given.count("--s16") > 0;
  const double steps = wide ? 32767 : 127;
  const auto dim = static_cast<int32_t>(whole_number(given, "--dim", 0, 1, 1024));
  const auto keys = static_cast<int32_t>(whole_number(given, "--max-keys", 512, 1, 131072));
  const std::string name = given.count("--name") ? given.at("--name") : "scale";
  if (name.empty() ||
      name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") !=
          std::string::npos ||
      (name[0] >= '0' && name[0] <= '9'))
    throw usage_error("--name is " + quote(name) + ": give a name of C, such as scale");
  fovea::real_scales real;
  real.q = scale_of(given, "--q", steps);
  real.k = scale_of(given, "--k", steps);
  real.v = scale_of(given, "--v", steps);
  real.out = scale_of(given, "--out", steps);
  real.softmax = real_number(given, "--softmax", 0, 1e-30, 1e30);
  const fovea::fixed_scale_answer a = fovea::make_fixed_scale(
      real, dim, keys, wide ? FOVEA_FIXED_S16 : FOVEA_FIXED_S8, given.count("--zero-points") > 0);
  if (a.refusal) throw usage_error(std::string("there is no such scale: ") + a.refusal);
  return format(
      "/* real scales: q %.9g, k %.9g, v %.9g, out %.9g; dim %d, max_keys %d, %s */\n"
      "static const fovea_fixed_scale %s = {%d, %d, %d, %d, %d, 0x%08xu};\n",
      real.q, real.k, real.v, real.out, dim, keys, wide ? "16 bits" : "8 bits", name.c_str(),
      a.scale.score_multiplier, a.scale.score_shift, a.scale.score_pre_shift, a.scale.out_multiplier,
      a.scale.out_shift, a.scale.f32_scale);
}

} // namespace

int run_scale(const std::vector<std::string>& arguments) {
  const flags given = parse_flags(arguments, scale_flags(), "fovea scale");
  if (given.count("--help")) {
    print(
        "fovea scale [flags]\n\nPrints the integers of a fovea_fixed_scale as a constant of C, as fixed.hpp "
        "makes them "
        "from real\nscales.\n\n" +
        flags_help(scale_flags()) +
        "\n  fovea scale --q 0.03 --k 0.03 --v 0.02 --out 0.02 --dim 64 --max-keys 512\n"
        "  fovea scale --largest --q 4 --k 4 --v 3 --dim 64\n  fovea scale --product 0.0042\n");
    return 0;
  }
  print(given.count("--product") ? product_text(given) : scale_text(given));
  return 0;
}

} // namespace demo
