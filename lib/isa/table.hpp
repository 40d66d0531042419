// What each ISA offers to the operations on floats; lib/isa/<name>.cpp defines it, compiled with the flags of
// its ISA. Operations find theirs by one table each (lib/f32/dispatch.cpp), so a program links what it calls.
#pragma once
#include "f32/kernel.hpp"
#include "f32/product.hpp"

namespace fovea::f32 {

#define FOVEA_ISA(name, constant, text)                                               \
  extern const attention_kernel name##_attention;                                     \
  void name##_merge(const plan& p);                                                   \
  void name##_pack_panel(const float* rows, ptrdiff_t stride, int dim, float* panel); \
  void name##_softmax(const softmax_job& job);                                        \
  void name##_matvec(const matvec_job& job);                                          \
  void name##_norm(const norm_job& job);                                              \
  void name##_activate(const activate_job& job);                                      \
  void name##_pool(const pool_job& job);                                              \
  void name##_rotate(const rotate_job& job);                                          \
  void name##_multiply(const product_job& job);                                       \
  void name##_finish(const finish_job& job);
#define FOVEA_ALL_ISAS 1
#include "isa/list.hpp"

} // namespace fovea::f32
