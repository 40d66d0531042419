// libFuzzer's harness of the float interface: fovea.h and ops.h. The first byte chooses what is called, the
// others all that is passed. A finding ends the program with a sentence and the call.
#include "float_hostile.hpp"
#include "float_rows.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fuzz;
  bytes in(data, size);
  const uint32_t what = in.byte() % 16;
  if (what == 15) return check_idle(in), 0;
  if (what >= 9) return check_rows(in, what - 9), 0;
  drawn_call drawn(in);
  if (what >= 5) return check_hostile(drawn.call, drawn.all, in), 0;
  if (what == 4) check_scratch(drawn.call, drawn.all, in);
  check_results(drawn.call, drawn.all, in, true);
  return 0;
}
