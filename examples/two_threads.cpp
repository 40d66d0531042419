// Decode of one long sequence by two threads. Each takes its part of all pieces of 256 keys, with scratch of
// its own; what they gather stands in shared partials, which fovea_merge joins. The bits are those of one
// thread.
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

#include "fovea/fovea.h"

namespace {

constexpr int q_heads = 4, kv_heads = 1, dim = 32, keys = 20000, threads = 2;

std::vector<float> numbers(int rows, int seed) {
  std::vector<float> all(static_cast<size_t>(rows) * dim);
  for (size_t i = 0; i < all.size(); ++i)
    all[i] = static_cast<float>((i * 31 + static_cast<size_t>(seed) * 7) % 997) / 500 - 1;
  return all;
}

int32_t attend(const fovea_attention& call) {
  std::vector<unsigned char> scratch(fovea_scratch_best(&call));
  return fovea_attend(&call, scratch.data(), scratch.size());
}

} // namespace

int main() {
  const std::vector<float> q = numbers(q_heads, 1), k = numbers(kv_heads * keys, 2),
                           v = numbers(kv_heads * keys, 3);
  std::vector<float> alone(q.size()), together(q.size());
  fovea_attention call = {};
  call.q.data = q.data();
  call.k.data = k.data();
  call.v.data = v.data();
  call.q_heads = q_heads;
  call.kv_heads = kv_heads;
  call.dim = dim;
  call.queries = 1;
  call.keys = keys;

  call.out.data = alone.data();
  if (attend(call) != FOVEA_OK) return 1;

  call.out.data = together.data();
  std::vector<unsigned char> partials(fovea_partials_size(&call));
  call.partials = partials.data();
  call.partials_size = partials.size();
  std::vector<std::thread> workers;
  int32_t statuses[threads];
  for (int n = 0; n < threads; ++n)
    workers.emplace_back([&, n] {
      fovea_attention part = call;
      part.part = {n, threads};
      statuses[n] = attend(part);
    });
  for (std::thread& worker : workers) worker.join();
  for (int32_t status : statuses)
    if (status != FOVEA_OK) return 1;
  if (fovea_merge(&call) != FOVEA_OK) return 1; // once, after all parts

  if (std::memcmp(alone.data(), together.data(), alone.size() * sizeof(float)) != 0) return 1;
  std::printf("two_threads: one query, %d keys, the same bits as by one thread\n", keys);
}
