// Floats become integers with the same bits on every ISA: those of one number after another, as the header of
// fixed_quantize.h says it.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "data.hpp"
#include "isas.hpp"
#include "lib/f32/kernel.hpp"
#include "numerics.hpp"

namespace {

fovea::f32::float_range range_at(int32_t place, const fovea::f32::float_rows& rows) {
  fovea::f32::float_range range;
  fovea::f32::run_at(place, fovea::f32::range_job{rows, &range});
  return range;
}

using fovea::f32::columns_job;
using fovea::f32::float_rows;

using numerics::bits_of;
using numerics::float_of;

template <class T>
T quantized(float x, float scale, int32_t zero) {
  const float low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
  const float y = std::nearbyint(x / scale) + static_cast<float>(zero); // at most 2^24, or clipped anyway
  return static_cast<T>(y < low ? low : y > high ? high : y);
}

// Rows of columns numbers, `gap` apart, at any address, with NaN between and behind them.
struct rows_in_memory {
  rows_in_memory(int32_t row_count, int32_t column_count, int32_t gap)
      : rows(row_count),
        columns(column_count),
        stride(column_count + gap),
        numbers(static_cast<size_t>(rows) * static_cast<size_t>(stride)) {}
  float& at(int32_t r, int32_t c) { return numbers[static_cast<size_t>(r * stride + c)]; }
  float_rows in() const { return {numbers.data(), stride, columns, rows}; }
  size_t count() const { return static_cast<size_t>(rows) * static_cast<size_t>(columns); }
  template <class F>
  void each(F f) {
    for (int32_t r = 0; r < rows; ++r)
      for (int32_t c = 0; c < columns; ++c) f(static_cast<size_t>(r * columns + c), r, c, at(r, c));
  }

  int32_t rows, columns, stride;
  data::guarded<float> numbers;
};

template <class F>
void on_each_isa(F f) {
  isas::for_each([&](int32_t isa) { f(fovea::f32::find_isa(isa)); });
}

float largest_of(rows_in_memory& x) {
  float size = 0;
  x.each([&](size_t, int32_t, int32_t, float& value) { size = std::fmax(size, std::fabs(value)); });
  return size;
}

template <class T>
bool quantizes_alike(rows_in_memory& x, float scale, int32_t zero, int place) {
  data::guarded<T> out(x.count());
  fovea::f32::quantize_job job = {x.in(), scale, largest_of(x), zero, nullptr, nullptr, nullptr};
  if constexpr (sizeof(T) == 1)
    job.s8 = out.data();
  else
    job.s16 = out.data();
  fovea::f32::run_at(place, job);
  bool same = out.guards_hold();
  x.each([&](size_t i, int32_t, int32_t, float& value) {
    same = same && out[i] == quantized<T>(value, scale, zero);
  });
  return same;
}

// A finite number of any size, by its bits.
float any_float(data::lottery& lot) {
  const uint32_t bits = static_cast<uint32_t>(lot.between(0, 0x7f7fffff));
  return float_of(lot.one_in(2) ? bits : bits | 0x80000000u);
}

struct kind {
  const char* why;
  float (*scale)(data::lottery& lot);
  float (*number)(data::lottery& lot, float scale);
};

float usual_scale(data::lottery& lot) {
  return std::ldexp(1 + static_cast<float>(lot.between(0, (1 << 23) - 1)) * 0x1p-23f, lot.between(-12, 12));
}
float positive(data::lottery& lot) { return float_of(static_cast<uint32_t>(lot.between(1, 0x7f7fffff))); }

// Around the half of an integer, up to three floats away: what another division rounds the other way.
float near_half(data::lottery& lot, float scale, int32_t limit) {
  const float x = (static_cast<float>(lot.between(-limit, limit)) + 0.5f) * scale;
  return float_of(bits_of(x) + static_cast<uint32_t>(lot.between(-3, 3)));
}

constexpr kind kinds[] = {
    {"halves of a byte", usual_scale, [](data::lottery& lot, float s) { return near_half(lot, s, 130); }},
    {"halves of a word", usual_scale, [](data::lottery& lot, float s) { return near_half(lot, s, 32800); }},
    {"scales whose last bits are few: quotients close to the middle of two floats",
     [](data::lottery& lot) {
       const int32_t steps = lot.between(0, (1 << 12) - 1) << lot.between(0, 11);
       return 1 + static_cast<float>(steps + lot.between(-2, 2) + 3) * 0x1p-23f;
     },
     [](data::lottery& lot, float s) { return near_half(lot, s, 130); }},
    {"numbers of any size, a usual scale", usual_scale,
     [](data::lottery& lot, float) { return any_float(lot); }},
    {"any number, any scale", positive, [](data::lottery& lot, float) { return any_float(lot); }},
    {"denormal scales",
     [](data::lottery& lot) { return float_of(static_cast<uint32_t>(lot.between(1, 900))); },
     [](data::lottery& lot, float) { return float_of(static_cast<uint32_t>(lot.between(0, 300000))); }},
    {"scales at the end of what products divide by",
     [](data::lottery& lot) { return std::ldexp(usual_scale(lot), lot.one_in(2) ? 100 : -100); },
     [](data::lottery& lot, float s) { return near_half(lot, s, 130); }},
    {"zeros of both signs", usual_scale,
     [](data::lottery& lot, float) { return lot.one_in(2) ? 0.0f : -0.0f; }},
};

constexpr struct {
  int32_t rows, columns, gap;
} shapes[] = {{1, 1, 0},  {3, 2, 5},  {2, 7, 0},  {2, 15, 1}, {2, 16, 0}, {3, 17, 0},  {2, 31, 2},
              {1, 32, 0}, {2, 33, 0}, {3, 48, 3}, {1, 63, 0}, {5, 65, 0}, {1, 256, 0}, {2, 300, 1}};

// Cores and C libraries that flush denormals promise nothing for them; the ISA itself keeps them here.
bool keeps_denormals() {
  volatile float least = 1.17549435e-38f;
  return least / 2 != 0;
}

} // namespace

TEST_CASE("quantised rows have the same bits on every ISA") {
  data::lottery lot(3);
  for (const kind& k : kinds) {
    INFO(doctest::String(k.why));
    for (const auto& s : shapes)
      for (int turn = 0; turn < 3; ++turn) {
        rows_in_memory x(s.rows, s.columns, s.gap);
        const float scale = k.scale(lot);
        if (scale < 1.17549435e-38f && !keeps_denormals()) continue;
        x.each([&](size_t, int32_t, int32_t, float& value) {
          do value = k.number(lot, scale);
          while (!std::isfinite(value));
        });
        const int32_t zero = turn == 0 ? 0 : lot.between(-128, 127);
        CAPTURE(s.columns);
        CAPTURE(scale);
        on_each_isa([&](int place) {
          CHECK(quantizes_alike<int8_t>(x, scale, zero, place));
          CHECK(quantizes_alike<int16_t>(x, scale, 0, place));
        });
      }
  }
}

// Just above the middle of the half of an integer and the next float: a quotient less than an ulp off, which
// is not corrected, becomes the half, and the even integer below it.
TEST_CASE("quotients close to the middle of two floats are rounded as divisions are, on every ISA") {
  constexpr struct {
    float x, scale;
    int16_t quotient;
  } table[] = {
      {0x1.6a3c7ep+32f, 16056318, 379},   {0x1.87b8fp+35f, 13996031, 3757},
      {0x1.d4c7b8p+35f, 15814655, 3979},  {0x1.caacd4p+35f, 13920255, 4423},
      {0x1.777ab2p+36f, 14602238, 6903},  {0x1.2891ep+38f, 15075839, 21123},
      {0x1.568a86p+38f, 16307198, 22555}, {0x1.7ec9f8p+38f, 15833599, 25959},
  };
  for (const auto& t : table)
    for (const int32_t columns : {300, 1}) {
      CAPTURE(t.quotient);
      rows_in_memory x(1, columns, 0);
      x.each([&](size_t, int32_t, int32_t c, float& value) { value = c % 2 ? -t.x : t.x; });
      CHECK(quantized<int16_t>(t.x, t.scale, 0) == t.quotient);
      on_each_isa([&](int place) { CHECK(quantizes_alike<int16_t>(x, t.scale, 0, place)); });
    }
}

TEST_CASE("scales of tokens are those of each row alone, on every ISA") {
  data::lottery lot(4);
  for (const auto& s : shapes) {
    rows_in_memory x(s.rows * 13, s.columns, s.gap);
    x.each([&](size_t, int32_t r, int32_t, float& value) {
      value = r % 5 == 1 ? -0.0f : r % 5 == 2 ? 1e-44f : any_float(lot);
    });
    std::vector<float> wanted;
    for (int32_t r = 0; r < x.rows; ++r) {
      float size = 0;
      for (int32_t c = 0; c < x.columns; ++c) size = std::fmax(size, std::fabs(x.at(r, c)));
      wanted.push_back(size > 0 ? std::fmax(size / 127, std::numeric_limits<float>::min()) : 1);
    }
    on_each_isa([&](int place) {
      data::guarded<float> scales(wanted.size());
      data::guarded<int8_t> out(x.count());
      fovea::f32::run_at(place,
                         fovea::f32::quantize_job{x.in(), 0, 0, 0, scales.data(), out.data(), nullptr});
      CHECK((scales.guards_hold() && out.guards_hold()));
      CHECK(std::memcmp(scales.data(), wanted.data(), wanted.size() * sizeof(float)) == 0);
      bool same = true;
      x.each([&](size_t i, int32_t r, int32_t, float& value) {
        same = same && out[i] == quantized<int8_t>(value, wanted[static_cast<size_t>(r)], 0);
      });
      CHECK(same);
    });
  }
}

TEST_CASE("the range of rows is that of floats, and shows each number that is none, on every ISA") {
  data::lottery lot(5);
  for (const auto& s : shapes) {
    rows_in_memory x(s.rows, s.columns, s.gap);
    x.each([&](size_t, int32_t, int32_t, float& value) { value = any_float(lot); });
    float low = 0, high = 0;
    x.each([&](size_t, int32_t, int32_t, float& value) {
      low = value < low ? value : low;
      high = value > high ? value : high;
    });
    on_each_isa([&](int place) {
      const fovea::f32::float_range range = range_at(place, x.in());
      CHECK(range.high == static_cast<int32_t>(bits_of(high)));
      CHECK(range.low == (bits_of(low) | 0x80000000u));
      for (const uint32_t none : {0x7f800000u, 0xff800000u, 0x7f800001u, 0xffffffffu}) {
        const int32_t r = lot.between(0, s.rows - 1), c = lot.between(0, s.columns - 1);
        const uint32_t kept = bits_of(x.at(r, c));
        std::memcpy(&x.at(r, c), &none, sizeof none);
        const fovea::f32::float_range shown = range_at(place, x.in());
        CHECK((shown.high >= 0x7f800000 || shown.low >= 0xff800000u));
        std::memcpy(&x.at(r, c), &kept, sizeof kept);
      }
    });
  }
}

TEST_CASE("what smooths keys has the same bits on every ISA, in place too") {
  data::lottery lot(6);
  for (const auto& s : shapes)
    for (const bool usual : {true, false}) {
      rows_in_memory x(s.rows, s.columns, s.gap);
      x.each([&](size_t, int32_t, int32_t, float& value) {
        value = usual ? static_cast<float>(lot.between(-1000, 1000)) / 7 : any_float(lot);
      });
      std::vector<float> columns(static_cast<size_t>(s.columns));
      for (float& c : columns) c = usual ? usual_scale(lot) : positive(lot);
      const auto model = [&](columns_job::operation what) {
        const bool sums = what == columns_job::sizes || what == columns_job::means;
        std::vector<float> out(sums ? columns.size() : x.count(), 0.0f);
        x.each([&](size_t i, int32_t, int32_t c, float& value) {
          const float column = columns[static_cast<size_t>(c)];
          float& sum = out[static_cast<size_t>(sums ? c : 0)];
          if (what == columns_job::sizes) sum = std::fmax(sum, std::fabs(value));
          if (what == columns_job::means) sum += value / static_cast<float>(s.rows);
          if (what == columns_job::difference) out[i] = value - column;
          if (what == columns_job::quotient) out[i] = value / column;
          if (what == columns_job::product) out[i] = value * column;
        });
        return out;
      };
      for (const auto what : {columns_job::sizes, columns_job::means, columns_job::difference,
                              columns_job::quotient, columns_job::product}) {
        const std::vector<float> wanted = model(what);
        const auto right = [&](const float* out) {
          return std::memcmp(out, wanted.data(), wanted.size() * sizeof(float)) == 0;
        };
        on_each_isa([&](int place) {
          data::guarded<float> out(wanted.size());
          if (wanted.size() == columns.size())
            for (size_t i = 0; i < out.size(); ++i) out[i] = 0;
          fovea::f32::run_at(place, fovea::f32::columns_job{what, x.in(), columns.data(), out.data()});
          CHECK((out.guards_hold() && right(out.data())));
          if (s.gap || what == columns_job::sizes || what == columns_job::means) return;
          data::guarded<float> own = x.numbers;
          float_rows in = x.in();
          in.x = own.data();
          fovea::f32::run_at(place, fovea::f32::columns_job{what, in, columns.data(), own.data()});
          CHECK((own.guards_hold() && right(own.data())));
        });
      }
    }
}
