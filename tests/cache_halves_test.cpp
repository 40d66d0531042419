// Caches of float16 and bfloat16: what append writes, bit by bit, and what it refuses.
#include "cache_model.hpp"

using namespace cache_test;

namespace {

using data::status_of;
constexpr int32_t halves[] = {FOVEA_F16, FOVEA_BF16};

// The image of docs/cache.md: K in panels of 16, V in rows.
struct image_reader {
  const cache_shape& s;
  const unsigned char* at;

  size_t places() const { return static_cast<size_t>((s.capacity + 15) / 16 * 16); }
  uint16_t key(size_t g, size_t j, size_t c) const {
    const size_t dim = static_cast<size_t>(s.dim);
    return half(192 + 2 * (g * places() * dim + j / 16 * 16 * dim + c * 16 + j % 16));
  }
  uint16_t value(size_t g, size_t j, size_t c) const {
    const size_t keys = static_cast<size_t>(s.kv_heads * s.dim) * places(),
                 width = static_cast<size_t>(s.width());
    return half(192 + 2 * (keys + (g * places() + j) * width + c));
  }
  uint32_t sum_of_token(size_t j) const {
    uint32_t sum = static_cast<uint32_t>(j);
    for (size_t g = 0; g < static_cast<size_t>(s.kv_heads); ++g) {
      const size_t dim = static_cast<size_t>(s.dim), width = static_cast<size_t>(s.width());
      for (size_t c = 0; c < dim; c += 2)
        sum = mix(sum, key(g, j, c) | static_cast<uint32_t>(c + 1 < dim ? key(g, j, c + 1) : 0) << 16);
      for (size_t c = 0; c < width; c += 2)
        sum = mix(sum, value(g, j, c) | static_cast<uint32_t>(c + 1 < width ? value(g, j, c + 1) : 0) << 16);
    }
    return mix(sum ^ sum >> 16, 0);
  }
  static uint32_t mix(uint32_t sum, uint32_t word) {
    sum ^= word;
    return (sum << 13 | sum >> 19) * 0x9e3779b1u;
  }
  uint16_t half(size_t byte) const { return static_cast<uint16_t>(at[byte] | at[byte + 1] << 8); }
};

struct one_number {
  block image;
  int32_t dtype;

  explicit one_number(int32_t of) : image(room_for(shape(of))), dtype(of) { begin(); }
  void begin() {
    const fovea_cache_shape s = shape(dtype);
    REQUIRE(fovea_cache_init(image.data(), image.size(), &s) == FOVEA_OK);
  }
  static fovea_cache_shape shape(int32_t dtype) {
    return cache_shape{"", 1, 1, 1, 0, 4, 0, 0, dtype}.shape();
  }
  int32_t put(float k, float v) {
    const std::vector<float> rows_k = {k}, rows_v = {v};
    const fovea_in in_k = rows_of(rows_k), in_v = rows_of(rows_v);
    return fovea_cache_append(image.data(), &in_k, &in_v, 1);
  }
  uint16_t rounded(float x) {
    begin();
    CHECK(put(0, x) == FOVEA_OK);
    return image_reader{{"", 1, 1, 1, 0, 4, 0, 0, dtype}, image.data()}.value(0, 0, 0);
  }
};

} // namespace

TEST_CASE("cache of halves: bytes and checksums are those of docs/cache.md") {
  for (int32_t dtype : halves) {
    INFO("dtype ", dtype);
    const cache_shape s = {"", 1, 2, 5, 3, 40, 0, 0, dtype};
    const fovea_cache_shape shape = s.shape();
    block image = room_for(shape);
    REQUIRE(fovea_cache_init(image.data(), image.size(), &shape) == FOVEA_OK);
    tokens t(s, 1);
    for (int32_t count : {1, 16, 4, 17}) {
      t.add(count);
      REQUIRE(append(image.data(), t, count, dtype) == FOVEA_OK);
    }
    const std::vector<uint16_t> k = halves_of(t.keys(0, 38), dtype), v = halves_of(t.values(0, 38), dtype);
    const image_reader reader{s, image.data()};
    uint32_t sum = 0;
    for (size_t j = 0; j < 38; ++j) {
      sum += reader.sum_of_token(j);
      for (size_t g = 0; g < 2; ++g) {
        for (size_t c = 0; c < 5; ++c) CHECK(reader.key(g, j, c) == k[(g * 38 + j) * 5 + c]);
        for (size_t c = 0; c < 3; ++c) CHECK(reader.value(g, j, c) == v[(g * 38 + j) * 3 + c]);
      }
    }
    uint32_t slot[5], order;
    std::memcpy(slot, image.data() + 128 + 32 * (fovea_cache_generation(image.data()) & 1), sizeof slot);
    std::memcpy(&order, image.data() + 8, sizeof order);
    CHECK(slot[1] == 38);
    CHECK(slot[3] == sum);
    CHECK(order == 0);
    CHECK(image.guards_hold());
  }
}

TEST_CASE("cache of halves: floats are rounded to the nearest, halves to even") {
  one_number f16(FOVEA_F16), bf16(FOVEA_BF16);
  CHECK(f16.rounded(1.0f + 1.0f / 2048) == 0x3c00);
  CHECK(f16.rounded(1.0f + 3.0f / 2048) == 0x3c02);
  CHECK(f16.rounded(-1.0f - 1.0f / 2048 - 1e-6f) == 0xbc01);
  CHECK(f16.rounded(65519.996f) == 0x7bff);
  CHECK(f16.rounded(-0.0f) == 0x8000);
  CHECK(f16.rounded(std::ldexp(1.0f, -24)) == 1);
  CHECK(f16.rounded(std::ldexp(1.0f, -25)) == 0);
  CHECK(f16.rounded(std::ldexp(3.0f, -25)) == 2);
  CHECK(f16.rounded(INFINITY) == 0x7c00);
  CHECK((f16.rounded(NAN) & 0x7fff) > 0x7c00);
  CHECK(bf16.rounded(1.0f + 1.0f / 256) == 0x3f80);
  CHECK(bf16.rounded(1.0f + 3.0f / 256) == 0x3f82);
  CHECK(bf16.rounded(std::ldexp(1.0f, -133)) == 1);
  CHECK(bf16.rounded(-INFINITY) == 0xff80);
  CHECK((bf16.rounded(NAN) & 0x7fff) > 0x7f80);
  CHECK(bf16.rounded(std::ldexp(255.0f, 120)) == 0x7f7f);
}

TEST_CASE("cache of halves: what is refused, and changes nothing") {
  const float beyond_f16 = 65520, beyond_bf16 = std::ldexp(511.0f, 119);
  for (int32_t dtype : halves) {
    INFO("dtype ", dtype);
    const float beyond = dtype == FOVEA_F16 ? beyond_f16 : beyond_bf16;
    one_number x(dtype);
    REQUIRE(x.put(1, 2) == FOVEA_OK);
    const std::vector<unsigned char> before = x.image.bytes();
    CHECK(x.put(beyond, 1) == status_of(FOVEA_RANGE, FOVEA_ARG_K));
    CHECK(x.put(1, -beyond) == status_of(FOVEA_RANGE, FOVEA_ARG_V));
    const std::vector<uint16_t> rows = {1, 2};
    fovea_in k = rows_of(rows, dtype), v = rows_of(rows, dtype == FOVEA_F16 ? FOVEA_BF16 : FOVEA_F16);
    CHECK(fovea_cache_append(x.image.data(), &k, &v, 1) == status_of(FOVEA_UNSUPPORTED, FOVEA_ARG_V));
    CHECK(fovea_cache_append(x.image.data(), &v, &v, 1) == status_of(FOVEA_UNSUPPORTED, FOVEA_ARG_K));
    v.dtype = FOVEA_F32;
    CHECK(fovea_cache_append(x.image.data(), &k, &v, 1) == status_of(FOVEA_UNSUPPORTED, FOVEA_ARG_V));
    k.dtype = v.dtype = FOVEA_I8;
    CHECK(fovea_cache_append(x.image.data(), &k, &v, 1) == status_of(FOVEA_UNSUPPORTED, FOVEA_ARG_K));
    k.dtype = v.dtype = dtype;
    k.data = reinterpret_cast<const unsigned char*>(rows.data()) + 1;
    CHECK(fovea_cache_append(x.image.data(), &k, &v, 1) == status_of(FOVEA_ALIGN, FOVEA_ARG_K));
    fovea_fixed_attention integers = {};
    CHECK(fovea_cache_view_fixed(x.image.data(), nullptr, &integers) ==
          status_of(FOVEA_UNSUPPORTED, FOVEA_ARG_K));
    CHECK(x.image.bytes() == before);
    k.data = rows.data();
    CHECK(fovea_cache_append(x.image.data(), &k, &v, 1) == FOVEA_OK);
  }
  const cache_shape s = {"", 1, 1, 1, 0, 4, 0, 0};
  const fovea_cache_shape floats = s.shape();
  block image = room_for(floats);
  REQUIRE(fovea_cache_init(image.data(), image.size(), &floats) == FOVEA_OK);
  const std::vector<uint16_t> rows = {1};
  const fovea_in in = rows_of(rows, FOVEA_F16);
  CHECK(fovea_cache_append(image.data(), &in, &in, 1) == status_of(FOVEA_UNSUPPORTED, FOVEA_ARG_K));
}
