// How the caller's scratch is cut into pieces for tiles, and how large it should be.
#pragma once
#include "f32/kernel.hpp"

namespace fovea::f32 {

size_t least_scratch(const plan& p);
size_t best_scratch(const plan& p);

// A call whose plan is made. Tests give it the profile of another core.
int32_t attend(const plan& p, void* scratch, size_t scratch_size);

// Cuts `size` bytes into the largest tiles and as many panels of K as fit; false when not even one row fits.
bool make_workspace(const plan& p, void* scratch, size_t size, workspace& w);

// How this call goes through the kernels, with so much room.
route choose_route(const plan& p, const workspace& w);

} // namespace fovea::f32
