// Which channels are large hardly depends on the text, so tokens spread over the vocabulary will do.
#include "smoothing.hpp"

namespace minilm {
namespace {

constexpr int32_t rows = 8, row_tokens = 32; // one batch
static_assert(rows * row_tokens <= batch_tokens && rows <= batch_sentences);

struct spread_tokens {
  int32_t ids[rows * row_tokens];
  int32_t starts[rows + 1];
};

void spread(int32_t vocabulary_size, int32_t begin, int32_t end, spread_tokens& to) {
  constexpr int64_t step = 7919; // a prime, so neighbours in a row are far apart in the vocabulary
  for (int32_t i = 0; i < rows * row_tokens; ++i) {
    const int32_t column = i % row_tokens;
    const auto word = static_cast<int32_t>(step * i % vocabulary_size);
    to.ids[i] = column == 0 ? begin : column == row_tokens - 1 ? end : word;
  }
  for (int32_t i = 0; i <= rows; ++i) to.starts[i] = i * row_tokens;
}

} // namespace

refusal smooth(model& m, const model_file& file, int32_t begin, int32_t end, const arithmetic& how,
               batch_space& shared, worker_space& own) {
  spread_tokens tokens;
  spread(m.vocabulary_size, begin, end, tokens);
  float peaks[layers * 2 * width] = {};
  float embeddings[rows * width];
  insight seen;
  seen.peaks = peaks;
  const int32_t status = encode(m, {tokens.ids, tokens.starts, rows}, how, embeddings, shared, own, {}, seen);
  if (status != FOVEA_OK) return {fovea_reason_text(status), fovea_argument_text(status)};
  return smooth_by(m, file, peaks);
}

} // namespace minilm
