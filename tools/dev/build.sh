# Part of ./dev: builds, quietly, each in a folder of its own.

# build TARGET [GOAL]: configures and builds in build/TARGET.
build() {
  known_target "$1"
  reason=$(obstacle_of "$1")
  [ -z "$reason" ] || fail "cannot build $1: $reason."
  if is_freestanding_only "$1" && [ "${2:-all}" = all ]; then
    compile "$1" "$1" freestanding
    return
  fi
  from=$(tests_from "$1")
  if [ -z "$from" ] || [ "${2:-all}" != all ]; then
    compile "$1" "$1" "${2:-all}"
  else
    compile "$from" "$from" test_code
    compile "$1" "$1" all "-DFOVEA_TESTS_FROM=$root/build/$from"
  fi
}

# The target whose compiled tests this one links to its own library: an older core of the same ABI, which compiled them once for all. m4 and m7
# are two: the FPU of m7 has doubles, and references compute with those.
tests_from() {
  case $1 in
    a72 | a76) echo a53 ;;
    m3) echo m0 ;;
    m33) echo m4 ;;
    m55) echo m7 ;;
    rv64v) echo riscv64 ;;
  esac
}

# compile FOLDER PRESET GOAL [CMAKE ARGUMENT...]: with ninja where there is one; on failure shows what went wrong.
compile() {
  built=$1 preset=$2 goal=$3
  shift 3
  mkdir -p "$log_dir"
  generator=
  [ -f "build/$built/CMakeCache.txt" ] || ! have ninja || generator="-G Ninja"
  {
    cmake --preset "$preset" -B "build/$built" $generator ${FOVEA_DEPS_DIR:+"-DFOVEA_DEPS_DIR=$FOVEA_DEPS_DIR"} "$@" &&
      cmake --build "build/$built" -j "$(cores)" --target "$goal"
  } >"$log_dir/build-$built" 2>&1 && return
  grep -E -A 4 'error:|CMake Error|undefined reference|overflowed by' "$log_dir/build-$built" | cut -c 1-300 | head -n 30 >&2 || true
  fail "$built does not build; the whole log is build/log/build-$built."
}

compiler_name() {
  path=$(sed -n 's/^CMAKE_CXX_COMPILER:[A-Z]*=//p' "build/$1/CMakeCache.txt")
  version=$("$path" -dumpfullversion 2>/dev/null) || version=$("$path" -dumpversion)
  echo "$(basename "$path") $version"
}
