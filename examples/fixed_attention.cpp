// Attention as one object of fixed size in .bss, with its cache and its scratch. All sizes are constants.
#include <cstdio>

#include "fovea/fovea.hpp"

namespace {

constexpr int heads = 4, kv_heads = 2, dim = 8, capacity = 16;

fovea::fixed_attention<float, heads, kv_heads, dim, capacity> memory;
float q[heads * dim], k[kv_heads * dim], v[kv_heads * dim], out[heads * dim];

// What a model would compute for this token; v is the number of the token.
void make_token(int token) {
  for (int i = 0; i < kv_heads * dim; ++i) k[i] = static_cast<float>((token * 5 + i * 3) % 16) / 8 - 1;
  for (int i = 0; i < kv_heads * dim; ++i) v[i] = static_cast<float>(token);
  for (int i = 0; i < heads * dim; ++i) q[i] = static_cast<float>((token * 7 + i) % 16) / 8 - 1;
}

bool step(int token) {
  make_token(token);
  if (memory.append(k, v) != FOVEA_OK || memory.attend(q, out) != FOVEA_OK) return false;
  return out[0] > -1e-5f && out[0] < static_cast<float>(token) + 1e-5f; // a mean of what was appended
}

} // namespace

int main() {
  for (int token = 0; token < capacity; ++token)
    if (!step(token)) return 1;
  if (memory.append(k, v) == FOVEA_OK || memory.count() != capacity)
    return 1; // full: refused, nothing written
  memory.clear();
  if (!step(0)) return 1;
  std::printf("fixed_attention: %d tokens in %zu bytes\n", capacity, sizeof memory);
}
