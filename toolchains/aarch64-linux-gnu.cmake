# 64-bit ARM Linux, Raspberry Pi OS 64-bit for example. FOVEA_ARM_CPU: cortex-a53 (Pi 3, Zero 2 W), cortex-a72 (Pi 4), cortex-a76 (Pi 5).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES FOVEA_ARM_CPU)

set(FOVEA_ARM_CPU cortex-a53 CACHE STRING "CPU to compile for; cortex-a53 code runs on all 64-bit boards")
set(FOVEA_QEMU_CPU ${FOVEA_ARM_CPU} CACHE STRING "CPU that the emulator shows: a newer one would hide an illegal instruction")
set(CMAKE_C_FLAGS_INIT "-mcpu=${FOVEA_ARM_CPU}")
set(CMAKE_CXX_FLAGS_INIT "-mcpu=${FOVEA_ARM_CPU}")

include("${CMAKE_CURRENT_LIST_DIR}/linux-sysroot.cmake")
fovea_linux_sysroot(/usr/aarch64-linux-gnu qemu-aarch64)
