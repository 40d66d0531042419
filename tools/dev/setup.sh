# Part of ./dev: finds out what is missing and installs it.
cache=${FOVEA_CACHE_DIR:-${XDG_CACHE_HOME:-${HOME:-/nowhere}/.cache}/fovea}

# One line for each thing that is missing, "WHAT FOR, PACKAGE": must = to build at all, header, board = emulated targets,
# extra = more proofs where they can be had.
missing() {
  have "${CXX:-c++}" && have "${CC:-cc}" || echo "must g++"
  have cmake || echo "must cmake"
  have ninja || have make || echo "must ninja-build"
  doctest_is_there || echo "header doctest-dev"
  [ "$1" = host ] && return
  have readelf || echo "must binutils"
  have aarch64-linux-gnu-g++ || echo "board g++-aarch64-linux-gnu"
  have arm-linux-gnueabihf-g++ || echo "board g++-arm-linux-gnueabihf"
  have arm-linux-gnueabi-g++ || echo "board g++-arm-linux-gnueabi"
  have riscv64-linux-gnu-g++ || echo "board g++-riscv64-linux-gnu"
  have arm-none-eabi-g++ || echo "board gcc-arm-none-eabi"
  have arm-none-eabi-g++ && newlib_is_there || echo "board libnewlib-arm-none-eabi libstdc++-arm-none-eabi-newlib"
  have riscv64-unknown-elf-g++ || echo "board gcc-riscv64-unknown-elf"
  have riscv64-unknown-elf-g++ && picolibc_is_there || echo "board picolibc-riscv64-unknown-elf"
  have qemu-aarch64 && have qemu-arm && have qemu-riscv64 || echo "board qemu-user"
  have qemu-system-arm || echo "board qemu-system-arm"
  have qemu-system-riscv32 || echo "board qemu-system-misc"
  have clang++-19 || echo "extra clang-19"
  have make || echo "extra make"
  have valgrind || echo "extra valgrind"
  have python3 || echo "extra python3"
  python3 -c 'import ensurepip' 2>/dev/null || echo "extra python3-venv"
  [ "$1" = tests ] && return
  have llvm-mca-19 || echo "extra llvm-19"
  ls /usr/lib/llvm-19/lib/clang/*/lib/*/libclang_rt.asan* >/dev/null 2>&1 || echo "extra libclang-rt-19-dev"
  clang_format >/dev/null || echo "extra clang-format-19"
  have pkg-config || echo "extra pkg-config"
  have xmllint || echo "extra libxml2-utils"
  have unzip || echo "extra unzip"
}

doctest_is_there() {
  for include in /usr/include /usr/local/include "${FOVEA_DEPS_DIR:-/nowhere}" "$cache"/doctest-*; do
    [ ! -f "$include/doctest/doctest.h" ] || return 0
  done
  return 1
}

as_root() {
  if [ "$(id -u)" = 0 ]; then
    env DEBIAN_FRONTEND=noninteractive "$@"
  else
    sudo env DEBIAN_FRONTEND=noninteractive "$@"
  fi
}

can_install() { have apt-get && { [ "$(id -u)" = 0 ] || have sudo; }; }

# Installs what is missing for `host` (build and run here), `tests` (all targets) or `all` (./dev check too). Silent when nothing is.
setup() {
  mkdir -p "$log_dir"
  wanted=$(missing "$1")
  if [ -n "$wanted" ]; then
    packages=$(echo "$wanted" | sed 's/^[a-z]* //' | tr '\n' ' ')
    if can_install; then
      install_packages $packages
    else
      say "dev: not installed here: $packages(these are Debian's names; install them with your package manager)."
    fi
    ! missing host | grep -q '^must' || fail "a C++ compiler, CMake, and ninja or make are needed: install them and try again."
  fi
  fetch_headers || { have python3 && python3 -m pip --version >/dev/null 2>&1; } || ! can_install || { install_packages python3-pip && fetch_headers; } ||
    true # whoever builds says what is missing
  cmake --version | awk '{ split($3, v, "."); if (v[1] * 100 + v[2] < 321) exit 1; exit 0 }' ||
    fail "CMake is older than 3.21: install a newer one, 'pip install cmake' for example."
}

# Fills the cache of headers; needs no network when it is full.
fetch_headers() {
  [ -n "${FOVEA_DEPS_DIR:-}" ] || cmake -DPROJECT_BINARY_DIR="$root/build" -P tools/cmake/fetch_all.cmake >"$log_dir/fetch" 2>&1
}

install_packages() {
  say "setup: installing $*"
  as_root apt-get update >"$log_dir/setup" 2>&1 || say "setup: the package lists could not be refreshed; going on with those that are here."
  known=
  for package in "$@"; do
    if apt-cache show "$package" >/dev/null 2>&1; then known="$known $package"; else say "setup: no package $package on this system."; fi
  done
  [ -z "$known" ] || as_root apt-get install -y --no-install-recommends $known >>"$log_dir/setup" 2>&1 ||
    say "setup: apt-get failed, its words are in build/log/setup; try: apt-get install$known"
}
