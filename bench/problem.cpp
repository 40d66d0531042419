// Fills, describes and judges the memory of one work.
#include "problem.hpp"

#include <nanobench.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

namespace bench {
namespace {

constexpr std::align_val_t page{4096};

size_t count(const page_buffer& buffer) { return buffer.size() / sizeof(float); }

size_t query_bytes(const work& w) {
  return sizeof(float) * static_cast<size_t>(w.q_heads) * static_cast<size_t>(w.queries) * static_cast<size_t>(w.dim);
}

// Nearly normal, mean 0 and variance 1: the sum of four 16-bit numbers. Unlike std::normal_distribution it has the same bits
// with every C++ library, so that digests compare between machines.
float normal(ankerl::nanobench::Rng& random) {
  const uint64_t bits = random();
  int32_t sum = 0;
  for (int shift = 0; shift < 64; shift += 16) sum += static_cast<int32_t>(bits >> shift & 0xffff);
  return static_cast<float>(sum - 131070) * (1.0f / 37837.2f);
}

void fill(const page_buffer& buffer, uint64_t seed) {
  ankerl::nanobench::Rng random(seed);
  for (size_t i = 0; i < count(buffer); ++i) buffer.floats()[i] = normal(random);
}

} // namespace

page_buffer::page_buffer(size_t bytes) : data_(::operator new(bytes, page)), bytes_(bytes) { std::memset(data_.get(), 0, bytes); }

void page_buffer::release::operator()(void* data) const { ::operator delete(data, page); }

problem::problem(const work& w) : work_(w), q_(query_bytes(w)), cache_(w.cache_bytes()), out_(query_bytes(w)) {
  fill(q_, 1);
  fill(cache_, 2);
  if (w.k_layout == FOVEA_PANELS) pack_keys();
}

// Rewrites K in place, head by head. Every work has whole panels of keys, so panels take exactly the room of the rows.
void problem::pack_keys() {
  const size_t head = static_cast<size_t>(work_.keys) * static_cast<size_t>(work_.dim);
  for (int32_t h = 0; h < work_.kv_heads; ++h) {
    float* k = cache_.floats() + static_cast<size_t>(h) * head;
    const std::vector<float> rows(k, k + head);
    const int32_t status = fovea_pack_keys(k, 0, rows.data(), work_.dim, work_.keys, work_.dim);
    if (status != FOVEA_OK) throw std::runtime_error(std::string("fovea_pack_keys: ") + fovea_reason_text(status));
  }
}

fovea_attention problem::call(int32_t isa) const {
  fovea_attention a = {};
  a.q.data = q_.data();
  a.k.data = cache_.data();
  a.k.layout = work_.k_layout;
  a.v.data = cache_.floats() + count(cache_) / 2;
  a.out.data = out_.data();
  a.q_heads = work_.q_heads;
  a.kv_heads = work_.kv_heads;
  a.dim = work_.dim;
  a.queries = work_.queries;
  a.keys = work_.keys;
  a.flags = work_.causal ? FOVEA_CAUSAL : 0;
  a.isa = isa;
  return a;
}

void problem::spoil() { std::fill_n(out_.floats(), count(out_), std::numeric_limits<float>::quiet_NaN()); }

bool problem::finite() const {
  return std::all_of(out_.floats(), out_.floats() + count(out_), [](float x) { return std::isfinite(x); });
}

uint64_t problem::digest() const { // FNV-1a over the words
  uint64_t hash = 14695981039346656037u;
  for (size_t i = 0; i < count(out_); ++i) {
    uint32_t bits;
    std::memcpy(&bits, out_.floats() + i, sizeof bits);
    hash = (hash ^ bits) * 1099511628211u;
  }
  return hash;
}

} // namespace bench
