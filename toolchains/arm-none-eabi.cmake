# Bare-metal Cortex-M. FOVEA_BOARD: m0 m3 m4 m7 m33 m55, each an emulated board with a core of that name, or m85.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR arm)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY) # a program would need the board's startup code
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES FOVEA_BOARD FOVEA_BOARD_COMPILER)
set(FOVEA_BOARD m4 CACHE STRING "m0, m3, m4, m7, m33, m55 or m85")
set(FOVEA_PLATFORM cortex-m)

# core | FPU and float ABI | QEMU machine | vectors, flash, its size, RAM, its size. m0: its tests do not fit the 16 KB of a microbit, so
# a larger board runs its code. m55: Helium for integers only, because its floats flush denormals and its comparisons lose NaN, and a
# compiler may turn any loop into it. m85: QEMU has none, so its code runs on the board of the m55, which has the same instructions.
set(fovea_board_m0 "-mcpu=cortex-m0plus -mfloat-abi=soft" mps2-an385 0x0 0x40 4095K 0x21000000 16M)
set(fovea_board_m3 "-mcpu=cortex-m3 -mfloat-abi=soft" mps2-an385 0x0 0x40 4095K 0x21000000 16M)
set(fovea_board_m4 "-mcpu=cortex-m4 -mfloat-abi=hard -mfpu=fpv4-sp-d16" mps2-an386 0x0 0x40 4095K 0x21000000 16M)
set(fovea_board_m7 "-mcpu=cortex-m7 -mfloat-abi=hard -mfpu=fpv5-d16" mps2-an500 0x0 0x40 4095K 0x60000000 16M)
set(fovea_board_m33 "-mcpu=cortex-m33 -mfloat-abi=hard -mfpu=fpv5-sp-d16" mps2-an505 0x10000000 0x10000040 4095K 0x80000000 16M)
set(fovea_board_m55 "-mcpu=cortex-m55+nomve.fp -mfloat-abi=hard" mps3-an547 0x0 0x01000000 2M 0x60000000 16M)
set(fovea_board_m85 "-mcpu=cortex-m85+nomve.fp -mfloat-abi=hard" mps3-an547 0x0 0x01000000 2M 0x60000000 16M)
if(NOT DEFINED fovea_board_${FOVEA_BOARD})
  message(FATAL_ERROR "FOVEA_BOARD is '${FOVEA_BOARD}': pass m0, m3, m4, m7, m33, m55 or m85.")
endif()
set(fovea_board ${fovea_board_${FOVEA_BOARD}})
list(GET fovea_board 0 fovea_core)
list(GET fovea_board 1 fovea_machine)
list(SUBLIST fovea_board 2 5 FOVEA_BOARD_MEMORY)
if(FOVEA_BOARD STREQUAL "m0") # where programs without a C library run: a core that knows no other instructions
  set(FOVEA_SMALL_BOARD microbit)
  set(FOVEA_SMALL_BOARD_MEMORY 0x0 0x40 255K 0x20000000 16K)
endif()

# Where the tightly coupled memory of a core begins for code, behind the vectors, its size, and the other memory beside it.
if(FOVEA_BOARD STREQUAL "m7")
  set(FOVEA_FAST_BOARD_MEMORY 0x40 0xffc0 0x0 0x10000 4032K 0x60000000 16M)
elseif(FOVEA_BOARD STREQUAL "m55")
  set(FOVEA_FAST_BOARD_MEMORY 0x40 0x7ffc0 ${FOVEA_BOARD_MEMORY})
endif()

# Helium is for clang: gcc 12 makes three times as many instructions of it, and knows no m85, whose libraries are those of the m55.
find_program(FOVEA_BOARD_CLANG NAMES clang++-19 clang++-20 clang++-21)
if(FOVEA_BOARD STREQUAL "m85")
  set(FOVEA_FREESTANDING_ONLY ON)
endif()
set(fovea_compiler gcc)
if(FOVEA_BOARD MATCHES "m55|m85" AND FOVEA_BOARD_CLANG)
  set(fovea_compiler clang)
endif()
string(REPLACE m85 m55 fovea_gcc_core "${fovea_core}")
set(FOVEA_BOARD_COMPILER ${fovea_compiler} CACHE STRING "gcc, or clang with the C library and the linker of gcc")

set(fovea_board_flags "${fovea_core} -mthumb -ffunction-sections -fdata-sections")
if(FOVEA_BOARD_COMPILER STREQUAL "clang")
  include("${CMAKE_CURRENT_LIST_DIR}/arm-none-eabi-clang.cmake")
else()
  set(CMAKE_C_COMPILER arm-none-eabi-gcc)
  set(CMAKE_CXX_COMPILER arm-none-eabi-g++)
endif()
set(CMAKE_C_FLAGS_INIT "${fovea_board_flags} ${fovea_c_headers}")
set(CMAKE_CXX_FLAGS_INIT "${fovea_board_flags} -fno-threadsafe-statics ${fovea_cxx_headers}")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(FOVEA_BOARD_RUN "${CMAKE_CURRENT_LIST_DIR}/../platforms/cortex-m/run")
set(CMAKE_CROSSCOMPILING_EMULATOR "${FOVEA_BOARD_RUN};${fovea_machine}")
