# Part of ./dev: the targets, and what each one needs.
all_targets="host a53 a72 a76 armv7 armv6 armv6hf riscv64 rv64v m0 m3 m4 m7 m33 m55 m85 rv32"

compiler_of() {
  case $1 in
    a53 | a72 | a76) echo aarch64-linux-gnu-g++ ;;
    armv7 | armv6hf) echo arm-linux-gnueabihf-g++ ;;
    armv6) echo arm-linux-gnueabi-g++ ;;
    riscv64 | rv64v) echo riscv64-linux-gnu-g++ ;;
    rv32) echo riscv64-unknown-elf-g++ ;;
    m*) echo arm-none-eabi-g++ ;;
    *) echo "${CXX:-c++}" ;;
  esac
}

emulator_of() {
  case $1 in
    a53 | a72 | a76) echo qemu-aarch64 ;;
    armv7 | armv6 | armv6hf) echo qemu-arm ;;
    riscv64 | rv64v) echo qemu-riscv64 ;;
    rv32) echo qemu-system-riscv32 ;;
    m*) echo qemu-system-arm ;;
  esac
}

cpu_of() {
  case $1 in
    a53 | a72 | a76) echo "cortex-$1" ;;
    armv7) echo cortex-a7 ;;
    armv6 | armv6hf) echo arm1176 ;;
    riscv64) echo rv64gc ;;
    rv64v) echo rv64gcv ;;
    rv32) echo rv32imac ;;
    m0) echo cortex-m0plus ;;
    m*) echo "cortex-$1" ;;
    *) sed -n 's/^model name[^:]*: //p' /proc/cpuinfo 2>/dev/null | sed 1q | grep . || uname -m ;;
  esac
}

# Empty, or why the target cannot be built or run here.
obstacle_of() {
  for tool in $(compiler_of "$1") $(emulator_of "$1"); do
    have "$tool" || { echo "$tool is not installed: run ./dev setup" && return; }
  done
  case $1 in
    rv64v) have clang++-19 || echo "clang-19 is not installed, and gcc knows these vectors from version 14 on: run ./dev setup" ;;
    armv6hf) have arm-none-eabi-gcc || echo "arm-none-eabi-gcc, whose helpers are linked, is not installed: run ./dev setup" ;;
    m85) have clang++-19 || echo "clang-19 is not installed, and gcc 12 knows no Cortex-M85: run ./dev setup" ;;
    m*) newlib_is_there || echo "newlib's libstdc++ for arm-none-eabi is not installed: run ./dev setup" ;;
    rv32)
      picolibc_is_there || echo "picolibc for riscv64-unknown-elf is not installed: run ./dev setup"
      newlib_is_there || echo "newlib's libstdc++ for arm-none-eabi, whose headers serve RISC-V, is not installed: run ./dev setup"
      ;;
  esac
}

# Targets of which the library is built, and one program that links nothing else.
is_freestanding_only() {
  case $1 in armv6hf | m85) ;; *) return 1 ;; esac
}

# What the reader of a table should know about a target that was tested; mostly nothing.
remark_on() {
  case $1 in
    armv6hf) echo "the self tests only: Debian has no C library for ARMv6 with floats in registers" ;;
    m85) echo "the self tests only, on the board of the M55: QEMU has no Cortex-M85" ;;
    m55) have clang++-19 || echo "no clang-19 here: gcc made three times the instructions of Helium" ;;
  esac
}

newlib_is_there() { [ -f "$(arm-none-eabi-g++ -mcpu=cortex-m4 -mthumb -print-file-name=libstdc++_nano.a)" ]; }

picolibc_is_there() { [ -f "$(riscv64-unknown-elf-gcc -print-file-name=picolibc.specs)" ]; }

known_target() {
  case " $all_targets " in
    *" ${1:-} "*) ;;
    *) fail "'${1:-}' is not a target: choose one of $all_targets." ;;
  esac
}
