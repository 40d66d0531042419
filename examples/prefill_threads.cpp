// Prefill of 8 heads by two threads. Each takes one part, with scratch of its own. The bits are those of one
// thread.
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

#include "fovea/fovea.h"

namespace {

constexpr int heads = 8, dim = 64, tokens = 128;

std::vector<float> numbers(int seed) {
  std::vector<float> all(heads * tokens * dim);
  for (size_t i = 0; i < all.size(); ++i)
    all[i] = static_cast<float>((i * 31 + static_cast<size_t>(seed) * 7) % 97) / 48 - 1;
  return all;
}

int32_t attend(fovea_attention call, int32_t part, int32_t parts) {
  call.part = {part, parts};
  std::vector<unsigned char> scratch(fovea_scratch_best(&call));
  return fovea_attend(&call, scratch.data(), scratch.size());
}

} // namespace

int main() {
  const std::vector<float> q = numbers(1), k = numbers(2), v = numbers(3);
  std::vector<float> alone(q.size()), together(q.size());
  fovea_attention call = {};
  call.q.data = q.data();
  call.k.data = k.data();
  call.v.data = v.data();
  call.q_heads = heads;
  call.dim = dim;
  call.queries = call.keys = tokens;

  call.out.data = alone.data();
  if (attend(call, 0, 1) != FOVEA_OK) return 1;

  call.out.data = together.data();
  int32_t first = FOVEA_OK, second = FOVEA_OK;
  std::thread worker([&] { second = attend(call, 1, 2); });
  first = attend(call, 0, 2);
  worker.join();
  if (first != FOVEA_OK || second != FOVEA_OK) return 1;

  if (std::memcmp(alone.data(), together.data(), alone.size() * sizeof(float)) != 0) return 1;
  std::printf("prefill_threads: %d heads by two threads, the same bits as by one\n", heads);
}
