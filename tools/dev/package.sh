# Part of ./dev: packages for other build systems, each in build/package/NAME, with the archive that its
# ecosystem wants beside it.
all_packages="amalgam arduino platformio esp-idf zephyr cmsis pico conan vcpkg source debian python"

package() {
  name=${1:-}
  case " $all_packages all check " in
    *" $name "*) ;;
    *) fail "package wants one of: $all_packages all check." ;;
  esac
  have python3 || setup tests
  mkdir -p "$log_dir" build/package
  case $name in
    all) for each in $all_packages; do package "$each"; done ;;
    check) tools/package/package check && tools/check/package broken ;;
    debian) package_debian ;;
    python) package_python ;;
    *) package_files "$name" ;;
  esac
}

package_files() {
  folder=build/package/$1
  tools/package/package "$1" "$folder" || fail "the package $1 was not written."
  case $1 in
    arduino | cmsis | source) tools/package/archive "$1" "$folder" build/package ;;
    *) say "package: $folder" ;;
  esac
}

# package_venv PACKAGE...: a Python of our own, with these packages of PyPI.
package_venv() {
  python=$root/build/package/python-tools/bin/python
  { [ -x "$python" ] || python3 -m venv build/package/python-tools; } >"$log_dir/package-python" 2>&1 &&
    "$python" -m pip install --quiet --disable-pip-version-check "$@" >>"$log_dir/package-python" 2>&1 ||
    fail "$* could not be installed into build/package/python-tools; see build/log/package-python."
}

# The shared library with all ISAs of this machine, as a wheel beside ctypes and numpy.
package_python() {
  setup host
  build host fovea
  folder=build/package/python
  rm -rf "$folder"
  mkdir -p "$folder"
  c++ -std=c++17 -O2 -fPIC -shared -fvisibility=hidden -Iinclude tools/package/python/scales.cpp \
    -Wl,--whole-archive build/host/lib/libfovea.a \
    -Wl,--no-whole-archive -static-libgcc -nodefaultlibs -lc -s -o "$folder/libfovea.so" || fail \
      "the library of the wheel does not link."
  tools/package/wheel "$folder/libfovea.so" build/package || fail "the wheel was not written."
}

# Packages of Raspberry Pi OS, 64 and 32 bit: built by the cross compilers, one archive each.
package_debian() {
  setup tests
  have dpkg-deb || fail "dpkg-deb is needed: it is part of Debian."
  for one in arm64,a53,aarch64-linux-gnu armhf,armv7,arm-linux-gnueabihf; do
    architecture=${one%%,*} target=${one#*,} triple=${one##*,}
    target=${target%,*}
    reason=$(obstacle_of "$target")
    [ -z "$reason" ] || fail "cannot build for $architecture: $reason."
    compile "debian-$architecture" "$target" all -DCMAKE_BUILD_TYPE=Release -DFOVEA_BUILD_TESTS=OFF \
      -DCMAKE_INSTALL_PREFIX=/usr \
      "-DCMAKE_INSTALL_LIBDIR=lib/$triple"
    tools/package/deb "$architecture" "build/debian-$architecture" build/package/debian build/package ||
      fail "the package for $architecture was not written."
  done
}
