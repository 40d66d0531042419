// Samples of a product alternate with samples of both its limits, as those of attention do.
#include "linear.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <stdexcept>

#include "fovea/linear.h"
#include "product_meter.hpp"
#include "random.hpp"
#include "report.hpp"
#include "stopwatch.hpp"

namespace bench {
namespace {

constexpr double least_sample = 150e-6;

// clang-format off
constexpr linear_work table[] = {
    // rows   in    out
    {  1,     64,   512, FOVEA_F32,  FOVEA_NO_ACTIVATION},
    {  1,    512,    64, FOVEA_F32,  FOVEA_NO_ACTIVATION},
    {  1,    384,  1536, FOVEA_F32,  FOVEA_NO_ACTIVATION},
    { 16,    384,  1536, FOVEA_F32,  FOVEA_NO_ACTIVATION},
    { 31,    384,  1536, FOVEA_F32,  FOVEA_NO_ACTIVATION},
    {128,    384,  1536, FOVEA_F32,  FOVEA_NO_ACTIVATION},
    {128,    384,  1536, FOVEA_F32,  FOVEA_GELU},
    {128,   1536,   384, FOVEA_F32,  FOVEA_NO_ACTIVATION},
    {  1,   4096,  4096, FOVEA_F32,  FOVEA_NO_ACTIVATION},
    {  4,   4096,  4096, FOVEA_F32,  FOVEA_NO_ACTIVATION},
    {  1,    384,  1536, FOVEA_F16,  FOVEA_NO_ACTIVATION},
    { 16,    384,  1536, FOVEA_F16,  FOVEA_NO_ACTIVATION},
    {128,    384,  1536, FOVEA_F16,  FOVEA_NO_ACTIVATION},
    {  1,    384,  1536, FOVEA_BF16, FOVEA_NO_ACTIVATION},
    { 16,    384,  1536, FOVEA_BF16, FOVEA_NO_ACTIVATION},
    {128,    384,  1536, FOVEA_BF16, FOVEA_NO_ACTIVATION},
    {128,    384,  1536, FOVEA_I8,   FOVEA_NO_ACTIVATION},
    {128,    384,  1536, FOVEA_I8,   FOVEA_GELU},
    {128,   1536,   384, FOVEA_I8,   FOVEA_NO_ACTIVATION},
    {  3,   4096,  4096, FOVEA_I8,   FOVEA_NO_ACTIVATION},
    {  1,   4096,  4096, FOVEA_I8,   FOVEA_NO_ACTIVATION}, // beyond L2
    {128,    384,  1536, FOVEA_I4,   FOVEA_NO_ACTIVATION},
    {  1,   4096,  4096, FOVEA_I4,   FOVEA_NO_ACTIVATION},
    {  1,   8192,  8192, FOVEA_I4,   FOVEA_NO_ACTIVATION},
};
// clang-format on

const char* name_of_dtype(int32_t dtype) {
  switch (dtype) {
    case FOVEA_F16:
      return "f16";
    case FOVEA_BF16:
      return "bf16";
    case FOVEA_I8:
      return "int8";
    case FOVEA_I4:
      return "int4";
    default:
      return "f32";
  }
}

// Of the integers that go with an ISA of floats; 0 where there are none, or no loop for them.
int32_t integer_isa_of(int32_t isa) {
  struct {
    int32_t floats, integers;
  } const pairs[] = {{FOVEA_AVX512, FOVEA_FIXED_AVX512VNNI}, {FOVEA_AVX2, FOVEA_FIXED_AVXVNNI},
                     {FOVEA_AVX2, FOVEA_FIXED_AVX2},         {FOVEA_SSE41, FOVEA_FIXED_SSE41},
                     {FOVEA_NEON64, FOVEA_FIXED_I8MM},       {FOVEA_NEON64, FOVEA_FIXED_DOTPROD},
                     {FOVEA_NEON64, FOVEA_FIXED_NEON},       {FOVEA_NEON, FOVEA_FIXED_NEON}};
  for (const auto& p : pairs)
    if (p.floats == isa && fovea_fixed_has_isa(p.integers)) return p.integers;
  return FOVEA_FIXED_SCALAR;
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

size_t floats_in(const page_buffer& buffer) { return buffer.size() / sizeof(float); }

// The memory of one work.
struct linear_problem {
  explicit linear_problem(const linear_work& w)
      : what(w),
        packed((w.weight_bytes() + 511) / 512 * 512),
        x(sizeof(float) * static_cast<size_t>(w.rows) * static_cast<size_t>(w.in)),
        y(sizeof(float) * static_cast<size_t>(w.rows) * static_cast<size_t>(w.out)),
        bias(sizeof(float) * static_cast<size_t>(w.out)) {
    const page_buffer rows(sizeof(float) * static_cast<size_t>(w.in) * static_cast<size_t>(w.out));
    random_numbers random(5);
    const page_buffer* const buffers[] = {&rows, &x, &bias};
    for (const page_buffer* buffer : buffers)
      for (size_t i = 0; i < floats_in(*buffer); ++i)
        buffer->floats()[i] = static_cast<float>(random.sixteen_bits()) * (1.0f / 32768);
    fovea_rows_in given = {};
    given.data = rows.data();
    if (const int32_t s = fovea_pack_linear(packed.data(), packed.size(), w.in, w.out, w.dtype, 0, &given,
                                            w.out))
      throw std::runtime_error(std::string("fovea_pack_linear: ") + fovea_reason_text(s));
    linear.packed = packed.data();
    linear.bias = bias.floats();
    linear.in = w.in;
    linear.out = w.out;
    linear.dtype = w.dtype;
    call.w = &linear;
    call.x.data = x.data();
    call.y.data = y.data();
    call.rows = w.rows;
    call.activation = w.activation;
    scratch.resize(fovea_multiply_scratch(&call) + 64);
  }
  linear_problem(const linear_problem&) = delete;
  linear_problem& operator=(const linear_problem&) = delete;

  int32_t run() { return fovea_multiply(&call, scratch.data(), scratch.size()); }

  uint64_t digest() const {
    word_digest digest;
    for (size_t i = 0; i < floats_in(y); ++i) {
      uint32_t bits;
      std::memcpy(&bits, y.floats() + i, sizeof bits);
      digest.add(bits);
    }
    return digest.value();
  }

  linear_work what;
  page_buffer packed, x, y, bias;
  fovea_linear linear = {};
  fovea_product call = {};
  std::vector<unsigned char> scratch;
};

std::string format(const char* how, double x) {
  char text[48];
  std::snprintf(text, sizeof text, how, x);
  return text;
}

std::string line(const std::string& work, const char* isa, const std::string& time, const std::string& rate,
                 const std::string& limit, const std::string& share, const std::string& quiet) {
  char text[160];
  std::snprintf(text, sizeof text, "%-35s %-10s %9s %16s %19s %7s %7s\n", work.c_str(), isa, time.c_str(),
                rate.c_str(), limit.c_str(), share.c_str(), quiet.c_str());
  return text;
}

} // namespace

std::string linear_work::name() const {
  return "linear " + std::to_string(rows) + "x" + std::to_string(in) + "x" + std::to_string(out) + " " +
         name_of_dtype(dtype) + (activation == FOVEA_GELU ? " gelu" : "");
}

size_t linear_work::weight_bytes() const { return fovea_linear_size(in, out, dtype); }

std::vector<linear_work> linear_works_with(const std::string& filter) {
  std::vector<linear_work> chosen;
  std::copy_if(std::begin(table), std::end(table), std::back_inserter(chosen), [&](const linear_work& w) {
    return lower(w.name()).find(lower(filter)) != std::string::npos;
  });
  return chosen;
}

linear_result measure(const linear_work& w, int32_t isa, const pace& speed) {
  linear_problem p(w);
  const isa_loops& loops = *loops_of(isa);
  p.call.isa = isa;
  const bool integers = w.dtype == FOVEA_I8 || w.dtype == FOVEA_I4;
  if (integers) p.call.fixed_isa = integer_isa_of(isa);
  const product_meter meter(isa, p.call.fixed_isa);
  p.scratch.resize(fovea_multiply_scratch(&p.call) + 64);
  linear_result r{};
  r.what = w;
  r.isa = isa;
  r.status = p.run();
  if (r.status != FOVEA_OK) return r;
  r.digest = p.digest();
  const int calls = std::max(1, static_cast<int>(std::ceil(least_sample / ran(time_of([&] { p.run(); })))));
  const double bytes = static_cast<double>(p.packed.size());
  const int passes = std::max(1, static_cast<int>(least_sample * 50e9 / bytes));
  std::vector<timing> works, peaks;
  loop_samples reads;
  const stopwatch watch;
  for (int round = 0; round < speed.rounds; ++round) {
    if (round >= speed.least_rounds && watch.read().wall >= speed.seconds) break;
    if (meter.knows()) peaks.push_back(undisturbed([&] { return meter.time(); }));
    reads.take(read_loops, [&](int loop) {
      return time_of_reading(loops, loop, p.packed.data(), p.packed.size(), passes);
    });
    works.push_back(undisturbed([&] {
      return time_of([&] {
        for (int i = 0; i < calls; ++i) p.run();
      });
    }));
  }
  const summary work = summarise(works), peak = summarise(peaks), read = reads.fastest();
  r.samples = work.samples;
  r.seconds = work.median / calls;
  r.quiet_seconds = work.lowest_tenth / calls;
  r.peak = meter.knows() ? meter.flops() / peak.median : 0;
  r.read = bytes * passes / read.median;
  r.quiet_limit = std::max(meter.knows() ? w.flops() / meter.flops() * peak.lowest_tenth : 0,
                           r.weight_bytes() / (bytes * passes) * read.lowest_tenth);
  r.disturbed = work.disturbed || peak.disturbed || read.disturbed;
  r.at = conditions_now();
  return r;
}

std::string linear_table_head() {
  return line("rows x inputs x outputs", "isa", "time", "rate", "limit", "share %", "quiet %");
}

std::string table_row(const linear_result& r) {
  const std::string name = r.what.name();
  if (r.status != FOVEA_OK)
    return name + " refused: " + fovea_argument_text(r.status) + ": " + fovea_reason_text(r.status) + "\n";
  const char* const mark = r.disturbed ? disturbed_mark : "";
  const bool reads = r.reading_binds();
  const std::string rate = reads ? format("%.1f GB/s", r.weight_bytes() / r.seconds * 1e-9)
                                 : format("%.1f GFLOP/s", r.what.flops() / r.seconds * 1e-9),
                    limit = reads ? format("%.1f GB/s read", r.read * 1e-9)
                                  : format("%.1f GFLOP/s peak", r.peak * 1e-9);
  return line(name, fovea_isa_name(r.isa),
              r.seconds < 1e-3 ? format("%.3g us", r.seconds * 1e6) : format("%.3g ms", r.seconds * 1e3),
              rate, limit, format("%.1f", 100 * r.limit_seconds() / r.seconds) + mark,
              format("%.1f", 100 * r.quiet_limit / r.quiet_seconds) + mark);
}

} // namespace bench
