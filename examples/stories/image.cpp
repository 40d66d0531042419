// Where each tensor stands follows from the shape, so an image needs no table of contents.
#include "image.hpp"

#include <cmath>
#include <cstring>

#include "fovea/fixed.h"
#include "fovea/fixed_linear.h"
#include "fovea/fixed_quantize.h"
#include "fovea/ops.h"
#include "image_layout.hpp"

namespace stories {
namespace {

fovea_linear linear_at(const unsigned char* at, int32_t in, int32_t out, int32_t dtype, int32_t order) {
  fovea_linear linear = {};
  linear.packed = at;
  linear.in = in;
  linear.out = out;
  linear.dtype = dtype;
  linear.order = dtype == FOVEA_I8 ? order : int32_t{FOVEA_LINEAR_AS_PACKED};
  return linear;
}

const float* floats_at(const unsigned char* at) { return reinterpret_cast<const float*>(at); }

class packer {
 public:
  packer(const model_file& file, int32_t dtype, unsigned char* image)
      : f_(file), s_(file.of), dtype_(dtype), at_(s_, dtype), image_(image) {}

  refusal run() {
    pack_words();
    for (int32_t i = 0; i < s_.layers; ++i)
      pack_layer(i, image_ + at_.layers + static_cast<uint64_t>(i) * at_.layer_size);
    write_header();
    if (status_ == FOVEA_OK) return {};
    return {"its weights are too large for four bits: take --int8", {}}; // the one refusal of finite weights
  }

 private:
  void note(int32_t status) {
    if (status_ == FOVEA_OK) status_ = status;
  }

  // Rows of `from` become outputs at .. at + rows - 1.
  void pack(unsigned char* to, int32_t in, int32_t out, int32_t dtype, int32_t at, const fovea_rows_in& from,
            int32_t rows) {
    note(fovea_pack_linear(to, linear_bytes(in, out, dtype), in, out, dtype, at, &from, rows));
  }

  // A vector is a product with one input: its panels are the numbers, one after another.
  void copy(unsigned char* to, const fovea_rows_in& numbers, int32_t count) {
    pack(to, 1, count, FOVEA_F32, 0, numbers, count);
  }

  void pack_words() {
    note(fovea_rope_table(&f_.rope, 0, s_.positions, reinterpret_cast<float*>(image_ + at_.cosines),
                          reinterpret_cast<float*>(image_ + at_.sines)));
    if (dtype_ == FOVEA_F32)
      pack(image_ + at_.embedding, s_.width, s_.words, dtype_, 0, f_.embedding, s_.words);
    else
      quantize_words();
    if (at_.classifier != at_.embedding)
      pack(image_ + at_.classifier, s_.width, s_.words, of_classifier(dtype_), 0, f_.classifier, s_.words);
    copy(image_ + at_.final_norm, f_.final_norm, s_.width);
  }

  // Each row as floats stands for a moment where the final norm will.
  void quantize_words() {
    float* const row = reinterpret_cast<float*>(image_ + at_.final_norm);
    const fovea_float_rows one = {row, 0, 1, s_.width};
    for (ptrdiff_t i = 0; i < s_.words; ++i) {
      for (ptrdiff_t c = 0; c < s_.width; ++c) row[c] = number_at(f_.embedding, i * s_.width + c);
      note(fovea_fixed_quantize_tokens(&one, reinterpret_cast<float*>(image_ + at_.embedding_scales) + i,
                                       reinterpret_cast<int8_t*>(image_ + at_.embedding) + i * s_.width));
    }
  }

  void pack_layer(int32_t index, unsigned char* to) {
    const layer_tensors from = f_.layer(index);
    const int32_t q = s_.q_width(), kv = s_.kv_width(), all = s_.qkv_width(), hidden = s_.hidden;
    copy(to + at_.attention_norm, from.attention_norm, s_.width);
    copy(to + at_.mlp_norm, from.mlp_norm, s_.width);
    const struct {
      const fovea_rows_in &weights, &bias;
      int32_t at, rows;
    } parts[] = {{from.wq, from.bq, 0, q}, {from.wk, from.bk, q, kv}, {from.wv, from.bv, q + kv, kv}};
    for (const auto& part : parts) {
      pack(to + at_.qkv, s_.width, all, finer(s_, dtype_), part.at, part.weights, part.rows);
      if (s_.qkv_bias) pack(to + at_.qkv_bias, 1, all, FOVEA_F32, part.at, part.bias, part.rows);
    }
    pack(to + at_.out, q, s_.width, dtype_, 0, from.wo, s_.width);
    pack(to + at_.up, s_.width, 2 * hidden, dtype_, 0, from.w1, hidden);
    pack(to + at_.up, s_.width, 2 * hidden, dtype_, hidden, from.w3, hidden);
    pack(to + at_.down, hidden, s_.width, finer(s_, dtype_), 0, from.w2, s_.width);
    // Rotation makes a number at most sqrt(2) times as large.
    const cache_range largest = {1.4143f * largest_output(from.wk, from.bk, from.attention_norm),
                                 largest_output(from.wv, from.bv, from.attention_norm)};
    std::memcpy(to + at_.largest, &largest, sizeof largest);
  }

  // A row behind an RMS norm is no longer than sqrt(width), so an output is not larger than that times the
  // length of its weights, with a quarter for what products of integers round.
  float largest_output(const fovea_rows_in& weights, const fovea_rows_in& bias, const fovea_rows_in& norm) {
    float largest = 0;
    for (ptrdiff_t row = 0; row < s_.kv_width(); ++row) {
      float sum = 0;
      for (ptrdiff_t c = 0; c < s_.width; ++c) {
        const float w = number_at(weights, row * s_.width + c) * number_at(norm, c);
        sum += w * w;
      }
      const float size = std::sqrt(static_cast<float>(s_.width) * sum) * 1.25f,
                  offset = s_.qkv_bias ? std::fabs(number_at(bias, row)) : 0;
      if (size + offset > largest) largest = size + offset;
    }
    constexpr float most = 1e37f; // beyond it no cache of int8 is made
    return largest < most ? (largest > 1e-20f ? largest : 1e-20f) : most;
  }

  void write_header() {
    image_header h = {};
    h.magic = image_magic;
    h.format = 2;
    h.dtype = dtype_;
    h.panel_order = dtype_ == FOVEA_F32 ? 0 : fovea_fixed_panel_order();
    h.of = s_;
    h.size_low = static_cast<uint32_t>(at_.size);
    h.size_high = static_cast<uint32_t>(at_.size >> 32);
    h.check = check_of(h);
    std::memcpy(image_, &h, sizeof h);
  }

  const model_file& f_;
  const shape& s_;
  const int32_t dtype_;
  const layout at_;
  unsigned char* const image_;
  int32_t status_ = FOVEA_OK;
};

bool is_dtype(int32_t dtype) { return dtype == FOVEA_F32 || dtype == FOVEA_I8 || dtype == FOVEA_I4; }

bool is_in(int32_t n, int32_t low, int32_t high) { return low <= n && n <= high; }

} // namespace

const char* why_refused(const shape& s) {
  if (!is_in(s.width, 2, 8192) || !is_in(s.hidden, 1, 65536))
    return "its width is not 2 to 8,192, or hidden not 1 to 65,536";
  if (!is_in(s.layers, 1, 256)) return "it has not 1 to 256 layers";
  if (!is_in(s.heads, 1, 1024) || !is_in(s.own_head_dim, 0, 1024) ||
      (s.own_head_dim == 0 && s.width % s.heads != 0) || !is_in(s.head_dim(), 2, 1024) ||
      s.head_dim() % 2 != 0)
    return "its width is not heads times an even number up to 1,024";
  if (s.q_width() > 65536) return "its heads are wider than 65,536 together";
  if (!is_in(s.kv_heads, 1, s.heads) || s.heads % s.kv_heads != 0)
    return "its heads are no multiple of its KV heads";
  if (!is_in(s.words, 3, 1 << 18)) return "it has not 3 to 262,144 words";
  if (!is_in(s.positions, 1, 1 << 17)) return "it has not 1 to 131,072 positions";
  if (!(s.norm_epsilon >= 0 && s.norm_epsilon <= 1)) return "the epsilon of its norms is not 0 to 1";
  return nullptr;
}

uint64_t image_size(const shape& s, int32_t dtype) {
  return why_refused(s) || !is_dtype(dtype) ? 0 : layout(s, dtype).size;
}

refusal pack_image(const model_file& file, int32_t dtype, unsigned char* image, size_t size) {
  if (size < image_size(file.of, dtype)) return {"the memory is too small for it", {}};
  return packer(file, dtype, image).run();
}

refusal open_image(const unsigned char* image, size_t size, model& m) {
  image_header h;
  if (size < sizeof h) return {"the image is too short", {}};
  std::memcpy(&h, image, sizeof h);
  if (h.magic != image_magic || h.format != 2 || h.check != check_of(h))
    return {"this is no image of a model, or a damaged one", {}};
  const uint64_t needed = image_size(h.of, h.dtype);
  if (needed == 0 || needed != (static_cast<uint64_t>(h.size_high) << 32 | h.size_low))
    return {"the header of the image contradicts itself", {}};
  if (needed > size) return {"the image is not all there", {}};
  const bool for_smlad = h.panel_order == FOVEA_LINEAR_SMLAD && fovea_fixed_linear_order() == 3;
  if (h.dtype != FOVEA_F32 && h.panel_order != fovea_fixed_panel_order() && !for_smlad)
    return {"the integers of the image are in the order of other cores: pack it for this one", {}};
  if (reinterpret_cast<uintptr_t>(image) % image_align != 0)
    return {"the image is not at a multiple of 64 bytes", {}};
  const layout at(h.of, h.dtype);
  m = {};
  m.of = h.of;
  m.dtype = h.dtype;
  m.order = for_smlad ? FOVEA_LINEAR_SMLAD : FOVEA_LINEAR_AS_PACKED;
  m.image = image;
  m.final_norm = floats_at(image + at.final_norm);
  m.cosines = floats_at(image + at.cosines);
  m.sines = floats_at(image + at.sines);
  m.embedding = image + at.embedding;
  m.embedding_scales = floats_at(image + at.embedding_scales);
  m.classifier = linear_at(image + at.classifier, m.of.width, m.of.words, of_classifier(m.dtype), m.order);
  return {};
}

layer_weights model::layer(int32_t index) const {
  const layout at(of, dtype);
  const unsigned char* const begin = image + at.layers + static_cast<uint64_t>(index) * at.layer_size;
  layer_weights l = {};
  l.attention_norm = floats_at(begin + at.attention_norm);
  l.mlp_norm = floats_at(begin + at.mlp_norm);
  std::memcpy(&l.largest, begin + at.largest, sizeof l.largest);
  l.qkv = linear_at(begin + at.qkv, of.width, of.qkv_width(), finer(of, dtype), order);
  if (of.qkv_bias) l.qkv.bias = floats_at(begin + at.qkv_bias);
  l.out = linear_at(begin + at.out, of.q_width(), of.width, dtype, order);
  l.up = linear_at(begin + at.up, of.width, 2 * of.hidden, dtype, order);
  l.down = linear_at(begin + at.down, of.hidden, of.width, finer(of, dtype), order);
  return l;
}

void model::embed(int32_t word, float* x) const {
  const ptrdiff_t row = word;
  if (dtype == FOVEA_F32) { // panels are [width][16 words]
    const float* const panel = static_cast<const float*>(embedding) + row / 16 * 16 * of.width + row % 16;
    for (int32_t c = 0; c < of.width; ++c) x[c] = panel[16 * static_cast<ptrdiff_t>(c)];
    return;
  }
  const int8_t* const numbers = static_cast<const int8_t*>(embedding) + row * of.width;
  for (int32_t c = 0; c < of.width; ++c) x[c] = static_cast<float>(numbers[c]) * embedding_scales[row];
}

} // namespace stories
