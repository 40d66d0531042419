// The reader of safetensors files (examples/minilm) takes what the format allows, and says what is wrong with
// other files.
#include "examples/minilm/safetensors.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "safetensors_files.hpp"

namespace {

using namespace safetensors_files;
using minilm::refusal;
using minilm::tensor;

constexpr size_t room = 8;

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
