// Tensors of a safetensors file: matrices are packed for products, vectors become float32.
#include <algorithm>
#include <cmath>
#include <set>

#include "c_header.hpp"
#include "fovea/linear.h"
#include "minilm/safetensors.hpp"
#include "output.hpp"
#include "pack.hpp"
#include "stories/image.hpp"
#include "table.hpp"

namespace demo {
namespace {

using minilm::tensor;

constexpr size_t most_tensors = 65536, line_bytes = 64;

struct part { // a tensor, or several that become one matrix
  std::string name;
  std::vector<const tensor*> from;
};

struct packed_part {
  std::string name, id; // id: its name in the header
  bool is_matrix = false;
  int32_t in = 0, out = 0; // of a vector: out numbers
  size_t offset = 0, bytes = 0;
};

std::vector<std::string> pieces_of(const std::string& text, char between) {
  std::vector<std::string> all(1);
  for (char letter : text) {
    if (letter == between)
      all.emplace_back();
    else
      all.back() += letter;
  }
  return all;
}

int32_t float_dtype(const tensor& t) { // -1: not floats
  return t.dtype == "F32" ? FOVEA_F32 : t.dtype == "F16" ? FOVEA_F16 : t.dtype == "BF16" ? FOVEA_BF16 : -1;
}

const char* dtype_name(int32_t dtype) {
  switch (dtype) {
    case FOVEA_F16:
      return "FOVEA_F16";
    case FOVEA_BF16:
      return "FOVEA_BF16";
    case FOVEA_I8:
      return "FOVEA_I8";
    case FOVEA_I4:
      return "FOVEA_I4";
    default:
      return "FOVEA_F32";
  }
}

// What keeps a tensor from being packed; null: nothing.
const char* obstacle(const tensor& t) {
  if (float_dtype(t) < 0) return "its dtype is not F32, F16 or BF16";
  if (t.dims != 1 && t.dims != 2) return "it has not one or two dimensions";
  for (int d = 0; d < t.dims; ++d)
    if (t.shape[d] < 1 || t.shape[d] > FOVEA_LINEAR_MAX) return "a dimension is not 1 to 1,048,576";
  return nullptr;
}

class tensor_packer {
 public:
  tensor_packer(const minilm::mapped_file& file, const pack_wish& wish, const flags& given) : wish_(wish) {
    tensors_.resize(most_tensors);
    size_t count = 0;
    const minilm::refusal refused = minilm::read_safetensors(file.data(), file.size(), tensors_.data(),
                                                             tensors_.size(), count);
    if (refused) {
      const std::string about = refused.about().empty() ? "" : ", " + quote(refused.about());
      throw usage_error("cannot use " + quote(wish.file) + about + ": " + refused.why());
    }
    tensors_.resize(count);
    choose(given);
  }

  std::string run() {
    table t{"", {"tensor", "in", "out", "bytes", "offset"}, {}, "lr"};
    for (const part& one : parts_) pack(one);
    if (!wish_.header.empty() && wish_.image.empty() && image_.size() > size_t{1} << 26)
      throw usage_error("a header of more than 64 MB is too much for a compiler: add --image weights.bin");
    c_header header("Packed by fovea pack.");
    header.line("#include \"fovea/linear.h\"\n");
    if (!wish_.image.empty())
      header.define(in_capitals(wish_.name) + "_BYTES", std::to_string(image_.size()));
    for (const packed_part& p : done_) {
      write(header, p);
      t.rows.push_back({p.name, p.is_matrix ? std::to_string(p.in) : "", std::to_string(p.out),
                        std::to_string(p.bytes), std::to_string(p.offset)});
    }
    t.rows.push_back({"all", "", "", std::to_string(image_.size()), ""});
    std::vector<output_file> files;
    if (!wish_.image.empty())
      files.push_back({wish_.image, {reinterpret_cast<const char*>(image_.data()), image_.size()}});
    if (!wish_.header.empty()) files.push_back({wish_.header, header.text()});
    write_whole(files);
    std::string text;
    for (const std::string& line : table_lines(t, 100)) text += line + "\n";
    for (const std::string& name : left_out_) text += "left out: " + printable(name) + "\n";
    return to_ascii(text);
  }

 private:
  const tensor& find(const std::string& name, const char* flag_name) const {
    const tensor* const found = minilm::find_tensor(tensors_.data(), tensors_.size(), name);
    if (!found)
      throw usage_error(std::string(flag_name) + " names " + quote(name) + ", which the file does not have");
    if (const char* why = obstacle(*found))
      throw usage_error("tensor " + quote(name) + " cannot be packed: " + why);
    return *found;
  }

  void choose(const flags& given) {
    std::set<std::string> joined;
    if (given.count("--join"))
      for (const std::string& wish : pieces_of(given.at("--join"), ',')) choose_join(wish, joined);
    if (given.count("--tensors")) {
      for (const std::string& name : pieces_of(given.at("--tensors"), ','))
        parts_.push_back({name, {&find(name, "--tensors")}});
    } else {
      for (const tensor& t : tensors_) {
        const std::string name(t.name);
        if (joined.count(name)) continue;
        if (obstacle(t))
          left_out_.push_back(name + " (" + obstacle(t) + ")");
        else
          parts_.push_back({name, {&t}});
      }
    }
    if (parts_.empty())
      throw usage_error("cannot use " + quote(wish_.file) + ": it has no tensor that can be packed");
    std::set<std::string> ids;
    for (const part& one : parts_)
      if (!ids.insert(in_capitals(identifier_of(one.name))).second)
        throw usage_error("two tensors would be called " + quote(identifier_of(one.name)) +
                          " in C: take them one at a time with --tensors");
  }

  void choose_join(const std::string& wish, std::set<std::string>& joined) {
    const size_t equals = wish.find('=');
    if (equals == std::string::npos || equals == 0)
      throw usage_error("--join is " + quote(wish) +
                        ": write NEW=A+B, such as qkv=q.weight+k.weight+v.weight");
    part one{wish.substr(0, equals), {}};
    for (const std::string& name : pieces_of(wish.substr(equals + 1), '+')) {
      one.from.push_back(&find(name, "--join"));
      joined.insert(name);
      const tensor &first = *one.from[0], &last = *one.from.back();
      if (last.dims != first.dims || (last.dims == 2 && last.shape[1] != first.shape[1]))
        throw usage_error("--join of " + quote(one.name) +
                          ": give matrices with the same number of inputs, or vectors");
    }
    parts_.push_back(one);
  }

  void pack(const part& one) {
    packed_part p;
    p.name = one.name;
    p.id = wish_.name + "_" + identifier_of(one.name);
    p.offset = image_.size();
    p.is_matrix = one.from[0]->dims == 2;
    uint64_t outputs = 0;
    for (const tensor* t : one.from) outputs += t->shape[0];
    if (outputs > FOVEA_LINEAR_MAX) refuse(p, "it has more than 1,048,576 outputs");
    p.out = static_cast<int32_t>(outputs);
    p.in = p.is_matrix ? static_cast<int32_t>(one.from[0]->shape[1]) : 1;
    if (p.is_matrix)
      pack_matrix(one, p);
    else
      for (const tensor* t : one.from) copy_vector(*t, p);
    image_.resize((image_.size() + line_bytes - 1) / line_bytes * line_bytes);
    done_.push_back(p);
  }

  [[noreturn]] static void refuse(const packed_part& p, const std::string& why) {
    throw usage_error("tensor " + quote(p.name) + " cannot be packed: " + why);
  }

  void pack_matrix(const part& one, packed_part& p) {
    p.bytes = fovea_linear_size(p.in, p.out, wish_.dtype);
    if (p.bytes == 0) refuse(p, "so many inputs are too many for this dtype");
    image_.resize(p.offset + p.bytes);
    std::vector<uint32_t> packed((p.bytes + 3) / 4); // aligned, as the image may move
    int32_t at = 0;
    for (const tensor* t : one.from) {
      const std::vector<uint32_t> rows = aligned_copy(*t);
      fovea_rows_in given = {};
      given.data = rows.data();
      given.dtype = float_dtype(*t);
      const auto count = static_cast<int32_t>(t->shape[0]);
      const int32_t status = fovea_pack_linear(packed.data(), p.bytes, p.in, p.out, wish_.dtype, at, &given,
                                               count);
      if (status != FOVEA_OK)
        refuse(p, std::string(fovea_reason_text(status)) + " (" + fovea_argument_text(status) + ")");
      at += count;
    }
    std::memcpy(image_.data() + p.offset, packed.data(), p.bytes);
  }

  static std::vector<uint32_t> aligned_copy(const tensor& t) {
    std::vector<uint32_t> copy((t.bytes + 3) / 4);
    std::memcpy(copy.data(), t.data, t.bytes);
    return copy;
  }

  // In panels of float32 the first of sixteen outputs has every sixteenth number.
  void copy_vector(const tensor& t, packed_part& p) {
    const std::vector<uint32_t> row = aligned_copy(t);
    const auto count = static_cast<size_t>(t.shape[0]);
    std::vector<float> panel(16 * count);
    fovea_rows_in given = {};
    given.data = row.data();
    given.dtype = float_dtype(t);
    const int32_t status = fovea_pack_linear(panel.data(), sizeof(float) * panel.size(),
                                             static_cast<int32_t>(count), 1, FOVEA_F32, 0, &given, 1);
    if (status != FOVEA_OK) refuse(p, fovea_reason_text(status));
    const size_t at = p.offset + p.bytes; // behind the vectors that it is joined with
    p.bytes += sizeof(float) * count;
    image_.resize(p.offset + p.bytes);
    for (size_t i = 0; i < count; ++i) std::memcpy(image_.data() + at + 4 * i, &panel[16 * i], 4);
  }

  void write(c_header& header, const packed_part& p) {
    const std::string macro = in_capitals(p.id);
    const bool offsets = !wish_.image.empty();
    if (wish_.golden && p.is_matrix) write_golden(header, p);
    if (wish_.helium && p.is_matrix)
      stories::reorder_linear_for_helium(image_.data() + p.offset, p.in, p.out, wish_.dtype);
    const bool arranged = wish_.smlad && p.is_matrix && wish_.dtype == FOVEA_I8;
    if (arranged) stories::arrange_linear_for_smlad(image_.data() + p.offset, p.in, p.out, wish_.dtype);
    if (offsets) header.define(macro + "_OFFSET", std::to_string(p.offset));
    if (!offsets && p.is_matrix) header.words(p.id, image_.data() + p.offset, p.bytes);
    if (!offsets && !p.is_matrix) write_vector(header, p);
    if (p.is_matrix)
      header.define(macro + (offsets ? "(image, bias)" : "(bias)"),
                    "{" + (offsets ? format("(const unsigned char *)(image) + %zu", p.offset) : p.id) +
                        format(", bias, %d, %d, %s, {0}, %s}", p.in, p.out, dtype_name(wish_.dtype),
                               arranged ? "FOVEA_LINEAR_SMLAD" : "0"));
  }

  void write_vector(c_header& header, const packed_part& p) {
    std::vector<float> numbers(static_cast<size_t>(p.out));
    std::memcpy(numbers.data(), image_.data() + p.offset, p.bytes);
    if (!std::all_of(numbers.begin(), numbers.end(), [](float x) { return std::isfinite(x); }))
      refuse(p, "a number is infinite or not a number, which C cannot spell: take --image");
    header.floats(p.id, numbers.data(), numbers.size());
  }

  // A seeded row of x, and its products by the machine that packs.
  void write_golden(c_header& header, const packed_part& p) {
    std::vector<float> x(static_cast<size_t>(p.in)), y(static_cast<size_t>(p.out));
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(static_cast<int>(i * 37 % 129) - 64) / 64;
    std::vector<uint32_t> packed((p.bytes + 3) / 4);
    std::memcpy(packed.data(), image_.data() + p.offset, p.bytes);
    fovea_linear linear = {};
    linear.packed = packed.data();
    linear.in = p.in;
    linear.out = p.out;
    linear.dtype = wish_.dtype;
    fovea_product product = {};
    product.w = &linear;
    product.x.data = x.data();
    product.y.data = y.data();
    product.rows = 1;
    std::vector<unsigned char> scratch(fovea_multiply_scratch(&product) + line_bytes);
    const int32_t status = fovea_multiply(&product, scratch.data(), scratch.size());
    if (status != FOVEA_OK) refuse(p, fovea_reason_text(status));
    header.floats(p.id + "_x", x.data(), x.size());
    header.floats(p.id + "_y", y.data(), y.size());
  }

  const pack_wish& wish_;
  std::vector<tensor> tensors_;
  std::vector<part> parts_;
  std::vector<packed_part> done_;
  std::vector<std::string> left_out_;
  std::vector<unsigned char> image_;
};

} // namespace

std::string pack_safetensors(const minilm::mapped_file& file, const pack_wish& wish, const flags& given) {
  if (wish.smlad && wish.dtype != FOVEA_I8)
    throw usage_error("--smlad is an order of int8 matrices: add --int8, or leave it out");
  return tensor_packer(file, wish, given).run();
}

} // namespace demo
