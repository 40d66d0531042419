# 32-bit ARM Linux on ARMv6 with VFPv2: Raspberry Pi 1 and Zero. Debian's armhf libraries are ARMv7, so this takes those of armel: they
# are ARMv5, and floats reach functions in integer registers. On a board itself the system's own compiler does as well.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR armv6)
set(CMAKE_C_COMPILER arm-linux-gnueabi-gcc)
set(CMAKE_CXX_COMPILER arm-linux-gnueabi-g++)

set(FOVEA_QEMU_CPU arm1176 CACHE STRING "CPU that the emulator shows: a newer one would hide an illegal instruction")
set(CMAKE_C_FLAGS_INIT "-marm -mcpu=arm1176jzf-s -mfpu=vfp -mfloat-abi=softfp")
set(CMAKE_CXX_FLAGS_INIT "${CMAKE_C_FLAGS_INIT}")

include("${CMAKE_CURRENT_LIST_DIR}/linux-sysroot.cmake")
fovea_linux_sysroot(/usr/arm-linux-gnueabi qemu-arm)
