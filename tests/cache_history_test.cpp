// Random histories of several caches: appends, truncates, resets, branches, copies, restores, power cuts.
// After each step attention has the bits of plain vectors, and each status is the one that docs/cache.md
// promises.
#include <memory>

#include "cache_model.hpp"
#include "histories.hpp"

using namespace cache_test;

namespace {

constexpr int32_t refused(int32_t reason, int32_t argument) { return reason | argument << 8; }
constexpr int32_t fine = FOVEA_OK, full = refused(FOVEA_TOO_SMALL, FOVEA_ARG_KEYS);

// A cache, its model, and what of the rules of rings it takes to foresee a status.
struct line_of_tokens {
  cache_shape s;
  block image;
  tokens t;
  std::vector<const void*> parents;
  int32_t base, oldest = 0;
  bool is_parent = false;

  line_of_tokens(const cache_shape& shape, size_t size, const tokens& of_parent, int32_t split)
      : s(shape), image(size), t(of_parent), base(split) {
    t.truncate(split);
    oldest = ring_begin();
  }
  int32_t first() const { return base / 16 * 16; }
  int32_t ring_begin() const {
    const int32_t kept = s.keep_first > base ? s.keep_first : base;
    return s.window == 0 ? INT32_MAX : (kept + 15) / 16 * 16;
  }
  int32_t ring_size() const { return s.capacity - (ring_begin() - first()); }

  int32_t status_of_append(int32_t count) const {
    if (s.window == 0) return t.length() + count - first() <= s.capacity ? fine : full;
    const int32_t needed = (t.length() + count - ring_size() + 15) / 16 * 16;
    return needed <= oldest || needed <= t.length() - s.window ? fine : full;
  }
  void appended() {
    const int32_t needed = s.window == 0 ? 0 : (t.length() - ring_size() + 15) / 16 * 16;
    if (needed > oldest) oldest = needed;
  }
  int32_t status_of_truncate(int32_t length) const {
    if (length < base || length > t.length()) return refused(FOVEA_RANGE, FOVEA_ARG_KEYS);
    return s.window && oldest > ring_begin() && length - 1 - s.window < oldest
               ? refused(FOVEA_RANGE, FOVEA_ARG_RING)
               : fine;
  }
  std::vector<const void*> images() const {
    std::vector<const void*> all = parents;
    all.push_back(image.data());
    return all;
  }
};

class history {
 public:
  explicit history(uint64_t seed) : lot_(seed) { begin(); }

  void step() {
    line_of_tokens& line =
        *lines_[static_cast<size_t>(lot_.between(0, static_cast<int32_t>(lines_.size()) - 1))];
    switch (lot_.between(0, 9)) {
      case 0:
        truncate(line);
        break;
      case 1:
        reset(line);
        break;
      case 2:
        copy(line);
        break;
      case 3:
        branch(line);
        break;
      case 4:
        cut(line);
        break;
      default:
        append_some(line);
    }
    REQUIRE(fovea_cache_length(line.image.data()) == line.t.length());
    if (line.t.length() && lot_.one_in(2))
      REQUIRE(same_as_model(line.s, line.t, line.images(), 1, FOVEA_ISA_BEST));
    if (lot_.one_in(4)) REQUIRE(fovea_cache_verify(line.image.data(), line.image.size()) == FOVEA_OK);
  }

 private:
  data::lottery lot_;
  std::vector<std::unique_ptr<line_of_tokens>> lines_;

  void begin() {
    cache_shape s = {
        "", lot_.between(1, 2),       lot_.between(1, 2), lot_.between(1, 9), lot_.between(1, 18), 0, 0,
        0,  lot_.one_of(float_dtypes)};
    choose_room(s, lot_.one_in(2));
    const fovea_cache_shape shape = s.shape();
    lines_.push_back(std::make_unique<line_of_tokens>(
        s, fovea_cache_size(&shape), tokens(s, static_cast<uint32_t>(lot_.between(1, 1 << 20))), 0));
    REQUIRE(fovea_cache_init(lines_[0]->image.data(), lines_[0]->image.size(), &shape) == FOVEA_OK);
  }

  void choose_room(cache_shape& s, bool is_ring) {
    s.window = is_ring ? lot_.between(1, 40) : 0;
    s.keep_first = is_ring && lot_.one_in(2) ? lot_.between(1, 20) : 0;
    s.capacity = is_ring ? FOVEA_CACHE_RING(s.window, s.keep_first, lot_.between(1, 20), FOVEA_F32)
                         : lot_.between(16, 90);
  }

  void append_some(line_of_tokens& line) {
    const int32_t count = lot_.one_in(2) ? 1 : lot_.between(0, 24), expected = line.status_of_append(count);
    tokens more = line.t;
    more.add(count);
    REQUIRE(append(line.image.data(), more, count, line.s.dtype) == expected);
    if (expected) return;
    line.t = more;
    line.appended();
  }

  // Parents keep the tokens that their branches see.
  void truncate(line_of_tokens& line) {
    if (line.is_parent) return;
    const int32_t length = line.t.length() - lot_.between(-1, 12), expected = line.status_of_truncate(length);
    REQUIRE(fovea_cache_truncate(line.image.data(), length) == expected);
    if (!expected) line.t.truncate(length);
  }

  void reset(line_of_tokens& line) {
    if (line.is_parent || !lot_.one_in(4)) return;
    REQUIRE(fovea_cache_reset(line.image.data()) == FOVEA_OK);
    line.t.truncate(line.base);
    line.oldest = line.ring_begin();
  }

  // Saved, lost, and restored.
  void copy(line_of_tokens& line) {
    const std::vector<unsigned char> saved = line.image.bytes();
    block from(line.image.size());
    from.set(saved);
    line.image.set(
        std::vector<unsigned char>(saved.size(), static_cast<unsigned char>(lot_.between(0, 255))));
    REQUIRE(fovea_cache_restore(line.image.data(), line.image.size(), from.data(), from.size()) == FOVEA_OK);
  }

  void branch(line_of_tokens& parent) {
    if (lines_.size() > 4 || parent.parents.size() > 2) return;
    const int32_t split = lot_.between(parent.base, parent.t.length());
    cache_shape s = parent.s;
    choose_room(s, lot_.one_in(3));
    s.capacity += 16; // for the copies
    fovea_cache_shape shape = {}, whole = s.shape();
    shape.capacity = s.capacity, shape.window = s.window, shape.keep_first = s.keep_first;
    whole.window = whole.keep_first = 0;
    auto line = std::make_unique<line_of_tokens>(s, fovea_cache_size(&whole), parent.t, split);
    const int32_t status = fovea_cache_branch(line->image.data(), line->image.size(), &shape,
                                              parent.image.data(), split);
    REQUIRE(status == (parent.s.window ? refused(FOVEA_UNSUPPORTED, FOVEA_ARG_PARENT) : fine));
    if (status) return;
    if (split > 0) line->parents = parent.images();
    line->t.diverge(static_cast<uint32_t>(lot_.between(1, 1 << 20)));
    parent.is_parent |= split > 0;
    lines_.push_back(std::move(line));
  }

  // An append of which all data and some bytes of the header came.
  void cut(line_of_tokens& line) {
    const int32_t count = lot_.between(1, 9);
    if (line.status_of_append(count) != FOVEA_OK) return;
    const std::vector<unsigned char> before = line.image.bytes();
    tokens more = line.t;
    more.add(count);
    REQUIRE(append(line.image.data(), more, count, line.s.dtype) == FOVEA_OK);
    const std::vector<unsigned char> now = line.image.bytes();
    const uint32_t generation = fovea_cache_generation(line.image.data());
    const size_t slot = 128 + 32 * (generation & 1), bytes = static_cast<size_t>(lot_.between(0, 19));
    std::vector<unsigned char> torn = now;
    for (size_t i = slot + bytes; i < slot + 32; ++i) torn[i] = before[i];
    const bool drops = generation != generation_in(before, line) + 1; // a case of cache_power_test.cpp
    if (drops || torn == now) { // the last bytes may be those that stood there
      line.t = more;
      line.appended();
    } else {
      line.image.set(torn);
    }
  }
  static uint32_t generation_in(const std::vector<unsigned char>& bytes, const line_of_tokens& line) {
    block copy(line.image.size());
    copy.set(bytes);
    return fovea_cache_generation(copy.data());
  }
};

} // namespace

TEST_CASE("cache: random histories") { random_histories<history>(sizeof(void*) == 8 ? 450 : 60, 40); }
TEST_CASE("prove_cache_histories" * doctest::skip()) { random_histories<history>(100000, 40); }
