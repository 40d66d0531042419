// The decoder of examples/stories on a small seeded model: right by its formula, the same bits on every ISA,
// whatever is read at once, by any number of workers, behind a prefix.
#include <doctest/doctest.h>

#include "digest.hpp"
#include "isas.hpp"
#include "stories_model.hpp"
#if !FOVEA_SMALL
#include <condition_variable>
#include <mutex>
#include <thread>
#endif

namespace {

using namespace stories_model;
using stories::model;

constexpr int32_t count = 40; // tokens: over two panels of keys

std::vector<float> logits_of(const model& m, const stories::arithmetic& how = {}) {
  return logits_by(m, count, 1, how);
}

const char* name_of(int32_t dtype) {
  return dtype == FOVEA_F32 ? "f32" : dtype == FOVEA_I8 ? "int8" : "int4";
}
constexpr int32_t dtypes[] = {FOVEA_F32, FOVEA_I8, FOVEA_I4};

} // namespace

TEST_CASE("stories: the decoder is Llama's, with one table of words and with two") {
  for (int32_t own_classifier : {0, 1}) {
    shape s = small;
    s.own_classifier = own_classifier;
    file_bytes bytes(s);
    stories::model_file file;
    REQUIRE(!stories::read_llama2c(bytes.data(), bytes.size(), file));
    const std::vector<double> expected = reference(file, count);
    struct {
      int32_t dtype;
      double
          error; // of the norm of all logits: weights of 8 and 4 bits are off by 1/256 and 1/16 of the largest
    } const rows[] = {{FOVEA_F32, 2e-6}, {FOVEA_I8, 0.03}, {FOVEA_I4, 0.35}};
    for (const auto& row : rows) {
      CAPTURE(name_of(row.dtype));
      const packed_model packed(s, row.dtype);
      CHECK(distance(logits_of(packed.model), expected) < row.error);
    }
  }
}

TEST_CASE("stories: the same bits on every ISA") {
  struct {
    int32_t dtype;
    uint64_t digest;
  } const rows[] = {
      {FOVEA_F32, 0x895557c5ec85f70f}, {FOVEA_I8, 0x75eb1281b794d3}, {FOVEA_I4, 0xd98eca622ef627c5}};
  for (const auto& row : rows) {
    const packed_model packed(small, row.dtype);
    isas::for_each([&](int32_t isa) {
      if (!isas::promises_bits(isa)) return;
      CAPTURE(name_of(row.dtype));
      digest d;
      d.add(logits_of(packed.model, {isa, FOVEA_FIXED_BEST}));
      CHECK(d.value() == row.digest);
    });
  }
}

TEST_CASE("stories: no bit depends on how many tokens are read at once") {
  for (int32_t dtype : dtypes) {
    CAPTURE(name_of(dtype));
    const packed_model packed(small, dtype);
    const std::vector<float> expected = logits_of(packed.model);
    for (int32_t rows : {int32_t{2}, int32_t{7}, int32_t{16}, count})
      CHECK(data::same_bits(logits_by(packed.model, count, rows), expected));
  }
}

TEST_CASE("stories: logits of the last tokens alone") {
  const packed_model packed(small, FOVEA_F32);
  const std::vector<float> expected = logits_of(packed.model);
  const auto words = static_cast<size_t>(small.words);
  int32_t ids[9];
  for (int32_t i = 0; i < 9; ++i) ids[i] = id_at(i, small.words);
  reader r(packed.model, 9, 9);
  for (int32_t wanted : {0, 1, 2}) {
    REQUIRE(r.decoder.begin() == FOVEA_OK);
    std::vector<float> found(2 * words, -7);
    REQUIRE(r.decoder.run(ids, 9, wanted, found.data(), r.scratch.data()) == FOVEA_OK);
    const size_t written = static_cast<size_t>(wanted) * words;
    CHECK(std::memcmp(found.data(), expected.data() + 9 * words - written, written * sizeof(float)) == 0);
    for (size_t i = written; i < found.size(); ++i) CHECK(found[i] == -7);
  }
}

TEST_CASE("stories: behind a prefix in constant memory, from every token on") {
  const packed_model packed(small, FOVEA_I8);
  const std::vector<float> expected = logits_of(packed.model);
  for (int32_t prefix = 1; prefix < count; ++prefix) {
    CAPTURE(prefix);
    reader first(packed.model, prefix, prefix);
    REQUIRE(first.decoder.begin() == FOVEA_OK);
    REQUIRE(first.read(prefix) == FOVEA_OK);
    aligned flash(first.caches.size());
    std::memcpy(flash.data(), first.caches.data(), flash.size());
    reader rest(packed.model, count - prefix + stories::branch_tokens(), 3);
    REQUIRE(rest.decoder.begin({flash.data(), prefix}) == FOVEA_OK);
    CHECK(rest.decoder.length() == prefix);
    while (rest.decoder.length() < count)
      REQUIRE(rest.read(std::min<int32_t>(3, count - rest.decoder.length())) == FOVEA_OK);
    CHECK(std::memcmp(rest.logits.data(), expected.data() + static_cast<size_t>(prefix * small.words),
                      rest.logits.size() * sizeof(float)) == 0);
    CHECK(std::memcmp(flash.data(), first.caches.data(), flash.size()) == 0);
  }
}

TEST_CASE("stories: what the decoder refuses") {
  const packed_model packed(small, FOVEA_F32);
  reader r(packed.model, 20, 4);
  const int32_t good[5] = {1, 2, 3, 4, 5}, negative[1] = {-1}, beyond[1] = {small.words};
  std::vector<float> logits(static_cast<size_t>(4 * small.words), -7);
  const auto run = [&](const int32_t* ids, int32_t n, int32_t wanted) {
    return r.decoder.run(ids, n, wanted, logits.data(), r.scratch.data());
  };
  CHECK(run(good, 1, 1) != FOVEA_OK); // not begun: the caches are no images
  REQUIRE(r.decoder.begin() == FOVEA_OK);
  struct {
    const int32_t* ids;
    int32_t n, wanted, reason;
    const char* why;
  } const rows[] = {
      {good, 0, 0, FOVEA_SIZE, "no token"},
      {good, 5, 1, FOVEA_SIZE, "more than rows"},
      {good, 2, 3, FOVEA_SIZE, "more logits than tokens"},
      {good, 2, -1, FOVEA_SIZE, "less than no logits"},
      {negative, 1, 1, FOVEA_RANGE, "a token below 0"},
      {beyond, 1, 1, FOVEA_RANGE, "a token behind the last word"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.why);
    CHECK(FOVEA_REASON(run(row.ids, row.n, row.wanted)) == row.reason);
    CHECK(r.decoder.length() == 0);
  }
  for (float x : logits) CHECK(x == -7);
  for (int i = 0; i < 5; ++i) REQUIRE(run(good, 4, 0) == FOVEA_OK);
  logits.assign(logits.size(), -7);
  CHECK(FOVEA_REASON(run(good, 1, 1)) == FOVEA_TOO_SMALL); // the caches are full
  for (float x : logits) CHECK(x == -7);
  reader long_one(packed.model, small.positions + 16, 4);
  REQUIRE(long_one.decoder.begin() == FOVEA_OK);
  for (int32_t i = 0; i < small.positions; i += 4) REQUIRE(long_one.read(4) == FOVEA_OK);
  CHECK(FOVEA_REASON(long_one.read(1)) == FOVEA_RANGE); // behind the last position
}

#if !FOVEA_SMALL
namespace {

class meeting {
 public:
  explicit meeting(int workers) : workers_(workers) {}
  static void wait(void* self) { static_cast<meeting*>(self)->wait(); }

 private:
  void wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    const int round = round_;
    if (++arrived_ == workers_) {
      arrived_ = 0;
      ++round_;
      all_.notify_all();
    } else {
      all_.wait(lock, [&] { return round_ != round; });
    }
  }
  std::mutex mutex_;
  std::condition_variable all_;
  const int workers_;
  int arrived_ = 0, round_ = 0;
};

} // namespace

TEST_CASE("stories: no bit depends on the number of workers") {
  struct {
    int32_t dtype, cache;
  } const kinds[] = {
      {FOVEA_F32, FOVEA_F32}, {FOVEA_I8, FOVEA_F32}, {FOVEA_I4, FOVEA_F32}, {FOVEA_F32, FOVEA_I8}};
  for (const auto& kind : kinds) {
    const packed_model packed(small, kind.dtype);
    const std::vector<float> expected = logits_by(packed.model, count, 1, {}, kind.cache);
    for (int workers : {2, 3, 5}) {
      CAPTURE(workers);
      CAPTURE(name_of(kind.dtype));
      constexpr int32_t rows = 6;
      reader r(packed.model, count, rows, {}, kind.cache);
      REQUIRE(r.decoder.begin() == FOVEA_OK);
      std::vector<float> found(static_cast<size_t>(count * small.words));
      meeting point(workers);
      std::vector<int32_t> status(static_cast<size_t>(workers));
      std::vector<std::thread> threads;
      for (int w = 0; w < workers; ++w)
        threads.emplace_back([&, w] {
          aligned scratch(stories::scratch_size(small, rows, kind.cache));
          for (int32_t at = 0; at < count; at += rows) {
            const int32_t n = std::min<int32_t>(rows, count - at);
            int32_t ids[rows];
            for (int32_t i = 0; i < n; ++i) ids[i] = id_at(at + i, small.words);
            const stories::team team = {{w, workers}, meeting::wait, &point};
            status[static_cast<size_t>(w)] |= r.decoder.run(ids, n, n, found.data() + at * small.words,
                                                            scratch.data(), team);
          }
        });
      for (std::thread& t : threads) t.join();
      for (int32_t one : status) CHECK(one == FOVEA_OK);
      CHECK(data::same_bits(found, expected));
    }
  }
}
#endif
