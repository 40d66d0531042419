// fovea_cost_calls: runs fovea_fixed_attend_plain many times on a board, each call between two markers, for
// tools that count instructions. tools/check/instructions builds and calls it.
//   fovea_cost_calls shapes FIRST COUNT     calls FIRST .. FIRST + COUNT - 1 of a sequence of random shapes
//   fovea_cost_calls inputs KEYS COUNT      one shape with so many keys, on COUNT random inputs
//   fovea_cost_calls appends                one token to a cache, of each kind
// Each call prints a line: call q_heads kv_heads queries keys dim v_dim causal raises. Bit b of `raises` says
// that block b has scores above those of all blocks before it, by octaves; of random inputs nothing is said.
// Each append prints a line: append WHAT.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "fovea/cache.h"
#include "fovea/fixed.h"

// One instruction each.
extern "C" {
__attribute__((noinline)) void fovea_cost_begin() { __asm__ volatile(""); }
__attribute__((noinline)) void fovea_cost_end() { __asm__ volatile(""); }
}

namespace {

constexpr int32_t most_heads = 12, most_queries = 24, most_keys = 320, most_dim = 96, block = 64;

struct shape {
  int32_t q_heads, kv_heads, queries, keys, dim, v_dim;
  bool causal;
  uint32_t raises;
};

class random_numbers {
 public:
  explicit random_numbers(uint32_t seed) : state_(seed * 2654435761u + 1) {}
  uint32_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 17;
    state_ ^= state_ << 5;
    return state_;
  }
  int32_t from(int32_t least, int32_t most) {
    return least + static_cast<int32_t>((next() >> 8) % static_cast<uint32_t>(most - least + 1));
  }
  bool coin() { return next() >> 31; }

 private:
  uint32_t state_;
};

int8_t q[most_heads * most_queries * most_dim], out[most_heads * most_queries * most_dim];
int8_t rows[most_keys * most_dim];
int8_t k[most_heads * most_keys * most_dim], v[most_heads * most_keys * most_dim];
unsigned char scratch[FOVEA_FIXED_SCRATCH(most_dim, most_dim)];

// Calls of a few microseconds to a few milliseconds.
shape draw(random_numbers& random) {
  shape s;
  s.kv_heads = random.from(1, 4);
  s.q_heads = s.kv_heads * (random.coin() ? 1 : random.from(2, 3));
  s.keys = random.coin() ? random.from(1, block) : random.from(1, most_keys);
  s.queries = random.coin() ? 1 : random.from(1, s.keys < most_queries ? s.keys : most_queries);
  s.dim = random.coin() ? 16 * random.from(1, most_dim / 16) : random.from(1, most_dim);
  s.v_dim = random.coin() ? s.dim : random.from(1, most_dim);
  s.causal = random.coin();
  s.raises = 0;
  const int32_t chance = random.from(0, 4);
  for (int32_t b = 1; b * block < s.keys; ++b)
    if (random.from(1, 4) <= chance) s.raises |= 1u << b;
  const int32_t pairs = 400000 / (s.q_heads * s.keys * (s.dim + s.v_dim)) + 1;
  if (s.queries > pairs) s.queries = pairs;
  return s;
}

// Element 0 of each query is 127, and that of a key says how high its block lies: four octaves above all
// before it, or below. The other elements are small.
void fill(const shape& s, random_numbers& random) {
  for (int8_t& x : q) x = static_cast<int8_t>(random.from(-7, 7));
  for (int32_t row = 0; row < s.q_heads * s.queries; ++row) q[row * most_dim] = 127;
  for (int32_t head = 0; head < s.kv_heads; ++head) {
    for (int32_t key = 0, level = -90; key < s.keys; ++key) {
      const bool raised = s.raises >> key / block & 1;
      if (key % block == 0 && raised) level += 30;
      for (int32_t c = 0; c < s.dim; ++c) rows[key * s.dim + c] = static_cast<int8_t>(random.from(-7, 7));
      rows[key * s.dim] = static_cast<int8_t>(level - (key < block || raised ? 0 : 30));
    }
    fovea_fixed_pack_keys(k + head * static_cast<int32_t>(FOVEA_FIXED_PANELS(s.keys, s.dim)), 0, rows, 0,
                          s.keys, s.dim);
  }
}

template <size_t Size>
void fill_at_random(int8_t (&x)[Size], size_t count, random_numbers& random) {
  for (size_t i = 0; i < count; ++i) x[i] = static_cast<int8_t>(random.next() >> 24);
}

__attribute__((noinline)) int32_t run(const shape& s, int32_t shift) {
  fovea_fixed_attention call = {};
  call.q.data = q;
  call.k.data = k;
  call.v.data = v;
  call.out.data = out;
  call.q.token_stride = call.out.token_stride = most_dim; // rows of q at multiples of four bytes
  call.q.head_stride = call.out.head_stride = s.queries * most_dim;
  call.k.layout = call.v.layout = FOVEA_PANELS;
  call.q_heads = s.q_heads;
  call.kv_heads = s.kv_heads;
  call.queries = s.queries;
  call.keys = s.keys;
  call.dim = s.dim;
  call.v_dim = s.v_dim;
  call.flags = s.causal ? FOVEA_CAUSAL : 0;
  call.scale = {1 << 30, shift, 0, 1 << 30, 1, 0x3f800000u};
  fovea_cost_begin();
  const int32_t status = fovea_fixed_attend_plain(&call, scratch, sizeof scratch);
  fovea_cost_end();
  if (status)
    std::printf("refused: %s: %s\n", fovea_argument_text(status), fovea_reason_text(status));
  else
    std::printf("call %d %d %d %d %d %d %d %u\n", static_cast<int>(s.q_heads), static_cast<int>(s.kv_heads),
                static_cast<int>(s.queries), static_cast<int>(s.keys), static_cast<int>(s.dim),
                static_cast<int>(s.v_dim), s.causal, static_cast<unsigned>(s.raises));
  return status;
}

// A score of 1 is 64 of 65536 octaves; one level of fill() is 3.7 octaves.
int run_shapes(uint32_t first, uint32_t count) {
  for (uint32_t n = first; n < first + count; ++n) {
    random_numbers random(n);
    const shape s = draw(random);
    fill(s, random);
    if (run(s, 24)) return 1;
  }
  return 0;
}

// Any bytes. Their scores have a deviation of 30,000 units, or two octaves.
int run_inputs(int32_t keys, uint32_t count) {
  const shape s = {2, 1, 2, keys, 32, 32, false, 0};
  for (uint32_t n = 0; n < count; ++n) {
    random_numbers random(n);
    fill_at_random(q, static_cast<size_t>(s.q_heads * s.queries * most_dim), random);
    fill_at_random(k, FOVEA_FIXED_PANELS(keys, s.dim), random);
    fill_at_random(v, FOVEA_FIXED_PANELS(keys, s.v_dim), random);
    if (run(s, 28)) return 1;
  }
  return 0;
}

// One token behind four others. `entry` takes rows of `dtype`; k_largest and v_largest make scales.
struct append {
  const char* name;
  decltype(&fovea_cache_append) entry;
  int32_t kv_heads, dim, stored, dtype;
  bool scales;
};
constexpr append appends[] = {
    {"int8 rows, plain, 1x64", fovea_cache_append_plain, 1, 64, FOVEA_I8, FOVEA_I8, false},
#if defined(__ARM_FP) // others have no floats to append
    {"int8 rows, 1x64", fovea_cache_append, 1, 64, FOVEA_I8, FOVEA_I8, false},
    {"floats to int8 with scales, 1x64", fovea_cache_append, 1, 64, FOVEA_I8, FOVEA_F32, true},
    {"floats to int8 with scales, 4x8", fovea_cache_append, 4, 8, FOVEA_I8, FOVEA_F32, true},
    {"float rows, 1x64", fovea_cache_append, 1, 64, FOVEA_F32, FOVEA_F32, false},
#endif
};

int run_append(const append& a) {
  alignas(64) static unsigned char cache[FOVEA_CACHE_BYTES(1, 64, 64, 64, FOVEA_F32) + 64];
  static float floats[5 * 64];
  for (int32_t i = 0; i < 5 * 64; ++i) floats[i] = static_cast<float>(i * 37 % 101 - 50) * .01f;
  fovea_cache_shape shape = {};
  shape.kv_heads = a.kv_heads;
  shape.dim = a.dim;
  shape.capacity = 16;
  shape.dtype = a.stored;
  if (a.scales) shape.k_largest = shape.v_largest = 1;
  fovea_in in = {};
  in.data = a.dtype == FOVEA_I8 ? static_cast<const void*>(q) : floats;
  in.dtype = a.dtype;
  int32_t status = fovea_cache_init(cache, sizeof cache, &shape);
  if (!status) status = a.entry(cache, &in, &in, 4);
  if (status) return std::printf("refused: %s\n", fovea_reason_text(status)), 1;
  fovea_cost_begin();
  status = a.entry(cache, &in, &in, 1);
  fovea_cost_end();
  std::printf("append %s\n", status ? "refused" : a.name);
  return status;
}

int run_appends() {
  random_numbers random(1);
  fill_at_random(q, sizeof q, random);
  for (const append& a : appends)
    if (run_append(a)) return 1;
  return 0;
}

} // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "appends") == 0) return run_appends();
  if (argc == 4) {
    const unsigned long first = std::strtoul(argv[2], nullptr, 10),
                        count = std::strtoul(argv[3], nullptr, 10);
    if (std::strcmp(argv[1], "shapes") == 0) return run_shapes(first, count);
    if (std::strcmp(argv[1], "inputs") == 0 && first >= 1 && first <= most_keys)
      return run_inputs(static_cast<int32_t>(first), count);
  }
  std::printf("fovea_cost_calls: give shapes FIRST COUNT, or inputs KEYS COUNT; up to %d keys\n", 320);
  return 2;
}
