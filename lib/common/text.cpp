// Constant texts: what a status means, and how an ISA is called.
#include "common/build.hpp"

#include "fovea/fovea.h"

namespace {

const char* const reasons[] = {
    "ok",
    "a pointer is null but must not be",
    "a count is out of its range, or counts do not belong together",
    "a number is out of its range",
    "a stride is negative or smaller than a row",
    "memory or a position is not aligned as it must be",
    "memory overlaps memory of another argument",
    "an extent does not fit into the address space",
    "memory is too small, or a cache is full: the header of the call names what returns the bytes it takes",
    "a number is NaN or infinite",
    "this call, this build or this machine does not offer it",
    "this is no image of a cache, or one of another version, or not the one that belongs here",
    "the image is damaged or was never complete: its checksum does not fit",
};
static_assert(sizeof reasons / sizeof *reasons == FOVEA_REASON_END);

const char* const arguments[] = {
    "call",      "q",
    "k",         "v",
    "out",       "q_heads, kv_heads",
    "dim",       "v_dim",
    "queries",   "keys",
    "first_key", "flags",
    "prefix",    "keep_first",
    "scale",     "softcap",
    "alibi",     "sinks",
    "mask",      "lse",
    "weights",   "part",
    "partials",  "isa",
    "ring",      "reserved",
    "scratch",   "in",
    "w",         "x",
    "rows",      "columns",
    "key_sums",  "packed",
    "bias",      "y",
    "residual",  "activation",
    "dtype",     "at",
    "fixed_isa", "sum",
    "kind",      "epsilon",
    "table",     "index",
    "starts",    "lengths",
    "sequences", "tokens",
    "rope",      "positions",
    "base",      "factor",
    "layer",     "context",
    "kv",        "cache",
    "stage",     "shared",
    "attention", "q_norm, k_norm",
    "values",    "segments",
    "image",     "parent",
    "mean",      "chunk",
    "error",
};
static_assert(sizeof arguments / sizeof *arguments == FOVEA_ARG_END);

} // namespace

const char* fovea_reason_text(int32_t status) {
  const int32_t reason = FOVEA_REASON(status);
  return status >= 0 && reason < FOVEA_REASON_END ? reasons[reason] : "not a status of fovea";
}

const char* fovea_argument_text(int32_t status) {
  const int32_t argument = FOVEA_ARGUMENT(status);
  return status >= 0 && argument < FOVEA_ARG_END ? arguments[argument] : "unknown";
}

const char* fovea_isa_name(int32_t isa) {
  switch (isa) {
    case FOVEA_ISA_BEST:
      return "best";
#define FOVEA_ISA(name, constant, text) \
  case constant:                        \
    return text;
#define FOVEA_ALL_ISAS 1
#include "isa/list.hpp"
    default:
      return "unknown";
  }
}

int32_t fovea_version() { return FOVEA_VERSION; }
