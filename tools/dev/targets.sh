# Part of ./dev: the targets, and what each one needs.
all_targets="host a53 a72 a76 armv7 armv6 riscv64 m0 m3 m4 m7 m33 m55"

compiler_of() {
  case $1 in
    a53 | a72 | a76) echo aarch64-linux-gnu-g++ ;;
    armv7) echo arm-linux-gnueabihf-g++ ;;
    armv6) echo arm-linux-gnueabi-g++ ;;
    riscv64) echo riscv64-linux-gnu-g++ ;;
    m*) echo arm-none-eabi-g++ ;;
    *) echo "${CXX:-c++}" ;;
  esac
}

emulator_of() {
  case $1 in
    a53 | a72 | a76) echo qemu-aarch64 ;;
    armv7 | armv6) echo qemu-arm ;;
    riscv64) echo qemu-riscv64 ;;
    m*) echo qemu-system-arm ;;
  esac
}

cpu_of() {
  case $1 in
    a53 | a72 | a76) echo "cortex-$1" ;;
    armv7) echo cortex-a7 ;;
    armv6) echo arm1176 ;;
    riscv64) echo rv64gc ;;
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
    m*) newlib_is_there || echo "newlib's libstdc++ for arm-none-eabi is not installed: run ./dev setup" ;;
  esac
}

# What the reader of a table should know about a target that was tested; mostly nothing.
remark_on() {
  case $1 in
    m55) have clang++-19 || echo "no clang-19 here: gcc made three times the instructions of Helium" ;;
  esac
}

newlib_is_there() { [ -f "$(arm-none-eabi-g++ -mcpu=cortex-m4 -mthumb -print-file-name=libstdc++_nano.a)" ]; }

known_target() {
  case " $all_targets " in
    *" ${1:-} "*) ;;
    *) fail "'${1:-}' is not a target: choose one of $all_targets." ;;
  esac
}
