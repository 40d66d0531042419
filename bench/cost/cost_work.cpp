// fovea_cost: runs one small work once between two markers, for tools that count instructions.
// tools/check/cost builds and calls it.
//   fovea_cost --list            the works: name, multiply-adds, dtype, and whether boards run it or hosted
//   targets fovea_cost WORK ISA          runs one and prints the bytes of stack that the call took; "_" in a
//   name stands for a blank
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "fovea/fixed.hpp"
#include "fovea/fixed_linear.h"
#include "linear_works.hpp"
#include "stack.hpp"

// One instruction each. Counting begins and ends in them; callgrind counts inside fovea_cost_region.
extern "C" {
__attribute__((noinline)) void fovea_cost_begin() { __asm__ volatile(""); }
__attribute__((noinline)) void fovea_cost_end() { __asm__ volatile(""); }
__attribute__((noinline)) int32_t fovea_cost_region(int32_t (*attend)(const void*, void*, size_t),
                                                    const void* call, void* scratch, size_t size) {
  fovea_cost_begin();
  const int32_t status = attend(call, scratch, size);
  fovea_cost_end();
  return status;
}
}

namespace {

enum dtype { f32, plain_f32, int8 }; // plain: fovea_attend_plain, with the least scratch
enum runner { hosted, boards };
// Heads of a linear layer: dim is its inputs, keys its outputs, queries its rows.
constexpr int32_t linear = 0;

struct work {
  const char* name;
  dtype type;
  runner where;
  int32_t q_heads, kv_heads, dim, queries, keys, flags, window_left, layout;
};

// clang-format off
constexpr work works[] = {
    {"prefill 8x64 16",                    f32,  hosted, 8, 8, 64,  16,  16, 0, 0, FOVEA_ROWS},
    {"prefill 8x64 64",                    f32,  hosted, 8, 8, 64,  64,  64, 0, 0, FOVEA_ROWS},
    {"prefill 8x64 128",                   f32,  hosted, 8, 8, 64, 128, 128, 0, 0, FOVEA_ROWS},
    {"prefill 8x128 64",                   f32,  hosted, 8, 8, 128, 64,  64, 0, 0, FOVEA_ROWS},
    {"causal 8x64 128",                    f32,  hosted, 8, 8, 64, 128, 128, FOVEA_CAUSAL, 0, FOVEA_ROWS},
    {"window 2x64 512 of 64",              f32,  hosted, 2, 2, 64, 512, 512, FOVEA_CAUSAL | FOVEA_WINDOW, 63, FOVEA_ROWS},
    {"tiny 4x16 32",                       f32,  hosted, 4, 4, 16,  32,  32, 0, 0, FOVEA_ROWS},
    {"decode 8/8x64 512 rows",             f32,  hosted, 8, 8, 64,   1, 512, 0, 0, FOVEA_ROWS},
    {"decode 8/8x64 512 panels",           f32,  hosted, 8, 8, 64,   1, 512, 0, 0, FOVEA_PANELS},
    {"decode GQA 8/2x64 512 rows",         f32,  hosted, 8, 2, 64,   1, 512, 0, 0, FOVEA_ROWS},
    {"decode GQA 8/2x64 512 panels",       f32,  hosted, 8, 2, 64,   1, 512, 0, 0, FOVEA_PANELS},
    {"prefill 1x64 64 panels",             f32,  boards, 1, 1, 64,  64,  64, 0, 0, FOVEA_PANELS},
    {"decode 1/1x64 64 panels",            f32,  boards, 1, 1, 64,   1,  64, 0, 0, FOVEA_PANELS},
    {"decode 4x16 32 rows",                f32,  boards, 4, 4, 16,   1,  32, 0, 0, FOVEA_ROWS},
    {"decode 4x16 1 rows",                 f32,  boards, 4, 4, 16,   1,   1, 0, 0, FOVEA_ROWS},
    {"decode 1/1x64 64 rows",              f32,  boards, 1, 1, 64,   1,  64, 0, 0, FOVEA_ROWS},
    {"prefill 4x16 32 rows",               f32,  boards, 4, 4, 16,  32,  32, 0, 0, FOVEA_ROWS},
    {"prefill 1x64 64 rows",               f32,  boards, 1, 1, 64,  64,  64, 0, 0, FOVEA_ROWS},
    {"plain decode 4x16 32 rows",          plain_f32, boards, 4, 4, 16, 1, 32, 0, 0, FOVEA_ROWS},
    {"plain decode 4x16 1 rows",           plain_f32, boards, 4, 4, 16, 1,  1, 0, 0, FOVEA_ROWS},
    {"plain decode 1/1x64 64 rows",        plain_f32, boards, 1, 1, 64, 1, 64, 0, 0, FOVEA_ROWS},
    {"plain decode 1/1x64 64 panels",      plain_f32, boards, 1, 1, 64, 1, 64, 0, 0, FOVEA_PANELS},
    {"plain prefill 4x16 32 rows",         plain_f32, boards, 4, 4, 16, 32, 32, 0, 0, FOVEA_ROWS},
    {"plain prefill 1x64 64 rows",         plain_f32, boards, 1, 1, 64, 64, 64, 0, 0, FOVEA_ROWS},
    {"int8 prefill 8x64 128",              int8, hosted, 8, 8, 64, 128, 128, 0, 0, FOVEA_ROWS},
    {"int8 decode 8/8x64 512 panels",      int8, hosted, 8, 8, 64,   1, 512, 0, 0, FOVEA_PANELS},
    {"int8 decode GQA 8/2x64 512 panels",  int8, hosted, 8, 2, 64,   1, 512, 0, 0, FOVEA_PANELS},
    {"int8 prefill 1x64 64 panels",        int8, boards, 1, 1, 64,  64,  64, 0, 0, FOVEA_PANELS},
    {"int8 prefill 1x64 64 rows",          int8, boards, 1, 1, 64,  64,  64, 0, 0, FOVEA_ROWS},
    {"int8 decode 1/1x64 64 panels",       int8, boards, 1, 1, 64,   1,  64, 0, 0, FOVEA_PANELS},
    {"int8 decode 4/4x16 32 panels",       int8, boards, 4, 4, 16,   1,  32, 0, 0, FOVEA_PANELS},
    {"int8 causal 1x64 64 panels",         int8, boards, 1, 1, 64,  64,  64, FOVEA_CAUSAL, 0, FOVEA_PANELS},
    {"int8 linear 1x64x64",                int8, boards, linear, linear, 64, 1, 64, 0, 0, FOVEA_PANELS},
    {"int8 linear 16x64x64",               int8, boards, linear, linear, 64, 16, 64, 0, 0, FOVEA_PANELS},
    {"int8 linear 1x512x16",               int8, boards, linear, linear, 512, 1, 16, 0, 0, FOVEA_PANELS},
};
// clang-format on

bool sees(const work& w, int32_t query, int32_t key) {
  const int32_t position = w.keys - w.queries + query;
  if (w.flags & FOVEA_CAUSAL && key > position) return false;
  return !(w.flags & FOVEA_WINDOW) || key >= position - w.window_left;
}

// One for each element of a key that a query sees, and as many for its value.
long multiply_adds(const work& w) {
  if (w.q_heads == linear) return static_cast<long>(w.dim) * w.keys * w.queries;
  long pairs = 0;
  for (int32_t i = 0; i < w.queries; ++i)
    for (int32_t j = 0; j < w.keys; ++j) pairs += sees(w, i, j);
  return 2 * pairs * w.dim * w.q_heads;
}

size_t elements(int32_t heads, int32_t tokens, int32_t dim) {
  return static_cast<size_t>(heads) * static_cast<size_t>(tokens) * static_cast<size_t>(dim);
}

// Even numbers as floats from -2 to 2, nearly normal ones as bytes. Random numbers are as good as panels as
// they are as rows.
template <class T>
std::vector<T> numbers(int32_t heads, int32_t tokens, int32_t dim, uint32_t seed) {
  std::vector<T> all(elements(heads, tokens, dim));
  const auto random = [&] {
    return seed = seed * 1664525u + 1013904223u, static_cast<int32_t>(seed >> 8) - (1 << 23);
  };
  for (T& x : all) {
    if constexpr (sizeof(T) == 1)
      x = static_cast<T>((random() / 256 + random() / 256 + random() / 256 + random() / 256) / 1024);
    else
      x = static_cast<T>(random()) * (1.0f / (1 << 22));
  }
  return all;
}

template <class Call>
int32_t run_call(Call& call, size_t scratch_size, int32_t (*attend)(const void*, void*, size_t)) {
  std::vector<unsigned char> scratch(scratch_size + 64);
  const size_t past_line = reinterpret_cast<uintptr_t>(scratch.data()) % 64;
  unsigned char* const line = scratch.data() + (64 - past_line) % 64;
  paint_stack();
  const int32_t status = fovea_cost_region(attend, &call, line, scratch_size);
  std::printf("stack %d\n", static_cast<int>(stack_painted_over()));
  return status;
}

// What both kinds of call have in common.
template <class Call, class T>
struct problem {
  std::vector<T> q, k, v, out;
  Call call = {};

  static int32_t stored_keys(const work& w) { // panels of bytes hold blocks of 64
    return w.layout == FOVEA_PANELS ? (w.keys + 63) / 64 * 64 : w.keys;
  }
  explicit problem(const work& w)
      : q(numbers<T>(w.q_heads, w.queries, w.dim, 1)),
        k(numbers<T>(w.kv_heads, stored_keys(w), w.dim, 2)),
        v(numbers<T>(w.kv_heads, stored_keys(w), w.dim, 3)),
        out(q.size()) {
    call.q.data = q.data(), call.k.data = k.data(), call.v.data = v.data(), call.out.data = out.data();
    call.q_heads = w.q_heads, call.kv_heads = w.kv_heads, call.dim = w.dim;
    call.queries = w.queries, call.keys = w.keys;
    call.flags = w.flags, call.window_left = w.window_left;
    call.k.layout = w.layout;
  }
};

int32_t run_floats(const work& w, int32_t isa) {
  problem<fovea_attention, float> p(w);
  p.call.isa = isa;
  return run_call(p.call, fovea_scratch_best(&p.call), [](const void* call, void* scratch, size_t size) {
    return fovea_attend(static_cast<const fovea_attention*>(call), scratch, size);
  });
}

int32_t run_plain(const work& w, int32_t isa) {
  problem<fovea_attention, float> p(w);
  p.call.isa = isa;
  return run_call(p.call, FOVEA_SCRATCH_PLAIN(w.dim, w.dim),
                  [](const void* call, void* scratch, size_t size) {
                    return fovea_attend_plain(static_cast<const fovea_attention*>(call), scratch, size);
                  });
}

int32_t run_integers(const work& w, int32_t isa) {
  constexpr double unit = 4.5 / 127;
  problem<fovea_fixed_attention, int8_t> p(w);
  p.call.isa = isa;
  p.call.v.layout = w.layout;
  p.call.scale = fovea::make_fixed_scale({unit, unit, unit, unit / 3, 0}, w.dim, w.keys).scale;
  return run_call(p.call, fovea_fixed_scratch_best(&p.call),
                  [](const void* call, void* scratch, size_t size) {
                    return fovea_fixed_attend(static_cast<const fovea_fixed_attention*>(call), scratch, size);
                  });
}

int32_t run_linear(const work& w, int32_t isa) {
  const std::vector<int8_t> weights = numbers<int8_t>(1, w.keys, w.dim, 2),
                            x = numbers<int8_t>(1, w.queries, w.dim, 1);
  const std::vector<int32_t> bias(static_cast<size_t>(w.keys), 100);
  const std::vector<int32_t> multipliers(bias.size(), 0x5a827999), shifts(bias.size(), -9);
  const fovea_fixed_weights given = {weights.data(), 0,  bias.data(), multipliers.data(),
                                     shifts.data(),  -3, {}};
  std::vector<int32_t> packed(FOVEA_FIXED_LINEAR_BYTES(w.dim, w.keys) / sizeof(int32_t));
  const int32_t status = fovea_fixed_pack_linear(packed.data(), packed.size() * sizeof(int32_t), w.dim,
                                                 w.keys, &given);
  if (status) return status;
  const fovea_fixed_linear layer = {packed.data(), w.dim, w.keys, 5, 0, 0, {}};
  std::vector<int8_t> y(elements(1, w.queries, w.keys));
  fovea_fixed_product call = {};
  call.w = &layer, call.x = x.data(), call.y = y.data(), call.rows = w.queries, call.isa = isa;
  return run_call(call, FOVEA_FIXED_LINEAR_SCRATCH(w.dim, w.queries),
                  [](const void* product, void* scratch, size_t size) {
                    return fovea_fixed_multiply(static_cast<const fovea_fixed_product*>(product), scratch,
                                                size);
                  });
}

template <class Has, class Name>
int32_t isa_named(const char* name, int32_t end, Has has, Name name_of) {
  for (int32_t isa = 1; isa < end; ++isa)
    if (has(isa) && std::strcmp(name, name_of(isa)) == 0) return isa;
  return 0;
}

int32_t run(const work& w, const char* isa_name, int32_t* isa) {
  *isa = w.type != int8 ? isa_named(isa_name, FOVEA_ISA_END, fovea_has_isa, fovea_isa_name)
                        : isa_named(isa_name, FOVEA_FIXED_ISA_END, fovea_fixed_has_isa, fovea_fixed_isa_name);
  return *isa == 0             ? 0
         : w.type == f32       ? run_floats(w, *isa)
         : w.type == plain_f32 ? run_plain(w, *isa)
         : w.q_heads == linear ? run_linear(w, *isa)
                               : run_integers(w, *isa);
}

int32_t run(const linear_works::work& w, const char* isa_name, int32_t* isa) {
  *isa = isa_named(isa_name, FOVEA_ISA_END, fovea_has_isa, fovea_isa_name);
  if (*isa == 0) return 0;
  return linear_works::run(w, *isa, [](fovea_product& p, size_t scratch_size) {
    return run_call(p, scratch_size, [](const void* call, void* scratch, size_t size) {
      return fovea_multiply(static_cast<const fovea_product*>(call), scratch, size);
    });
  });
}

void list() {
  for (const work& w : works)
    std::printf("%s\t%ld\t%s\t%s\n", w.name, multiply_adds(w), w.type == int8 ? "int8" : "f32",
                w.where == boards ? "boards" : "hosted");
  for (const linear_works::work& w : linear_works::works)
    std::printf("%s\t%ld\tf32\t%s\n", w.name, linear_works::multiply_adds(w),
                w.for_boards ? "boards" : "hosted");
}

bool same_name(const char* given, const char* name) {
  for (; *name; ++given, ++name)
    if (*given != *name && !(*given == '_' && *name == ' ')) return false;
  return *given == 0;
}

int fail(const std::string& reason) {
  std::printf("fovea_cost: %s\n", reason.c_str());
  return 2;
}

// The result of main if this is the work that is asked for; negative if it is another one.
template <class Work>
int run_if_named(const Work& w, const char* name, const char* isa_name) {
  if (!same_name(name, w.name)) return -1;
  int32_t isa = 0;
  const int32_t status = run(w, isa_name, &isa);
  if (isa == 0) return fail(std::string("this machine does not run ISA ") + isa_name);
  return status == FOVEA_OK
             ? 0
             : fail(std::string(fovea_argument_text(status)) + ": " + fovea_reason_text(status));
}

} // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--list") == 0) return list(), 0;
  if (argc != 3) return fail("give the name of a work and an ISA, or --list");
  int result = -1;
  for (const work& w : works)
    if (result < 0) result = run_if_named(w, argv[1], argv[2]);
  for (const linear_works::work& w : linear_works::works)
    if (result < 0) result = run_if_named(w, argv[1], argv[2]);
  return result >= 0 ? result : fail(std::string("there is no work \"") + argv[1] + "\": --list names them");
}
