// Options that touch single keys: masks, biases, ALiBi, a scale for each key, zero points of q.
#include "fixed/rows.hpp"

namespace fovea {

void octaves_by_key(const fixed_plan& p, const fixed_row& r, int32_t kv_head, int64_t block, const seen_of_block& seen, int32_t* s) {
  const int64_t at = block * fixed_block;
  const key_options o = options_of(p, r, kv_head, at + seen.first);
  for (int j = 0; j < fixed_block; ++j) s[j] = seen.has(j) ? octaves_with(o, p, r, j - seen.first, s[j]) : fixed_absent;
}

} // namespace fovea
