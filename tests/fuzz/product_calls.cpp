// libFuzzer's harness of products and layers: linear.h and layer.h. The first byte chooses what is called,
// the others all that is passed. A finding ends the program with a sentence and the call.
#include "layer.hpp"
#include "product.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fuzz;
  bytes in(data, size);
  switch (in.byte() % 8) {
    case 0:
    case 1:
      return check_product(in), 0;
    case 2:
    case 3:
      return check_hostile_product(in), 0;
    case 4:
      return check_hostile_pack(in), 0;
    case 5:
      return check_hostile_layer(in), 0;
    default:
      return check_layer(in), 0;
  }
}
