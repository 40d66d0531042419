// Keys and values of a context, computed once: K as panels, V as rows. And the sizes of all memory.
#include "common/build.hpp"

#include "f32/kernel.hpp"
#include "layer/calls.hpp"

namespace fovea::layer {
namespace {

int64_t bytes_of_kv(const layer_plan& p) {
  return static_cast<int64_t>(sizeof(float)) * (panel_floats(p) + int64_t{p.v_width} * p.context_tokens);
}

// Rows of K in scratch become panels of their heads.
int32_t pack_rows(const layer_plan& p, const layer_rows& rows, float* panels, tokens_of sequence,
                  tokens_of some) {
  const ptrdiff_t head = static_cast<ptrdiff_t>(FOVEA_UP16(sequence.count)) * p.dim;
  for (int32_t h = 0; h < p.kv_heads; ++h)
    if (const int32_t s = fovea_pack_keys(panels + h * head, some.first - sequence.first,
                                          rows.k + static_cast<ptrdiff_t>(h) * p.dim, rows.k_stride,
                                          some.count, p.dim))
      return s;
  return FOVEA_OK;
}

int32_t project(layer_calls& calls, float* kv, int32_t rows_at_once) {
  const layer_plan& p = calls.p;
  float* values = kv + panel_floats(p);
  for (int32_t s = 0; s < p.sequences; ++s) {
    const tokens_of all = p.context_of(s);
    float* panels = kv + panels_before(p, s);
    if (const int32_t status = calls.project_values(all,
                                                    values + static_cast<ptrdiff_t>(all.first) * p.v_width))
      return status;
    for (int32_t done = 0; done < all.count; done += rows_at_once) {
      const tokens_of some{all.first + done, static_cast<int32_t>(smaller(rows_at_once, all.count - done))};
      if (const int32_t status = calls.project_keys_of(s, some)) return status;
      if (calls.only_checks) continue;
      if (const int32_t status = pack_rows(p, calls.rows, panels, all, some)) return status;
    }
  }
  return FOVEA_OK;
}

int32_t check_kv(const layer_plan& p, void* kv, size_t size, byte_range scratch) {
  byte_range bytes;
  if (!kv) return refusal(FOVEA_NULL, FOVEA_ARG_KV);
  if (f32::misaligned(kv)) return refusal(FOVEA_ALIGN, FOVEA_ARG_KV);
  const int64_t needed = bytes_of_kv(p);
  if (size < static_cast<uint64_t>(needed)) return refusal(FOVEA_TOO_SMALL, FOVEA_ARG_KV);
  if (!range_of(kv, static_cast<size_t>(needed), bytes)) return refusal(FOVEA_OVERFLOW, FOVEA_ARG_KV);
  return meets_any(p, bytes) || meet(bytes, scratch) ? refusal(FOVEA_OVERLAP, FOVEA_ARG_KV)
                                                     : int32_t{FOVEA_OK};
}

int32_t project_context(const layer_plan& p, void* kv, size_t kv_size, void* scratch, size_t size) {
  if (const int32_t s = check_scratch(p, scratch, size)) return s;
  byte_range given = {};
  range_of(scratch, size, given);
  if (const int32_t s = check_kv(p, kv, kv_size, given)) return s;
  const int64_t row = static_cast<int64_t>(sizeof(float)) * p.k_width,
                room = static_cast<int64_t>(smaller(size, PTRDIFF_MAX)) - 63 - least_of_context_products(p);
  if (room < row) return refusal(FOVEA_TOO_SMALL, FOVEA_ARG_SCRATCH);
  const auto rows_at_once = static_cast<int32_t>(smaller(room / row, larger(1, p.context_tokens)));
  unsigned char* at = aligned(scratch);
  layer_rows rows = {};
  rows.k = reinterpret_cast<float*>(at);
  rows.k_stride = p.k_width;
  unsigned char* own = at + rows_at_once * row;
  const auto left = static_cast<size_t>(static_cast<unsigned char*>(scratch) + size - own);
  layer_calls checks{p, rows, nullptr, 0, true};
  if (const int32_t s = project(checks, static_cast<float*>(kv), rows_at_once)) return s;
  layer_calls calls{p, rows, own, left, false};
  return project(calls, static_cast<float*>(kv), rows_at_once);
}

// The most scratch that one of the products and attentions makes use of.
int64_t best_inner(const layer_plan& p) {
  layer_plan one = p;
  one.part = 0;
  one.parts = 1;
  const portion n = addressable(one);
  layer_calls calls{one, cut_rows(one, n, aligned(beyond(one))), nullptr, 0, true};
  calls.measures = true;
  calls.most_scratch = least_inner(p);
  return run_portions(calls, n) ? 0 : calls.most_scratch;
}

size_t with_alignment(int64_t bytes) { return static_cast<size_t>(smaller(bytes, PTRDIFF_MAX - 64)) + 63; }

} // namespace
} // namespace fovea::layer

int32_t fovea_project_context(const fovea_layer_call* call, void* kv, size_t kv_size, void* scratch,
                              size_t scratch_size) {
  using namespace fovea;
  using namespace fovea::layer;
  if (!call) return refusal(FOVEA_NULL, FOVEA_ARG_CALL);
  fovea_layer_call c = *call; // of the context alone
  c.x = {};
  c.y = {};
  c.residual = {};
  c.kv = nullptr;
  c.tokens = 0;
  c.starts = c.positions = c.lengths = nullptr;
  c.how = {};
  c.how.isa = call->how.isa;
  layer_plan p;
  if (const int32_t status = make_plan(&c, purpose::project_context, p)) return status;
  return project_context(p, kv, kv_size, scratch, scratch_size);
}

size_t fovea_layer_scratch_least(const fovea_layer_call* call) {
  using namespace fovea::layer;
  layer_plan p;
  if (make_plan(call, purpose::run, p) || check(p)) return 0;
  // All rows at once may stand side by side, and take less than a part of them.
  const int64_t rows = fovea::smaller(bytes_of_rows(p, least_of(p)), bytes_of_rows(p, whole_of(p)));
  return with_alignment((p.call->stage ? 0 : rows) + least_inner(p));
}

size_t fovea_layer_scratch_best(const fovea_layer_call* call) {
  using namespace fovea::layer;
  layer_plan p;
  if (make_plan(call, purpose::run, p) || check(p)) return 0;
  return with_alignment((p.call->stage ? 0 : bytes_of_rows(p, whole_of(p))) + best_inner(p));
}

size_t fovea_layer_shared(const fovea_layer_call* call) {
  using namespace fovea::layer;
  layer_plan p;
  if (make_plan(call, purpose::run, p) || check(p)) return 0;
  return with_alignment(bytes_of_rows(p, whole_of(p)));
}
