# Shared by the Linux toolchains: headers and libraries come from the target's root and from CMAKE_PREFIX_PATH only, so that find_package
# finds what was installed for the target. Programs run under QEMU as FOVEA_QEMU_CPU.
macro(fovea_linux_sysroot root emulator)
  set(CMAKE_FIND_ROOT_PATH "${root}" ${CMAKE_PREFIX_PATH})
  set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
  set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
  set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
  set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
  set(CMAKE_CROSSCOMPILING_EMULATOR "${emulator};-cpu;${FOVEA_QEMU_CPU};-L;${root}")
endmacro()
