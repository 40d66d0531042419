// FOVEA_HOT marks the functions in which a microcontroller spends its time: the loops over keys, dims and
// weights. Compilers put them into sections of their own, .text.hot, so that a linker script can place them
// in fast memory and leave validation in flash. docs/firmware.md has the lines for that.
#pragma once

#if !defined(FOVEA_HOT_SECTION)
#define FOVEA_HOT __attribute__((noinline, hot)) // a function that only cold ones call would be cold, too
#elif defined(__clang__)
#define FOVEA_HOT __attribute__((noinline, hot, section(FOVEA_HOT_SECTION)))
#else // gcc would leave them in .text.hot, and say nothing
#error \
    "gcc drops FOVEA_HOT_SECTION in templates: place *(.text.hot .text.hot.*) in your linker script instead"
#endif
