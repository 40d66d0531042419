# Bare-metal 32-bit RISC-V without FPU: rv32imac, as ESP32-C3, GD32VF103 or CH32V3 have it. QEMU's board `virt` plays one. The C library is
# picolibc; a compiler without a C++ library, as Debian's, borrows the headers of the one for Arm.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR riscv32)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY) # a program would need the board's startup code
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES FOVEA_RISCV_ARCH)
set(FOVEA_RISCV_ARCH rv32imac CACHE STRING "Instructions to compile for; rv32imc is the ESP32-C3's own")
set(FOVEA_PLATFORM riscv32)
set(FOVEA_BOARD_MEMORY 0x80000000 4M 0x80400000 32M) # code, its size, RAM, its size
set(CMAKE_C_COMPILER riscv64-unknown-elf-gcc)
set(CMAKE_CXX_COMPILER riscv64-unknown-elf-g++)

set(fovea_board_flags "-march=${FOVEA_RISCV_ARCH} -mabi=ilp32 --specs=picolibc.specs -ffunction-sections -fdata-sections")

# The headers of newlib's C++ library for a core without FPU; FOVEA_CXX_HEADERS_ONLY: there is nothing of it to link.
execute_process(COMMAND riscv64-unknown-elf-g++ -x c++ -fsyntax-only - INPUT_FILE "${CMAKE_CURRENT_LIST_DIR}/../lib/common/bits.hpp"
                RESULT_VARIABLE fovea_lacks_headers OUTPUT_QUIET ERROR_QUIET)
if(fovea_lacks_headers)
  execute_process(COMMAND arm-none-eabi-g++ -mcpu=cortex-m3 -mthumb -mfloat-abi=soft -E -v -x c++ /dev/null OUTPUT_QUIET ERROR_VARIABLE said)
  string(REGEX MATCHALL "\n /[^\n]+" folders "${said}")
  list(FILTER folders INCLUDE REGEX "/c[+][+]/")
  string(REGEX REPLACE ";?\n " " -isystem " fovea_cxx_headers "${folders}")
  set(FOVEA_CXX_HEADERS_ONLY ON)
  set(CMAKE_CXX_LINK_EXECUTABLE "<CMAKE_C_COMPILER> <FLAGS> <LINK_FLAGS> <OBJECTS> -o <TARGET> <LINK_LIBRARIES> -lm")
endif()
set(CMAKE_C_FLAGS_INIT "${fovea_board_flags}")
set(CMAKE_CXX_FLAGS_INIT "${fovea_board_flags} -fno-threadsafe-statics ${fovea_cxx_headers}")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(FOVEA_BOARD_RUN "${CMAKE_CURRENT_LIST_DIR}/../platforms/riscv32/run")
set(CMAKE_CROSSCOMPILING_EMULATOR "${FOVEA_BOARD_RUN};virt")
