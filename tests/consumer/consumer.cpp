// A program of somebody else's: it links fovea, computes one attention in floats and one in integers, and
// knows the bits that come out. tools/check/integration builds it in projects with flags of their own, and by
// a Makefile.
#include <cstdio>
#include <cstring>

#include "fovea/fixed.h"
#include "fovea/fovea.h"
#include "fovea/ops.h"

namespace {

constexpr unsigned long long golden_floats = 0x9e4ea5fec08e937f, golden_integers = 0x7bdd5243a82224b6;
constexpr int heads = 4, kv_heads = 2, dim = 40, queries = 9, keys = 300;

uint32_t seed = 1;
int32_t number() { // -128 .. 127
  seed = seed * 1664525u + 1013904223u;
  return static_cast<int32_t>(seed >> 24) - 128;
}
void fill(float* x, int count) {
  for (int i = 0; i < count; ++i) x[i] = static_cast<float>(number() * 256 + number()) / 16384;
}
void fill(int8_t* x, int count) {
  for (int i = 0; i < count; ++i) x[i] = static_cast<int8_t>(number());
}

template <class T>
struct tensors {
  T q[heads][queries][dim], k[kv_heads][keys][dim], v[kv_heads][keys][dim], out[heads][queries][dim];
};

// Fills the tensors, and what is alike in calls of floats and of integers.
template <class T, class Call>
void prepare(tensors<T>& x, Call& call) {
  seed = 1;
  fill(&x.q[0][0][0], heads * queries * dim);
  fill(&x.k[0][0][0], kv_heads * keys * dim);
  fill(&x.v[0][0][0], kv_heads * keys * dim);
  std::memset(&call, 0, sizeof call);
  call.q.data = x.q;
  call.k.data = x.k;
  call.v.data = x.v;
  call.out.data = x.out;
  call.q_heads = heads;
  call.kv_heads = kv_heads;
  call.dim = dim;
  call.queries = queries;
  call.keys = keys;
  call.flags = FOVEA_CAUSAL;
}

// Bits count, not numbers: one rounding more or less is another digest.
unsigned long long digest_of(const void* results, size_t size) {
  unsigned long long digest = 0xCBF29CE484222325u;
  for (size_t i = 0; i < size; ++i)
    digest = (digest ^ static_cast<const unsigned char*>(results)[i]) * 0x100000001B3u;
  return digest;
}

bool agrees(const char* what, const char* isa, int32_t status, unsigned long long digest,
            unsigned long long golden) {
  std::printf("%s, %s: status %d, digest %08lx%08lx\n", what, isa, static_cast<int>(status),
              static_cast<unsigned long>(digest >> 32), static_cast<unsigned long>(digest & 0xffffffffu));
  return status == FOVEA_OK && digest == golden;
}

bool floats_agree() {
#if defined(__arm__) && !defined(__ARM_FP)
  return true; // integers only
#else
  static tensors<float> x;
  static unsigned char scratch[FOVEA_SCRATCH(dim, dim)];
  static const float slopes[heads] = {0.5f, 0.25f, 0.125f, 0.0625f}, sinks[heads] = {0.5f, -1, 2, 0};
  static float lse[heads][queries], weights[keys];
  fovea_attention call;
  prepare(x, call);
  call.softcap = 3;
  call.alibi = slopes;
  call.sinks = sinks;
  call.lse = &lse[0][0];
  const int32_t status = fovea_attend(&call, scratch, sizeof scratch);
  fovea_softmax_rows row; // of the first numbers of q: where a product that is not rounded shows first
  std::memset(&row, 0, sizeof row);
  row.in = &x.q[0][0][0];
  row.out = weights;
  row.rows = 1;
  row.columns = keys;
  const unsigned long long digest = digest_of(x.out, sizeof x.out) ^ digest_of(lse, sizeof lse);
  if (status == FOVEA_OK && fovea_softmax(&row) != FOVEA_OK) return false;
  return agrees("floats", fovea_isa_name(fovea_isa()), status, digest ^ digest_of(weights, sizeof weights),
                golden_floats);
#endif
}

bool integers_agree() {
  static tensors<int8_t> x;
  static unsigned char scratch[1 << 16];
  fovea_fixed_attention call;
  prepare(x, call);
  call.scale.score_multiplier = 1 << 30;
  call.scale.score_shift = 29;
  call.scale.out_multiplier = 1 << 30;
  call.scale.out_shift = 1;
  const int32_t status = fovea_fixed_attend(&call, scratch, sizeof scratch);
  return agrees("integers", fovea_fixed_isa_name(fovea_fixed_isa()), status, digest_of(x.out, sizeof x.out),
                golden_integers);
}

} // namespace

int main() {
  const bool floats = floats_agree(), integers = integers_agree();
  return floats && integers ? 0 : 1;
}
