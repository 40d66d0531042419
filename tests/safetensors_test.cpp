// The reader of safetensors files (examples/minilm) takes what the format allows, names what is wrong with
// other files, and reads no byte beyond them, however they were damaged.
#include "examples/minilm/safetensors.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "data.hpp"
#include "fence.hpp"

namespace {

using minilm::refusal;
using minilm::tensor;

constexpr size_t room = 8;

std::string little_endian(uint64_t number) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(number >> 8 * i & 255);
  return bytes;
}

std::string file_of(const std::string& header, size_t data_bytes) {
  return little_endian(header.size()) + header + std::string(data_bytes, 'x');
}

const std::string two_tensors = R"({"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"
                                R"("b":{"dtype":"BF16","shape":[],"data_offsets":[24,26]}})";

refusal read(const std::string& file, std::vector<tensor>& tensors) {
  // Of exactly its size, so that sanitizers see each byte that is read behind it.
  const std::vector<unsigned char> bytes(file.begin(), file.end());
  tensors.resize(room);
  size_t count = 0;
  const refusal refused = minilm::read_safetensors(bytes.data(), bytes.size(), tensors.data(), room, count);
  tensors.resize(count);
  return refused;
}

std::string why(const std::string& file) {
  std::vector<tensor> tensors;
  const refusal refused = read(file, tensors);
  CHECK((!refused || tensors.empty()));
  return refused ? refused.why() : "";
}

std::string why(const std::string& header, size_t data_bytes) { return why(file_of(header, data_bytes)); }

std::string one_tensor(const std::string& fields) { return R"({"a":{)" + fields + "}}"; }

} // namespace

TEST_CASE("safetensors: names, shapes and data") {
  const std::string file = file_of(two_tensors, 26);
  tensor tensors[room];
  size_t count = 0;
  const auto* bytes = reinterpret_cast<const unsigned char*>(file.data());
  REQUIRE(!minilm::read_safetensors(bytes, file.size(), tensors, room, count));
  REQUIRE(count == 2);
  const tensor* a = minilm::find_tensor(tensors, count, "a");
  REQUIRE(a != nullptr);
  CHECK(a->dtype == "F32");
  CHECK((a->dims == 2 && a->shape[0] == 2 && a->shape[1] == 3 && a->bytes == 24));
  CHECK(a->data == bytes + file.size() - 26);
  const tensor* b = minilm::find_tensor(tensors, count, "b");
  REQUIRE(b != nullptr);
  CHECK((b->dims == 0 && b->bytes == 2 && b->data == a->data + 24));
  CHECK(minilm::find_tensor(tensors, count, "c") == nullptr);
}

TEST_CASE("safetensors: files that are accepted") {
  struct {
    std::string header;
    size_t data_bytes;
    const char* why;
  } const rows[] = {
      {"{}", 0, "no tensor"},
      {two_tensors, 26, "two tensors"},
      {two_tensors + "   ", 26, "padded with blanks"},
      {R"({"__metadata__":{"format":"pt","note":"a \"quoted\" \u00e9 word"}})", 0, "metadata with escapes"},
      {R"({"__metadata__":{}})", 0, "no metadata"},
      {" {\"a\" : \n{ \"shape\":[ 0 , 5 ],\t\"data_offsets\":[0,0],\"dtype\":\"F64\"} }", 0, "blanks"},
      {one_tensor(R"("dtype":"U8","shape":[1,1,1,1,1,1,1,3],"data_offsets":[0,3])"), 3, "eight dimensions"},
      {"{\"\xC3\xA9\":{\"dtype\":\"I8\",\"shape\":[1],\"data_offsets\":[0,1]}}", 1,
       "a name that is not ASCII"},
      {R"({"b":{"dtype":"I8","shape":[1],"data_offsets":[1,2]},)"
       R"("a":{"dtype":"I8","shape":[1],"data_offsets":[0,1]}})",
       2, "data in another order than the header"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.why);
    const std::string header = row.header[0] == ' ' ? row.header.substr(1) : row.header;
    CHECK(why(header, row.data_bytes) == "");
  }
}

TEST_CASE("safetensors: what is wrong is said") {
  const auto offsets = [](const std::string& text) {
    return one_tensor(R"("dtype":"F32","shape":[2],"data_offsets":)" + text);
  };
  const auto shape = [](const std::string& text) {
    return one_tensor(R"("dtype":"F32","data_offsets":[0,8],"shape":)" + text);
  };
  const std::string nested(1000000, '[');
  std::string objects;
  for (int i = 0; i < 100000; ++i) objects += "{\"a\":";
  struct {
    std::string header;
    size_t data_bytes;
    const char* sentence;
  } const rows[] = {
      {"", 0, "the header does not begin with {"},
      {" {}", 0, "the header does not begin with {"},
      {nested, 0, "the header does not begin with {"},
      {"{" + nested, 0, "the header is not the JSON of this format"},
      {objects, 0, "it has a field that is not dtype, shape or data_offsets"},
      {one_tensor("\"shape\":" + nested), 0, "a size or offset is not a whole number from 0 on"},
      {"{\"__metadata__\":" + objects, 0, "the header is not the JSON of this format"},
      {"{", 0, "the header is not the JSON of this format"},
      {"{}{}", 0, "the header goes on after its last }"},
      {two_tensors + "x", 26, "the header goes on after its last }"},
      {"{\"a", 0, "the header ends inside a string"},
      {"{\"a\\", 0, "the header ends inside a string"},
      {"{\"a\\q\":", 0, "a string of the header has an escape that JSON does not know"},
      {"{\"__metadata__\":{\"a\":\"\\u12", 0, "a string of the header has an escape that JSON does not know"},
      {"{\"\\u0061\":", 0,
       "a name or dtype has an escape such as \\u0041, which this reader does not decode"},
      {"{\"a\n\":", 0, "a string of the header holds a control character"},
      {"{\"\xC3(\":", 0, "the header is not UTF-8"},
      {"{\"\xED\xA0\x80\":", 0, "the header is not UTF-8"},
      {offsets("[0,8]"), 9, "the file has bytes behind the last tensor"},
      {offsets("[0,8]"), 7, "its data_offsets are not within the file"},
      {offsets("[8,0]"), 8, "its data_offsets are not within the file"},
      {offsets("[0,4]"), 8, "its data_offsets do not fit its shape and dtype"},
      {offsets("[4,12]"), 12, "there is a gap before its data"},
      {offsets("[0]"), 8, "it needs dtype, shape and two data_offsets, each once"},
      {offsets("[0,8,8]"), 8, "a list of numbers is too long"},
      {offsets("[-1,8]"), 8, "a size or offset is not a whole number from 0 on"},
      {offsets("[0,8.0]"), 8, "the header is not the JSON of this format"},
      {offsets("[0,08]"), 8, "a number of the header begins with 0"},
      {offsets("[0,18446744073709551617]"), 8, "a number of the header is too large"},
      {shape("[4294967296,4294967296]"), 8, "its shape is too large"},
      {shape("[1,1,1,1,1,1,1,1,2]"), 8, "a list of numbers is too long"},
      {shape("[2],\"shape\":[2]"), 8, "it needs dtype, shape and two data_offsets, each once"},
      {shape("[2],\"other\":1"), 8, "it has a field that is not dtype, shape or data_offsets"},
      {one_tensor(R"("shape":[2],"data_offsets":[0,8])"), 8,
       "it needs dtype, shape and two data_offsets, each once"},
      {one_tensor(R"("dtype":"Q4","shape":[2],"data_offsets":[0,8])"), 8, "its dtype is unknown"},
      {R"({"a":{"dtype":"I8","shape":[1],"data_offsets":[0,1]},)"
       R"("a":{"dtype":"I8","shape":[1],"data_offsets":[1,2]}})",
       2, "its name stands twice in the header"},
      {R"({"__metadata__":{},"__metadata__":{}})", 0, "it stands twice in the header"},
      {R"({"a":{"dtype":"I8","shape":[2],"data_offsets":[0,2]},)"
       R"("b":{"dtype":"I8","shape":[2],"data_offsets":[1,3]}})",
       3, "its data overlap those of another tensor"},
  };
  for (const auto& row : rows) CHECK(why(row.header, row.data_bytes) == row.sentence);

  CHECK(why("1234567") == "the file is too short for a safetensors file");
  CHECK(why(little_endian(3) + "{}") == "the file ends inside the header");
  CHECK(why(little_endian(UINT64_MAX) + "{}") == "the header is longer than 100 MB");
  std::string many = "{";
  for (size_t i = 0; i <= room; ++i)
    many += (i ? ",\"" : "\"") + std::to_string(i) + R"(":{"dtype":"I8","shape":[0],"data_offsets":[0,0]})";
  CHECK(why(many + "}", 0) == "this program has no room for so many tensors");
}

namespace {

const std::string seeds[] = {
    file_of(two_tensors, 26),
    file_of(
        R"({"__metadata__":{"format":"pt","k":"\"\u00e9"},"w.0":{"dtype":"F16","shape":[4,0],"data_offsets":[0,0]},)"
        R"("w.1":{"dtype":"U8","shape":[5],"data_offsets":[0,5]}}   )",
        5),
    file_of(one_tensor(R"( "dtype" : "F64" , "shape" : [ 1 , 2 ] , "data_offsets" : [ 0 , 16 ] )"), 16),
    file_of("{}", 0),
};

const std::string pieces[] = {"18446744073709551615",
                              "9223372036854775808",
                              "-1",
                              "1e9",
                              "0",
                              "00",
                              "4294967296",
                              "{",
                              "}",
                              "[",
                              "]",
                              ",",
                              ":",
                              "\"",
                              "\\",
                              "\\u",
                              "\\u00e9",
                              "{\"a\":",
                              "[[[[[[[[",
                              "\"a\":{\"dtype\":\"I8\",\"shape\":[0],\"data_offsets\":[0,0]},",
                              "\"__metadata__\":{},",
                              "true",
                              "null",
                              "\xC3",
                              "\xF4\x90\x80\x80",
                              "dtype",
                              "shape",
                              "data_offsets",
                              "F32"};

// One change of a file; most leave the length of the header right.
void damage(std::string& file, data::lottery& lot) {
  const auto place = [&](size_t more) {
    return static_cast<size_t>(lot.between(0, static_cast<int32_t>(file.size() + more) - 1));
  };
  const size_t before = file.size();
  const bool keeps_length = file.size() > 8 && !lot.one_in(8);
  const size_t at = file.empty() ? 0 : keeps_length ? 8 + place(0) % (file.size() - 8) : place(1);
  const size_t span = static_cast<size_t>(lot.between(1, 12));
  switch (lot.between(0, 6)) {
    case 0:
      if (at < file.size()) file[at] = static_cast<char>(lot.between(0, 255));
      break;
    case 1:
      if (at < file.size()) file[at] = static_cast<char>(file[at] ^ 1 << lot.between(0, 7));
      break;
    case 2:
      file.erase(std::min(at, file.size()), span);
      break;
    case 3:
      file.insert(std::min(at, file.size()), lot.one_of(pieces));
      break;
    case 4:
      if (at < file.size()) file.replace(at, span, lot.one_of(pieces));
      break;
    case 5:
      if (at < file.size()) file.insert(at, file.substr(at, span * 8));
      break;
    default:
      file.resize(lot.one_in(2) ? at : file.size() + span, 'y');
  }
  if (!keeps_length || file.size() < 16) return;
  uint64_t header = 0;
  for (int i = 7; i >= 0; --i)
    header = header << 8 | static_cast<unsigned char>(file[static_cast<size_t>(i)]);
  if (lot.one_in(4) || header > before) return;
  file.replace(0, 8, little_endian(header + file.size() - before));
}

// What is accepted is in the file, one tensor behind the other.
void check_accepted(const unsigned char* file, size_t size, const tensor* tensors, size_t count) {
  const unsigned char* next = count > 0 ? tensors[0].data : file + size;
  REQUIRE(file + 8 <= next);
  for (size_t i = 0; i < count; ++i) {
    const tensor& t = tensors[i];
    REQUIRE(t.data == next);
    next += t.bytes;
    const char* const begin = reinterpret_cast<const char*>(file);
    REQUIRE((begin + 8 <= t.name.data() && t.name.data() + t.name.size() <= begin + size));
    REQUIRE((0 <= t.dims && t.dims <= minilm::most_dims));
  }
  REQUIRE(next == file + size);
}

// `memory` ends where reading ends.
uint64_t read_damaged(uint64_t seed, unsigned char* (*place)(void*, size_t), void* memory) {
  data::lottery lot(seed);
  std::string file = lot.one_of(seeds);
  for (int changes = lot.between(1, 4); changes > 0; --changes) damage(file, lot);
  unsigned char* const bytes = place(memory, file.size());
  std::copy(file.begin(), file.end(), bytes);
  tensor tensors[room];
  size_t count = 77;
  const refusal refused = minilm::read_safetensors(bytes, file.size(), tensors, room, count);
  if (refused) {
    REQUIRE(count == 0);
    REQUIRE(std::strlen(refused.why()) > 0);
  } else {
    check_accepted(bytes, file.size(), tensors, count);
  }
  return refused ? 0 : 1;
}

// Of exactly the size of the file: under AddressSanitizer each byte beyond is a finding.
unsigned char* exact(void* memory, size_t size) {
  auto& held = *static_cast<std::vector<unsigned char>*>(memory);
  std::vector<unsigned char>(size).swap(held);
  return held.data();
}

void read_damaged_files(uint64_t from, uint64_t to) {
  std::vector<unsigned char> held;
  uint64_t accepted = 0;
  for (uint64_t seed = from; seed < to; ++seed) {
    CAPTURE(seed);
    accepted += read_damaged(seed, exact, &held);
  }
  CAPTURE(accepted); // still valid
  CHECK(accepted > (to - from) / 1000);
  CHECK(accepted < (to - from) / 2);
}

} // namespace

TEST_CASE("safetensors: damaged files") { read_damaged_files(0, 20000); }

TEST_CASE("prove_damaged_safetensors" * doctest::skip()) { read_damaged_files(0, 1000000); }

#if defined(__linux__)
TEST_CASE("safetensors: no read behind a mapped file") {
  constexpr size_t bytes = 16384;
  const fence pages(bytes, fence::behind);
  unsigned char* const end = pages.data<unsigned char>() + bytes;
  const auto before_the_fence = [](void* memory, size_t size) {
    return static_cast<unsigned char*>(memory) - size;
  };
  for (uint64_t seed = 1000000; seed < 1010000; ++seed) {
    CAPTURE(seed);
    read_damaged(seed, before_the_fence, end);
  }
  // Each file that was cut off somewhere.
  for (const std::string& seed : seeds)
    for (size_t size = 0; size < seed.size(); ++size) {
      std::memcpy(end - size, seed.data(), size);
      tensor tensors[room];
      size_t count = 0;
      CHECK(minilm::read_safetensors(end - size, size, tensors, room, count));
    }
}
#endif
