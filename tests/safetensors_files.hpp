// Safetensors files for tests, in memory.
#pragma once
#include <cstdint>
#include <string>

namespace safetensors_files {

inline std::string little_endian(uint64_t number) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(number >> 8 * i & 255);
  return bytes;
}

inline std::string file_of(const std::string& header, size_t data_bytes) {
  return little_endian(header.size()) + header + std::string(data_bytes, 'x');
}

inline const std::string two_tensors = R"({"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"
                                       R"("b":{"dtype":"BF16","shape":[],"data_offsets":[24,26]}})";

inline std::string one_tensor(const std::string& fields) { return R"({"a":{)" + fields + "}}"; }

} // namespace safetensors_files
