// What an image says after a power cut, after damage, and when it is restored.
#include "cache_model.hpp"
#if defined(__linux__)
#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#endif

using namespace cache_test;

namespace {

using bytes = std::vector<unsigned char>;
constexpr size_t slots_at = 128, slot_size = 32, header_size = FOVEA_CACHE_HEADER;

bytes at_random(size_t count, uint32_t seed) {
  bytes all(count);
  data::lottery lot(seed);
  for (unsigned char& x : all) x = static_cast<unsigned char>(lot.between(0, 255));
  return all;
}

// The image after a write that was cut. A ring that drops tokens commits that first; then comes the data,
// then the slot of the last commit.
class cut_write {
 public:
  cut_write(bytes before, bytes after, uint32_t generation, bool drops)
      : before_(std::move(before)), after_(std::move(after)) {
    if (drops) add_slot(generation - 1);
    for (size_t i = header_size; i < before_.size(); ++i) add(i);
    add_slot(generation);
  }
  size_t steps() const { return places_.size(); }
  // The first `step` bytes that differ were written.
  bytes after_step(size_t step) const {
    bytes now = before_;
    for (size_t i = 0; i < step; ++i) now[places_[i]] = after_[places_[i]];
    return now;
  }

 private:
  bytes before_, after_;
  std::vector<size_t> places_;

  void add_slot(uint32_t generation) {
    const size_t slot = slots_at + slot_size * (generation & 1);
    for (size_t i = slot; i < slot + slot_size; ++i) add(i);
  }
  void add(size_t i) {
    if (before_[i] != after_[i]) places_.push_back(i);
  }
};

// Either the old state, or from the last byte on the new one.
template <class Write>
void cut_everywhere(const cache_shape& s, block& image, const tokens& before, const tokens& after,
                    Write write) {
  const bytes old = image.bytes();
  const uint32_t generation = fovea_cache_generation(image.data());
  REQUIRE(write() == FOVEA_OK);
  const uint32_t commits = fovea_cache_generation(image.data()) - generation;
  REQUIRE((commits == 1 || commits == 2));
  const cut_write cut(old, image.bytes(), generation + commits, commits == 2);
  REQUIRE(cut.steps() > 0);
  for (size_t step = 0; step <= cut.steps(); ++step) {
    image.set(cut.after_step(step));
    const bool done = step == cut.steps();
    REQUIRE(fovea_cache_verify(image.data(), image.size()) == FOVEA_OK);
    REQUIRE(same_as_model(s, done ? after : before, {image.data()}, s.window ? 1 : 2));
  }
}

const cache_shape small = {"", 1, 2, 5, 3, 40, 0, 0};

} // namespace

TEST_CASE("cache: an append that is cut at any byte never came, or came whole") {
  for (int32_t dtype : float_dtypes) {
    INFO("dtype ", dtype);
    const cache_shape s = small.of(dtype);
    const fovea_cache_shape shape = s.shape();
    block image = room_for(shape);
    REQUIRE(fovea_cache_init(image.data(), image.size(), &shape) == FOVEA_OK);
    tokens t(s, 1);
    for (int32_t count : {3, 1, 14, 2}) {
      const tokens before = t;
      t.add(count);
      cut_everywhere(s, image, before, t, [&] { return append(image.data(), t, count, dtype); });
    }
  }
}

TEST_CASE("cache: a truncate that is cut, and appends behind it that are cut") {
  const fovea_cache_shape shape = small.shape();
  block image = room_for(shape);
  REQUIRE(fovea_cache_init(image.data(), image.size(), &shape) == FOVEA_OK);
  tokens t(small, 1);
  t.add(21);
  REQUIRE(append(image.data(), t, 21) == FOVEA_OK);
  for (int32_t length : {18, 16, 5}) {
    tokens before = t;
    t.truncate(length);
    cut_everywhere(small, image, before, t, [&] { return fovea_cache_truncate(image.data(), length); });
    before = t;
    t.add(4); // over tokens that the state before the truncate had
    cut_everywhere(small, image, before, t, [&] { return append(image.data(), t, 4); });
  }
}

namespace {

void cut_in_a_ring(const cache_shape& s) {
  const fovea_cache_shape shape = s.shape();
  block image = room_for(shape);
  REQUIRE(fovea_cache_init(image.data(), image.size(), &shape) == FOVEA_OK);
  tokens t(s, 1);
  for (int32_t n = 0; n < 24; ++n) {
    const tokens before = t;
    const int32_t count = 1 + n * 3 % 5;
    t.add(count);
    if (n == 0) {
      REQUIRE(append(image.data(), t, count, s.dtype) == FOVEA_OK);
      continue;
    }
    cut_everywhere(s, image, before, t, [&] { return append(image.data(), t, count, s.dtype); });
  }
}

} // namespace

TEST_CASE("cache: appends to a ring that are cut") {
  for (int32_t dtype : float_dtypes) {
    INFO("dtype ", dtype);
    cut_in_a_ring({"", 1, 1, 3, 2, FOVEA_CACHE_RING(9, 0, 5, FOVEA_F32), 9, 0, dtype});
  }
}

TEST_CASE("cache: bytes behind the last token do not matter") {
  const fovea_cache_shape shape = small.shape();
  block image = room_for(shape);
  image.set(at_random(image.size(), 9));
  REQUIRE(fovea_cache_init(image.data(), image.size(), &shape) == FOVEA_OK);
  tokens t(small, 1);
  t.add(7);
  REQUIRE(append(image.data(), t, 7) == FOVEA_OK);
  CHECK(same_as_model(small, t, {image.data()}, 7));
}

#if defined(__linux__)
namespace {

// A page that holds the header, and behind it pages of data. When the header is written for the first time,
// the data of that moment is kept.
struct watched_image {
  unsigned char* header_page;
  unsigned char* data;
  size_t page, size;
  bytes seen;
} watched;

void on_write(int, siginfo_t* info, void*) {
  unsigned char* const at = static_cast<unsigned char*>(info->si_addr);
  if (at < watched.header_page || at >= watched.header_page + watched.page) _exit(97);
  std::memcpy(watched.seen.data(), watched.data, watched.size); // seen is as large, so nothing is allocated
  mprotect(watched.header_page, watched.page, PROT_READ | PROT_WRITE);
}

} // namespace

TEST_CASE("cache: the last byte of data is written before the first byte of the header") {
  const fovea_cache_shape shape = small.shape();
  const size_t size = fovea_cache_size(&shape) - header_size,
               page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t pages = page + (size + page - 1) / page * page;
  void* const memory = mmap(nullptr, pages, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  watched.header_page = static_cast<unsigned char*>(memory);
  watched.page = page, watched.data = watched.header_page + page, watched.size = size;
  watched.seen.resize(size);
  unsigned char* const image = watched.data - header_size;
  REQUIRE(fovea_cache_init(image, size + header_size, &shape) == FOVEA_OK);
  struct sigaction watch = {}, before = {};
  watch.sa_sigaction = on_write, watch.sa_flags = SA_SIGINFO;
  tokens t(small, 1);
  for (int32_t count : {5, 1, 20}) {
    t.add(count);
    sigaction(SIGSEGV, &watch, &before);
    mprotect(watched.header_page, page, PROT_READ);
    const int32_t status = append(image, t, count);
    mprotect(watched.header_page, page, PROT_READ | PROT_WRITE);
    sigaction(SIGSEGV, &before, nullptr);
    CHECK(status == FOVEA_OK);
    CHECK(std::memcmp(watched.seen.data(), watched.data, size) == 0);
  }
  munmap(memory, pages);
}
#endif

namespace {

// Restores an image with some bytes changed: it is refused and the target stays, or the change does not
// matter.
struct mutation_table {
  cache_shape s;
  block source, damaged, target;
  tokens t;
  int refused = 0;

  explicit mutation_table(const cache_shape& of)
      : s(of), source(room_for(s.shape())), damaged(source), target(source), t(s, 5) {
    const fovea_cache_shape shape = s.shape();
    REQUIRE(fovea_cache_init(source.data(), source.size(), &shape) == FOVEA_OK);
    for (int32_t count : {9, 1, 13}) {
      t.add(count);
      REQUIRE(append(source.data(), t, count, s.dtype) == FOVEA_OK);
    }
    REQUIRE(fovea_cache_truncate(source.data(), 22) == FOVEA_OK);
    t.truncate(22);
  }

  void mutate(data::lottery& lot) {
    bytes now = source.bytes();
    const int32_t last = static_cast<int32_t>(now.size()) - 1;
    for (int32_t n = lot.one_in(2) ? 1 : lot.between(2, 9); n > 0; --n) {
      const int32_t at = lot.one_in(3) ? lot.between(0, header_size - 1) : lot.between(0, last);
      now[static_cast<size_t>(at)] ^= static_cast<unsigned char>(1 << lot.between(0, 7));
    }
    damaged.set(now);
    const bytes before = target.bytes();
    const int32_t status = fovea_cache_restore(target.data(), target.size(), damaged.data(), damaged.size());
    refused += status != FOVEA_OK;
    if (status != FOVEA_OK)
      REQUIRE(target.bytes() == before);
    else if (fovea_cache_length(target.data()) ==
             t.length()) // else the slot before: its tokens are whole, too
      REQUIRE(same_as_model(s, t, {target.data()}, 1));
    else
      REQUIRE(fovea_cache_length(target.data()) == 23);
  }
};

void mutate_images(int32_t count) {
  for (int32_t dtype : float_dtypes) {
    INFO("dtype ", dtype);
    mutation_table table(small.of(dtype));
    data::lottery lot(3);
    for (int32_t n = 0; n < count; ++n) table.mutate(lot);
    CHECK(table.refused > count / 2);
  }
}

} // namespace

TEST_CASE("cache: a damaged image is refused and leaves the target as it is, or the damage does not matter") {
  mutate_images(2000);
}
TEST_CASE("prove_cache_mutations" * doctest::skip()) { mutate_images(1000000); }

TEST_CASE("cache: restored elsewhere it is the same, and goes on") {
  const fovea_cache_shape shape = small.shape();
  block image = room_for(shape), other = room_for(shape);
  REQUIRE(fovea_cache_init(image.data(), image.size(), &shape) == FOVEA_OK);
  tokens t(small, 1);
  t.add(18);
  REQUIRE(append(image.data(), t, 18) == FOVEA_OK);
  REQUIRE(fovea_cache_restore(other.data(), other.size(), image.data(), image.size()) == FOVEA_OK);
  CHECK(fovea_cache_generation(other.data()) == fovea_cache_generation(image.data()));
  CHECK(same_as_model(small, t, {other.data()}, 18));
  t.add(5);
  REQUIRE(append(other.data(), t, 5) == FOVEA_OK);
  CHECK(fovea_cache_generation(other.data()) == fovea_cache_generation(image.data()) + 1);
  CHECK(same_as_model(small, t, {other.data()}, 23));
}
