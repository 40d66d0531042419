// Panels of bytes in the order that a kernel multiplies fastest.
#pragma once
#include <cstdint>

namespace fovea::fixed {

enum class eight_deep : int8_t {}; // an element of panels [sixteen lanes][8]

} // namespace fovea::fixed
