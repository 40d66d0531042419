// A control loop of 1 kHz, and a decode beside it on the same core: each millisecond runs one slice of the
// attention, a part of at most 4,096 pairs of a row and a key, and then the controller. The bits are those of
// one call.
#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

#include "fovea/fovea.h"

namespace {

constexpr int q_heads = 4, kv_heads = 2, dim = 32, keys = 12000;
// Spans of 4,096 keys, each of them one slice for each head: 12. Slices behind the last one cost nearly
// nothing, so their number need not be exact.
constexpr int slices = 16;

std::vector<float> numbers(int rows, int seed) {
  std::vector<float> all(static_cast<size_t>(rows) * dim);
  for (size_t i = 0; i < all.size(); ++i)
    all[i] = static_cast<float>((i * 31 + static_cast<size_t>(seed) * 7) % 997) / 500 - 1;
  return all;
}

// What must happen every millisecond: here a motor that is held at a place.
struct controller {
  double place = 1, speed = 0;
  int steps = 0;
  void step() {
    const double force = -30 * place - 8 * speed;
    speed += force / 1000;
    place += speed / 1000;
    ++steps;
  }
};

} // namespace

int main() {
  using clock = std::chrono::steady_clock;
  const std::vector<float> q = numbers(q_heads, 1), k = numbers(kv_heads * keys, 2),
                           v = numbers(kv_heads * keys, 3);
  std::vector<float> at_once(q.size()), in_slices(q.size());
  static unsigned char scratch[FOVEA_SCRATCH(dim, dim)];
  fovea_attention call = {};
  call.q.data = q.data();
  call.k.data = k.data();
  call.v.data = v.data();
  call.q_heads = q_heads;
  call.kv_heads = kv_heads;
  call.dim = dim;
  call.queries = 1;
  call.keys = keys;
  call.out.data = at_once.data();
  if (fovea_attend(&call, scratch, sizeof scratch) != FOVEA_OK) return 1;

  call.out.data = in_slices.data();
  std::vector<unsigned char> partials(fovea_partials_size(&call));
  call.partials = partials.data();
  call.partials_size = partials.size();
  controller motor;
  double worst = 0;
  auto tick = clock::now();
  for (int n = 0; n < slices; ++n) {
    call.part = {n, slices};
    const auto begin = clock::now();
    if (fovea_attend(&call, scratch, sizeof scratch) != FOVEA_OK) return 1;
    const double taken = std::chrono::duration<double, std::micro>(clock::now() - begin).count();
    worst = worst < taken ? taken : worst;
    motor.step();
    std::this_thread::sleep_until(tick += std::chrono::milliseconds(1));
  }
  if (fovea_merge(&call) != FOVEA_OK) return 1;
  if (motor.steps != slices || std::memcmp(at_once.data(), in_slices.data(), q.size() * sizeof(float)) != 0)
    return 1;
  std::printf("control_loop: %d slices, the worst took %.0f us; the same bits as at once\n", slices, worst);
}
