// Keys and values in several pieces of memory: the bits of one piece, for all that a call may ask for,
// whatever hidden keys hold.
#include "bit_set.hpp"
#include "fovea/cache.h"
#include "spoilt.hpp"

namespace {

// K and V of a problem, cut at some panels. NaN stands between the pieces, and between the heads of a piece.
class pieces_of {
 public:
  pieces_of(const problem& p, int32_t first_key, data::lottery& lot) {
    const int32_t keys = p.k.tokens, count = lot.between(1, FOVEA_SEGMENTS_MAX);
    for (int32_t begin = 0; map.count < FOVEA_SEGMENTS_MAX && begin < keys;) {
      const bool last = map.count + 1 == count;
      const int32_t room = last            ? keys
                           : lot.one_in(3) ? 16 * lot.between(1, 3)
                                           : lot.between(1, keys),
                    end = begin + (room + 15) / 16 * 16;
      add(p, first_key, begin, end < keys ? end : keys);
      begin = last ? keys : end;
    }
  }
  fovea_attention read_by(fovea_attention a) const {
    a.k = {}, a.v = {};
    a.k.layout = FOVEA_PANELS;
    a.segments = &map;
    return a;
  }
  bool reach(int32_t key) const {
    return map.count > 0 && map.at[map.count - 1].first_key + map.at[map.count - 1].keys == key;
  }

 private:
  std::vector<data::guarded<float>> memory_;
  fovea_segments map = {};

  void add(const problem& p, int32_t first_key, int32_t begin, int32_t end) {
    const size_t count = static_cast<size_t>(end - begin), dim = static_cast<size_t>(p.k.dim),
                 v_dim = static_cast<size_t>(p.v.dim), heads = static_cast<size_t>(p.k.heads);
    const size_t k_head = FOVEA_UP16(count) * dim + 16, v_head = count * v_dim + 5;
    data::guarded<float> k(k_head * heads), v(v_head * heads);
    for (int32_t g = 0; g < p.k.heads; ++g) {
      float* const panels = k.data() + k_head * static_cast<size_t>(g);
      float* const rows = v.data() + v_head * static_cast<size_t>(g);
      CHECK(fovea_pack_keys(panels, 0, p.k.row(g, begin), p.k.token_stride, end - begin, p.k.dim) ==
            FOVEA_OK);
      for (int32_t j = begin; j < end; ++j)
        std::memcpy(rows + static_cast<size_t>(j - begin) * v_dim, p.v.row(g, j), v_dim * sizeof(float));
    }
    fovea_segment& s = map.at[map.count++];
    s.k_head_stride = static_cast<ptrdiff_t>(k_head), s.v_head_stride = static_cast<ptrdiff_t>(v_head);
    s.first_key = first_key + begin, s.keys = end - begin;
    memory_.push_back(std::move(k)), memory_.push_back(std::move(v));
    s.k = memory_[memory_.size() - 2].data(), s.v = memory_[memory_.size() - 1].data();
  }
};

// Hidden keys of a problem may hold anything; its clean bits are those of before.
void check_in_pieces(const shape& s, int32_t isa, data::lottery& lot) {
  INFO(doctest::String(s.why));
  problem p(s);
  const fovea_attention a = p.call(isa);
  const std::vector<float> expected = solve(p, a);
  spoilt::fill_hidden(p, a, lot.one_of(spoilt::all_patterns));
  const pieces_of pieces(p, a.first_key, lot);
  REQUIRE(pieces.reach(a.first_key + a.keys));
  fovea_attention in_pieces = pieces.read_by(a);
  CHECK(data::same_bits(solve(p, in_pieces), expected));
  CHECK(data::same_bits(solve(p, in_pieces, fovea_scratch_least(&in_pieces)), expected));
  if (a.weights.data) return;
  data::guarded<unsigned char> partials(fovea_partials_size(&in_pieces));
  in_pieces.partials = partials.data(), in_pieces.partials_size = partials.size();
  p.wipe_results();
  for (int32_t part = 0; part < 3; ++part) {
    in_pieces.part = {part, 3};
    CHECK(attend_in(in_pieces, fovea_scratch_best(&in_pieces)) == FOVEA_OK);
  }
  CHECK(fovea_merge(&in_pieces) == FOVEA_OK);
  CHECK(data::same_bits(p.results(), expected));
}

} // namespace

TEST_CASE("segments: the bits of one piece") {
  std::vector<shape> all = plain_bit_set();
  for (const shape& s : modified_bit_set()) all.push_back(s);
  all.push_back(shape("short heads that share a tile").heads(8).dims(16).lengths(1, 60));
  all.push_back(shape("a group of rows").heads(24, 2).dims(64).lengths(3, 530).causal());
  all.push_back(shape("v of 5").heads(2).dims(16, 5).lengths(4, 530).causal());
  all.push_back(shape("v of 13 behind a mask").heads(2).dims(16, 13).lengths(3, 530).mask(mask_kind::shown));
  all.push_back(shape("v of 80").heads(2).dims(16, 80).lengths(4, 530).causal().window(90, -1).keep_first(7));
  data::lottery lot(4);
  const int rounds = sizeof(void*) == 8 ? 3 : 1;
  isas::for_each([&](int32_t isa) {
    for (int round = 0; round < rounds; ++round)
      for (const shape& s : all)
        if (s.options.first_key % 16 == 0 && s.options.keys > 0) check_in_pieces(s, isa, lot);
  });
}
