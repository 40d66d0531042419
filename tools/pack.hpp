// `fovea pack`: weights of a model file as a C header or a binary image, for flash.
#pragma once
#include <string>

#include "arguments.hpp"
#include "minilm/mapped_file.hpp"

namespace demo {

struct pack_wish {
  std::string file, name;
  std::string header, image; // where to write; empty: not wanted
  int32_t dtype = 0;
  bool helium = false, smlad = false, golden = false;
};

// Both write what is wished for and return a table of it. Throw usage_error.
std::string pack_llama2c(const minilm::mapped_file& file, const pack_wish& wish, const flags& given);
std::string pack_safetensors(const minilm::mapped_file& file, const pack_wish& wish, const flags& given);

int run_pack(const std::vector<std::string>& arguments);

} // namespace demo
