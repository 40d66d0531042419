// Two tasks on one core: a large attention in slices in the background, and a small one in an interrupt of
// SysTick that comes at any instruction of it. Each has scratch and output of its own. Both have the bits of
// undisturbed calls, and the interrupt never waits. On a core with FPU both compute in float32, else in int8.
#include "board.hpp"
#include "fovea/fixed.hpp"
#include "meter.hpp"

using namespace firmware;

namespace {

constexpr int dim = 16;

#if defined(__ARM_FP)
using number = float;
using attention = fovea_attention;
constexpr size_t scratch_bytes = FOVEA_SCRATCH(dim, dim);
int32_t attend(const attention& call, void* scratch, size_t size) {
  return fovea_attend_f32(&call, scratch, size);
}
void prepare(attention&) {}
number next(made_up& numbers) { return numbers.number(); }
#else
using number = int8_t;
using attention = fovea_fixed_attention;
constexpr size_t scratch_bytes = FOVEA_FIXED_SCRATCH(dim, dim);
int32_t attend(const attention& call, void* scratch, size_t size) {
  return fovea_fixed_attend_plain(&call, scratch, size);
}
constexpr fovea::real_scales real = {3.0 / 64, 3.0 / 64, 3.0 / 64, 1.0 / 64, 0}; // of q, k, v and out
constexpr fovea_fixed_scale scale = fovea::make_fixed_scale(real, dim, 512).scale;
void prepare(attention& call) {
  call.scale = scale;
  call.k.layout = call.v.layout = FOVEA_PANELS;
}
number next(made_up& numbers) { return numbers.byte(); }
#endif

template <int Heads, int Queries, int Keys>
struct work {
  number q[Heads * Queries * dim], k[Heads * Keys * dim], v[Heads * Keys * dim];
  number alone[Heads * Queries * dim], out[Heads * Queries * dim]; // undisturbed, and beside the other task
  unsigned char scratch[scratch_bytes];
  attention call;

  int32_t begin() {
    made_up numbers;
    for (number& x : q) x = next(numbers);
    for (number& x : k) x = next(numbers);
    for (number& x : v) x = next(numbers);
    call = {};
    call.q.data = q;
    call.k.data = k;
    call.v.data = v;
    call.out.data = alone;
    call.q_heads = Heads;
    call.dim = dim;
    call.queries = Queries;
    call.keys = Keys;
    prepare(call);
    const int32_t status = attend(call, scratch, sizeof scratch);
    call.out.data = out;
    return status;
  }
  int32_t attend_slice(int index, int count) {
    call.part = {index, count};
    return attend(call, scratch, sizeof scratch);
  }
};

work<4, 8, 512> background;
work<1, 1, 64> urgent; // in the interrupt

constexpr uint32_t period = 40000; // ticks of SysTick
constexpr int slices = 4;          // units of the call: its heads have 4,096 pairs of a row and a key each

struct { // what the interrupt counts
  uint32_t runs, worst_wait, wrong;
} volatile seen;

uint32_t ticks_since_due() { return period - 1 - registers::at(registers::tick_value); }

void begin_interrupts() {
  registers::at(registers::tick_reload) = period - 1;
  registers::at(registers::tick_value) = 0;
  registers::at(registers::tick_control) = 7;
}
void end_interrupts() { registers::at(registers::tick_control) = 0; }

uint32_t now() { // ticks, which the interrupt does not disturb
  for (;;) {
    const uint32_t runs = seen.runs, ticks = ticks_since_due();
    if (runs == seen.runs) return runs * period + ticks;
  }
}

} // namespace

extern "C" void system_tick() {
  const uint32_t waited = ticks_since_due();
  seen.worst_wait = seen.worst_wait < waited ? waited : seen.worst_wait;
  seen.wrong = seen.wrong + (urgent.attend_slice(0, 1) != FOVEA_OK || !same_bytes(urgent.out, urgent.alone));
  seen.runs = seen.runs + 1;
}

int main() {
  const painted_stack stack;
  const meter count;
  int32_t status = background.begin();
  if (!status) status = urgent.begin();
  uint32_t longest = 0;
  begin_interrupts();
  while (!status && seen.runs < 200) {
    for (number& x : background.out) x = 0;
    for (int i = 0; i < slices && !status; ++i) {
      const uint32_t begin = now();
      status = background.attend_slice(i, slices);
      const uint32_t taken = now() - begin;
      longest = longest < taken ? taken : longest;
    }
    if (!same_bytes(background.out, background.alone))
      return wrong_bits("tasks: ", checksum_of(background.out));
  }
  end_interrupts();
  if (status) return refused("tasks: ", status);
  if (seen.wrong) {
    say("tasks: ", seen.wrong, " attentions of the interrupt were refused or had other bits\n");
    return 1;
  }
  say("tasks: ", seen.runs, " interrupts with an attention each, and the bits of undisturbed calls\n");
  say("tasks: the longest wait of an interrupt ", count.in_units(seen.worst_wait), meter::unit);
  say(", the longest slice with its interrupts ", count.in_units(longest), meter::unit);
  say("\ntasks: ");
  say_memory(stack);
}
