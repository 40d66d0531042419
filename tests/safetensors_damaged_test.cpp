// Files that were damaged at random: the reader reads no byte beyond them, and what it accepts is whole.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "data.hpp"
#include "examples/minilm/safetensors.hpp"
#include "fence.hpp"
#include "safetensors_files.hpp"

namespace {

using namespace safetensors_files;
using minilm::refusal;
using minilm::tensor;

constexpr size_t room = 8;

const std::string seeds[] = {
    file_of(two_tensors, 26),
    file_of(R"({"__metadata__":{"format":"pt","k":"\"\u00e9"},)"
            R"("w.0":{"dtype":"F16","shape":[4,0],"data_offsets":[0,0]},)"
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
