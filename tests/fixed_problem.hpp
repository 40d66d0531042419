// Cases of integer attention: a shape, options, data, and memory for all of it.
#pragma once
#include <cstdint>
#include <vector>

#include "data.hpp"
#include "fovea/fixed.hpp"

enum class filling { noise, uniform, extremes, rising, lowest, one_key, outliers };

class fixed_problem {
 public:
  explicit fixed_problem(const char* why) : why_(why) {
    call_.q_heads = 1, call_.dim = 16, call_.queries = 1, call_.keys = 16;
  }
  fixed_problem(const fixed_problem& other); // fixed_problem.cpp: compiled once, not in each test
  ~fixed_problem();

  fixed_problem& heads(int32_t q, int32_t kv = 0) { return call_.q_heads = q, call_.kv_heads = kv, *this; }
  fixed_problem& dims(int32_t dim, int32_t v_dim = 0) { return call_.dim = dim, call_.v_dim = v_dim, *this; }
  fixed_problem& lengths(int32_t queries, int32_t keys) {
    return call_.queries = queries, call_.keys = keys, *this;
  }
  fixed_problem& data(filling kind) { return kind_ = kind, *this; }
  fixed_problem& causal() { return call_.flags |= FOVEA_CAUSAL, *this; }
  fixed_problem& position(int32_t p) { return call_.flags |= FOVEA_POSITION, call_.position = p, *this; }
  fixed_problem& window(int32_t left, int32_t right) {
    return call_.flags |= FOVEA_WINDOW, call_.window_left = left, call_.window_right = right, *this;
  }
  fixed_problem& keep_first(int32_t n) { return call_.keep_first = n, *this; }
  fixed_problem& prefix(int32_t n) { return call_.prefix = n, *this; }
  fixed_problem& first_key(int32_t n) { return call_.first_key = n, *this; }
  fixed_problem& chunk(int32_t keys, int32_t left) {
    return pattern_.chunk = keys, pattern_.left_chunks = left, *this;
  }
  fixed_problem& tree(uint32_t seed) { return tree_ = seed, causal(); }
  fixed_problem& max_keys(int32_t n) { return call_.max_keys = n, *this; }
  fixed_problem& steepness(double x) { return steepness_ = x, *this; }
  fixed_problem& zeros(int32_t q, int32_t k, int32_t v, int32_t result) {
    return call_.q.zero_point = q, call_.k.zero_point = k, call_.v.zero_point = v,
           call_.out.zero_point = result, *this;
  }
  fixed_problem& masked() { return masked_ = true, *this; }
  fixed_problem& biased() { return biased_ = true, *this; }
  fixed_problem& alibi() { return alibi_on_ = true, *this; }
  fixed_problem& sinks() { return sinks_on_ = true, *this; }
  fixed_problem& scale_per_head() { return per_head_ = true, *this; }
  fixed_problem& scale_per_key() { return per_key_ = true, *this; }
  fixed_problem& all_tables() { return masked().biased().alibi().sinks().scale_per_head().scale_per_key(); }
  fixed_problem& s16(int32_t weight_bits = 0) { return s16_ = true, call_.weight_bits = weight_bits, *this; }

  const char* why() const { return why_; }
  // Fills the memory and points the call at it.
  const fovea_fixed_attention& make(int32_t out_type, uint32_t seed = 1);
  const fovea_fixed_attention& call() const { return call_; }
  std::vector<unsigned char> out;
  std::vector<int8_t> key_panels, value_panels;
  // The same call with k and v in panels; first_key must be a multiple of 64.
  fovea_fixed_attention packed();
  size_t row_bytes() const {
    return static_cast<size_t>(v_dim()) * (call_.out.dtype == FOVEA_FIXED_S8    ? 1
                                           : call_.out.dtype == FOVEA_FIXED_S16 ? 2
                                                                                : 4);
  }
  int32_t v_dim() const { return call_.v_dim ? call_.v_dim : call_.dim; }
  int32_t kv_heads() const { return call_.kv_heads ? call_.kv_heads : call_.q_heads; }
  std::vector<unsigned char> expected() const;

 private:
  uint32_t random() { return state_ = state_ * 1664525u + 1013904223u, state_ >> 8; }
  int32_t normal(double sigma);
  int32_t with_outliers(int32_t channel);
  int32_t pick(filling kind, size_t i, size_t count);
  template <class T>
  void fill(std::vector<T>& x, size_t count, filling kind);
  void make_tensors();
  void make_scales(int32_t out_type);
  void make_options();

  const char* why_;
  fovea_fixed_attention call_{};
  filling kind_ = filling::noise;
  double steepness_ = 1;
  bool masked_ = false, biased_ = false, alibi_on_ = false, sinks_on_ = false, per_head_ = false,
       per_key_ = false, s16_ = false;
  uint32_t state_ = 1;
  std::vector<int8_t> q8_, k8_, v8_;
  std::vector<int16_t> q16_, k16_, v16_, value_weights_;
  std::vector<int32_t> sums_, multipliers_, bias_, slopes_, sink_logits_;
  std::vector<uint8_t> mask_;
  fovea_pattern pattern_{};
  uint32_t tree_ = 0; // the seed of its form; 0: none
  std::vector<int16_t> parents_;
  std::vector<fovea_fixed_scale> scales_;
};
