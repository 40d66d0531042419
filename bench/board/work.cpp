// Memory is one array; each work begins at its start.
#include "work.hpp"

#include <cstring>

#include "../random.hpp"
#include "fovea/fixed.hpp"
#include "fovea/fixed_quantize.h"

namespace board {
namespace {

using bench::random_numbers;
using bench::shape;

// Cores with FPU: 64 rows of 64 floats each for q, K, V and the output, and scratch. Others: 98 rows of two
// int8 heads.
constexpr size_t room = has_floats ? 80 * 1024 : 36 * 1024;
alignas(64) unsigned char arena[room];

constexpr size_t line = 64;
constexpr float unit = static_cast<float>(bench::unit_of_integers);

// Numbers become integers a few at a time: the floats of a whole work would not fit.
void quantise(int8_t* to, size_t count, uint64_t seed) {
  random_numbers random(seed);
  for (size_t at = 0; at < count;) {
    float some[32];
    int32_t length = 0;
    while (length < 32 && at + static_cast<size_t>(length) < count) some[length++] = random.normal();
    const fovea_float_rows rows = {some, 0, 1, length};
    fovea_fixed_quantize_s8(&rows, unit, 0, to + at);
    at += static_cast<size_t>(length);
  }
}

template <class Call>
void set_sizes(Call& call, const shape& s) {
  call.q_heads = s.q_heads;
  call.kv_heads = s.kv_heads;
  call.dim = s.dim;
  call.queries = s.queries;
  call.keys = s.keys;
  call.flags = s.causal ? FOVEA_CAUSAL : 0;
  call.k.layout = s.k_layout;
}

} // namespace

uint64_t multiply_adds(const shape& s) {
  const uint64_t queries = static_cast<uint64_t>(s.queries), keys = static_cast<uint64_t>(s.keys);
  const uint64_t pairs = s.causal ? queries * (keys - queries) + queries * (queries + 1) / 2 : queries * keys;
  return 2 * pairs * static_cast<uint64_t>(s.dim) * static_cast<uint64_t>(s.q_heads);
}

problem::problem(const shape& what) : what_(what) {
  const size_t element = integers() ? sizeof(int8_t) : sizeof(float);
  q_ = take(what.query_elements() * element);
  cache_ = take(2 * what.key_elements() * element);
  out_ = take(output_bytes());
  if (!out_) return;
  set_sizes(floats_, what);
  set_sizes(integers_, what);
  integers() ? fill_integers() : fill_floats();
  const size_t best = integers() ? fovea_fixed_scratch_best(&integers_) : fovea_scratch_best(&floats_);
  const size_t left = (room - taken_) / line * line;
  scratch_bytes_ = static_cast<uint32_t>(best < left ? best : left);
  scratch_ = arena + taken_;
}

unsigned char* problem::take(size_t bytes) {
  if (bytes > room - taken_) return nullptr;
  unsigned char* const begin = arena + taken_;
  taken_ += (bytes + line - 1) / line * line;
  return begin;
}

size_t problem::output_bytes() const {
  return what_.query_elements() * (integers() ? sizeof(int8_t) : sizeof(float));
}

void problem::fill_floats() {
  const auto fill = [](unsigned char* to, size_t count, uint64_t seed) {
    random_numbers random(seed);
    float* const numbers = reinterpret_cast<float*>(to);
    for (size_t i = 0; i < count; ++i) numbers[i] = random.normal();
  };
  fill(q_, what_.query_elements(), 1);
  fill(cache_, 2 * what_.key_elements(), 2);
  if (what_.k_layout == FOVEA_PANELS) pack_heads();
  floats_.q.data = q_;
  floats_.k.data = cache_;
  floats_.v.data = cache_ + what_.key_elements() * sizeof(float);
  floats_.out.data = out_;
}

void problem::fill_integers() {
  quantise(reinterpret_cast<int8_t*>(q_), what_.query_elements(), 1);
  quantise(reinterpret_cast<int8_t*>(cache_), 2 * what_.key_elements(), 2);
  if (what_.k_layout == FOVEA_PANELS) pack_heads();
  integers_.q.data = q_;
  integers_.k.data = cache_;
  integers_.v.data = cache_ + what_.key_elements();
  integers_.v.layout = what_.k_layout;
  integers_.out.data = out_;
  integers_.max_keys = what_.keys;
  constexpr double scale = bench::unit_of_integers;
  integers_.scale = fovea::make_fixed_scale({scale, scale, scale, scale / 3, 0}, what_.dim, what_.keys).scale;
}

// In place, head by head, through memory that becomes scratch later. Works have whole panels, which take the
// room of the rows.
void problem::pack_heads() {
  const size_t element = integers() ? sizeof(int8_t) : sizeof(float);
  const size_t head = what_.key_elements() / static_cast<size_t>(what_.kv_heads);
  const size_t tensors = integers() ? 2 : 1; // values of floats stay in rows
  unsigned char* const rows = arena + taken_;
  if (head * element > room - taken_) return;
  for (size_t h = 0; h < tensors * static_cast<size_t>(what_.kv_heads); ++h) {
    unsigned char* const panels = cache_ + h * head * element;
    std::memcpy(rows, panels, head * element);
    if (!integers())
      fovea_pack_keys(reinterpret_cast<float*>(panels), 0, reinterpret_cast<const float*>(rows), what_.dim,
                      what_.keys, what_.dim);
    else
      (h < static_cast<size_t>(what_.kv_heads) ? fovea_fixed_pack_keys : fovea_fixed_pack_values)(
          reinterpret_cast<int8_t*>(panels), 0, reinterpret_cast<const int8_t*>(rows), 0, what_.keys,
          what_.dim);
  }
}

int32_t problem::run() {
  return integers() ? fovea_fixed_attend_s8(&integers_, scratch_, scratch_bytes_)
                    : fovea_attend_f32(&floats_, scratch_, scratch_bytes_);
}

uint64_t problem::digest() const {
  bench::word_digest digest;
  for (size_t at = 0; at < output_bytes() / 4 * 4; at += 4) {
    uint32_t word;
    std::memcpy(&word, out_ + at, sizeof word);
    digest.add(word);
  }
  return digest.value();
}

const char* problem::isa_name() const {
  return integers() ? fovea_fixed_isa_name(fovea_fixed_isa()) : fovea_isa_name(fovea_isa());
}

} // namespace board
