// Keyword spotting in integers: 25 frames of sound, one second, with two heads of 32. Keys and values come
// frame by frame into a cache, then each frame attends to all of them. All memory is in .bss.
//   keyword           computes, checks all bits, and prints what it took
//   keyword FAULT     puts one fault into the call and prints the status: null short misaligned overlap cache
#include "board.hpp"
#include "fovea/cache.h"
#include "fovea/fixed.hpp"
#include "fovea/selftest.h"
#include "meter.hpp"

using namespace firmware;

namespace {

constexpr int heads = 2, dim = 32, frames = 25;
constexpr fovea::real_scales real = {3.0 / 64, 3.0 / 64, 3.0 / 64, 1.0 / 64, 0}; // of q, k, v and out
constexpr fovea_fixed_scale scale = fovea::make_fixed_scale(real, dim, frames).scale;
constexpr uint32_t expected = 0x54180455u; // the checksum of the output, on each core

alignas(4) int8_t q[frames][heads][dim], out[frames][heads][dim];
int8_t k[heads][dim], v[heads][dim]; // of one frame
FOVEA_CACHE_ALIGN unsigned char cache[FOVEA_CACHE_BYTES(heads, dim, dim, frames, FOVEA_I8)];
unsigned char scratch[FOVEA_FIXED_SCRATCH(dim, dim)];

int32_t take_frames() {
  fovea_cache_shape shape = {};
  shape.kv_heads = heads;
  shape.dim = dim;
  shape.capacity = frames;
  shape.dtype = FOVEA_I8;
  if (const int32_t status = fovea_cache_init(cache, sizeof cache, &shape)) return status;
  fovea_in keys = {}, values = {};
  keys.data = k;
  values.data = v;
  keys.dtype = values.dtype = FOVEA_I8;
  made_up numbers;
  for (auto& frame : q) {
    for (int h = 0; h < heads; ++h)
      for (int c = 0; c < dim; ++c) {
        frame[h][c] = numbers.byte();
        k[h][c] = numbers.byte();
        v[h][c] = numbers.byte();
      }
    if (const int32_t status = fovea_cache_append_plain(cache, &keys, &values, 1)) return status;
  }
  return FOVEA_OK;
}

int32_t attend(const char* fault) {
  fovea_fixed_attention call = {};
  call.q.data = q;
  call.out.data = out;
  call.q.head_stride = call.out.head_stride = dim;
  call.q.token_stride = call.out.token_stride = heads * dim;
  call.q_heads = heads;
  call.queries = frames;
  call.scale = scale;
  size_t scratch_size = sizeof scratch;
  if (same_text(fault, "null")) call.q.data = nullptr;
  if (same_text(fault, "short")) scratch_size = 100;
  if (same_text(fault, "misaligned")) {
    call.out.dtype = FOVEA_FIXED_S16;
    call.out.data = &out[0][0][1];
  }
  if (same_text(fault, "overlap")) call.out.data = q;
  if (same_text(fault, "cache")) cache[40] ^= 1;
  if (const int32_t status = fovea_cache_view_plain(cache, &call)) return status;
  return fovea_fixed_attend_plain(&call, scratch, scratch_size);
}

} // namespace

int main(int argc, char** argv) {
  const painted_stack stack;
  meter count;
  const char* const fault = argc > 1 ? argv[1] : "none";
  // At power-on the cache holds nothing yet: its memory serves the test.
  int32_t status = fovea_fixed_selftest(fovea_fixed_attend_plain, cache, sizeof cache);
  count.begin();
  if (!status) status = take_frames();
  const uint32_t append = count.elapsed();
  count.begin();
  if (!status) status = attend(fault);
  const uint32_t attention = count.elapsed();
  if (status) return refused("keyword: ", status);
  if (checksum_of(out) != expected) return wrong_bits("keyword: ", checksum_of(out));
  say("keyword: 25 frames, 2 heads x 32: attention ", attention, meter::unit);
  say(", append ", append / frames, meter::unit);
  say(" a frame\nkeyword: ");
  say_memory(stack);
}
