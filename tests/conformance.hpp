// Reads the conformance folder: one directory a case, with case.txt (key=value) and raw little-endian tensors
// in C order.
#pragma once
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace conformance {

// Where the cases are; empty when nobody said, or when nothing is there.
inline std::filesystem::path folder() {
  const char* root = std::getenv("FOVEA_CONFORMANCE");
  std::error_code error;
  if (root == nullptr || !std::filesystem::is_directory(std::filesystem::path(root) / "cases", error))
    return {};
  return std::filesystem::path(root) / "cases";
}

template <class T>
std::vector<T> read_numbers(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  const std::vector<char> bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  std::vector<T> numbers(bytes.size() / sizeof(T));
  if (!numbers.empty()) std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(T));
  return numbers;
}

class test_case {
 public:
  explicit test_case(const std::filesystem::path& directory) : directory_(directory) {
    std::ifstream in(directory / "case.txt");
    for (std::string line; std::getline(in, line);) {
      const size_t equals = line.find('=');
      if (equals != std::string::npos) entries_[line.substr(0, equals)] = line.substr(equals + 1);
    }
  }

  std::string text(const std::string& key) const {
    const auto entry = entries_.find(key);
    return entry == entries_.end() ? std::string() : entry->second;
  }
  int32_t whole(const std::string& key) const {
    return static_cast<int32_t>(std::strtol(text(key).c_str(), nullptr, 10));
  }
  double number(const std::string& key) const { return std::strtod(text(key).c_str(), nullptr); }
  bool has_tensor(const std::string& name) const { return entries_.count("tensor." + name) == 1; }

  std::vector<float> floats(const std::string& name) const {
    return read_numbers<float>(directory_ / file_of(name));
  }
  std::vector<uint8_t> bytes(const std::string& name) const {
    return read_numbers<uint8_t>(directory_ / file_of(name));
  }
  std::vector<int64_t> counts(const std::string& name) const {
    return read_numbers<int64_t>(directory_ / file_of(name));
  }
  // The exact answer beside an output; empty when there is none.
  std::vector<double> exact(const std::string& name) const {
    std::string file = file_of(name);
    return read_numbers<double>(directory_ / file.replace(file.rfind(".bin"), 4, ".ref64.bin"));
  }

  std::vector<int32_t> dims(const std::string& name) const {
    std::istringstream words(tensor_of(name).dims);
    std::vector<int32_t> all;
    for (std::string dim; std::getline(words, dim, ',');)
      all.push_back(static_cast<int32_t>(std::strtol(dim.c_str(), nullptr, 10)));
    return all;
  }

 private:
  struct tensor { // "in f32 1,4,21,32 Q.bin"
    std::string direction, type, dims, file;
  };
  tensor tensor_of(const std::string& name) const {
    std::istringstream words(text("tensor." + name));
    tensor t;
    words >> t.direction >> t.type >> t.dims >> t.file;
    return t;
  }
  std::string file_of(const std::string& name) const { return tensor_of(name).file; }

  std::filesystem::path directory_;
  std::map<std::string, std::string> entries_;
};

inline const std::vector<test_case>& all_cases() {
  static const std::vector<test_case> cases = [] {
    std::vector<test_case> found;
    if (folder().empty()) return found;
    for (const auto& entry : std::filesystem::directory_iterator(folder())) found.emplace_back(entry.path());
    return found;
  }();
  return cases;
}

} // namespace conformance
