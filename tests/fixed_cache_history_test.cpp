// Random histories of caches of int8 under integer queries.
#include "fixed_cache_history.hpp"

using namespace fixed_cache;

namespace {

struct integer_queries {
  static void check(const model& m, const std::vector<const void*>& images) {
    REQUIRE(attend_to_cache(m, images, 1, FOVEA_FIXED_BEST) == attend_to_rows(m, 1, FOVEA_FIXED_BEST));
  }
};

} // namespace

TEST_CASE("int8 cache: random histories") {
  random_histories<history<integer_queries>>(sizeof(void*) == 8 ? 60 : 8, 25);
}
TEST_CASE("prove_int8_cache_histories" * doctest::skip()) {
  random_histories<history<integer_queries>>(10000, 25);
}
