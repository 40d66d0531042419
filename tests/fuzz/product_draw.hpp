// A legal product with packed weights out of bytes: dtypes, shapes, strides, weights that are packed in
// several calls, and the numbers that y must hold.
#pragma once
#include "float_softmax.hpp"
#include "fovea/fixed.h"
#include "fovea/linear.h"
#include "linear_integers_reference.hpp"
#include "linear_model.hpp"

namespace fuzz {

constexpr int32_t dtypes_of_weights[] = {FOVEA_F32, FOVEA_F16, FOVEA_BF16, FOVEA_I8, FOVEA_I4};
inline bool is_integer(int32_t dtype) { return dtype == FOVEA_I8 || dtype == FOVEA_I4; }

inline std::string in_words(const fovea_rows_in& rows) {
  std::ostringstream to;
  to << rows.data << " stride " << rows.stride << " dtype " << rows.dtype;
  return to.str();
}
inline std::string in_words(const fovea_linear* w) {
  if (w == nullptr) return "null";
  std::ostringstream to;
  to << w->in << " x " << w->out << " dtype " << w->dtype << " packed " << w->packed << " bias " << w->bias;
  return to.str();
}
inline std::string in_words(const fovea_product& p) {
  std::ostringstream to;
  to << "product of " << p.rows << " rows, weights " << in_words(p.w) << ", x " << in_words(p.x) << ", y "
     << p.y.data << " stride " << p.y.stride << ", residual " << in_words(p.residual) << ", activation "
     << p.activation << ", part " << p.part.index << " of " << p.part.count << ", isa " << p.isa
     << ", fixed_isa " << p.fixed_isa;
  return to.str();
}

// Rows of weights, [out][in], as floats; and the same in the dtype that a call to pack them takes.
struct weight_rows {
  std::vector<float> numbers; // as they are packed, where the packed dtype is a float
  fovea_rows_in rows = {};
};

inline float as_given(float x, int32_t dtype) { return linear_model::as_packed(x, dtype); }

// `packed`: the dtype that they will be packed to. Integers take finite numbers of a moderate size only.
inline weight_rows draw_weights(bytes& in, memory& all, int32_t columns, int32_t outputs, int32_t packed) {
  const float some[] = {1, 0.1f, 30, 0.01f, 1e3f, 1e-6f, 1e4f, 1e-42f};
  const int32_t given[] = {FOVEA_F32, FOVEA_F16, FOVEA_BF16};
  weight_rows w;
  w.rows.dtype = in.one_of(given);
  const ptrdiff_t stride = in.one_in(2) ? columns + in.between(0, 5) : columns;
  w.rows.stride = stride == columns && in.one_in(2) ? 0 : stride;
  const size_t count = extent(outputs, stride, columns);
  const float size = in.one_of(some);
  const uint32_t seed = in.byte(), special = is_integer(packed) ? 0 : in.byte();
  std::vector<float> all_numbers(count);
  for (size_t i = 0; i < count; ++i)
    all_numbers[i] = as_given(size * data::noise(seed, static_cast<uint32_t>(i)), w.rows.dtype);
  if (special % 8 == 7 && count > 0 && w.rows.dtype == FOVEA_F32)
    put_bits(all_numbers[in.word() % count], in.one_of(special_bits));
  if (w.rows.dtype == FOVEA_F32) {
    float* to = all.take_of<float>(count);
    if (count > 0) std::memcpy(to, all_numbers.data(), count * sizeof(float));
    w.rows.data = to;
  } else {
    uint16_t* to = all.take_of<uint16_t>(count);
    for (size_t i = 0; i < count; ++i)
      to[i] = w.rows.dtype == FOVEA_BF16 ? static_cast<uint16_t>(numerics::bits_of(all_numbers[i]) >> 16)
                                         : linear_integers::half_of(all_numbers[i]);
    w.rows.data = to;
  }
  for (int32_t o = 0; o < outputs; ++o)
    for (int32_t c = 0; c < columns; ++c)
      w.numbers.push_back(linear_model::as_packed(all_numbers[static_cast<size_t>(o * stride + c)],
                                                  is_integer(packed) ? FOVEA_F32 : packed));
  return w;
}

// Weights of one product, packed at once and in pieces: both must give the same bytes.
inline void* pack(bytes& in, memory& all, const weight_rows& w, int32_t columns, int32_t outputs,
                  int32_t dtype) {
  const size_t size = fovea_linear_size(columns, outputs, dtype);
  unsigned char* packed = all.take(size);
  memory own;
  unsigned char* again = own.take(size);
  const auto rows_from = [&](int32_t o) {
    fovea_rows_in rows = w.rows;
    const ptrdiff_t stride = rows.stride == 0 ? columns : rows.stride,
                    element = rows.dtype == FOVEA_F32 ? 4 : 2;
    rows.data = static_cast<const unsigned char*>(rows.data) + o * stride * element;
    return rows;
  };
  const int32_t cut = in.between(0, outputs);
  std::ostringstream to;
  to << "fovea_pack_linear of " << columns << " x " << outputs << ", dtype " << dtype << ", rows "
     << in_words(w.rows) << ", cut at " << cut;
  const std::string words = to.str();
  const naming name([&] { return words; });
  const fovea_rows_in first = rows_from(0), second = rows_from(cut);
  all.remember();
  int32_t status = fovea_pack_linear(again, size, columns, outputs, dtype, cut, &second, outputs - cut);
  if (status == FOVEA_OK) status = fovea_pack_linear(again, size, columns, outputs, dtype, 0, &first, cut);
  if (!all.unchanged()) finding("packing wrote outside of the packed weights", words);
  if (status == FOVEA_OK)
    status = fovea_pack_linear(packed, size, columns, outputs, dtype, 0, &first, outputs);
  if (status != FOVEA_OK) finding("a legal call is refused: " + status_text(status), words);
  if (std::memcmp(packed, again, size) != 0) finding("packed in pieces, the bytes differ", words);
  return packed;
}

class drawn_product {
 public:
  explicit drawn_product(bytes& in) {
    const int32_t dtype = in.one_of(dtypes_of_weights);
    call.activation = in.between(0, FOVEA_ACTIVATION_END - 1);
    const bool halves = call.activation == FOVEA_SILU_TIMES;
    const int32_t columns = 1 + draw_length(in, 70, 600),
                  outputs = halves ? 2 + 2 * draw_length(in, 40, 150) : 1 + draw_length(in, 80, 300);
    width = halves ? outputs / 2 : outputs;
    call.rows = draw_length(in, 9, 70);
    if (int64_t{call.rows} * columns * outputs > 300000) call.rows = call.rows % 4;
    weights = draw_weights(in, all, columns, outputs, dtype);
    linear.packed = pack(in, all, weights, columns, outputs, dtype);
    linear.in = columns, linear.out = outputs, linear.dtype = dtype;
    if (in.one_in(2)) linear.bias = noise_of(in, all, static_cast<size_t>(outputs), 1);
    call.w = &linear;
    place_rows(in);
  }
  drawn_product(const drawn_product&) = delete;
  drawn_product& operator=(const drawn_product&) = delete;

  ptrdiff_t y_stride() const { return call.y.stride == 0 ? width : call.y.stride; }
  float* y(int32_t row) const { return static_cast<float*>(call.y.data) + row * y_stride(); }

  // y in the order [row][column].
  std::vector<float> expected() const {
    std::vector<float> results;
    const ptrdiff_t x_stride = call.x.stride == 0 ? linear.in : call.x.stride;
    const ptrdiff_t residual_stride = call.residual.stride == 0 ? width : call.residual.stride;
    const bool integers = is_integer(linear.dtype);
    for (int32_t r = 0; r < call.rows; ++r) {
      const float* x = static_cast<const float*>(call.x.data) + r * x_stride;
      const float* residual = static_cast<const float*>(call.residual.data);
      if (residual != nullptr) residual += r * residual_stride;
      for (int32_t c = 0; c < width; ++c)
        results.push_back(integers ? of_integers(x, residual, c)
                                   : linear_model::result(call, weights.numbers, x, residual, c));
    }
    return results;
  }

  // Activations use fma; before them products of integers have the same bits everywhere.
  bool promises_bits(int32_t isa) const {
    const bool plain = call.activation == FOVEA_NO_ACTIVATION || call.activation == FOVEA_RELU;
    return (is_integer(linear.dtype) && plain) || isas::promises_bits(isa == 0 ? fovea_isa() : isa);
  }

  memory all;
  fovea_linear linear = {};
  fovea_product call = {};
  weight_rows weights;
  int32_t width = 0; // columns of y

 private:
  void place_rows(bytes& in) {
    const float some[] = {1, 1, 30, 1e-3f, 1e4f, 1e19f, 3e38f, 1e-42f};
    const ptrdiff_t x_stride = in.one_in(2)   ? linear.in + in.between(0, 5)
                               : in.one_in(4) ? in.between(1, 5)
                                              : linear.in;
    call.x.stride = x_stride == linear.in ? 0 : x_stride;
    call.x.data = noise_of(in, all, extent(call.rows, x_stride, linear.in), in.one_of(some));
    const ptrdiff_t stride = width + (in.one_in(2) ? in.between(0, 5) : 0);
    call.y.stride = stride == width && in.one_in(2) ? 0 : stride;
    const size_t count = extent(call.rows, stride, width);
    const int32_t kind = call.activation == FOVEA_SILU_TIMES ? 0 : in.between(0, 2);
    if (kind == 1) { // a residual of its own
      const ptrdiff_t apart = in.one_in(2) ? width + in.between(0, 5) : in.between(1, 5);
      call.residual.stride = apart;
      call.residual.data = noise_of(in, all, extent(call.rows, apart, width), in.one_of(some));
    }
    call.y.data = kind == 2 ? noise_of(in, all, count, 1) : all.take_of<float>(count);
    if (kind == 2) call.residual.data = call.y.data, call.residual.stride = call.y.stride; // in y itself
  }

  float of_integers(const float* x, const float* residual, int32_t c) const {
    const auto output = [&](int32_t o) {
      const float* w = weights.numbers.data() + static_cast<ptrdiff_t>(o) * linear.in;
      const float z = linear.dtype == FOVEA_I8 ? linear_integers::product_of_bytes(x, w, linear.in)
                                               : linear_integers::product_of_groups(x, w, linear.in);
      return linear.bias != nullptr ? z + linear.bias[o] : z;
    };
    const float a = linear_model::activated(call.activation, output(c));
    if (call.activation == FOVEA_SILU_TIMES) return a * output(width + c);
    return residual != nullptr ? a + residual[c] : a;
  }
};

} // namespace fuzz
