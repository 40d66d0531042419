// The table of works.
#include "works.hpp"

#include <algorithm>
#include <cctype>

#include "fovea/fovea.h"

namespace bench {
namespace {

// clang-format off
constexpr shape table[] = {
    // kind            heads kv  dim queries keys causal  K
    {"prefill",          8,  8,  64,   16,   16, false, FOVEA_ROWS},
    {"prefill",          8,  8,  64,   64,   64, false, FOVEA_ROWS},
    {"prefill",          8,  8,  64,  128,  128, false, FOVEA_ROWS},
    {"prefill",          8,  8,  64,  512,  512, false, FOVEA_ROWS},
    {"prefill",          8,  8,  64, 2048, 2048, false, FOVEA_ROWS},
    {"prefill",          8,  8,  32,  512,  512, false, FOVEA_ROWS},
    {"prefill",          8,  8, 128,  512,  512, false, FOVEA_ROWS},
    {"causal",           8,  8,  64,   64,   64, true,  FOVEA_ROWS},
    {"causal",           8,  8,  64,  128,  128, true,  FOVEA_ROWS},
    {"causal",           8,  8,  64,  512,  512, true,  FOVEA_ROWS},
    {"causal",           8,  8,  64, 2048, 2048, true,  FOVEA_ROWS},
    {"keyword spotting", 2,  2,  32,   98,   98, false, FOVEA_ROWS},
    {"ViT-tiny",         3,  3,  64,  197,  197, false, FOVEA_ROWS},
    {"decode",           8,  8,  64,    1,  128, false, FOVEA_ROWS},
    {"decode",           8,  8,  64,    1,  128, false, FOVEA_PANELS},
    {"decode",           8,  8,  64,    1,  512, false, FOVEA_ROWS},
    {"decode",           8,  8,  64,    1,  512, false, FOVEA_PANELS},
    {"decode",           8,  8,  64,    1, 2048, false, FOVEA_ROWS},
    {"decode",           8,  8,  64,    1, 2048, false, FOVEA_PANELS},
    {"decode",           8,  8,  64,    1, 8192, false, FOVEA_ROWS},
    {"decode",           8,  8,  64,    1, 8192, false, FOVEA_PANELS},
    {"decode GQA",       8,  2,  64,    1,  128, false, FOVEA_ROWS},
    {"decode GQA",       8,  2,  64,    1,  128, false, FOVEA_PANELS},
    {"decode GQA",       8,  2,  64,    1, 2048, false, FOVEA_ROWS},
    {"decode GQA",       8,  2,  64,    1, 2048, false, FOVEA_PANELS},
    {"decode GQA",       8,  2,  64,    1, 8192, false, FOVEA_ROWS},
    {"decode GQA",       8,  2,  64,    1, 8192, false, FOVEA_PANELS},
    {"f16 prefill",      8,  8,  64,  512,  512, false, FOVEA_ROWS,   dtype::f16},
    {"f16 decode",       8,  8,  64,    1, 2048, false, FOVEA_ROWS,   dtype::f16},
    {"f16 decode",       8,  8,  64,    1, 2048, false, FOVEA_PANELS, dtype::f16},
    {"f16 decode",       8,  8,  64,    1, 8192, false, FOVEA_PANELS, dtype::f16},
    {"f16 decode GQA",   8,  2,  64,    1, 2048, false, FOVEA_PANELS, dtype::f16},
    {"bf16 decode",      8,  8,  64,    1, 2048, false, FOVEA_PANELS, dtype::bf16},
    {"int8 KV prefill",  8,  8,  64,  512,  512, false, FOVEA_PANELS, dtype::int8_kv},
    {"int8 KV decode",   8,  8,  64,    1, 2048, false, FOVEA_PANELS, dtype::int8_kv},
    {"int8 KV decode",   8,  8,  64,    1, 8192, false, FOVEA_PANELS, dtype::int8_kv},
    {"int8 KV decode GQA", 8, 2, 64,    1, 2048, false, FOVEA_PANELS, dtype::int8_kv},
    {"int8 prefill",     8,  8,  64,  128,  128, false, FOVEA_ROWS,   dtype::int8},
    {"int8 prefill",     8,  8,  64,  512,  512, false, FOVEA_ROWS,   dtype::int8},
    {"int8 decode",      8,  8,  64,    1, 2048, false, FOVEA_PANELS, dtype::int8},
    {"int8 decode GQA",  8,  2,  64,    1, 2048, false, FOVEA_PANELS, dtype::int8},
    {"int8 from floats", 8,  8,  64,  128,  128, false, FOVEA_ROWS,   dtype::int8_from_floats},
    {"int8 from floats", 8,  8,  64,  512,  512, false, FOVEA_ROWS,   dtype::int8_from_floats},
};
// clang-format on

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

} // namespace

std::string work::name() const {
  char text[longest_name];
  write_name(*this, text);
  return text;
}

size_t work::cache_bytes() const {
  const size_t element = type == dtype::f32                          ? sizeof(float)
                         : type == dtype::f16 || type == dtype::bf16 ? sizeof(int16_t)
                                                                     : sizeof(int8_t);
  return 2 * element * key_elements();
}

const char* work::dtype_name() const {
  switch (type) {
    case dtype::f32:
      return "f32";
    case dtype::f16:
      return "f16";
    case dtype::bf16:
      return "bf16";
    default:
      return "int8";
  }
}

std::vector<work> works_with(const std::string& filter) {
  std::vector<work> chosen;
  const auto add = [&](const shape& s) {
    if (lower(work{s}.name()).find(lower(filter)) != std::string::npos) chosen.push_back({s});
  };
  for (const shape& s : table) add(s);
  for (const shape& s : small_works) add(s);
  return chosen;
}

} // namespace bench
