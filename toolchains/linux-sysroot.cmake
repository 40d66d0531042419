# Shared by the Linux toolchains: headers and libraries come from the target's root only, programs run under QEMU as FOVEA_QEMU_CPU.
macro(fovea_linux_sysroot root emulator)
  set(CMAKE_FIND_ROOT_PATH "${root}")
  set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
  set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
  set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
  set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
  set(CMAKE_CROSSCOMPILING_EMULATOR "${emulator};-cpu;${FOVEA_QEMU_CPU};-L;${root}")
endmacro()
