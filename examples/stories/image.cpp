// Where each tensor stands follows from the shape, so an image needs no table of contents.
#include "image.hpp"

#include <cstring>

#include "fovea/fixed.h"
#include "fovea/fixed_quantize.h"
#include "fovea/ops.h"
#include "image_layout.hpp"

namespace stories {
namespace {

fovea_linear linear_at(const unsigned char* at, int32_t in, int32_t out, int32_t dtype) {
  fovea_linear linear = {};
  linear.packed = at;
  linear.in = in;
  linear.out = out;
  linear.dtype = dtype;
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

  void copy(unsigned char* to, const float* numbers, int32_t count) {
    std::memcpy(to, numbers, sizeof(float) * static_cast<size_t>(count));
  }

  // Rows of `from` become outputs at .. at + rows - 1.
  void pack(unsigned char* to, int32_t in, int32_t out, int32_t dtype, int32_t at, const float* from,
            int32_t rows) {
    fovea_rows_in given = {};
    given.data = from;
    note(fovea_pack_linear(to, linear_bytes(in, out, dtype), in, out, dtype, at, &given, rows));
  }

  void pack_words() {
    copy(image_ + at_.final_norm, f_.final_norm, s_.width);
    fovea_rope_frequencies frequencies = {};
    frequencies.rotary_dim = s_.head_dim();
    note(fovea_rope_table(&frequencies, 0, s_.positions, reinterpret_cast<float*>(image_ + at_.cosines),
                          reinterpret_cast<float*>(image_ + at_.sines)));
    if (dtype_ == FOVEA_F32) {
      pack(image_ + at_.embedding, s_.width, s_.words, dtype_, 0, f_.embedding, s_.words);
    } else {
      const fovea_float_rows rows = {f_.embedding, 0, s_.words, s_.width};
      note(fovea_fixed_quantize_tokens(&rows, reinterpret_cast<float*>(image_ + at_.embedding_scales),
                                       reinterpret_cast<int8_t*>(image_ + at_.embedding)));
    }
    if (at_.classifier != at_.embedding)
      pack(image_ + at_.classifier, s_.width, s_.words, finer(dtype_), 0, f_.classifier, s_.words);
  }

  void pack_layer(int32_t index, unsigned char* to) {
    const ptrdiff_t i = index, width = s_.width, square = width * width, kv = s_.kv_width() * width,
                    mlp = s_.hidden * width;
    copy(to + at_.attention_norm, f_.attention_norm + i * width, s_.width);
    copy(to + at_.mlp_norm, f_.mlp_norm + i * width, s_.width);
    pack(to + at_.qkv, s_.width, s_.qkv_width(), finer(dtype_), 0, f_.wq + i * square, s_.width);
    pack(to + at_.qkv, s_.width, s_.qkv_width(), finer(dtype_), s_.width, f_.wk + i * kv, s_.kv_width());
    pack(to + at_.qkv, s_.width, s_.qkv_width(), finer(dtype_), s_.width + s_.kv_width(), f_.wv + i * kv,
         s_.kv_width());
    pack(to + at_.out, s_.width, s_.width, dtype_, 0, f_.wo + i * square, s_.width);
    pack(to + at_.up, s_.width, 2 * s_.hidden, dtype_, 0, f_.w1 + i * mlp, s_.hidden);
    pack(to + at_.up, s_.width, 2 * s_.hidden, dtype_, s_.hidden, f_.w3 + i * mlp, s_.hidden);
    pack(to + at_.down, s_.hidden, s_.width, finer(dtype_), 0, f_.w2 + i * mlp, s_.width);
  }

  void write_header() {
    image_header h = {};
    h.magic = image_magic;
    h.format = 1;
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

} // namespace

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
  if (h.magic != image_magic || h.format != 1 || h.check != check_of(h))
    return {"this is no image of a model, or a damaged one", {}};
  const uint64_t needed = image_size(h.of, h.dtype);
  if (needed == 0 || needed != (static_cast<uint64_t>(h.size_high) << 32 | h.size_low))
    return {"the header of the image contradicts itself", {}};
  if (needed > size) return {"the image is not all there", {}};
  if (h.dtype != FOVEA_F32 && h.panel_order != fovea_fixed_panel_order())
    return {"the integers of the image are in the order of other cores: pack it for this one", {}};
  if (reinterpret_cast<uintptr_t>(image) % image_align != 0)
    return {"the image is not at a multiple of 64 bytes", {}};
  const layout at(h.of, h.dtype);
  m = {};
  m.of = h.of;
  m.dtype = h.dtype;
  m.image = image;
  m.final_norm = floats_at(image + at.final_norm);
  m.cosines = floats_at(image + at.cosines);
  m.sines = floats_at(image + at.sines);
  m.embedding = image + at.embedding;
  m.embedding_scales = floats_at(image + at.embedding_scales);
  m.classifier = linear_at(image + at.classifier, m.of.width, m.of.words, finer(m.dtype));
  return {};
}

layer_weights model::layer(int32_t index) const {
  const layout at(of, dtype);
  const unsigned char* const begin = image + at.layers + static_cast<uint64_t>(index) * at.layer_size;
  layer_weights l = {};
  l.attention_norm = floats_at(begin + at.attention_norm);
  l.mlp_norm = floats_at(begin + at.mlp_norm);
  l.qkv = linear_at(begin + at.qkv, of.width, of.qkv_width(), finer(dtype));
  l.out = linear_at(begin + at.out, of.width, of.width, dtype);
  l.up = linear_at(begin + at.up, of.width, 2 * of.hidden, dtype);
  l.down = linear_at(begin + at.down, of.hidden, of.width, finer(dtype));
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
