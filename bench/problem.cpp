// Fills, describes and judges the memory of one work.
#include "problem.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "fovea/fixed.hpp"
#include "fovea/fixed_quantize.h"
#include "random.hpp"

namespace bench {
namespace {

constexpr std::align_val_t page{4096};
constexpr double unit = unit_of_integers;

size_t count(const page_buffer& buffer) { return buffer.size() / sizeof(float); }

size_t query_bytes(const work& w) { return sizeof(float) * w.query_elements(); }

void check(int32_t status, const char* what) {
  if (status != FOVEA_OK) throw std::runtime_error(std::string(what) + ": " + fovea_reason_text(status));
}

void fill(const page_buffer& buffer, uint64_t seed) {
  random_numbers random(seed);
  for (size_t i = 0; i < count(buffer); ++i) buffer.floats()[i] = random.normal();
}

} // namespace

page_buffer::page_buffer(size_t bytes) : data_(::operator new(bytes, page)), bytes_(bytes) {
  std::memset(data_.get(), 0, bytes);
}

void page_buffer::release::operator()(void* data) const { ::operator delete(data, page); }

problem::problem(const work& w)
    : work_(w),
      q_(query_bytes(w)),
      cache_(2 * w.key_elements() * sizeof(float)),
      out_(query_bytes(w)),
      integer_q_(query_bytes(w) / sizeof(float)),
      integer_cache_(2 * w.key_elements()),
      integer_out_(query_bytes(w) / sizeof(float)),
      scales_(sizeof(fovea_fixed_scale) * static_cast<size_t>(w.q_heads)),
      half_cache_(halves() ? w.cache_bytes() : 1) {
  fill(q_, 1);
  fill(cache_, 2);
  if (w.integers() || w.type == dtype::int8_kv) quantise();
  if (halves()) round_to_halves();
  if (w.k_layout == FOVEA_PANELS) pack_keys();
}

// Rewrites K in place, head by head. Every work has whole panels of keys, so panels take exactly the room of
// the rows.
void problem::pack_keys() {
  const size_t head = static_cast<size_t>(work_.keys) * static_cast<size_t>(work_.dim);
  for (int32_t h = 0; h < work_.kv_heads; ++h) {
    float* k = cache_.floats() + static_cast<size_t>(h) * head;
    const std::vector<float> rows(k, k + head);
    check(fovea_pack_keys(k, 0, rows.data(), work_.dim, work_.keys, work_.dim), "fovea_pack_keys");
  }
}

// The integers nearest to the floats; K and V in panels where the work wants panels. Works of integers have
// whole panels too.
void problem::quantise() {
  const auto round = [](const page_buffer& floats, int8_t* to) {
    const fovea_float_rows all = {floats.floats(), 0, 1, static_cast<int32_t>(count(floats))};
    check(fovea_fixed_quantize_s8(&all, static_cast<float>(unit), 0, to), "fovea_fixed_quantize_s8");
  };
  round(q_, static_cast<int8_t*>(integer_q_.data()));
  int8_t* const cache = static_cast<int8_t*>(integer_cache_.data());
  round(cache_, cache);
  if (work_.k_layout != FOVEA_PANELS) return;
  const size_t head = work_.key_elements() / static_cast<size_t>(work_.kv_heads);
  const std::vector<int8_t> rows(cache, cache + 2 * work_.key_elements());
  for (size_t h = 0; h < 2 * static_cast<size_t>(work_.kv_heads); ++h) {
    const auto pack = h < static_cast<size_t>(work_.kv_heads) ? fovea_fixed_pack_keys
                                                              : fovea_fixed_pack_values;
    check(pack(cache + h * head, 0, rows.data() + h * head, 0, work_.keys, work_.dim), "packing integers");
  }
}

// One row of halves after the other is a panel of keys with one dim, sixteen keys side by side: so the
// packing of keys also rounds rows.
void problem::round_to_halves() {
  const int32_t type = work_.type == dtype::f16 ? FOVEA_F16 : FOVEA_BF16, head = work_.keys * work_.dim;
  uint16_t* to = static_cast<uint16_t*>(half_cache_.data());
  const float* from = cache_.floats();
  for (int32_t h = 0; h < 2 * work_.kv_heads; ++h, to += head, from += head) {
    const bool in_rows = h >= work_.kv_heads || work_.k_layout == FOVEA_ROWS;
    check(in_rows ? fovea_pack_keys_as(type, to, 0, FOVEA_F32, from, 1, head, 1)
                  : fovea_pack_keys_as(type, to, 0, FOVEA_F32, from, work_.dim, work_.keys, work_.dim),
          "fovea_pack_keys_as");
  }
}

fovea_attention problem::call(int32_t isa) const {
  fovea_attention a = {};
  a.q.data = q_.data();
  a.k.data = cache_.data();
  a.k.layout = work_.k_layout;
  a.v.data = cache_.floats() + count(cache_) / 2;
  if (halves()) {
    a.k.data = half_cache_.data();
    a.v.data = static_cast<const uint16_t*>(half_cache_.data()) + work_.key_elements();
    a.k.dtype = a.v.dtype = work_.type == dtype::f16 ? FOVEA_F16 : FOVEA_BF16;
  }
  if (work_.type == dtype::int8_kv) {
    a.k.data = integer_cache_.data();
    a.v.data = static_cast<const int8_t*>(integer_cache_.data()) + work_.key_elements();
    a.k.dtype = a.v.dtype = FOVEA_I8;
    a.v.layout = work_.k_layout;
    a.flags |= FOVEA_SCALE;
    a.scale = static_cast<float>(unit) / 8;
  }
  a.out.data = out_.data();
  a.q_heads = work_.q_heads;
  a.kv_heads = work_.kv_heads;
  a.dim = work_.dim;
  a.queries = work_.queries;
  a.keys = work_.keys;
  a.flags |= work_.causal ? FOVEA_CAUSAL : 0;
  a.isa = isa;
  return a;
}

fovea_fixed_attention problem::integer_call(int32_t integer_isa) const {
  fovea_fixed_attention a = {};
  a.q.data = integer_q_.data();
  a.k.data = integer_cache_.data();
  a.v.data = static_cast<const int8_t*>(integer_cache_.data()) + work_.key_elements();
  a.k.layout = a.v.layout = work_.k_layout;
  a.out.data = integer_out_.data();
  a.q_heads = work_.q_heads;
  a.kv_heads = work_.kv_heads;
  a.dim = work_.dim;
  a.queries = work_.queries;
  a.keys = work_.keys;
  a.max_keys = work_.keys;
  a.flags = work_.causal ? FOVEA_CAUSAL : 0;
  a.scale = fovea::make_fixed_scale({unit, unit, unit, unit / 3, 0}, work_.dim, work_.keys).scale;
  a.isa = integer_isa;
  if (work_.from_floats()) {
    std::fill_n(static_cast<fovea_fixed_scale*>(scales_.data()), work_.q_heads, a.scale);
    a.head_scales = static_cast<const fovea_fixed_scale*>(scales_.data());
    a.out.data = out_.data();
    a.out.dtype = FOVEA_FIXED_F32;
  }
  return a;
}

float_inputs problem::inputs() const {
  const size_t keys = work_.key_elements();
  int8_t* const cache = static_cast<int8_t*>(integer_cache_.data());
  return {{q_.floats(), cache_.floats(), cache_.floats() + keys},
          {static_cast<int8_t*>(integer_q_.data()), cache, cache + keys},
          static_cast<fovea_fixed_scale*>(scales_.data())};
}

int32_t quantise_heads(const float_inputs& inputs, const fovea_fixed_attention& call) {
  const int32_t first = call.part.count > 1 ? call.part.index : 0,
                end = call.part.count > 1 ? first + 1 : call.q_heads;
  for (int32_t h = first; h < end; ++h) {
    float scales[3];
    for (int i = 0; i < 3; ++i) {
      const int32_t tokens = i == 0 ? call.queries : call.keys;
      const ptrdiff_t head = static_cast<ptrdiff_t>(h) * tokens * call.dim;
      const fovea_float_rows rows = {inputs.from[i] + head, 0, tokens, call.dim};
      if (const int32_t s = fovea_fixed_symmetric(&rows, FOVEA_FIXED_S8, &scales[i])) return s;
      if (const int32_t s = fovea_fixed_quantize_s8(&rows, scales[i], 0, inputs.to[i] + head)) return s;
    }
    const fovea::real_scales real = {double{scales[0]}, double{scales[1]}, double{scales[2]}, 0, 0};
    inputs.scales[h] = fovea::make_fixed_scale(real, call.dim, call.max_keys).scale;
  }
  return FOVEA_OK;
}

void problem::spoil() { std::fill_n(out_.floats(), count(out_), std::numeric_limits<float>::quiet_NaN()); }

bool problem::finite() const {
  return !float_output() ||
         std::all_of(out_.floats(), out_.floats() + count(out_), [](float x) { return std::isfinite(x); });
}

uint64_t problem::digest() const {
  const page_buffer& result = float_output() ? out_ : integer_out_;
  word_digest digest;
  for (size_t i = 0; i < result.size() / sizeof(uint32_t); ++i) {
    uint32_t bits;
    std::memcpy(&bits, result.floats() + i, sizeof bits);
    digest.add(bits);
  }
  return digest.value();
}

} // namespace bench
