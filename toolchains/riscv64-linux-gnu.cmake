# 64-bit RISC-V Linux: any board with floats and doubles (rv64gc), VisionFive 2 for example. Its fma is that of the scalar kernel.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR riscv64)
set(CMAKE_C_COMPILER riscv64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER riscv64-linux-gnu-g++)

set(FOVEA_QEMU_CPU rv64 CACHE STRING "CPU that the emulator shows")
set(CMAKE_C_FLAGS_INIT "-march=rv64gc -mabi=lp64d")
set(CMAKE_CXX_FLAGS_INIT "${CMAKE_C_FLAGS_INIT}")

include("${CMAKE_CURRENT_LIST_DIR}/linux-sysroot.cmake")
fovea_linux_sysroot(/usr/riscv64-linux-gnu qemu-riscv64)
