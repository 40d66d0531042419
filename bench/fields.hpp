// The fields of one result in the JSON and CSV files, in their order; bench/README.md says what they mean.
// Those that a result does not have are null. Nothing here needs an operating system.
#pragma once

namespace bench {

constexpr const char* field_names[] = {
    "work",     "isa",          "dtype",         "q_heads",   "kv_heads",      "dim",      "queries",
    "keys",     "causal",       "seconds",       "gflops",    "limit",         "share",    "share_quiet",
    "bound_by", "peak_gflops",  "read_gbs",      "scratch",   "scratch_bytes", "samples",  "parts",
    "digest",   "f32_seconds",  "gelements",     "disturbed", "threads",       "speedup",  "efficiency",
    "cycles",   "instructions", "per_mac",       "board",     "cpu",           "compiler", "fovea",
    "date",     "clock_mhz",    "temperature_c", "emulated",  "second"};

} // namespace bench
