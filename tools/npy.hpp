// Arrays of numpy: .npy files. Files may come from anybody: the header is read strictly, and the length of
// the file must be that of its shape.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace demo {

struct npy_array {
  std::string type; // "f4", "f2", "f8", "b1", "u1"
  std::vector<int32_t> shape;
  std::vector<float> numbers;       // of floats, rounded to float32
  std::vector<unsigned char> bytes; // of b1 and u1

  bool is_float() const { return type[0] == 'f'; }
};

// Throws usage_error; `name` is the flag that named the file.
npy_array read_npy(const std::string& name, const std::string& path);

// The bytes of a file of float32 in this shape.
std::string npy_text(const std::vector<int32_t>& shape, const std::vector<float>& numbers);

std::string shape_text(const std::vector<int32_t>& shape); // "(2, 3)"

} // namespace demo
