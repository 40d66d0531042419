// What each ISA offers to the operations on floats: attention, and one function for each kind of job.
// lib/isa/<name>.cpp instantiates it, compiled with the flags of its ISA.
#pragma once
#include "f32/kernel.hpp"
#include "f32/plain.hpp"
#include "f32/product.hpp"

namespace fovea::f32 {

namespace isa { // names
#define FOVEA_ISA(name, constant, text) struct name;
#define FOVEA_ALL_ISAS 1
#include "isa/list.hpp"
} // namespace isa

template <class Name>
struct operations {
  static const attention_kernel attention;
  static const tile_kernel tiles;
  static const stored_forms stored;
  static void run(const merge_job& job);
  static void run(const pack_job& job);
  static void run(const softmax_job& job);
  static void run(const matvec_job& job);
  static void run(const norm_job& job);
  static void run(const activate_job& job);
  static void run(const pool_job& job);
  static void run(const rotate_job& job);
  static void run(const product_job& job);
  static void run(const finish_job& job);
  static void run(const range_job& job);
  static void run(const quantize_job& job);
  static void run(const columns_job& job);
  static void run(const plain_job& job);
};

#define FOVEA_ISA(name, constant, text) extern template struct operations<isa::name>;
#define FOVEA_ALL_ISAS 1
#include "isa/list.hpp"

} // namespace fovea::f32
