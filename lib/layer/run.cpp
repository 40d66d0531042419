// The public layer: portion by portion, or stage by stage. A first pass, which makes no call, checks
// everything.
#include "common/build.hpp"

#include "layer/calls.hpp"

namespace fovea::layer {
namespace {

tokens_of joined(tokens_of first, tokens_of last) {
  return {first.first, last.first + last.count - first.first};
}

block block_of(const layer_plan& p, int32_t first, int32_t end) {
  return {first,
          end,
          0,
          p.kv_heads,
          joined(p.queries_of(first), p.queries_of(end - 1)),
          joined(p.context_of(first), p.context_of(end - 1)),
          p.queries_of(first).first};
}

int32_t run_block(layer_calls& calls, const block& b) {
  const int32_t status = calls.project(b);
  return status ? status : calls.attend(b);
}

// Keys of the block first, then some queries at a time.
int32_t run_queries(layer_calls& calls, const block& all, int32_t at_once) {
  if (!calls.p.call->kv)
    if (const int32_t s = calls.project_keys(all, all.context)) return s;
  block some = all;
  for (int32_t done = 0; done < all.queries.count; done += at_once) {
    some.queries = {all.queries.first + done,
                    static_cast<int32_t>(smaller(at_once, all.queries.count - done))};
    if (const int32_t s = calls.project_queries(some, some.queries)) return s;
    if (const int32_t s = calls.attend(some)) return s;
  }
  return FOVEA_OK;
}

int32_t run_stage(layer_calls& calls) {
  const block all = block_of(calls.p, 0, calls.p.sequences);
  switch (calls.p.call->stage) {
    case FOVEA_LAYER_PROJECT:
      return calls.project(all);
    case FOVEA_LAYER_ATTEND:
      return calls.attend(all);
    default:
      return calls.multiply_heads(all);
  }
}

// The pass that makes no call: all of it, whatever stage is asked for.
int32_t check_calls(const layer_plan& given, const portion& n, void* memory) {
  layer_plan p = given;
  p.part = 0;
  p.parts = 1;
  layer_calls calls{p, cut_rows(p, n, aligned(memory)), nullptr, 0, true};
  return run_portions(calls, n);
}

} // namespace

// As many sequences as there is room for; of each all heads, or some at a time.
int32_t run_portions(layer_calls& calls, const portion& n) {
  const layer_plan& p = calls.p;
  for (int32_t first = 0, end; first < p.sequences; first = end) {
    block b = block_of(p, first, end = first + 1);
    for (; end < p.sequences; ++end) {
      const block more = block_of(p, first, end + 1);
      if (more.queries.count > n.tokens || more.context.count > n.context_tokens) break;
      b = more;
    }
    for (int32_t head = 0; head < p.kv_heads; head += n.kv_heads) {
      b.first_head = head;
      b.end_head = static_cast<int32_t>(smaller(head + int64_t{n.kv_heads}, p.kv_heads));
      if (const int32_t s = n.queries < n.tokens ? run_queries(calls, b, n.queries) : run_block(calls, b))
        return s;
    }
    if (const int32_t s = calls.multiply_heads(b)) return s;
  }
  return FOVEA_OK;
}

// Where scratch would be that meets nothing: behind all that the call touches.
void* beyond(const layer_plan& p) {
  uintptr_t end = 64;
  for (const byte_range& r : p.bytes.in) end = end < r.end ? r.end : end;
  for (const byte_range& r : p.bytes.to) end = end < r.end ? r.end : end;
  return reinterpret_cast<void*>(end);
}

int32_t check_scratch(const layer_plan& p, void* scratch, size_t size) {
  if (!scratch) return refusal(FOVEA_NULL, FOVEA_ARG_SCRATCH);
  byte_range bytes;
  if (!range_of(scratch, size, bytes)) return refusal(FOVEA_OVERFLOW, FOVEA_ARG_SCRATCH);
  return meets_any(p, bytes) ? refusal(FOVEA_OVERLAP, FOVEA_ARG_SCRATCH) : int32_t{FOVEA_OK};
}

int32_t run(const layer_plan& p, void* scratch, size_t size) {
  if (const int32_t s = check_scratch(p, scratch, size)) return s;
  const bool alone = !p.call->stage;
  if (!alone && !p.call->shared) return refusal(FOVEA_NULL, FOVEA_ARG_SHARED);
  const int64_t inner = least_inner(p), room = static_cast<int64_t>(smaller(size, PTRDIFF_MAX)) - inner - 63;
  const portion n = alone ? fitting(p, room) : whole_of(p);
  if (room < 0 || (alone && bytes_of_rows(p, n) > room)) return refusal(FOVEA_TOO_SMALL, FOVEA_ARG_SCRATCH);
  unsigned char* rows = aligned(alone ? scratch : p.call->shared);
  if (const int32_t s = check_calls(p, n, rows)) return s;
  unsigned char* own = alone ? rows + bytes_of_rows(p, n) : static_cast<unsigned char*>(scratch);
  const auto left = static_cast<size_t>(static_cast<unsigned char*>(scratch) + size - own);
  layer_calls calls{p, cut_rows(p, n, rows), own, left, false};
  return alone ? run_portions(calls, n) : run_stage(calls);
}

int32_t check(const layer_plan& p) { return check_calls(p, addressable(p), beyond(p)); }

} // namespace fovea::layer

int32_t fovea_check_layer(const fovea_layer_call* call) {
  using namespace fovea::layer;
  layer_plan p;
  if (const int32_t status = make_plan(call, purpose::run, p)) return status;
  return check(p);
}

int32_t fovea_run_layer(const fovea_layer_call* call, void* scratch, size_t scratch_size) {
  using namespace fovea::layer;
  layer_plan p;
  if (const int32_t status = make_plan(call, purpose::run, p)) return status;
  return run(p, scratch, scratch_size);
}
