// The curves, and how their points are measured: short samples that go over all sizes of a curve in turn.
#include "sweep.hpp"

#include <nanobench.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <functional>
#include <iterator>

#include "fovea/fixed.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "stopwatch.hpp"

namespace bench {
namespace {

// clang-format off
constexpr curve table[] = {
    //                                            KV heads, group, dim, queries, keys
    {size::keys,    layout::rows,   dtype::f32,      4,  1,  64,  1, 300},
    {size::keys,    layout::panels, dtype::f32,      4,  1,  64,  1, 300},
    {size::keys,    layout::tokens, dtype::f32,      4,  1,  64,  1, 300},
    {size::keys,    layout::apart,  dtype::f32,      4,  1,  64,  1, 300},
    {size::keys,    layout::rows,   dtype::f32,      2,  4,  64,  1, 300},
    {size::keys,    layout::panels, dtype::f32,      2,  4,  64,  1, 300},
    {size::keys,    layout::rows,   dtype::f32,      2,  1,  64, 16, 300},
    {size::keys,    layout::panels, dtype::f32,      2,  1,  64, 16, 300},
    {size::keys,    layout::panels, dtype::f16,      4,  1,  64,  1, 300},
    {size::keys,    layout::rows,   dtype::int8_kv,  4,  1,  64,  1, 300},
    {size::keys,    layout::panels, dtype::int8_kv,  4,  1,  64,  1, 300},
    {size::keys,    layout::panels, dtype::int8,     4,  1,  64,  1, 300},
    {size::keys,    layout::rows,   dtype::int8,     2,  1,  64, 16, 300},
    {size::dim,     layout::rows,   dtype::f32,      4,  1, 130,  1, 256},
    {size::dim,     layout::panels, dtype::f32,      4,  1, 130,  1, 256},
    {size::dim,     layout::tokens, dtype::f32,      4,  1, 130,  1, 256},
    {size::dim,     layout::apart,  dtype::f32,      4,  1, 130,  1, 256},
    {size::dim,     layout::panels, dtype::f32,      2,  4, 130,  1, 256},
    {size::dim,     layout::rows,   dtype::f16,      4,  1, 130,  1, 256},
    {size::dim,     layout::panels, dtype::bf16,     4,  1, 130,  1, 256},
    {size::dim,     layout::panels, dtype::int8_kv,  4,  1, 130,  1, 256},
    {size::dim,     layout::panels, dtype::int8,     4,  1, 130,  1, 256},
    {size::dim,     layout::rows,   dtype::f32,      2,  1, 130, 32, 128},
    {size::dim,     layout::panels, dtype::f32,      2,  1, 130, 32, 128},
    {size::dim,     layout::tokens, dtype::f32,      2,  1, 130, 32, 128},
    {size::dim,     layout::apart,  dtype::f32,      2,  1, 130, 32, 128},
    {size::dim,     layout::rows,   dtype::f16,      2,  1, 130, 32, 128},
    {size::dim,     layout::rows,   dtype::int8,     2,  1, 130, 32, 128},
    {size::queries, layout::rows,   dtype::f32,      2,  1,  64, 24, 512},
    {size::queries, layout::panels, dtype::f32,      2,  1,  64, 24, 512},
    {size::queries, layout::rows,   dtype::f32,      2,  4,  64, 24, 512},
    {size::queries, layout::panels, dtype::f32,      2,  4,  64, 24, 512},
    {size::queries, layout::rows,   dtype::f16,      2,  1,  64, 24, 512},
    {size::queries, layout::panels, dtype::bf16,     2,  1,  64, 24, 512},
    {size::queries, layout::panels, dtype::int8_kv,  2,  1,  64, 24, 512},
    {size::queries, layout::rows,   dtype::int8,     2,  1,  64, 24, 512},
    {size::group,   layout::rows,   dtype::f32,      2, 16,  64,  1, 512},
    {size::group,   layout::panels, dtype::f32,      2, 16,  64,  1, 512},
    {size::group,   layout::panels, dtype::f16,      2, 16,  64,  1, 512},
    {size::group,   layout::panels, dtype::int8,     2, 16,  64,  1, 512},
};
// clang-format on

constexpr double least_sample = 50e-6; // a point is the least of many samples, so short ones will do
constexpr ptrdiff_t bytes_apart = 4096;

constexpr bool heads_fit_apart() {
  for (const curve& c : table)
    if (c.memory == layout::apart && c.q_heads() * c.dim * ptrdiff_t{sizeof(float)} > bytes_apart)
      return false;
  return true;
}
static_assert(heads_fit_apart(), "the heads of a token must not reach into the next one");

bool halves(dtype type) { return type == dtype::f16 || type == dtype::bf16; }
bool is_int8(dtype type) { return type == dtype::int8 || type == dtype::int8_kv; }
ptrdiff_t bytes_of(dtype type) { return is_int8(type) ? 1 : halves(type) ? 2 : 4; }

const char* type_name(dtype type) {
  switch (type) {
    case dtype::f16:
      return "f16";
    case dtype::bf16:
      return "bf16";
    case dtype::int8_kv:
      return "int8 KV";
    case dtype::int8:
      return "int8";
    default:
      return "f32";
  }
}

const char* layout_name(layout memory) {
  constexpr const char* names[] = {"rows", "panels", "token-major", "tokens 4 KB apart"};
  return names[static_cast<int>(memory)];
}

const char* size_name(size over) {
  constexpr const char* names[] = {"keys", "dim", "queries", "group"};
  return names[static_cast<int>(over)];
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

// Numbers of each type whose magnitudes are below 1, so no score is extreme.
void fill(const page_buffer& buffer, dtype type, uint64_t seed) {
  ankerl::nanobench::Rng random(seed);
  const auto half = [&](uint32_t least, uint32_t count) {
    const uint32_t bits = static_cast<uint32_t>(random() >> 32);
    return static_cast<uint16_t>((bits & 0x8000) | (least + bits % count));
  };
  uint16_t* const halves_there = static_cast<uint16_t*>(buffer.data());
  for (size_t i = 0; i < buffer.size() / 4; ++i) {
    if (type == dtype::f32) {
      buffer.floats()[i] = static_cast<float>(static_cast<int32_t>(random() >> 48) - 32768) * (1.0f / 32768);
    } else if (halves(type)) {
      const bool f16 = type == dtype::f16; // from 1/8 on
      for (size_t j = 2 * i; j < 2 * i + 2; ++j)
        halves_there[j] = f16 ? half(0x3000, 0xc00) : half(0x3e00, 0x180);
    } else {
      static_cast<uint32_t*>(buffer.data())[i] = static_cast<uint32_t>(random() >> 32);
    }
  }
}

// The memory of a curve at its largest; each size begins at the same addresses. What panels hold are numbers
// like those of rows, so nothing has to be packed.
class curve_memory {
 public:
  explicit curve_memory(const curve& c)
      : q_(bytes(c, c.q_heads(), c.queries, query_type(c))),
        k_(bytes(c, c.kv_heads, c.keys, c.type)),
        v_(k_.size()),
        out_(bytes(c, c.q_heads(), c.queries, query_type(c))) {
    fill(q_, query_type(c), 1);
    fill(k_, c.type, 2);
    fill(v_, c.type, 3);
  }

  fovea_attention call(const curve& c, int32_t isa) const {
    fovea_attention a = {};
    place(c, a);
    constexpr int32_t f32 = FOVEA_F32;
    a.k.dtype = a.v.dtype = c.type == dtype::f16       ? FOVEA_F16
                            : c.type == dtype::bf16    ? FOVEA_BF16
                            : c.type == dtype::int8_kv ? FOVEA_I8
                                                       : f32;
    a.k.layout = c.memory == layout::panels ? FOVEA_PANELS : FOVEA_ROWS;
    if (c.type == dtype::int8_kv) {
      a.v.layout = a.k.layout;
      a.flags = FOVEA_SCALE;
      a.scale = 1.0f / 512;
    }
    a.isa = isa;
    return a;
  }

  fovea_fixed_attention integer_call(const curve& c, int32_t integer_isa) const {
    fovea_fixed_attention a = {};
    place(c, a);
    a.k.layout = a.v.layout = c.memory == layout::panels ? FOVEA_PANELS : FOVEA_ROWS;
    a.max_keys = c.keys;
    constexpr double unit = 2.0 / 127;
    a.scale = fovea::make_fixed_scale({unit, unit, unit, unit / 3, 0}, c.dim, c.keys).scale;
    a.isa = integer_isa;
    return a;
  }

 private:
  static dtype query_type(const curve& c) { return c.type == dtype::int8 ? dtype::int8 : dtype::f32; }

  static size_t bytes(const curve& c, int32_t heads, int32_t tokens, dtype type) {
    const size_t token = c.memory == layout::apart
                             ? size_t{bytes_apart}
                             : static_cast<size_t>(heads * bytes_of(type)) * FOVEA_UP16(c.dim);
    return token * FOVEA_FIXED_UP64(tokens);
  }

  template <class Call>
  void place(const curve& c, Call& a) const {
    a.q.data = q_.data();
    a.k.data = k_.data();
    a.v.data = v_.data();
    a.out.data = out_.data();
    a.q_heads = c.q_heads();
    a.kv_heads = c.kv_heads;
    a.dim = c.dim;
    a.queries = c.queries;
    a.keys = c.keys;
    const auto stride = [&](auto& tensor, int32_t heads, dtype type) {
      if (c.memory != layout::tokens && c.memory != layout::apart) return;
      tensor.head_stride = c.dim;
      tensor.token_stride = c.memory == layout::apart ? bytes_apart / bytes_of(type)
                                                      : ptrdiff_t{heads} * c.dim;
    };
    stride(a.q, c.q_heads(), query_type(c));
    stride(a.k, c.kv_heads, c.type);
    stride(a.v, c.kv_heads, c.type);
    stride(a.out, c.q_heads(), query_type(c));
  }

  page_buffer q_, k_, v_, out_;
};

// One size of a curve, ready to run.
struct sized_call {
  std::function<int32_t(const page_buffer& scratch)> run;
  size_t scratch;
  int32_t status;
  int calls = 1; // of one sample
};

sized_call call_at(const curve_memory& memory, const curve& c, const kernel& by) {
  if (c.type == dtype::int8) {
    const fovea_fixed_attention a = memory.integer_call(c, by.integer_isa);
    return {[a](const page_buffer& s) { return fovea_fixed_attend(&a, s.data(), s.size()); },
            fovea_fixed_scratch_best(&a), fovea_fixed_check(&a)};
  }
  const fovea_attention a = memory.call(c, by.isa);
  return {[a](const page_buffer& s) { return fovea_attend(&a, s.data(), s.size()); }, fovea_scratch_best(&a),
          fovea_check(&a)};
}

double time_of_sample(const sized_call& call, const page_buffer& scratch) { // of one call
  const timing t = time_of([&] {
    for (int i = 0; i < call.calls; ++i) call.run(scratch);
  });
  return t.wall / call.calls;
}

} // namespace

std::string curve::name() const {
  std::string text = std::string(size_name(over)) + ": ";
  text += over == size::group ? std::to_string(kv_heads) + " KV heads"
                              : std::to_string(q_heads()) + "/" + std::to_string(kv_heads);
  if (over != size::dim) text += (over == size::group ? " x " : "x") + std::to_string(dim);
  if (over != size::queries) text += ", " + std::to_string(queries) + (queries == 1 ? " query" : " queries");
  if (over != size::keys) text += ", " + std::to_string(keys) + " keys";
  return text + ", " + layout_name(memory) + " " + type_name(type);
}

int32_t curve::most() const {
  const int32_t sizes[] = {keys, dim, queries, group};
  return sizes[static_cast<int>(over)];
}

curve curve::at(int32_t n) const {
  curve c = *this;
  int32_t* const sizes[] = {&c.keys, &c.dim, &c.queries, &c.group};
  *sizes[static_cast<int>(over)] = n;
  return c;
}

std::vector<curve> curves_with(const std::string& filter) {
  std::vector<curve> chosen;
  std::copy_if(std::begin(table), std::end(table), std::back_inserter(chosen),
               [&](const curve& c) { return lower(c.name()).find(lower(filter)) != std::string::npos; });
  return chosen;
}

swept sweep(const curve& c, const kernel& by, const options& o) {
  swept found{c, by, FOVEA_OK, {}, {}, {}};
  const curve_memory memory(c);
  std::vector<sized_call> calls;
  size_t scratch_bytes = 0;
  for (int32_t n : sizes_to(c.most(), o.quick)) {
    const curve one = c.at(n);
    calls.push_back(call_at(memory, one, by));
    if (calls.back().status != FOVEA_OK) {
      found.status = calls.back().status;
      return found;
    }
    scratch_bytes = std::max(scratch_bytes, calls.back().scratch);
    found.points.push_back({n, one.macs(), HUGE_VAL});
  }
  const page_buffer scratch(scratch_bytes);
  for (sized_call& call : calls) {
    time_of_sample(call, scratch); // warms up
    call.calls = std::max(1, static_cast<int>(std::ceil(least_sample / time_of_sample(call, scratch))));
  }
  const auto sample = [&](size_t i) { return time_of_sample(calls[i], scratch); };
  const int rounds = o.rounds > 0 ? o.rounds : o.quick ? 7 : 21;
  for (int round = 0; round < rounds; ++round)
    for (size_t i = 0; i < calls.size(); ++i)
      found.points[i].seconds = std::min(found.points[i].seconds, sample(i));
  found.cliffs = confirmed(found.points, 2 * rounds, sample);
  found.at = conditions_now();
  return found;
}

} // namespace bench
