// Lays out results; every column has one width, so that rows can be printed as they come.
#include "report.hpp"

#include <cstdio>

#include "chart.hpp"

namespace bench {
namespace {

std::string size_text(size_t bytes) {
  if (bytes < 10000) return format("%zu B", bytes);
  return bytes < 10000 * 1024 ? format("%zu KB", bytes / 1024) : format("%zu MB", bytes / (1024 * 1024));
}

std::string rate_text(const result& r) {
  return r.reading_binds() ? format("%.1f GB/s", r.gigabytes()) : format("%.1f GFLOP/s", r.gflops());
}

std::string limit_text(const result& r) {
  return r.reading_binds() ? format("%.1f GB/s read", r.read * 1e-9)
                           : format("%.1f GFLOP/s peak", r.peak * 1e-9);
}

std::string marked(double value, bool disturbed) {
  return format("%.1f%s", value, disturbed ? disturbed_mark : "");
}

std::string row(const char* work, const char* isa, const char* scratch, const char* time, const char* rate,
                const char* limit, const char* share, const char* quiet, const char* against_f32) {
  const std::string text = format("%-35s %-10s %8s %9s %14s %18s %7s %7s", work, isa, scratch, time, rate,
                                  limit, share, quiet);
  return text + (*against_f32 ? format(" %8s\n", against_f32) : "\n");
}

std::string hex(uint64_t digest) { return format("%016llx", static_cast<unsigned long long>(digest)); }
saved_fields fields(const result& r) {
  saved_fields known = {
      {"work", quoted(r.what.name())},
      {"isa", quoted(r.isa_name())},
      {"seconds", format("%.6g", r.seconds)},
      {"gflops", format("%.6g", r.gflops())},
      {"limit", format("%.6g", r.what.flops() / r.limit_seconds() * 1e-9)},
      {"share", format("%.4f", r.share())},
      {"share_quiet", format("%.4f", r.quiet_share())},
      {"bound_by", quoted(r.reading_binds() ? "read" : "peak")},
      {"peak_gflops", format("%.6g", r.peak * 1e-9)},
      {"scratch", quoted(scratch_name(r.scratch))},
      {"scratch_bytes", format("%zu", r.scratch_bytes)},
      {"samples", format("%d", r.samples)},
      {"parts", format("%d", r.parts)},
      {"digest", quoted(hex(r.digest))},
      {"disturbed", r.disturbed ? "true" : "false"},
  };
  const saved_fields of_shape = fields_of_shape(r.what);
  known.insert(known.end(), of_shape.begin(), of_shape.end());
  if (r.read > 0) known.push_back({"read_gbs", format("%.6g", r.read * 1e-9)});
  if (r.integer_isa) known.push_back({"f32_seconds", format("%.6g", r.f32_seconds)});
  return known;
}

// What results of one float call without attention have in common.
template <class Result>
saved_fields fields_of_float_call(const Result& r, double limit_seconds) {
  return {
      {"work", quoted(r.what.name())},
      {"isa", quoted(fovea_isa_name(r.isa))},
      {"dtype", quoted("f32")},
      {"causal", "false"},
      {"seconds", format("%.6g", r.seconds)},
      {"share", format("%.4f", limit_seconds / r.seconds)},
      {"share_quiet", format("%.4f", r.quiet_limit / r.quiet_seconds)},
      {"scratch", quoted(scratch_name(scratch_size::best))},
      {"scratch_bytes", "0"},
      {"samples", format("%d", r.samples)},
      {"parts", "1"},
      {"digest", quoted(hex(r.digest))},
      {"disturbed", r.disturbed ? "true" : "false"},
  };
}

// Rows of numbers: `queries` of them, of `keys` elements each; judged by memory.
saved_fields fields(const row_result& r) {
  const double giga = r.what.elements() * 1e-9;
  saved_fields known = fields_of_float_call(r, r.limit_seconds);
  known.push_back({"queries", format("%d", r.what.rows)});
  known.push_back({"keys", format("%d", r.what.columns)});
  if (r.what.what == row_work::matvec) known.push_back({"gflops", format("%.6g", 2 * giga / r.seconds)});
  known.push_back({"limit", format("%.6g", giga / r.limit_seconds)});
  known.push_back({"bound_by", quoted("memory")});
  known.push_back({"gelements", format("%.6g", giga / r.seconds)});
  return known;
}

// Products: `queries` rows times weights of `dim` inputs and `keys` outputs.
saved_fields fields(const linear_result& r) {
  const double giga = r.what.flops() * 1e-9;
  saved_fields known = fields_of_float_call(r, r.limit_seconds());
  known.push_back({"dim", format("%d", r.what.in)});
  known.push_back({"queries", format("%d", r.what.rows)});
  known.push_back({"keys", format("%d", r.what.out)});
  known.push_back({"gflops", format("%.6g", giga / r.seconds)});
  known.push_back({"limit", format("%.6g", giga / r.limit_seconds())});
  known.push_back({"bound_by", quoted(r.reading_binds() ? "read" : "peak")});
  known.push_back({"peak_gflops", format("%.6g", r.peak * 1e-9)});
  known.push_back({"read_gbs", format("%.6g", r.read * 1e-9)});
  return known;
}

} // namespace

std::string time_text(double seconds) {
  if (seconds < 1e-3) return format("%.3g us", seconds * 1e6);
  return seconds < 1 ? format("%.3g ms", seconds * 1e3) : format("%.3g s", seconds);
}

saved_fields fields_of_shape(const work& w) {
  return {{"dtype", quoted(w.dtype_name())},      {"q_heads", format("%d", w.q_heads)},
          {"kv_heads", format("%d", w.kv_heads)}, {"dim", format("%d", w.dim)},
          {"queries", format("%d", w.queries)},   {"keys", format("%d", w.keys)},
          {"causal", w.causal ? "true" : "false"}};
}

std::string limits_table(const std::vector<level>& levels, const std::vector<limits>& machine) {
  std::string text = format("%-10s %16s", "limits", "FMA peak");
  for (const level& l : levels) text += format(" %14s", (l.name + " " + size_text(l.bytes)).c_str());
  text += "\n";
  for (const limits& m : machine) {
    text += format("%-10s %8s GFLOP/s", fovea_isa_name(m.isa),
                   marked(m.peak.per_second * 1e-9, m.peak.disturbed).c_str());
    for (const rate& read : m.read)
      text += format(" %9s GB/s", marked(read.per_second * 1e-9, read.disturbed).c_str());
    text += "\n";
  }
  return text;
}

std::string table_head() {
  return row("work", "isa", "scratch", "time", "rate", "limit", "share %", "quiet %", "of f32");
}

std::string table_row(const result& r) {
  const std::string name = r.what.name(), scratch = size_text(r.scratch_bytes);
  const char* isa = r.isa_name();
  if (r.status != FOVEA_OK)
    return format("%-35s %-10s refused: %s: %s\n", name.c_str(), isa, fovea_argument_text(r.status),
                  fovea_reason_text(r.status));
  return row(name.c_str(), isa, scratch.c_str(), time_text(r.seconds).c_str(), rate_text(r).c_str(),
             limit_text(r).c_str(), marked(100 * r.share(), r.disturbed).c_str(),
             marked(100 * r.quiet_share(), r.disturbed).c_str(),
             r.integer_isa
                 ? format("%.2fx%s", r.f32_seconds / r.seconds, r.disturbed ? disturbed_mark : "").c_str()
                 : "");
}

std::string note_on_disturbed() {
  return std::string(disturbed_mark) +
         " Other programs interrupted too many samples: what is marked is estimated from CPU time; run again "
         "on an idle machine.\n";
}

std::vector<saved_fields> fields_of(const all_results& results) {
  std::vector<saved_fields> all;
  const auto add = [&](const auto& some) {
    for (const auto& r : some) {
      all.push_back(fields(r));
      all.back().push_back({"threads", "1"});
      add_circumstances(all.back(), results.about, r.at);
    }
  };
  add(results.attention);
  add(results.rows);
  add(results.products);
  return all;
}

} // namespace bench
