// Numbers of modifiers, and room for what a call returns in addition to its outputs.
#include "modifiers.hpp"

static data::guarded<float> noise_of(int32_t count, uint32_t seed, float size) {
  data::guarded<float> numbers(static_cast<size_t>(count));
  for (int32_t n = 0; n < count; ++n)
    numbers[static_cast<size_t>(n)] = size * data::noise(seed, static_cast<uint32_t>(n));
  return numbers;
}

static size_t count_weights(const fovea_attention& a) {
  const fovea_weights& w = a.weights;
  const int32_t heads = w.heads == 0 ? a.q_heads - w.first_head : w.heads;
  const int32_t queries = w.queries == 0 ? a.queries - w.first_query : w.queries;
  return static_cast<size_t>(heads) * static_cast<size_t>(queries) * static_cast<size_t>(a.keys);
}

modifier_memory::modifier_memory(const fovea_attention& a, const modifier_wish& wish, uint32_t seed)
    : wish_(wish) {
  if (wish.slopes > 0) alibi = noise_of(a.q_heads, 7 * seed + 4, wish.slopes);
  if (wish.sinks > 0) sinks = noise_of(a.q_heads, 7 * seed + 5, wish.sinks);
  if (wish.lse) lse = data::guarded<float>(static_cast<size_t>(a.q_heads) * static_cast<size_t>(a.queries));
  if (wish.weights) weights = data::guarded<float>(count_weights(a));
  if (wish.mask != mask_kind::none) make_mask(a, 7 * seed + 6);
  order.chunk = wish.chunk, order.left_chunks = wish.left_chunks;
  if (wish.tree != 0) make_tree(a.queries);
}
modifier_memory::~modifier_memory() = default;

void modifier_memory::make_tree(int32_t queries) {
  data::lottery lot(wish_.tree);
  parents = data::guarded<int16_t>(static_cast<size_t>(queries));
  pattern::draw_tree(parents.data(), queries, [&](int32_t a, int32_t b) { return lot.between(a, b); });
  order.parents = parents.data();
}

// Rows stand three elements apart; between them is what nobody may read.
void modifier_memory::make_mask(const fovea_attention& a, uint32_t seed) {
  const int32_t keys = a.mask.keys == 0 || a.mask.keys > a.keys ? a.keys : a.mask.keys;
  const int32_t queries = wish_.mask_by_query ? a.queries : 1, heads = wish_.mask_by_head ? a.q_heads : 1;
  query_stride_ = wish_.mask_by_query ? keys + 3 : 0;
  head_stride_ = wish_.mask_by_head ? (wish_.mask_by_query ? queries * query_stride_ + 3 : keys + 3) : 0;
  const bool any = heads > 0 && queries > 0;
  const size_t count = any ? static_cast<size_t>((heads - 1) * head_stride_ + (queries - 1) * query_stride_ +
                                                 keys)
                           : 0;
  if (wish_.mask == mask_kind::bias) bias = data::guarded<float>(count);
  if (wish_.mask == mask_kind::shown) shown = data::guarded<unsigned char>(count);
  for (int32_t h = 0; h < heads; ++h)
    for (int32_t i = 0; i < queries; ++i)
      for (int32_t j = 0; j < keys; ++j) draw(seed, h, i, j);
}

// Hides a third of all keys, whole panels at times, and one row in eight altogether.
void modifier_memory::draw(uint32_t seed, int32_t head, int32_t query, int32_t key) {
  const auto row = static_cast<uint32_t>(head * 1000 + query) * 8192, j = static_cast<uint32_t>(key);
  const float x = data::noise(seed, row + j);
  if (wish_.mask == mask_kind::shown) shown[place(head, query, key)] = x > 0.5f ? 1 : 0x80;
  if (wish_.mask == mask_kind::bias) bias[place(head, query, key)] = 3 * x;
  const bool whole_row = data::noise(seed + 1, row) < -0.75f,
             whole_panel = data::noise(seed + 2, row + j / 16) < -0.7f;
  if (whole_row || whole_panel || x < -0.6f) hide(head, query, key);
}
