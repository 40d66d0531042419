// fovea_cost: runs one small work once between two markers, for tools that count instructions. tools/check/cost builds and calls it.
//   fovea_cost --list            the works and their multiply-adds
//   fovea_cost "WORK" ISA        runs one
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "fovea/fovea.h"

// One instruction each. Counting begins and ends in them; callgrind counts inside fovea_cost_region.
extern "C" {
__attribute__((noinline)) void fovea_cost_begin() { __asm__ volatile(""); }
__attribute__((noinline)) void fovea_cost_end() { __asm__ volatile(""); }
__attribute__((noinline)) int32_t fovea_cost_region(const fovea_attention* call, void* scratch, size_t size) {
  fovea_cost_begin();
  const int32_t status = fovea_attend(call, scratch, size);
  fovea_cost_end();
  return status;
}
}

namespace {

struct work {
  const char* name;
  int32_t q_heads, kv_heads, dim, queries, keys, flags, window_left, k_layout;
};

// clang-format off
constexpr work works[] = {
    {"prefill 8x64 16",               8, 8, 64,  16,  16, 0, 0, FOVEA_ROWS},
    {"prefill 8x64 64",               8, 8, 64,  64,  64, 0, 0, FOVEA_ROWS},
    {"prefill 8x64 128",              8, 8, 64, 128, 128, 0, 0, FOVEA_ROWS},
    {"prefill 8x128 64",              8, 8, 128, 64,  64, 0, 0, FOVEA_ROWS},
    {"causal 8x64 128",               8, 8, 64, 128, 128, FOVEA_CAUSAL, 0, FOVEA_ROWS},
    {"window 2x64 512 of 64",         2, 2, 64, 512, 512, FOVEA_CAUSAL | FOVEA_WINDOW, 63, FOVEA_ROWS},
    {"tiny 4x16 32",                  4, 4, 16,  32,  32, 0, 0, FOVEA_ROWS},
    {"decode 8/8x64 512 rows",        8, 8, 64,   1, 512, 0, 0, FOVEA_ROWS},
    {"decode 8/8x64 512 panels",      8, 8, 64,   1, 512, 0, 0, FOVEA_PANELS},
    {"decode GQA 8/2x64 512 rows",    8, 2, 64,   1, 512, 0, 0, FOVEA_ROWS},
    {"decode GQA 8/2x64 512 panels",  8, 2, 64,   1, 512, 0, 0, FOVEA_PANELS},
};
// clang-format on

bool sees(const work& w, int32_t query, int32_t key) {
  const int32_t position = w.keys - w.queries + query;
  if (w.flags & FOVEA_CAUSAL && key > position) return false;
  return !(w.flags & FOVEA_WINDOW) || key >= position - w.window_left;
}

// One for each element of a key that a query sees, and as many for its value.
long long multiply_adds(const work& w) {
  long long pairs = 0;
  for (int32_t i = 0; i < w.queries; ++i)
    for (int32_t j = 0; j < w.keys; ++j) pairs += sees(w, i, j);
  return 2 * pairs * w.dim * w.q_heads;
}

std::vector<float> numbers(int32_t heads, int32_t tokens, int32_t dim, uint32_t seed) {
  std::vector<float> all(static_cast<size_t>(heads) * static_cast<size_t>(tokens) * static_cast<size_t>(dim));
  for (float& x : all) {
    seed = seed * 1664525u + 1013904223u;
    x = static_cast<float>(static_cast<int32_t>(seed >> 8) - (1 << 23)) * (1.0f / (1 << 22)); // -2 to 2
  }
  return all;
}

int32_t run(const work& w, int32_t isa) {
  const std::vector<float> q = numbers(w.q_heads, w.queries, w.dim, 1), k = numbers(w.kv_heads, w.keys, w.dim, 2),
                           v = numbers(w.kv_heads, w.keys, w.dim, 3);
  std::vector<float> out(q.size());
  fovea_attention call = {};
  call.q.data = q.data();
  call.k.data = k.data(); // random numbers are as good as panels as they are as rows
  call.k.layout = w.k_layout;
  call.v.data = v.data();
  call.out.data = out.data();
  call.q_heads = w.q_heads, call.kv_heads = w.kv_heads, call.dim = w.dim;
  call.queries = w.queries, call.keys = w.keys;
  call.flags = w.flags, call.window_left = w.window_left;
  call.isa = isa;
  std::vector<unsigned char> scratch(fovea_scratch_best(&call) + 64);
  const size_t past_line = reinterpret_cast<uintptr_t>(scratch.data()) % 64;
  return fovea_cost_region(&call, scratch.data() + (64 - past_line) % 64, scratch.size() - 64);
}

int32_t isa_named(const char* name) {
  for (int32_t isa = FOVEA_ISA_BEST + 1; isa < FOVEA_ISA_END; ++isa)
    if (fovea_has_isa(isa) == 1 && std::strcmp(name, fovea_isa_name(isa)) == 0) return isa;
  return FOVEA_ISA_BEST;
}

int fail(const std::string& reason) {
  std::fprintf(stderr, "fovea_cost: %s\n", reason.c_str());
  return 2;
}

} // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--list") == 0) {
    for (const work& w : works) std::printf("%s\t%lld\n", w.name, multiply_adds(w));
    return 0;
  }
  if (argc != 3) return fail("give the name of a work and an ISA, or --list");
  const int32_t isa = isa_named(argv[2]);
  if (isa == FOVEA_ISA_BEST) return fail(std::string("this machine does not run ISA ") + argv[2]);
  for (const work& w : works) {
    if (std::strcmp(argv[1], w.name) != 0) continue;
    const int32_t status = run(w, isa);
    return status == FOVEA_OK ? 0 : fail(std::string(fovea_argument_text(status)) + ": " + fovea_reason_text(status));
  }
  return fail(std::string("there is no work \"") + argv[1] + "\": --list names them");
}
