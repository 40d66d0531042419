// Random calls: every ISA, scratch, part and layout gives the bits of the written arithmetic whatever hidden
// memory holds, a NaN reaches the rows that see it and no other, and a call that is broken in one place is
// refused. One seed makes one call; a failure names it. FOVEA_FUZZ_CALLS: how many, of the seeds 1, 2, 3 and
// so on. FOVEA_FUZZ_SEED: that one alone.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <sstream>
#include <string>

#include "breaches.hpp"
#include "drawn_calls.hpp"
#include "fenced_call.hpp"
#include "numerics.hpp"
#include "spoilt.hpp"

namespace {

constexpr uint64_t usual_calls = 20000;

uint64_t number_from(const char* variable, uint64_t otherwise) {
  const char* value = std::getenv(variable);
  return value == nullptr ? otherwise : std::strtoull(value, nullptr, 0);
}

std::string in_words(const shape& s) {
  const char* const stored[] = {"heads first", "tokens first", "packed qkv", "padded rows"};
  const char* const masks[] = {"", ", bool mask", ", bias"};
  const fovea_attention& a = s.options;
  const modifier_wish& wish = s.wish;
  const fovea_weights& w = a.weights;
  std::ostringstream to;
  const auto tell = [&](bool when, const auto&... words) {
    if (when) (to << ... << words);
  };
  tell(true, "heads ", a.q_heads, '/', a.kv_heads, ", dims ", a.dim, '/', a.v_dim, ", queries ", a.queries,
       ", keys ", a.keys, " from ", a.first_key, ", ", stored[static_cast<int>(s.stored)], ", scores of ",
       s.score_size);
  tell((a.flags & FOVEA_CAUSAL) != 0, ", causal");
  tell((a.flags & FOVEA_POSITION) != 0, ", position ", a.position);
  tell((a.flags & FOVEA_WINDOW) != 0, ", window ", a.window_left, ' ', a.window_right, " keeping ",
       a.keep_first);
  tell(a.prefix > 0, ", prefix ", a.prefix);
  tell((a.flags & FOVEA_SCALE) != 0, ", scale ", a.scale);
  tell(a.softcap > 0, ", softcap ", a.softcap);
  tell(wish.slopes > 0, ", ALiBi ", wish.slopes);
  tell(wish.sinks > 0, ", sinks ", wish.sinks);
  tell(wish.mask != mask_kind::none, masks[static_cast<int>(wish.mask)], wish.mask_by_head ? " by head" : "",
       wish.mask_by_query ? " by query" : "", " of keys ", a.mask.keys);
  tell(wish.lse, ", log-sum-exp");
  tell(wish.weights, ", weights of stage ", w.stage, ", heads ", w.first_head, '+', w.heads, ", queries ",
       w.first_query, '+', w.queries);
  return to.str();
}

// All that one seed decides.
class fuzzed_call {
 public:
  explicit fuzzed_call(uint64_t seed)
      : seed_(seed),
        lot_(seed),
        shape_(drawn::draw_shape(lot_, drawn::wide_sizes)),
        data_seed_(static_cast<uint32_t>(lot_.between(0, INT32_MAX))) {}

  std::string words() const { return in_words(shape_) + spoilt_; }

  void check() {
    problem p(shape_, data_seed_);
    spoil(p);
    const data::guarded<float> q = p.q_memory, k = p.k_memory, v = p.v_memory;
    check_bits(p);
    REQUIRE((p.q_memory == q && p.k_memory == k && p.v_memory == v));
    check_refusals(p);
  }

 private:
  // What nobody sees holds anything, and sometimes a key holds NaN that is seen.
  void spoil(problem& p) {
    const fovea_attention a = p.call();
    const uint32_t hidden = lot_.one_of(spoilt::all_patterns), nan = lot_.one_of(spoilt::nan_patterns);
    spoilt::fill_hidden(p, a, hidden);
    std::ostringstream to;
    to << ", hidden keys hold bits " << std::hex << hidden;
    spoilt_ = to.str();
    if (a.keys == 0 || !lot_.one_in(4)) return;
    const bool is_key = lot_.one_in(2);
    const data::tensor& tensor = is_key ? p.k : p.v;
    const int32_t head = lot_.between(0, tensor.heads - 1), row = lot_.between(0, a.keys - 1);
    spoilt::put_bits(tensor.at(head, row, lot_.between(0, tensor.dim - 1)), nan);
    spoilt_ += (is_key ? ", NaN in k, head " : ", NaN in v, head ") + std::to_string(head) + " row " +
               std::to_string(row);
  }

  // Each ISA draws by itself, so that no choice of ISAs changes what another one does.
  data::lottery lot_of(int32_t isa) const {
    return data::lottery(seed_ + (static_cast<uint64_t>(isa) << 32));
  }

  void check_bits(problem& p) {
    const std::vector<float> written = numerics::attend(p.call());
    const packed_keys panels(p, static_cast<size_t>(lot_.between(0, 5)));
    isas::for_each([&](int32_t isa) {
      data::lottery lot = lot_of(isa);
      const fovea_attention a = p.call(isa);
      const std::vector<float> expected = isas::promises_bits(isa) ? written : solve(p, a);
      REQUIRE(std::equal(expected.begin(), expected.end(), written.begin(), written.end(), same_kind));
      check_ways(p, a, lot, expected);
      check_fenced(p, a, lot, expected);
      INFO("in panels");
      if (a.first_key % 16 == 0) check_ways(p, panels.read_by(a), lot, expected);
    });
  }
  static bool same_kind(float x, float y) { return std::isnan(x) == std::isnan(y); }

  static void check_ways(problem& p, const fovea_attention& a, data::lottery& lot,
                         const std::vector<float>& expected) {
    const size_t least = fovea_scratch_least(&a), best = fovea_scratch_best(&a);
    REQUIRE(least <= FOVEA_SCRATCH(a.dim, p.out.dim));
    for (size_t size : {best, drawn::scratch_size(a, lot), least}) {
      INFO("scratch ", size, " of ", least, " to ", best);
      REQUIRE(data::same_numbers(solve(p, a, size), expected));
    }
    const int32_t parts = lot.between(2, 6);
    const bool split_rows = lot.one_in(2);
    INFO("parts ", parts, split_rows ? " of split rows" : "");
    REQUIRE(data::same_numbers(drawn::solve_in_parts(p, a, parts, split_rows, lot), expected));
  }

  // A read beside an array ends the program here; doctest still tells the call.
  void check_fenced([[maybe_unused]] const problem& p, const fovea_attention& a, data::lottery& lot,
                    [[maybe_unused]] const std::vector<float>& expected) const {
    if (shape_.stored != storage::heads_first) return;
    const size_t size = drawn::scratch_size(a, lot);
    INFO("between closed pages, scratch ", size);
#if defined(__linux__)
    REQUIRE(data::same_numbers(
        fenced_call(p, a.isa, size, lot.one_in(2) ? fence::before : fence::behind).solve(), expected));
#endif
  }

  void check_refusals(problem& p) {
    const fovea_attention good = p.call(isas::only());
    const size_t least = fovea_scratch_least(&good);
    p.wipe_results();
    check_refused(p, good, least - 1, FOVEA_ARG_SCRATCH);
    for (int n = 0; n < 4; ++n) {
      const breaches::breach& breach = lot_.one_of(breaches::all);
      fovea_attention a = good;
      const int32_t argument = breach.commit(a, lot_);
      INFO("broken by ", doctest::String(breach.why));
      if (argument != 0) check_refused(p, a, least, argument);
    }
  }

  static void check_refused(const problem& p, const fovea_attention& a, size_t scratch_size,
                            int32_t argument) {
    data::guarded<unsigned char> scratch(scratch_size);
    const int32_t status = fovea_attend(&a, scratch.data(), scratch.size());
    REQUIRE_MESSAGE((status != FOVEA_OK && FOVEA_ARGUMENT(status) == argument),
                    "refused as: ", status_text(status));
    REQUIRE((p.out_memory.nothing_written() && p.modifiers.nothing_told() && scratch.nothing_written()));
  }

  uint64_t seed_;
  data::lottery lot_;
  shape shape_;
  uint32_t data_seed_;
  std::string spoilt_;
};

void check_call(uint64_t seed) {
  fuzzed_call call(seed);
  INFO("again: FOVEA_FUZZ_SEED=", seed, "\n", doctest::String(call.words().c_str()));
  call.check();
}

} // namespace

TEST_CASE("prove_random_calls" * doctest::skip()) {
  if (const uint64_t seed = number_from("FOVEA_FUZZ_SEED", 0)) return check_call(seed);
  const uint64_t calls = number_from("FOVEA_FUZZ_CALLS", usual_calls);
  for (uint64_t seed = 1; seed <= calls; ++seed) check_call(seed);
}
