# 64-bit RISC-V Linux by clang, which knows vectors (RVV 1.0); gcc does from version 14 on. Headers, libraries and linker are those of the
# riscv64-linux-gnu gcc. The library holds both kernels: a core without vectors runs the scalar one.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR riscv64)
find_program(FOVEA_RISCV_CLANG NAMES clang++-19 clang++-20 clang++-21 clang++-18 clang++)
string(REPLACE "clang++" "clang" fovea_clang "${FOVEA_RISCV_CLANG}")
set(CMAKE_C_COMPILER "${fovea_clang}")
set(CMAKE_CXX_COMPILER "${FOVEA_RISCV_CLANG}")
set(CMAKE_C_COMPILER_TARGET riscv64-linux-gnu)
set(CMAKE_CXX_COMPILER_TARGET riscv64-linux-gnu)

set(FOVEA_QEMU_CPU "rv64,v=true,vlen=128,elen=64,vext_spec=v1.0" CACHE STRING "CPU that the emulator shows")
set(CMAKE_C_FLAGS_INIT "-march=rv64gc -mabi=lp64d")
set(CMAKE_CXX_FLAGS_INIT "${CMAKE_C_FLAGS_INIT}")

include("${CMAKE_CURRENT_LIST_DIR}/linux-sysroot.cmake")
fovea_linux_sysroot(/usr/riscv64-linux-gnu qemu-riscv64)
