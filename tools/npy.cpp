// The header is a dictionary in the spelling of Python, with three entries in any order.
#include "npy.hpp"

#include <cmath>
#include <cstring>

#include "minilm/mapped_file.hpp"
#include "sentence.hpp"

namespace demo {
namespace {

constexpr size_t most_numbers = size_t{1} << 31;

class header_reader {
 public:
  explicit header_reader(std::string_view text) : text_(text) {}

  bool failed() const { return failed_; }

  bool take_if(char letter) {
    skip_blanks();
    if (text_.empty() || text_[0] != letter) return false;
    text_.remove_prefix(1);
    return true;
  }
  void take(char letter) { failed_ = failed_ || !take_if(letter); }

  std::string take_string() {
    take('\'');
    const size_t end = text_.find('\'');
    failed_ = failed_ || end == std::string_view::npos || end > 32;
    if (failed_) return "";
    const std::string found(text_.substr(0, end));
    text_.remove_prefix(end + 1);
    return found;
  }

  bool take_bool() {
    skip_blanks();
    for (const char* word : {"False", "True"})
      if (text_.substr(0, std::strlen(word)) == word) {
        text_.remove_prefix(std::strlen(word));
        return word[0] == 'T';
      }
    failed_ = true;
    return false;
  }

  // "()", "(3,)", "(2, 3)"
  std::vector<int32_t> take_shape() {
    std::vector<int32_t> shape;
    take('(');
    while (!failed_ && !take_if(')')) {
      shape.push_back(take_number());
      failed_ = failed_ || shape.size() > 8;
      if (take_if(')')) break;
      take(',');
    }
    return shape;
  }

  bool at_end() {
    skip_blanks();
    return text_.empty();
  }

 private:
  void skip_blanks() {
    while (!text_.empty() && (text_[0] == ' ' || text_[0] == '\n')) text_.remove_prefix(1);
  }

  int32_t take_number() {
    skip_blanks();
    size_t digits = 0;
    int64_t value = 0;
    while (digits < text_.size() && digits < 10 && text_[digits] >= '0' && text_[digits] <= '9')
      value = 10 * value + (text_[digits++] - '0');
    failed_ = failed_ || digits == 0 || value > INT32_MAX;
    text_.remove_prefix(digits);
    return static_cast<int32_t>(value);
  }

  std::string_view text_;
  bool failed_ = false;
};

struct npy_header {
  std::string descr;
  bool fortran_order = true;
  std::vector<int32_t> shape;
};

bool read_header(std::string_view text, npy_header& h) {
  header_reader in(text);
  in.take('{');
  int seen = 0;
  while (!in.failed() && !in.take_if('}')) {
    const std::string key = in.take_string();
    in.take(':');
    if (key == "descr") {
      h.descr = in.take_string();
      seen |= 1;
    } else if (key == "fortran_order") {
      h.fortran_order = in.take_bool();
      seen |= 2;
    } else if (key == "shape") {
      h.shape = in.take_shape();
      seen |= 4;
    } else {
      return false;
    }
    if (in.take_if('}')) break;
    in.take(',');
  }
  return !in.failed() && in.at_end() && seen == 7;
}

float float_of_half(uint16_t half) {
  const int exponent = half >> 10 & 31, fraction = half & 0x3ff;
  const double sign = half & 0x8000 ? -1 : 1;
  if (exponent == 31) return static_cast<float>(sign * (fraction ? NAN : INFINITY));
  return static_cast<float>(
      sign * (exponent ? std::ldexp(1024 + fraction, exponent - 25) : std::ldexp(fraction, -24)));
}

void take_numbers(const unsigned char* data, size_t count, npy_array& array) {
  array.numbers.resize(count);
  for (size_t i = 0; i < count; ++i) {
    float& to = array.numbers[i];
    if (array.type == "f4") {
      std::memcpy(&to, data + 4 * i, 4);
    } else if (array.type == "f2") {
      uint16_t half;
      std::memcpy(&half, data + 2 * i, 2);
      to = float_of_half(half);
    } else {
      double wide;
      std::memcpy(&wide, data + 8 * i, 8);
      to = static_cast<float>(wide);
    }
  }
}

} // namespace

npy_array read_npy(const std::string& name, const std::string& path) {
  const auto refuse = [&](const std::string& why) {
    return usage_error("cannot use " + quote(path) + " of " + name + ": " + why);
  };
  const minilm::mapped_file file(path);
  if (!file.problem().empty())
    throw usage_error("cannot read " + quote(path) + " of " + name + " (" + file.problem() +
                      "): name a file that numpy.save wrote");
  const unsigned char* const bytes = file.data();
  const size_t size = file.size();
  if (size < 12 || std::memcmp(bytes, "\x93NUMPY", 6) != 0 || bytes[6] < 1 || bytes[6] > 3)
    throw refuse("it is no file of numpy.save");
  const size_t before = bytes[6] == 1 ? 10 : 12;
  size_t length = bytes[8] | static_cast<size_t>(bytes[9]) << 8;
  if (bytes[6] > 1) length |= static_cast<size_t>(bytes[10]) << 16 | static_cast<size_t>(bytes[11]) << 24;
  if (length > size - before) throw refuse("it ends inside its header");
  npy_header h;
  if (!read_header({reinterpret_cast<const char*>(bytes) + before, length}, h))
    throw refuse("its header is not one of plain numbers");
  if (h.fortran_order) throw refuse("it is in the order of Fortran: save numpy.ascontiguousarray of it");
  npy_array array;
  const bool plain = h.descr.size() == 3 && (h.descr[0] == '<' || h.descr[0] == '|');
  array.type = plain ? h.descr.substr(1) : "";
  size_t width = 0;
  for (const auto& known : {"f2", "f4", "f8", "b1", "u1"})
    if (array.type == known) width = static_cast<size_t>(known[1] - '0');
  if (width == 0)
    throw refuse("its type is " + quote(h.descr) + ": save float32, float16, float64, or bool for a mask");
  array.shape = h.shape;
  size_t count = 1;
  for (int32_t extent : h.shape) {
    if (extent > 0 && count > most_numbers / static_cast<size_t>(extent))
      throw refuse("it has more than 2^31 numbers");
    count *= static_cast<size_t>(extent);
  }
  if (size - before - length != count * width)
    throw refuse("its length is not that of its shape " + shape_text(h.shape));
  const unsigned char* const data = bytes + before + length;
  if (array.is_float())
    take_numbers(data, count, array);
  else
    array.bytes.assign(data, data + count);
  return array;
}

std::string shape_text(const std::vector<int32_t>& shape) {
  std::string text;
  for (int32_t extent : shape) text += (text.empty() ? "" : ", ") + std::to_string(extent);
  return "(" + text + (shape.size() == 1 ? ",)" : ")");
}

std::string npy_text(const std::vector<int32_t>& shape, const std::vector<float>& numbers) {
  constexpr size_t before = 10, align = 64;
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': " + shape_text(shape) + ", }";
  header.append((align - (before + header.size() + 1) % align) % align, ' ');
  header += '\n';
  std::string text = std::string("\x93NUMPY\x01", 7) + '\0';
  text += static_cast<char>(header.size() & 255);
  text += static_cast<char>(header.size() >> 8);
  text += header;
  text.append(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(float));
  return text;
}

} // namespace demo
