// The memory, numbers and scales of cases of integer attention.
#include "fixed_problem.hpp"

#include <cmath>
#include <type_traits>

#include "fixed_reference.hpp"

fixed_problem::fixed_problem(const fixed_problem&) = default;
fixed_problem::~fixed_problem() = default;

int32_t fixed_problem::normal(double sigma) {
  int32_t x = 0;
  for (int i = 0; i < 12; ++i) x += static_cast<int32_t>(random() % 1000);
  const double limit = s16_ ? 32767 : 127, y = (x - 5994) / 1000.0 * sigma;
  return static_cast<int32_t>(y > limit ? limit : y < -limit - 1 ? -limit - 1 : y);
}

int32_t fixed_problem::pick(filling kind, size_t i, size_t count) {
  const int32_t low = s16_ ? -32768 : -128, span = s16_ ? 65535 : 255;
  switch (kind) {
    case filling::noise:
      return normal(s16_ ? 7282 : 28.2);
    case filling::uniform:
      return low + static_cast<int32_t>(random() % static_cast<uint32_t>(span + 1));
    case filling::extremes:
      return random() & 1 ? low + span : low;
    case filling::rising:
      return low + static_cast<int32_t>(static_cast<uint64_t>(i) * static_cast<uint64_t>(span) / count);
    case filling::one_key:
      return i < count / 2 || i >= count / 2 + static_cast<size_t>(call_.dim) ? normal(s16_ ? 300 : 3)
                                                                              : low + span;
    case filling::outliers:
      return with_outliers(static_cast<int32_t>(i % static_cast<size_t>(call_.dim)));
    default:
      return low;
  }
}

// Keys whose channels differ: two lie far from zero, one is six times as wide.
int32_t fixed_problem::with_outliers(int32_t channel) {
  if (channel == 5) return normal(9) + 72;
  if (channel == 20) return normal(9) - 72;
  return normal(channel == 17 ? 54 : 9);
}

template <class T>
void fixed_problem::fill(std::vector<T>& x, size_t count, filling kind) {
  x.resize(count);
  for (size_t i = 0; i < count; ++i) x[i] = static_cast<T>(pick(kind, i, count));
}

void fixed_problem::make_tensors() {
  const auto count = [](int32_t a, int32_t b, int32_t c) {
    return static_cast<size_t>(a) * static_cast<size_t>(b) * static_cast<size_t>(c);
  };
  const size_t nq = count(call_.q_heads, call_.queries, call_.dim),
               nk = count(kv_heads(), call_.keys, call_.dim);
  const size_t nv = count(kv_heads(), call_.keys, v_dim());
  const bool steady = kind_ == filling::rising || kind_ == filling::one_key;
  const auto fill_all = [&](auto& q, auto& k, auto& v) {
    const bool keys_only = steady || kind_ == filling::outliers;
    fill(q, nq, keys_only ? filling::noise : kind_);
    if (steady)
      for (auto& x : q) x = static_cast<std::decay_t<decltype(x)>>(s16_ ? 30000 : 100);
    fill(k, nk, kind_);
    fill(v, nv, steady ? filling::uniform : keys_only ? filling::noise : kind_);
    call_.q.data = q.data(), call_.k.data = k.data(), call_.v.data = v.data();
  };
  if (s16_)
    fill_all(q16_, k16_, v16_);
  else
    fill_all(q8_, k8_, v8_);
  call_.q.dtype = call_.k.dtype = call_.v.dtype = s16_ ? FOVEA_FIXED_S16 : FOVEA_FIXED_S8;
}

void fixed_problem::make_scales(int32_t out_type) {
  const double unit = s16_ ? 4.5 / 32767 : 4.5 / 127,
               step = out_type == FOVEA_FIXED_S8 ? unit / 3 : unit / (s16_ ? 1 : 300);
  const auto make = [&](double factor) {
    const fovea::real_scales real{unit * factor, unit, unit, out_type == FOVEA_FIXED_F32 ? 0 : step, 0};
    return fovea::make_fixed_scale(real, call_.dim, call_.max_keys, call_.q.dtype,
                                   call_.q.zero_point || call_.k.zero_point)
        .scale;
  };
  call_.scale = make(steepness_);
  if (!per_head_) return;
  for (int32_t h = 0; h < call_.q_heads; ++h) scales_.push_back(make(steepness_ * (1 + 0.3 * h)));
  call_.head_scales = scales_.data();
}

void fixed_problem::make_options() {
  const size_t keys = static_cast<size_t>(call_.keys),
               all = keys * static_cast<size_t>(call_.q_heads * call_.queries);
  if (call_.q.zero_point) {
    sums_.resize(keys * static_cast<size_t>(kv_heads()));
    fovea_fixed_sum_keys(sums_.data(), k8_.data(), 0, call_.keys * kv_heads(), call_.dim);
    call_.key_sums.data = sums_.data();
  }
  if (per_key_) {
    for (size_t i = 0; i < keys * static_cast<size_t>(kv_heads()); ++i) {
      multipliers_.push_back(
          fovea::key_multiplier(call_.scale, 0.3 + static_cast<double>(random() % 700) / 1000, 1));
      value_weights_.push_back(fovea::value_weight(0.1 + static_cast<double>(random() % 900) / 1000, 1));
    }
    call_.key_multipliers.data = multipliers_.data(), call_.value_weights.data = value_weights_.data();
  }
  const ptrdiff_t row = call_.keys, head = row * call_.queries;
  for (size_t i = 0; masked_ && i < all; ++i) mask_.push_back(static_cast<uint8_t>(random() % 3 != 0));
  for (size_t i = 0; biased_ && i < all; ++i)
    bias_.push_back(random() % 9 ? static_cast<int32_t>(random() % 400000) - 200000 : INT32_MIN);
  if (masked_) call_.mask = {mask_.data(), head, row};
  if (biased_) call_.bias = {bias_.data(), head, row};
  for (int32_t h = 0; h < call_.q_heads; ++h) {
    slopes_.push_back(fovea::to_octaves(std::ldexp(1.0, -1 - h)));
    sink_logits_.push_back(fovea::to_octaves(0.7 * h - 1));
  }
  if (alibi_on_) call_.alibi = slopes_.data();
  if (sinks_on_) call_.sinks = sink_logits_.data();
  if (pattern_.chunk || tree_) call_.pattern = &pattern_;
  if (!tree_) return;
  data::lottery lot(tree_);
  parents_.resize(static_cast<size_t>(call_.queries));
  pattern::draw_tree(parents_.data(), call_.queries, [&](int32_t a, int32_t b) { return lot.between(a, b); });
  pattern_.parents = parents_.data();
}

const fovea_fixed_attention& fixed_problem::make(int32_t out_type, uint32_t seed) {
  state_ = seed;
  make_tensors();
  make_scales(out_type);
  make_options();
  call_.out.dtype = out_type;
  if (out_type == FOVEA_FIXED_F32) call_.out.zero_point = 0;
  out.assign(row_bytes() * static_cast<size_t>(call_.q_heads * call_.queries), 0x55);
  call_.out.data = out.data();
  return call_;
}

fovea_fixed_attention fixed_problem::packed() {
  fovea_fixed_attention a = call_;
  const size_t key_room = FOVEA_FIXED_PANELS(call_.keys, call_.dim),
               value_room = FOVEA_FIXED_PANELS(call_.keys, v_dim());
  key_panels.assign(key_room * static_cast<size_t>(kv_heads()), 0x5a);
  value_panels.assign(value_room * static_cast<size_t>(kv_heads()), 0x5a);
  for (int32_t g = 0; g < kv_heads(); ++g) {
    const size_t rows = static_cast<size_t>(g) * static_cast<size_t>(call_.keys);
    fovea_fixed_pack_keys(key_panels.data() + static_cast<size_t>(g) * key_room, 0,
                          k8_.data() + rows * static_cast<size_t>(call_.dim), 0, call_.keys, call_.dim);
    fovea_fixed_pack_values(value_panels.data() + static_cast<size_t>(g) * value_room, 0,
                            v8_.data() + rows * static_cast<size_t>(v_dim()), 0, call_.keys, v_dim());
  }
  a.k.layout = a.v.layout = FOVEA_PANELS;
  a.k.data = key_panels.data(), a.v.data = value_panels.data();
  return a;
}

std::vector<unsigned char> fixed_problem::expected() const { return fixed_reference::output(call_); }
