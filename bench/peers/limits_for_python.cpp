// The limits of this core for python_peers.py, in the shared library beside fovea itself.
#include "../peak.hpp"
#include "fovea/fovea.h"

extern "C" {

// flop per second: one short sample of the best ISA's multiply-adds
FOVEA_API double fovea_peers_peak() {
  static const bench::peak_meter meter(fovea_isa());
  return meter.sample();
}

// bytes per second over this memory
FOVEA_API double fovea_peers_read(const void* data, size_t bytes, int32_t passes) {
  return bench::read_rate(*bench::loops_of(fovea_isa()), data, bytes, passes);
}
}
