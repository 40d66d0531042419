// The functions of integers other than attention refuse memory that is misaligned, leaves the address
// space, or is read and written at once.
#include <doctest/doctest.h>

#include <cstring>
#include <vector>

#include "fovea/fixed_quantize.h"
#include "fovea/fixed_softmax.h"

namespace {

// Memory for all of it, filled so that a write shows.
struct memory {
  alignas(64) unsigned char bytes[8192];
  memory() { std::memset(bytes, 0x11, sizeof bytes); }
  bool untouched() const {
    for (unsigned char b : bytes)
      if (b != 0x11) return false;
    return true;
  }
  template <class T>
  T* at(size_t offset) {
    return reinterpret_cast<T*>(bytes + offset);
  }
};

template <class T>
T* last_bytes() { // an aligned address so high that no row fits behind it
  return reinterpret_cast<T*>(UINTPTR_MAX - 15);
}

struct bad_call {
  const char* why;
  int32_t reason, argument;
  int32_t (*call)(memory& m);
};

void check_refused(const bad_call& bad) {
  INFO(doctest::String(bad.why));
  memory m;
  const int32_t status = bad.call(m);
  CHECK(FOVEA_REASON(status) == bad.reason);
  CHECK(FOVEA_ARGUMENT(status) == bad.argument);
  CHECK(m.untouched());
}

fovea_float_rows rows_at(const float* data) { return {data, 0, 3, 20}; }

} // namespace

TEST_CASE("packing of integers refuses bad memory") {
  const bad_call table[] = {
      {"keys over their own rows", FOVEA_OVERLAP, FOVEA_ARG_OUT,
       [](memory& m) { return fovea_fixed_pack_keys(m.at<int8_t>(0), 0, m.at<int8_t>(0), 0, 5, 20); }},
      {"values over their own rows", FOVEA_OVERLAP, FOVEA_ARG_OUT,
       [](memory& m) { return fovea_fixed_pack_values(m.at<int8_t>(0), 0, m.at<int8_t>(100), 0, 5, 20); }},
      {"a later panel over the rows", FOVEA_OVERLAP, FOVEA_ARG_OUT,
       [](memory& m) {
         return fovea_fixed_pack_keys(m.at<int8_t>(0), 32, m.at<int8_t>(32 * 32 + 500), 0, 5, 20);
       }},
      {"sums over the rows", FOVEA_OVERLAP, FOVEA_ARG_OUT,
       [](memory& m) { return fovea_fixed_sum_keys(m.at<int32_t>(16), m.at<int8_t>(0), 0, 5, 20); }},
      {"misaligned sums", FOVEA_ALIGN, FOVEA_ARG_OUT,
       [](memory& m) { return fovea_fixed_sum_keys(m.at<int32_t>(2001), m.at<int8_t>(0), 0, 5, 20); }},
      {"rows at the end of memory", FOVEA_OVERFLOW, FOVEA_ARG_K,
       [](memory& m) { return fovea_fixed_pack_keys(m.at<int8_t>(0), 0, last_bytes<int8_t>(), 0, 5, 20); }},
      {"panels at the end of memory", FOVEA_OVERFLOW, FOVEA_ARG_OUT,
       [](memory& m) { return fovea_fixed_pack_values(last_bytes<int8_t>(), 0, m.at<int8_t>(0), 0, 5, 20); }},
      {"a stride that leaves memory", FOVEA_OVERFLOW, FOVEA_ARG_K,
       [](memory& m) {
         return fovea_fixed_sum_keys(m.at<int32_t>(0), m.at<int8_t>(4096), PTRDIFF_MAX, 5, 20);
       }},
  };
  for (const bad_call& bad : table) check_refused(bad);
}

TEST_CASE("packing of integers beside its rows, and of nothing, is fine") {
  memory m;
  CHECK(fovea_fixed_pack_keys(m.at<int8_t>(0), 0, m.at<int8_t>(16 * 32), 0, 5, 20) == FOVEA_OK);
  CHECK(fovea_fixed_pack_keys(m.at<int8_t>(0), 16, m.at<int8_t>(0), 0, 5, 20) ==
        FOVEA_OK); // the panel behind the rows
  CHECK(fovea_fixed_pack_values(m.at<int8_t>(0), 5, m.at<int8_t>(3), 0, 0, 20) == FOVEA_OK);
}

TEST_CASE("softmax of integers refuses bad memory") {
  static int16_t exp_table[513], inverse_table[513];
  const bad_call table[] = {
      {"16 bits over 8", FOVEA_OVERLAP, FOVEA_ARG_OUT,
       [](memory& m) {
         return fovea_fixed_softmax_s8(m.at<int8_t>(0), nullptr, 9, 1 << 30, 20, m.at<uint16_t>(0));
       }},
      {"out two elements into x", FOVEA_OVERLAP, FOVEA_ARG_OUT,
       [](memory& m) {
         return fovea_fixed_softmax_s16(m.at<int16_t>(0), nullptr, 9, 1 << 30, 20, m.at<uint16_t>(4));
       }},
      {"out over the mask", FOVEA_OVERLAP, FOVEA_ARG_OUT,
       [](memory& m) {
         return fovea_fixed_softmax_s16(m.at<int16_t>(0), m.at<uint8_t>(204), 9, 1 << 30, 20,
                                        m.at<uint16_t>(200));
       }},
      {"misaligned x", FOVEA_ALIGN, FOVEA_ARG_Q,
       [](memory& m) {
         return fovea_fixed_softmax_s16(m.at<int16_t>(1), nullptr, 9, 1 << 30, 20, m.at<uint16_t>(200));
       }},
      {"misaligned out", FOVEA_ALIGN, FOVEA_ARG_OUT,
       [](memory& m) {
         return fovea_fixed_softmax_s8(m.at<int8_t>(1), nullptr, 9, 1 << 30, 20, m.at<uint16_t>(201));
       }},
      {"TFLite: misaligned out", FOVEA_ALIGN, FOVEA_ARG_OUT,
       [](memory& m) {
         const fovea_tflite_softmax s{1 << 30, 20, -100};
         return fovea_tflite_softmax_s8_s16(m.at<int8_t>(1), 9, &s, m.at<int16_t>(201));
       }},
      {"TFLite: out one element into x", FOVEA_OVERLAP, FOVEA_ARG_OUT,
       [](memory& m) {
         const fovea_tflite_softmax s{1 << 30, 20, -100};
         return fovea_tflite_softmax_s8(m.at<int8_t>(0), 9, &s, m.at<int8_t>(1));
       }},
      {"TFLite: out over a table", FOVEA_OVERLAP, FOVEA_ARG_OUT,
       [](memory& m) {
         const fovea_tflite_softmax_tables t{m.at<int16_t>(1000), inverse_table, 1 << 30, 0};
         return fovea_tflite_softmax_s16(m.at<int16_t>(0), 9, &t, m.at<int16_t>(2000));
       }},
      {"TFLite: a misaligned table", FOVEA_ALIGN, FOVEA_ARG_SCALE,
       [](memory& m) {
         const fovea_tflite_softmax_tables t{exp_table, m.at<int16_t>(1001), 1 << 30, 0};
         return fovea_tflite_softmax_s16(m.at<int16_t>(0), 9, &t, m.at<int16_t>(4000));
       }},
  };
  for (const bad_call& bad : table) check_refused(bad);
}

TEST_CASE("softmax of integers in place gives what it gives elsewhere") {
  int16_t x[40];
  uint16_t apart[40];
  for (int i = 0; i < 40; ++i) x[i] = static_cast<int16_t>(i * 977 % 3001 - 1500);
  CHECK(fovea_fixed_softmax_s16(x, nullptr, 40, 1 << 30, 18, apart) == FOVEA_OK);
  CHECK(fovea_fixed_softmax_s16(x, nullptr, 40, 1 << 30, 18, reinterpret_cast<uint16_t*>(x)) == FOVEA_OK);
  CHECK(std::memcmp(x, apart, sizeof x) == 0);
  int8_t y[40], y_apart[40];
  for (int i = 0; i < 40; ++i) y[i] = static_cast<int8_t>(i * 7 - 128);
  const fovea_tflite_softmax s{1 << 30, 22, -200};
  CHECK(fovea_tflite_softmax_s8(y, 40, &s, y_apart) == FOVEA_OK);
  CHECK(fovea_tflite_softmax_s8(y, 40, &s, y) == FOVEA_OK);
  CHECK(std::memcmp(y, y_apart, sizeof y) == 0);
}

TEST_CASE("quantising refuses bad memory") {
  const bad_call table[] = {
      {"misaligned rows", FOVEA_ALIGN, FOVEA_ARG_Q,
       [](memory& m) {
         const fovea_float_rows x = rows_at(m.at<float>(2));
         return fovea_fixed_quantize_s8(&x, 1, 0, m.at<int8_t>(1000));
       }},
      {"misaligned out", FOVEA_ALIGN, FOVEA_ARG_OUT,
       [](memory& m) {
         const fovea_float_rows x = rows_at(m.at<float>(0));
         return fovea_fixed_quantize_s16(&x, 1, m.at<int16_t>(1001));
       }},
      {"out over the rows", FOVEA_OVERLAP, FOVEA_ARG_OUT,
       [](memory& m) {
         const fovea_float_rows x = rows_at(m.at<float>(0));
         return fovea_fixed_quantize_s8(&x, 1, 0, m.at<int8_t>(0));
       }},
      {"a misaligned scale", FOVEA_ALIGN, FOVEA_ARG_OUT,
       [](memory& m) {
         const fovea_float_rows x = rows_at(m.at<float>(0));
         return fovea_fixed_symmetric(&x, FOVEA_FIXED_S8, m.at<float>(1002));
       }},
      {"scale and zero point in one place", FOVEA_OVERLAP, FOVEA_ARG_OUT,
       [](memory& m) {
         const fovea_float_rows x = rows_at(m.at<float>(0));
         return fovea_fixed_asymmetric(&x, m.at<float>(1000), m.at<int32_t>(1000));
       }},
      {"scales of tokens over out", FOVEA_OVERLAP, FOVEA_ARG_SCALE,
       [](memory& m) {
         const fovea_float_rows x = rows_at(m.at<float>(0));
         return fovea_fixed_quantize_tokens(&x, m.at<float>(1040), m.at<int8_t>(1000));
       }},
      {"the mean over the rows", FOVEA_OVERLAP, FOVEA_ARG_OUT,
       [](memory& m) {
         const fovea_float_rows x = rows_at(m.at<float>(0));
         return fovea_fixed_mean(&x, m.at<float>(40));
       }},
      {"rows moved by one element", FOVEA_OVERLAP, FOVEA_ARG_OUT,
       [](memory& m) {
         const fovea_float_rows x = rows_at(m.at<float>(0));
         return fovea_fixed_subtract(&x, m.at<float>(2000), m.at<float>(4));
       }},
      {"out over the scales of columns", FOVEA_OVERLAP, FOVEA_ARG_OUT,
       [](memory& m) {
         const fovea_float_rows x = rows_at(m.at<float>(0));
         return fovea_fixed_fold(&x, m.at<float>(2000), 0, m.at<float>(1996));
       }},
      {"rows at the end of memory", FOVEA_OVERFLOW, FOVEA_ARG_Q,
       [](memory& m) {
         const fovea_float_rows x = rows_at(last_bytes<float>());
         return fovea_fixed_quantize_s8(&x, 1, 0, m.at<int8_t>(1000));
       }},
      {"a stride that leaves memory", FOVEA_OVERFLOW, FOVEA_ARG_Q,
       [](memory& m) {
         fovea_float_rows x = rows_at(m.at<float>(0));
         x.stride = PTRDIFF_MAX / 2;
         return fovea_fixed_quantize_s8(&x, 1, 0, m.at<int8_t>(1000));
       }},
  };
  for (const bad_call& bad : table) check_refused(bad);
}

TEST_CASE("rows may be smoothed and folded in place") {
  float x[6] = {1, 2, 3, 4, 5, 6};
  const float by[3] = {1, 2, 4};
  const fovea_float_rows rows = {x, 3, 2, 3};
  CHECK(fovea_fixed_subtract(&rows, by, x) == FOVEA_OK);
  CHECK((x[0] == 0 && x[1] == 0 && x[2] == -1 && x[3] == 3 && x[4] == 3 && x[5] == 2));
  CHECK(fovea_fixed_fold(&rows, by, 0, x) == FOVEA_OK);
  CHECK((x[0] == 0 && x[1] == 0 && x[2] == -4 && x[3] == 3 && x[4] == 6 && x[5] == 8));
}
