# 32-bit ARM Linux on ARMv6 with VFPv2, floats in registers: Raspberry Pi OS on a Raspberry Pi 1 or Zero. Debian's compiler for armhf makes
# such code, but its C library is ARMv7. So the library builds, and one test links it with nothing but the helpers of gcc for bare Arm. On a
# board itself the system's own compiler builds all of it.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR armv6)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_C_COMPILER arm-linux-gnueabihf-gcc)
set(CMAKE_CXX_COMPILER arm-linux-gnueabihf-g++)

set(FOVEA_QEMU_CPU arm1176 CACHE STRING "CPU that the emulator shows: a newer one would hide an illegal instruction")
set(fovea_core_flags -marm -mcpu=arm1176jzf-s -mfpu=vfp -mfloat-abi=hard)
list(JOIN fovea_core_flags " " CMAKE_C_FLAGS_INIT)
set(CMAKE_CXX_FLAGS_INIT "${CMAKE_C_FLAGS_INIT}")
set(FOVEA_FREESTANDING_ONLY ON)
set(CMAKE_EXE_LINKER_FLAGS_INIT "-Wl,--no-enum-size-warning,-z,noexecstack") # the helpers return no enum
execute_process(COMMAND arm-none-eabi-gcc ${fovea_core_flags} -print-libgcc-file-name OUTPUT_VARIABLE FOVEA_LIBGCC
                OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)

include("${CMAKE_CURRENT_LIST_DIR}/linux-sysroot.cmake")
fovea_linux_sysroot(/usr/arm-linux-gnueabihf qemu-arm)
