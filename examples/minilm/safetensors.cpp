// The header is read from left to right once, then the tensors are sorted to find repeated names and gaps.
#include "safetensors.hpp"

#include <algorithm>

#include "utf8.hpp"

namespace minilm {
namespace {

struct element {
  std::string_view name;
  uint64_t bits;
};
constexpr element elements[] = {{"BOOL", 8},    {"U8", 8},   {"I8", 8},   {"F8_E5M2", 8}, {"F8_E4M3", 8},
                                {"F8_E8M0", 8}, {"I16", 16}, {"U16", 16}, {"F16", 16},    {"BF16", 16},
                                {"I32", 32},    {"U32", 32}, {"F32", 32}, {"I64", 64},    {"U64", 64},
                                {"F64", 64},    {"C64", 64}};

uint64_t bits_of(std::string_view dtype) {
  for (const element& one : elements)
    if (one.name == dtype) return one.bits;
  return 0;
}

// A cursor in the header. The first thing that is wrong is kept in `why`; from then on nothing is read.
class header_reader {
 public:
  header_reader(const char* begin, const char* end) : at_(begin), end_(end) {}

  const char* why() const { return why_; }
  bool failed() const { return why_ != nullptr; }
  bool fail(const char* why) {
    if (!why_) why_ = why;
    return false;
  }

  bool at_end() {
    skip_blanks();
    return at_ == end_;
  }

  bool take_if(char wanted) {
    skip_blanks();
    if (failed() || at_ == end_ || *at_ != wanted) return false;
    ++at_;
    return true;
  }

  bool take(char wanted) { return take_if(wanted) || fail("the header is not the JSON of this format"); }

  // What stands between the quotes, with its escapes as they are written.
  bool take_string(std::string_view& text, bool& escaped) {
    if (!take('"')) return false;
    const char* const begin = at_;
    escaped = false;
    while (at_ != end_ && *at_ != '"') {
      const bool is_escape = *at_ == '\\';
      escaped = escaped || is_escape;
      if (is_escape ? !take_escape() : !take_letter()) return false;
    }
    if (at_ == end_) return fail("the header ends inside a string");
    text = {begin, static_cast<size_t>(at_ - begin)};
    ++at_;
    return true;
  }

  // A name is compared with names, so it must be spelt in one way only.
  bool take_name(std::string_view& text) {
    bool escaped = false;
    if (!take_string(text, escaped)) return false;
    return !escaped ||
           fail("a name or dtype has an escape such as \\u0041, which this reader does not decode");
  }

  bool take_number(uint64_t& value) {
    skip_blanks();
    const char* const begin = at_;
    value = 0;
    for (; at_ != end_ && '0' <= *at_ && *at_ <= '9'; ++at_) {
      if (value > (uint64_t{1} << 59)) return fail("a number of the header is too large");
      value = value * 10 + static_cast<uint64_t>(*at_ - '0');
    }
    if (at_ == begin) return fail("a size or offset is not a whole number from 0 on");
    if (*begin == '0' && at_ - begin > 1) return fail("a number of the header begins with 0");
    return true;
  }

  // Up to `room` numbers in brackets.
  bool take_numbers(uint64_t* values, int room, int& count) {
    count = 0;
    if (!take('[')) return false;
    if (take_if(']')) return true;
    do {
      if (count == room) return fail("a list of numbers is too long");
      if (!take_number(values[count])) return false;
      ++count;
    } while (take_if(','));
    return take(']');
  }

 private:
  void skip_blanks() {
    while (!failed() && at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) ++at_;
  }

  bool take_letter() {
    if (static_cast<unsigned char>(*at_) < 0x20)
      return fail("a string of the header holds a control character");
    const code_point one = first_code_point(at_, end_);
    if (one.code == not_utf8) return fail("the header is not UTF-8");
    at_ += one.bytes;
    return true;
  }

  bool take_escape() {
    constexpr std::string_view short_escapes = "\"\\/bfnrt", hex = "0123456789abcdefABCDEF";
    ++at_;
    if (at_ == end_) return fail("the header ends inside a string");
    const char kind = *at_++;
    if (short_escapes.find(kind) != std::string_view::npos) return true;
    if (kind != 'u') return fail("a string of the header has an escape that JSON does not know");
    for (int i = 0; i < 4; ++i, ++at_)
      if (at_ == end_ || hex.find(*at_) == std::string_view::npos)
        return fail("a string of the header has an escape that JSON does not know");
    return true;
  }

  const char* at_;
  const char* end_;
  const char* why_ = nullptr;
};

// {"format": "pt", ...}: strings for people, which are read over.
bool skip_metadata(header_reader& in) {
  std::string_view text;
  bool escaped;
  if (!in.take('{')) return false;
  if (in.take_if('}')) return true;
  do {
    if (!in.take_string(text, escaped) || !in.take(':') || !in.take_string(text, escaped)) return false;
  } while (in.take_if(','));
  return in.take('}');
}

// Elements of a shape times their bits, in bytes.
bool bytes_of_shape(header_reader& in, const tensor& t, uint64_t& bytes) {
  const uint64_t bits = bits_of(t.dtype);
  if (bits == 0) return in.fail("its dtype is unknown");
  constexpr uint64_t most = uint64_t{1} << 56;
  uint64_t elements_of_shape = 1;
  for (int i = 0; i < t.dims; ++i) {
    if (t.shape[i] != 0 && elements_of_shape > most / t.shape[i]) return in.fail("its shape is too large");
    elements_of_shape *= t.shape[i];
  }
  bytes = elements_of_shape * (bits / 8);
  return true;
}

bool take_tensor(header_reader& in, const unsigned char* data, uint64_t data_bytes, tensor& t) {
  uint64_t offsets[2] = {0, 0};
  int dtypes = 0, shapes = 0, offset_lists = 0, count = 0;
  if (!in.take('{')) return false;
  do {
    std::string_view key;
    if (!in.take_name(key) || !in.take(':')) return false;
    if (key == "dtype") {
      ++dtypes;
      if (!in.take_name(t.dtype)) return false;
    } else if (key == "shape") {
      ++shapes;
      if (!in.take_numbers(t.shape, most_dims, t.dims)) return false;
    } else if (key == "data_offsets") {
      ++offset_lists;
      if (!in.take_numbers(offsets, 2, count)) return false;
    } else {
      return in.fail("it has a field that is not dtype, shape or data_offsets");
    }
  } while (in.take_if(','));
  if (!in.take('}')) return false;
  if (dtypes != 1 || shapes != 1 || offset_lists != 1 || count != 2)
    return in.fail("it needs dtype, shape and two data_offsets, each once");
  if (offsets[0] > offsets[1] || offsets[1] > data_bytes)
    return in.fail("its data_offsets are not within the file");
  uint64_t wanted = 0;
  if (!bytes_of_shape(in, t, wanted)) return false;
  if (wanted != offsets[1] - offsets[0]) return in.fail("its data_offsets do not fit its shape and dtype");
  t.begin = offsets[0];
  t.bytes = wanted;
  t.data = data + t.begin;
  return true;
}

// Sorts by name, then by place.
refusal check_together(tensor* tensors, size_t count, uint64_t data_bytes) {
  tensor* const end = tensors + count;
  std::sort(tensors, end, [](const tensor& a, const tensor& b) { return a.name < b.name; });
  const tensor* twice = std::adjacent_find(tensors, end,
                                           [](const tensor& a, const tensor& b) { return a.name == b.name; });
  if (twice != end) return {"its name stands twice in the header", twice->name};
  std::sort(tensors, end, [](const tensor& a, const tensor& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.bytes < b.bytes;
  });
  uint64_t next = 0;
  for (size_t i = 0; i < count; ++i) {
    if (tensors[i].begin > next) return {"there is a gap before its data", tensors[i].name};
    if (tensors[i].begin < next) return {"its data overlap those of another tensor", tensors[i].name};
    next += tensors[i].bytes;
  }
  if (next != data_bytes) return {"the file has bytes behind the last tensor", {}};
  return {};
}

} // namespace

refusal read_safetensors(const unsigned char* file, size_t size, tensor* tensors, size_t room,
                         size_t& count) {
  count = 0;
  if (size < 8) return {"the file is too short for a safetensors file", {}};
  uint64_t header_bytes = 0;
  for (int i = 7; i >= 0; --i) header_bytes = header_bytes << 8 | file[i];
  if (header_bytes > longest_header) return {"the header is longer than 100 MB", {}};
  if (header_bytes > size - 8) return {"the file ends inside the header", {}};
  const unsigned char* const data = file + 8 + header_bytes;
  const uint64_t data_bytes = size - 8 - header_bytes;
  const char* const text = reinterpret_cast<const char*>(file + 8);
  if (header_bytes == 0 || text[0] != '{') return {"the header does not begin with {", {}};

  header_reader in(text, text + header_bytes);
  std::string_view name;
  bool more = in.take('{') && !in.take_if('}');
  const bool any = more;
  bool had_metadata = false;
  while (more) {
    name = {};
    if (!in.take_name(name) || !in.take(':')) break;
    if (name == "__metadata__") {
      if (had_metadata) in.fail("it stands twice in the header");
      had_metadata = true;
      skip_metadata(in);
    } else if (count == room) {
      in.fail("this program has no room for so many tensors");
    } else if (take_tensor(in, data, data_bytes, tensors[count] = {})) {
      tensors[count++].name = name;
    }
    more = in.take_if(',');
  }
  if (!in.failed()) name = {};
  if (any) in.take('}');
  if (!in.failed() && !in.at_end()) in.fail("the header goes on after its last }");
  if (in.failed()) {
    count = 0;
    return {in.why(), name};
  }
  const refusal refused = check_together(tensors, count, data_bytes);
  if (refused) count = 0;
  return refused;
}

const tensor* find_tensor(const tensor* tensors, size_t count, std::string_view name) {
  for (size_t i = 0; i < count; ++i)
    if (tensors[i].name == name) return tensors + i;
  return nullptr;
}

} // namespace minilm
