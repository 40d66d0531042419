// Better weights in int8: the encoder is run once on some tokens, to see which channels are large.
#pragma once
#include "encoder.hpp"

namespace minilm {

// `m` is as load() made it with FOVEA_I8. begin and end are the numbers of [CLS] and [SEP].
refusal smooth(model& m, const model_file& file, int32_t begin, int32_t end, const arithmetic& how,
               batch_space& shared, worker_space& own);

} // namespace minilm
