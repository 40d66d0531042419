// All operations on floats, on the registers of one ISA. A file of lib/isa says which registers those are,
// and instantiates operations<isa::name>.
#pragma once
#include "f32/kernel/activate.hpp"
#include "f32/kernel/attend.hpp"
#include "f32/kernel/compact.hpp"
#include "f32/kernel/plain.hpp"
#include "f32/kernel/pool.hpp"
#include "f32/kernel/product.hpp"
#include "f32/kernel/quantize.hpp"
#include "f32/kernel/rotate.hpp"
#include "f32/kernel/stored.hpp"
#include "isa/table.hpp"

namespace fovea::f32 {

template <class Name>
struct registers_of; // has `type`: what lib/isa/contract.hpp describes
template <class Name>
using registers = typename registers_of<Name>::type;

template <class Isa>
constexpr attention_kernel attention_of() {
  static_assert(keeps_contract<Isa>());
  if constexpr (Isa::by_row)
    return {compact_least_scratch<Isa>, compact_best_scratch<Isa>, attend_compact<Isa>};
  else
    return {least_scratch_of_tiles, best_scratch_of_tiles, attend_in_tiles};
}
template <class Name>
const attention_kernel operations<Name>::attention = attention_of<registers<Name>>();

template <class Name>
const tile_kernel operations<Name>::tiles = tiles_of<registers<Name>>();

template <class Name>
const stored_forms operations<Name>::stored = stored_forms_of<registers<Name>>();

template <class Name>
void operations<Name>::run(const merge_job& job) {
  merge_partials<registers<Name>>(*job.p);
}
template <class Name>
void operations<Name>::run(const pack_job& job) {
  pack_one_panel<registers<Name>>(job);
}
template <class Name>
void operations<Name>::run(const softmax_job& job) {
  softmax_rows<registers<Name>>(job);
}
template <class Name>
void operations<Name>::run(const matvec_job& job) {
  matvec_rows<registers<Name>>(job);
}
template <class Name>
void operations<Name>::run(const norm_job& job) {
  norm_rows<registers<Name>>(job);
}
template <class Name>
void operations<Name>::run(const activate_job& job) {
  activate_rows<registers<Name>>(job);
}
template <class Name>
void operations<Name>::run(const pool_job& job) {
  pool_rows<registers<Name>>(job);
}
template <class Name>
void operations<Name>::run(const rotate_job& job) {
  rotate_rows<registers<Name>>(job);
}
template <class Name>
void operations<Name>::run(const product_job& job) {
  multiply_rows<registers<Name>>(job);
}
template <class Name>
void operations<Name>::run(const finish_job& job) {
  finish_rows<registers<Name>>(job);
}
template <class Name>
void operations<Name>::run(const range_job& job) {
  find_range_of_rows<exact_isa<registers<Name>>>(job);
}
template <class Name>
void operations<Name>::run(const quantize_job& job) {
  quantize_rows<exact_isa<registers<Name>>>(job);
}
template <class Name>
void operations<Name>::run(const columns_job& job) {
  by_columns<exact_isa<registers<Name>>>(job);
}
template <class Name>
void operations<Name>::run(const plain_job& job) {
  attend_plain<registers<Name>>(job);
}

} // namespace fovea::f32
