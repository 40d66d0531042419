# As the SDK of a microcontroller has it: a system name that CMake does not know, and no more than the flags of a core.
set(CMAKE_SYSTEM_NAME PICO)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES CORE)
set(CMAKE_C_COMPILER arm-none-eabi-gcc)
set(CMAKE_CXX_COMPILER arm-none-eabi-g++)
set(CMAKE_C_FLAGS_INIT "${CORE} -mthumb")
set(CMAKE_CXX_FLAGS_INIT "${CORE} -mthumb")
