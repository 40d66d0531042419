// Attention of whole matrices: one row a token, the heads side by side in the columns.
#pragma once
#include <cstdint>
#include <vector>

#include "fovea/fovea.h"
#include "matrix.hpp"

namespace demo {

struct attention_options {
  int heads = 1;
  int32_t isa = FOVEA_ISA_BEST;
  bool scaled = true; // by 1 / sqrt(dim of a head); else scores are taken as they are
  int window = -1;    // a query sees so many keys to the left and to the right; negative: all
};

// The call that writes the attention of q, k and v to `result`, all of which must outlive it.
fovea_attention call_of(const matrix& q, const matrix& k, const matrix& v, matrix& result,
                        const attention_options& options);

// An unexpected refusal of the library becomes an exception that says why.
void attend_or_throw(const fovea_attention& call, std::vector<unsigned char>& scratch);

// out[token][head * v_dim ..]: what the heads give stands side by side already, "concatenated".
matrix attend(const matrix& q, const matrix& k, const matrix& v, const attention_options& options);

// The softmax weights of every head, [query][key]. Exact: with the identity as V, the output of attention is
// its weights.
std::vector<matrix> attention_weights(const matrix& q, const matrix& k, const attention_options& options);

// q.k of every head, in plain loops, before the scaling.
std::vector<matrix> scores(const matrix& q, const matrix& k, int heads);

// The softmax of the given scores, one row.
std::vector<float> softmax(const std::vector<float>& row_of_scores, int32_t isa);

// sum_j weights_j * v_j by way of attention: ln(weight) is the score. Weights must be above 0; their sum is
// divided away and put back.
std::vector<float> weighted_sum(const std::vector<float>& weights, const matrix& v, int32_t isa);

} // namespace demo
