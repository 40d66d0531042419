// FOVEA_HAS_SYSTEM: 1 where the compiler targets an operating system, 0 for a microcontroller.
// tools/cmake/isas.cmake compiles this file, too: CMake cannot tell, as each SDK has a CMAKE_SYSTEM_NAME of
// its own.
#pragma once
#if defined(__linux__) || defined(__unix__) || defined(__APPLE__) || defined(_WIN32) || defined(__QNX__) || \
    defined(__Fuchsia__) || defined(__HAIKU__) || defined(__wasi__) || defined(__EMSCRIPTEN__)
#define FOVEA_HAS_SYSTEM 1
#else
#define FOVEA_HAS_SYSTEM 0
#endif
