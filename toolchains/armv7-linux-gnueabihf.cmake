# 32-bit ARM Linux with NEON: Raspberry Pi 2, and 3 or 4 under a 32-bit system. The compiler's own default has no NEON.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR armv7)
set(CMAKE_C_COMPILER arm-linux-gnueabihf-gcc)
set(CMAKE_CXX_COMPILER arm-linux-gnueabihf-g++)
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES FOVEA_ARM_CPU FOVEA_ARM_FPU)

set(FOVEA_ARM_CPU cortex-a7 CACHE STRING "CPU to compile for; cortex-a7 code runs on all 32-bit boards with NEON and fma")
set(FOVEA_ARM_FPU neon-vfpv4 CACHE STRING "Floating-point unit to compile for")
set(FOVEA_QEMU_CPU ${FOVEA_ARM_CPU} CACHE STRING "CPU that the emulator shows: a newer one would hide an illegal instruction")
set(CMAKE_C_FLAGS_INIT "-mcpu=${FOVEA_ARM_CPU} -mfpu=${FOVEA_ARM_FPU} -mfloat-abi=hard")
set(CMAKE_CXX_FLAGS_INIT "${CMAKE_C_FLAGS_INIT}")

include("${CMAKE_CURRENT_LIST_DIR}/linux-sysroot.cmake")
fovea_linux_sysroot(/usr/arm-linux-gnueabihf qemu-arm)
