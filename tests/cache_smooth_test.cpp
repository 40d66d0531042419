// Caches that keep keys less a mean key, and caches that begin behind tokens that stand elsewhere.
#include "cache_model.hpp"
#include "fovea/fixed.h"

using namespace cache_test;

namespace {

using data::status_of;

const cache_shape small = {"", 2, 2, 5, 3, 150, 0, 0};
constexpr int32_t all_dtypes[] = {FOVEA_F32, FOVEA_F16, FOVEA_BF16, FOVEA_I8};

fovea_cache_shape shape_of(int32_t dtype, bool smooth) {
  fovea_cache_shape s = small.of(dtype).shape();
  s.smooth_keys = smooth;
  if (dtype == FOVEA_I8) s.k_largest = 4, s.v_largest = 1;
  return s;
}

std::vector<float> some_mean() {
  std::vector<float> mean;
  for (uint32_t i = 0; i < 2 * 5; ++i) mean.push_back(2 * data::noise(31, i));
  return mean;
}

int32_t set_mean(block& image, const std::vector<float>& mean) {
  const fovea_in in = rows_of(mean);
  return fovea_cache_set_mean(image.data(), &in);
}

struct smoothed_cache {
  fovea_cache_shape shape;
  block image;
  std::vector<float> mean = some_mean();

  explicit smoothed_cache(int32_t dtype) : shape(shape_of(dtype, true)), image(room_for(shape)) {
    REQUIRE(fovea_cache_init(image.data(), image.size(), &shape) == FOVEA_OK);
    REQUIRE(set_mean(image, mean) == FOVEA_OK);
  }
};

int32_t append_rows(block& image, const std::vector<float>& k, const std::vector<float>& v, int32_t count) {
  const fovea_in in_k = rows_of(k), in_v = rows_of(v);
  return fovea_cache_append(image.data(), &in_k, &in_v, count);
}

} // namespace

TEST_CASE("smoothed cache: it holds what a cache of the differences holds") {
  for (int32_t dtype : all_dtypes) {
    INFO("dtype ", dtype);
    smoothed_cache smoothed(dtype);
    const fovea_cache_shape shape = shape_of(dtype, false);
    block plain = room_for(shape);
    REQUIRE(fovea_cache_init(plain.data(), plain.size(), &shape) == FOVEA_OK);
    tokens t(small, 1);
    for (int32_t count : {1, 15, 16, 60}) {
      t.add(count);
      std::vector<float> k = t.keys(t.length() - count, t.length());
      const std::vector<float> v = t.values(t.length() - count, t.length());
      REQUIRE(append_rows(smoothed.image, k, v, count) == FOVEA_OK);
      for (size_t i = 0; i < k.size(); ++i)
        k[i] -= smoothed.mean[i / (static_cast<size_t>(count) * 5) * 5 + i % 5];
      REQUIRE(append_rows(plain, k, v, count) == FOVEA_OK);
    }
    const size_t behind = plain.size() - FOVEA_CACHE_HEADER;
    CHECK(std::memcmp(smoothed.image.data() + FOVEA_CACHE_HEADER, plain.data() + FOVEA_CACHE_HEADER,
                      behind) == 0);
    CHECK(smoothed.image.size() == plain.size() + FOVEA_CACHE_MEAN(2, 5));
    CHECK(std::memcmp(fovea_cache_mean(smoothed.image.data()), smoothed.mean.data(), 40) == 0);
    CHECK(fovea_cache_verify(smoothed.image.data(), smoothed.image.size()) == FOVEA_OK);
    CHECK(smoothed.image.guards_hold());
  }
}

TEST_CASE("smoothed cache: softmax does not see it, with ALiBi, windows and masks") {
  smoothed_cache smoothed(FOVEA_F32);
  tokens t(small, 1);
  t.add(90);
  REQUIRE(append(smoothed.image.data(), t, 90) == FOVEA_OK);
  const std::vector<float> k = t.keys(0, 90), v = t.values(0, 90), q = t.queries(83, 90);
  const std::vector<float> slopes = {0.1f, 0.2f, 0.3f, 0.01f};
  std::vector<float> bias;
  for (uint32_t i = 0; i < 7 * 90; ++i) bias.push_back(i % 11 == 0 ? -INFINITY : data::noise(5, i));
  std::vector<float> expected(4 * 7 * 3), out = expected;
  const auto with_options = [&](std::vector<float>& to) {
    fovea_attention a = call_for(small, q, to, 7);
    a.alibi = slopes.data(), a.mask.data = bias.data(), a.mask.is_bias = 1, a.mask.query_stride = 90;
    a.flags |= FOVEA_WINDOW, a.window_left = 40, a.window_right = -1, a.prefix = 3;
    return a;
  };
  fovea_attention a = with_options(expected), b = with_options(out);
  a.k.data = k.data(), a.v.data = v.data(), a.keys = 90;
  REQUIRE(run(a) == FOVEA_OK);
  REQUIRE(fovea_cache_view(smoothed.image.data(), nullptr, &b) == FOVEA_OK);
  std::vector<float> lse(4 * 7);
  b.lse = lse.data();
  REQUIRE(run(b) == FOVEA_OK);
  for (size_t i = 0; i < out.size(); ++i) CHECK(std::fabs(out[i] - expected[i]) < 2e-5f); // scores up to 40
  std::vector<float> right_lse(4 * 7);
  a.lse = right_lse.data();
  REQUIRE(run(a) == FOVEA_OK);
  for (size_t row = 0; row < lse.size(); ++row) {
    float product = 0;
    for (size_t c = 0; c < 5; ++c) product += q[row * 5 + c] * smoothed.mean[row / 14 * 5 + c];
    CHECK(std::fabs(lse[row] + product / std::sqrt(5.0f) - right_lse[row]) < 1e-4f);
  }
}

TEST_CASE("smoothed cache: the mean stays, goes to branches, and is part of the checksum") {
  for (int32_t dtype : all_dtypes) {
    INFO("dtype ", dtype);
    smoothed_cache c(dtype);
    tokens t(small, 1);
    t.add(70);
    REQUIRE(append_rows(c.image, t.keys(0, 70), t.values(0, 70), 70) == FOVEA_OK);
    fovea_cache_shape shape = {};
    shape.capacity = 150;
    block branch = room_for(c.shape), copy = room_for(c.shape);
    REQUIRE(fovea_cache_branch(branch.data(), branch.size(), &shape, c.image.data(), 67) == FOVEA_OK);
    CHECK(std::memcmp(fovea_cache_mean(branch.data()), c.mean.data(), 40) == 0);
    CHECK(set_mean(branch, c.mean) == status_of(FOVEA_UNSUPPORTED, FOVEA_ARG_PARENT));
    CHECK(fovea_cache_verify(branch.data(), branch.size()) == FOVEA_OK);
    fovea_attention a = {};
    fovea_segments map = {};
    CHECK(view({c.image.data(), branch.data()}, map, a) == FOVEA_OK);
    REQUIRE(fovea_cache_truncate(c.image.data(), 67) == FOVEA_OK); // the checksum of the parent is compared
    CHECK(view({c.image.data(), branch.data()}, map, a) == FOVEA_OK);
    REQUIRE(fovea_cache_restore(copy.data(), copy.size(), c.image.data(), c.image.size()) == FOVEA_OK);
    CHECK(copy.bytes() != c.image.bytes()); // only one slot is in it
    CHECK(std::memcmp(fovea_cache_mean(copy.data()), c.mean.data(), 40) == 0);
    REQUIRE(fovea_cache_reset(c.image.data()) == FOVEA_OK);
    CHECK(std::memcmp(fovea_cache_mean(c.image.data()), c.mean.data(), 40) == 0);
    CHECK(fovea_cache_verify(c.image.data(), c.image.size()) == FOVEA_OK);
    c.mean[3] += 1;
    REQUIRE(set_mean(c.image, c.mean) == FOVEA_OK);
    CHECK(fovea_cache_verify(c.image.data(), c.image.size()) == FOVEA_OK);
    c.image.data()[c.image.size() - 3] ^= 1;
    CHECK(fovea_cache_verify(c.image.data(), c.image.size()) == status_of(FOVEA_DAMAGED, FOVEA_ARG_IMAGE));
  }
}

TEST_CASE("smoothed cache: what is refused, and changes nothing") {
  fovea_cache_shape s = small.shape();
  block image = room_for(shape_of(FOVEA_F32, true));
  s.smooth_keys = 2;
  CHECK(fovea_cache_init(image.data(), image.size(), &s) == status_of(FOVEA_RANGE, FOVEA_ARG_MEAN));
  s.smooth_keys = 1, s.dtype = FOVEA_I8;
  CHECK(fovea_cache_init(image.data(), image.size(), &s) == status_of(FOVEA_UNSUPPORTED, FOVEA_ARG_MEAN));

  smoothed_cache c(FOVEA_F16);
  const std::vector<unsigned char> before = c.image.bytes();
  std::vector<float> mean = c.mean;
  CHECK(fovea_cache_set_mean(c.image.data(), nullptr) == status_of(FOVEA_NULL, FOVEA_ARG_MEAN));
  CHECK(fovea_cache_set_mean(nullptr, nullptr) == status_of(FOVEA_NULL, FOVEA_ARG_IMAGE));
  mean[9] = NAN;
  CHECK(set_mean(c.image, mean) == status_of(FOVEA_NOT_FINITE, FOVEA_ARG_MEAN));
  const std::vector<uint16_t> halves(10, 0x3c00);
  fovea_in in = rows_of(halves, FOVEA_F16);
  CHECK(fovea_cache_set_mean(c.image.data(), &in) == status_of(FOVEA_UNSUPPORTED, FOVEA_ARG_MEAN));
  CHECK(fovea_cache_append(c.image.data(), &in, &in, 1) == status_of(FOVEA_UNSUPPORTED, FOVEA_ARG_K));
  std::vector<float> k(10, 1), v(6, 1);
  k[7] = 65520 + mean[7] + 32; // only the difference counts
  CHECK(append_rows(c.image, k, v, 1) == status_of(FOVEA_RANGE, FOVEA_ARG_K));
  const std::vector<float> one = {1, 1, 1, 1};
  std::vector<float> out(4);
  const auto refused = [&](void (*spoil)(fovea_attention&, std::vector<float>&)) {
    fovea_attention a = {};
    spoil(a, out);
    return fovea_cache_view(c.image.data(), nullptr, &a);
  };
  CHECK(refused([](fovea_attention& a, std::vector<float>&) { a.softcap = 30; }) ==
        status_of(FOVEA_UNSUPPORTED, FOVEA_ARG_SOFTCAP));
  CHECK(refused([](fovea_attention& a, std::vector<float>& x) { a.sinks = x.data(); }) ==
        status_of(FOVEA_UNSUPPORTED, FOVEA_ARG_SINKS));
  CHECK(refused([](fovea_attention& a, std::vector<float>& x) { a.lse = x.data(); }) ==
        status_of(FOVEA_UNSUPPORTED, FOVEA_ARG_LSE));
  CHECK(refused([](fovea_attention& a, std::vector<float>& x) {
          a.weights.data = x.data(), a.weights.stage = 1;
        }) == status_of(FOVEA_UNSUPPORTED, FOVEA_ARG_WEIGHTS));
  CHECK(refused([](fovea_attention& a, std::vector<float>& x) { a.weights.data = x.data(); }) == FOVEA_OK);
  CHECK(c.image.bytes() == before);

  REQUIRE(append_rows(c.image, std::vector<float>(10, 1), v, 1) == FOVEA_OK);
  CHECK(set_mean(c.image, c.mean) == status_of(FOVEA_RANGE, FOVEA_ARG_KEYS));
  block plain = room_for(small.shape());
  const fovea_cache_shape shape = small.shape();
  REQUIRE(fovea_cache_init(plain.data(), plain.size(), &shape) == FOVEA_OK);
  CHECK(set_mean(plain, c.mean) == status_of(FOVEA_UNSUPPORTED, FOVEA_ARG_IMAGE));
  CHECK(fovea_cache_mean(plain.data()) == nullptr);
  fovea_cache_shape other = {};
  other.capacity = 150, other.smooth_keys = 1;
  CHECK(fovea_cache_branch(c.image.data(), c.image.size(), &other, plain.data(), 0) ==
        status_of(FOVEA_UNSUPPORTED, FOVEA_ARG_MEAN));
  smoothed_cache bytes(FOVEA_I8);
  fovea_fixed_attention integers = {};
  const int32_t sink = 0;
  integers.sinks = &sink;
  CHECK(fovea_cache_view_fixed(bytes.image.data(), nullptr, &integers) ==
        status_of(FOVEA_UNSUPPORTED, FOVEA_ARG_SINKS));
}

namespace {

// A cache of the tokens from `first` on.
block begun_at(int32_t first, int32_t dtype, int32_t& status) {
  fovea_cache_shape s = shape_of(dtype, false);
  s.first_token = first;
  block image = room_for(shape_of(dtype, false));
  status = fovea_cache_init(image.data(), image.size(), &s);
  return image;
}

} // namespace

TEST_CASE("cache that begins later: its tokens alone, also in rings and branches") {
  for (int32_t dtype : float_dtypes) {
    INFO("dtype ", dtype);
    const cache_shape s = small.of(dtype);
    int32_t status = 0;
    block image = begun_at(48, dtype, status), branch = room_for(s.shape());
    REQUIRE(status == FOVEA_OK);
    CHECK(fovea_cache_length(image.data()) == 48);
    tokens t(s, 1);
    t.add(48);
    t.add(60);
    REQUIRE(append(image.data(), t, 60, dtype) == FOVEA_OK);
    const auto only_later = [&](const std::vector<const void*>& images) {
      const std::vector<float> k = t.stored_keys(), v = t.stored_values(), q = t.queries(101, 108);
      std::vector<float> expected(4 * 7 * 3), out = expected;
      fovea_attention a = call_for(s, q, expected, 7), b = call_for(s, q, out, 7);
      const size_t before = 48;
      a.k.data = k.data() + before * 5, a.v.data = v.data() + before * 3;
      a.k.head_stride = 108 * 5, a.v.head_stride = 108 * 3, a.first_key = 48, a.keys = 60;
      REQUIRE(run(a) == FOVEA_OK);
      fovea_segments map = {};
      REQUIRE(view(images, map, b) == FOVEA_OK);
      CHECK(b.first_key == 48);
      REQUIRE(run(b) == FOVEA_OK);
      CHECK(data::same_bits(out, expected));
    };
    only_later({image.data()});
    fovea_cache_shape shape = {};
    shape.capacity = 60;
    REQUIRE(fovea_cache_branch(branch.data(), branch.size(), &shape, image.data(), 75) == FOVEA_OK);
    REQUIRE(append(branch.data(), t, 33, dtype) == FOVEA_OK);
    only_later({image.data(), branch.data()});
    REQUIRE(fovea_cache_truncate(image.data(), 75) == FOVEA_OK);
    only_later({image.data(), branch.data()});
    CHECK(fovea_cache_verify(image.data(), image.size()) == FOVEA_OK);
    CHECK(fovea_cache_verify(branch.data(), branch.size()) == FOVEA_OK);
    CHECK(fovea_cache_truncate(image.data(), 47) == status_of(FOVEA_RANGE, FOVEA_ARG_KEYS));
    REQUIRE(fovea_cache_reset(image.data()) == FOVEA_OK);
    CHECK(fovea_cache_length(image.data()) == 48);
    CHECK(fovea_cache_branch(branch.data(), branch.size(), &shape, image.data(), 47) ==
          status_of(FOVEA_RANGE, FOVEA_ARG_KEYS));
  }
}

TEST_CASE("cache that begins later: what is refused") {
  int32_t status = 0;
  begun_at(8, FOVEA_F32, status);
  CHECK(status == status_of(FOVEA_ALIGN, FOVEA_ARG_FIRST_KEY));
  begun_at(16, FOVEA_I8, status);
  CHECK(status == status_of(FOVEA_ALIGN, FOVEA_ARG_FIRST_KEY));
  begun_at(-16, FOVEA_F32, status);
  CHECK(status == status_of(FOVEA_RANGE, FOVEA_ARG_FIRST_KEY));
  begun_at(INT32_MAX - 15, FOVEA_F32, status);
  CHECK(status == status_of(FOVEA_SIZE, FOVEA_ARG_KEYS));
  block bytes = begun_at(64, FOVEA_I8, status);
  REQUIRE(status == FOVEA_OK);
  fovea_fixed_attention integers = {};
  CHECK(fovea_cache_view_fixed(bytes.data(), nullptr, &integers) ==
        status_of(FOVEA_UNSUPPORTED, FOVEA_ARG_FIRST_KEY));
  fovea_cache_shape shape = {};
  shape.capacity = 64, shape.first_token = 128;
  block branch = room_for(shape_of(FOVEA_I8, false));
  CHECK(fovea_cache_branch(branch.data(), branch.size(), &shape, bytes.data(), 64) ==
        status_of(FOVEA_RANGE, FOVEA_ARG_FIRST_KEY));
}
