// A model packed for products, in one block of memory without a pointer: it is written to a file, or into the
// flash of a board, and used where it stands.
//
//   header | final norm | cosines | sines | embedding | its scales | classifier |
//   for each layer: norm, norm, largest k and v, bias, W_Q W_K W_V, W_O, W_1 W_3, W_2
//
// each at a multiple of 64 bytes. FOVEA_F32: the embedding is packed as a product is, and is the classifier
// as well if the model has only one. FOVEA_I8 and FOVEA_I4: the embedding is rows of int8, each with a scale.
// FOVEA_I4: all matrices but the classifier, which is FOVEA_I8; of models less than 256 numbers wide W_O, W_1
// and W_3 alone, because the others lose too much in four bits.
#pragma once
#include "fovea/linear.h"
#include "model_file.hpp"

namespace stories {

constexpr size_t image_align = 64;

// No key and no value of a layer is larger, whatever the tokens.
struct cache_range {
  float k, v;
};

struct layer_weights {
  const float *attention_norm, *mlp_norm; // [width]
  cache_range largest;
  fovea_linear qkv, out, up, down; // up: w1, then w3
};

struct model {
  shape of;
  int32_t dtype; // FOVEA_F32, FOVEA_I8 or FOVEA_I4
  const unsigned char* image;
  const float *final_norm, *cosines, *sines;
  const void* embedding;
  const float* embedding_scales; // of integers
  int32_t order;                 // of weights of int8: of fovea_linear
  fovea_linear classifier;

  layer_weights layer(int32_t index) const;
  // Row `word` of the embedding becomes `width` floats.
  void embed(int32_t word, float* x) const;
};

// Bytes of an image; 0 if a decoder cannot be made of it.
uint64_t image_size(const shape& s, int32_t dtype);

// `image`: image_size bytes at a multiple of 64, all zero.
refusal pack_image(const model_file& file, int32_t dtype, unsigned char* image, size_t size);

// `image` is at a multiple of 64, and stays where it is. Checked are header and size, not each weight.
refusal open_image(const unsigned char* image, size_t size, model& m);

// Packed integers have an order of bytes (fovea_fixed_panel_order). Of this machine's order 1 it makes order
// 2, which Helium reads.
void reorder_for_helium(unsigned char* image, size_t size);
// The same of one packed product of FOVEA_I8 or FOVEA_I4.
void reorder_linear_for_helium(unsigned char* packed, int32_t in, int32_t out, int32_t dtype);
// Of order 1, weights of int8 become FOVEA_LINEAR_SMLAD, for Cortex-M4, M7 and M33.
void arrange_for_smlad(unsigned char* image, size_t size);
void arrange_linear_for_smlad(unsigned char* packed, int32_t in, int32_t out, int32_t dtype);

} // namespace stories
