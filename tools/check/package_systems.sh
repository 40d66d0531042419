# Part of tools/check/package: installed trees, and packages for systems.

check_installed() { # static and shared, C99 and C++17, by find_package, pkg-config and add_subdirectory
  need cmake pkg-config readelf nm
  isas=scalar
  [ "$(uname -m)" != x86_64 ] || isas="scalar;avx2"
  quietly cmake -S "$fovea" -B build ${FOVEA_DEPS_DIR:+"-DFOVEA_DEPS_DIR=$FOVEA_DEPS_DIR"} \
    "-DFOVEA_ISAS=$isas" -DFOVEA_BUILD_TESTS=OFF \
    -DFOVEA_BUILD_BENCH=OFF -DFOVEA_BUILD_TOOLS=OFF -DFOVEA_BUILD_EXAMPLES=OFF \
      "-DCMAKE_INSTALL_PREFIX=$work/first"
  quietly cmake --build build
  quietly cmake --install build
  mv first tree # it may be moved
  (cd tree && find . -type f -o -type l) | sort
  for file in lib/libfovea.a lib/libfovea.so lib/pkgconfig/fovea.pc lib/cmake/fovea/fovea-config.cmake \
    include/fovea/fovea.h share/doc/fovea/LICENSE; do
    [ -e "tree/$file" ] || [ -e "tree/$(echo "$file" | sed "s|^lib/|lib/$(uname -m)-linux-gnu/|")" ] || \
      fail "the installed tree lacks $file"
  done
  lib=$(dirname "$(find "$work/tree" -name libfovea.a)")
  version=$("$fovea/tools/package/package" version)
  readelf -d "$lib/libfovea.so" | grep -q "SONAME.*\[libfovea.so.${version%.*}\]" || fail \
    "libfovea.so has another SONAME than libfovea.so.${version%.*}"
  nm -D --defined-only "$lib/libfovea.so" | awk \
    '$3 !~ /^fovea_/ { print "exported: " $3; bad = 1 } END { exit bad }' || fail "hidden symbols are seen"
  ! readelf -d "$lib/libfovea.so" | grep "NEEDED.*stdc++\|NEEDED.*libm" || fail \
    "libfovea.so needs more than a C library"
  for language in C CXX; do
    quietly cmake -S "$consumer/installed" -B "found_$language" "-DCMAKE_PREFIX_PATH=$work/tree" \
      "-DLANGUAGE=$language"
    quietly cmake --build "found_$language"
    right_bits "find_package, $language, static" "found_$language/with_fovea"
    right_bits "find_package, $language, shared" "found_$language/with_shared"
    ! readelf -d "found_$language/with_fovea" | grep -q libfovea.so || fail \
      "the static consumer loads libfovea.so"
  done
  # Under a toolchain file, whose root is another folder; linking would need the target's library.
  ! have aarch64-linux-gnu-g++ || quietly cmake -S "$consumer/installed" -B found_by_toolchain \
    "-DCMAKE_PREFIX_PATH=$work/tree" "-DCMAKE_TOOLCHAIN_FILE=$fovea/toolchains/aarch64-linux-gnu.cmake"
  export PKG_CONFIG_PATH="$lib/pkgconfig"
  [ "$(pkg-config --modversion fovea)" = "$version" ] || fail \
    "fovea.pc says version $(pkg-config --modversion fovea), not $version"
  cflags=$(pkg-config --cflags fovea) libs=$(pkg-config --libs fovea)
  quietly gcc -std=c99 -O2 -Wall -Wextra -Wpedantic -Werror $cflags "$consumer/consumer.c" $libs \
    "-Wl,-rpath,$lib" -o c_shared
  quietly gcc -std=c99 -O2 $cflags "$consumer/consumer.c" $(pkg-config --static --libs fovea) -static -o \
    c_static
  quietly g++ -std=c++17 -O2 $cflags "$consumer/consumer.cpp" $libs "-Wl,-rpath,$lib" -o cxx_shared
  quietly g++ -std=c++17 -O2 $cflags "$consumer/consumer.cpp" $(pkg-config --static --libs fovea) -static \
    -o cxx_static
  for program in c_shared c_static cxx_shared cxx_static; do right_bits "pkg-config, $program" \
    "./$program"; done
  for shared in OFF ON; do
    quietly cmake -S "$consumer" -B "sub_$shared" ${FOVEA_DEPS_DIR:+"-DFOVEA_DEPS_DIR=$FOVEA_DEPS_DIR"} \
      "-DFOVEA_ISAS=$isas" "-DBUILD_SHARED_LIBS=$shared"
    quietly cmake --build "sub_$shared" --target consumer consumer_c99
    right_bits "add_subdirectory, C++17, shared $shared" "sub_$shared/consumer"
    right_bits "add_subdirectory, C99, shared $shared" "sub_$shared/consumer_c99"
  done
}

check_source() {
  "$fovea/dev" package source
  quietly tar -xzf "$packages"/fovea-*.tar.gz
  quietly cmake -S fovea-*/example -B build ${FOVEA_DEPS_DIR:+"-DFOVEA_DEPS_DIR=$FOVEA_DEPS_DIR"} \
    -DFOVEA_ISAS=scalar
  quietly cmake --build build
  said_ok "example of the source archive" build/example
}

check_conan() {
  "$fovea/dev" package conan
  with_tools conan
  export CONAN_HOME="$work/home"
  quietly conan profile detect
  isas=scalar
  [ "$(uname -m)" != x86_64 ] || isas=scalar,avx2
  for shared in False True; do
    conan create "$packages/conan" -o "fovea/*:shared=$shared" -o "fovea/*:isas=$isas" >log 2>&1 || { tail \
      -n 30 log && fail "conan create refuses"; }
    grep "^ok" log | sed "s/^/conan create, shared=$shared: /"
    grep -q "^ok" log || fail "test_package did not say ok"
  done
  grep "LICENSE" -r "$CONAN_HOME" -l --include=conanmanifest.txt | head -n 1 | grep -q . || fail \
    "the package has no LICENSE"
  rm -rf "$packages/conan/test_package/build"
}

check_vcpkg() { # vcpkg is GitHub's: its functions, as far as the port calls them, are played by cmake -P
  "$fovea/dev" package vcpkg
  need cmake python3
  python3 -m json.tool "$packages/vcpkg/ports/fovea/vcpkg.json" >/dev/null || fail "vcpkg.json is no JSON"
  cat >play.cmake <<TEXT
set(CURRENT_PORT_DIR "$packages/vcpkg/ports/fovea")
set(CURRENT_INSTALLED_DIR "${FOVEA_DEPS_DIR:-}")
set(CURRENT_PACKAGES_DIR "$work/installed")
set(PORT fovea)
function(run)
  execute_process(COMMAND \${ARGV} COMMAND_ERROR_IS_FATAL ANY)
endfunction()
function(vcpkg_cmake_configure)
  cmake_parse_arguments(of "" "SOURCE_PATH" "OPTIONS" \${ARGN})
  run(cmake -S "\${of_SOURCE_PATH}" -B "$work/build" "-DCMAKE_INSTALL_PREFIX=$work/installed" -DCMAKE_INSTALL_LIBDIR=lib -DFOVEA_ISAS=scalar \${of_OPTIONS})
endfunction()
function(vcpkg_cmake_install)
  run(cmake --build "$work/build")
  run(cmake --install "$work/build")
endfunction()
function(vcpkg_cmake_config_fixup)
endfunction()
function(vcpkg_fixup_pkgconfig)
endfunction()
function(vcpkg_install_copyright)
  cmake_parse_arguments(of "" "" "FILE_LIST" \${ARGN})
  file(INSTALL \${of_FILE_LIST} DESTINATION "$work/installed/share/fovea")
endfunction()
include("$packages/vcpkg/ports/fovea/portfile.cmake")
TEXT
  quietly cmake -P play.cmake
  quietly cmake -S "$packages/vcpkg/example" -B example "-DCMAKE_PREFIX_PATH=$work/installed"
  quietly cmake --build example
  said_ok "example of vcpkg" example/example
  echo "vcpkg is not on PyPI or in Debian: the port was built by what it calls, played by cmake."
}

check_debian() { # installed into a root of its own; a consumer is built from there, and runs under QEMU
  need dpkg dpkg-deb qemu-aarch64 qemu-arm
  "$fovea/dev" package debian
  version=$("$fovea/tools/package/package" version)
  for one in arm64,aarch64-linux-gnu,qemu-aarch64 armhf,arm-linux-gnueabihf,qemu-arm; do
    architecture=${one%%,*} emulator=${one##*,} triple=${one#*,}
    triple=${triple%,*} root=$work/$architecture
    mkdir -p "$root/var/lib/dpkg/info" "$root/var/lib/dpkg/updates" "$root/var/lib/dpkg/triggers"
    : >"$root/var/lib/dpkg/status"
    quietly dpkg --root="$root" --force-architecture --force-depends --force-not-root --log=/dev/null \
      -i "$packages/libfovea${version%.*}_$version-1_$architecture.deb" \
        "$packages/libfovea-dev_$version-1_$architecture.deb"
    dpkg --root="$root" -l | sed -n 's/^\(ii\|iU\)  *//p'
    export PKG_CONFIG_SYSROOT_DIR="$root" PKG_CONFIG_LIBDIR="$root/usr/lib/$triple/pkgconfig"
    flags=
    [ "$architecture" != armhf ] || flags="-mcpu=cortex-a7 -mfpu=neon-vfpv4"
    quietly "$triple-gcc" -std=c99 -O2 $flags $(pkg-config --cflags fovea) "$consumer/consumer.c" \
      $(pkg-config --libs fovea) -o "consumer_$architecture"
    right_bits "$architecture" "$emulator" -L "/usr/$triple" -E "LD_LIBRARY_PATH=$root/usr/lib/$triple" \
      "./consumer_$architecture"
  done
}

check_python_quick() { # its tests, in an environment that stays
  need c++
  with_tools numpy pytest
  "$fovea/dev" package python
  quietly python -m pip install --quiet --disable-pip-version-check --force-reinstall --no-deps \
    "$packages"/fovea-*.whl
  quietly python -m pytest -q "$fovea/tools/package/python/tests" -p no:cacheprovider
  tail -n 1 log
}

check_python() { # the wheel in a fresh environment: its tests, and its golden header on a Cortex-M4
  need python3 c++
  "$fovea/dev" package python
  quietly python3 -m venv fresh
  quietly fresh/bin/python -m pip install --quiet --disable-pip-version-check "$packages"/fovea-*.whl \
    pytest ${FOVEA_WITH_MATPLOTLIB:+matplotlib}
  quietly fresh/bin/python -m pytest -q "$fovea/tools/package/python/tests" -p no:cacheprovider
  tail -n 1 log
  quietly fresh/bin/python -m fovea.golden golden
  fresh/bin/python -c \
    "import fovea; print('written by', fovea.__version__, 'with', fovea.isa(), fovea.fixed_isa())"
  need arm-none-eabi-g++ qemu-system-arm
  lib=$fovea/build/m4/lib/libfovea.a
  if [ -f "$lib" ]; then
    golden_on_board "$lib"
  else
    "$fovea/dev" package amalgam
    quietly arm-none-eabi-g++ -mthumb $m4_core -Os -Wno-psabi -ffunction-sections -c \
      "$packages/amalgam/fovea.cpp" -o one.o
    golden_on_board one.o
  fi
}

golden_on_board() {
  quietly arm-none-eabi-gcc -mthumb $m4_core -O2 -std=c99 "-I$fovea/include" -c golden/golden.c -o golden.o
  link_for_board m4 golden.elf golden.o "$1"
  right_bits "Cortex-M4" run_on_board m4 golden.elf
}
