# Part of tools/check/package: packages for microcontrollers.

# An Arduino core of thirty lines: the sketch is compiled as the IDE does it, and runs on an emulated board.
check_arduino() {
  "$fovea/dev" package arduino
  if [ -d "${FOVEA_ARDUINO_SCHEMAS:-}" ]; then
    with_tools jsonschema
    python "$fovea/tools/check/arduino_schema" "$packages/arduino/library.properties" \
      "$FOVEA_ARDUINO_SCHEMAS" || fail "library.properties is refused"
  else
    echo "FOVEA_ARDUINO_SCHEMAS names no folder etc/schemas of arduino-lint: library.properties was not compared with them."
  fi
  need arm-none-eabi-g++ qemu-system-arm
  cat >Arduino.h <<'TEXT'
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct serial {
  void begin(int) {}
  void print(const char* text) { fputs(text, stdout); }
  void print(char c) { putchar(c); }
  void print(float x, int digits) { printf("%.*f", digits, static_cast<double>(x)); }
  void println() { putchar(10); }
};
static serial Serial;
inline void delay(int) { exit(0); }
TEXT
  printf '#include <Arduino.h>\n#include "%s"\nint main() { setup(); for (;;) loop(); }\n' \
    "$packages/arduino/examples/Attention/Attention.ino" >sketch.cpp
  for board in m4 m0; do
    for source in "$packages/arduino/src/fovea.cpp" sketch.cpp; do
      quietly arm-none-eabi-g++ $(core_of $board) -mthumb -Os -std=gnu++17 -w -fno-exceptions -fno-rtti \
        -ffunction-sections -fdata-sections -I. \
        "-I$packages/arduino/src" -c "$source" -o "$(basename "$source" .cpp).o"
    done
    link_for_board $board sketch.elf sketch.o fovea.o
    said_ok "sketch on $board" run_on_board $board sketch.elf
  done
  echo "arduino-cli is not on PyPI or in Debian, so a core of thirty lines stood in for a board's."
}

check_platformio() {
  "$fovea/dev" package platformio
  with_tools platformio
  export PLATFORMIO_CORE_DIR="$work/core" PLATFORMIO_SETTING_ENABLE_TELEMETRY=no
  mkdir -p packed
  if pio pkg pack "$packages/platformio" -o packed >log 2>&1; then
    tail -n 1 log
  else
    grep -q "SPDX" log || { cat log && fail "pio pkg pack refuses the package"; }
    echo "pio fetches the names of licenses, and cannot here: it is told that MIT is one."
    cat >pio_offline.py <<'TEXT'
import sys
from platformio.package.manifest import schema
schema.ManifestSchema.load_spdx_licenses = staticmethod(lambda: {"licenses": [{"licenseId": "MIT"}]})
from platformio.__main__ import main
sys.argv[0] = "pio"
sys.exit(main())
TEXT
    quietly python pio_offline.py pkg pack "$packages/platformio" -o packed
    tail -n 1 log
  fi
  mkdir -p unpacked && tar -xzf packed/*.tar.gz -C unpacked
  cmp unpacked/src/fovea.cpp "$packages/platformio/src/fovea.cpp" || fail \
    "the archive holds another fovea.cpp"
  if timeout 60 pio run -d "$packages/platformio/examples/attention" -e native -t exec >log 2>&1; then
    grep "^ok" log
  else
    echo "pio cannot fetch its platform 'native' here: the example is built by g++."
    quietly g++ -std=gnu++17 -O2 $(host_flags) -Iunpacked/src unpacked/examples/attention/src/main.cpp \
      unpacked/src/fovea.cpp -o example
    said_ok "example of PlatformIO" ./example
  fi
  rm -rf "$packages/platformio/examples/attention/.pio"
}

check_esp_idf() {
  "$fovea/dev" package esp-idf
  with_tools idf-component-manager
  export IDF_COMPONENT_CACHE_PATH="$work/cache"
  (cd "$packages/esp-idf" && quietly compote manifest lint && quietly compote component pack --name fovea \
    --dest-dir "$work/packed")
  cp "$packages/esp-idf/log" . 2>/dev/null && rm -f "$packages/esp-idf/log"
  ls packed/*.tgz | sed "s|^|compote: |"
  tar -xzf packed/fovea_*[0-9].tgz -C packed
  # ESP-IDF is gigabytes from GitHub: what its CMake offers to a component is played by six lines.
  mkdir -p project
  cat >project/CMakeLists.txt <<TEXT
cmake_minimum_required(VERSION 3.16)
project(attention LANGUAGES C CXX)
macro(idf_component_register)
  cmake_parse_arguments(of "" "" "SRCS;INCLUDE_DIRS;REQUIRES" \${ARGN})
  get_filename_component(COMPONENT_LIB \${CMAKE_CURRENT_SOURCE_DIR} NAME)
  add_library(\${COMPONENT_LIB} STATIC \${of_SRCS})
  target_include_directories(\${COMPONENT_LIB} PUBLIC \${of_INCLUDE_DIRS})
  target_link_libraries(\${COMPONENT_LIB} PUBLIC \${of_REQUIRES})
endmacro()
add_subdirectory($work/packed/fovea fovea)
add_subdirectory($work/packed/fovea/examples/attention/main main)
add_executable(attention start.c)
target_link_libraries(attention PRIVATE main)
TEXT
  rm -rf packed/fovea && cp -r "$packages/esp-idf" packed/fovea
  echo 'void app_main(void); int main(void) { app_main(); return 0; }' >project/start.c
  quietly cmake -S project -B build "-DCMAKE_CXX_FLAGS=$(host_flags)"
  quietly cmake --build build
  said_ok "example of ESP-IDF, on this machine" build/attention
}

check_cmsis() {
  "$fovea/dev" package cmsis
  need xmllint unzip
  if [ -f "${FOVEA_PACK_XSD:-}" ]; then
    quietly xmllint --noout --schema "$FOVEA_PACK_XSD" "$packages/cmsis/fovea.fovea.pdsc"
    cat log
  else
    quietly xmllint --noout "$packages/cmsis/fovea.fovea.pdsc"
    echo "FOVEA_PACK_XSD names no PACK.xsd: fovea.fovea.pdsc is well-formed, and was not compared with the schema."
  fi
  quietly unzip -q "$packages"/fovea.fovea.*.pack -d pack
  xmllint --xpath '//file/@name' pack/fovea.fovea.pdsc | sed 's/ *name="\(.*\)"/\1/' | while read -r file; do
    [ -e "pack/$file" ] || fail "the pack lacks $file"
  done
  need arm-none-eabi-g++
  quietly arm-none-eabi-g++ -mthumb $m4_core -Os -std=c++17 -Wno-psabi -ffunction-sections -c \
    pack/src/fovea.cpp -o fovea.o
  quietly arm-none-eabi-gcc -mthumb $m4_core -Os -Ipack/src -c pack/Examples/Attention/main.c -o main.o
  link_for_board m4 template.elf main.o fovea.o
  echo "the template compiles for a Cortex-M4"
}

# Kconfig by kconfiglib; what Zephyr's CMake offers to a module is played by ten lines.
check_zephyr() {
  "$fovea/dev" package zephyr
  with_tools kconfiglib pyyaml jsonschema pykwalify
  printf 'config CPP\n\tbool "C++"\nconfig SIZE_OPTIMIZATIONS\n\tbool "size"\nsource "%s/zephyr/zephyr/Kconfig"\n' "$packages" >Kconfig
  python - "$packages/zephyr" <<'TEXT' || fail "Kconfig or module.yml is wrong"
import pathlib, sys
import kconfiglib, yaml
module = yaml.safe_load((pathlib.Path(sys.argv[1]) / "zephyr/module.yml").read_text())
assert module["name"] == "fovea" and (pathlib.Path(sys.argv[1]) / module["build"]["kconfig"]).is_file()
assert (pathlib.Path(sys.argv[1]) / module["build"]["cmake"] / "CMakeLists.txt").is_file()
k = kconfiglib.Kconfig("Kconfig", warn_to_stderr=True)
s = k.syms
assert s["FOVEA"].visibility == 0, "needs CPP"
s["CPP"].set_value(2), s["FOVEA"].set_value(2)
assert [s[n].str_value for n in ("FOVEA", "FOVEA_FIXED_S16", "FOVEA_SPEED")] == ["y", "y", "y"]
s["SIZE_OPTIMIZATIONS"].set_value(2)
assert s["FOVEA_SPEED"].str_value == "n" and not k.warnings, k.warnings
print("kconfiglib: FOVEA, FOVEA_FIXED_S16 and FOVEA_SPEED answer as they should")
TEXT
  if [ -f "${FOVEA_ZEPHYR_MODULE:-}" ]; then
    quietly python "$FOVEA_ZEPHYR_MODULE" --modules "$packages/zephyr" --zephyr-base "$work" --kconfig-out \
      Kconfig.modules --cmake-out modules.txt
    cat modules.txt
  else
    echo "FOVEA_ZEPHYR_MODULE names no zephyr_module.py: module.yml was read by this check alone."
  fi
  need arm-none-eabi-g++ qemu-system-arm cmake
  mkdir -p project
  cat >project/CMakeLists.txt <<TEXT
cmake_minimum_required(VERSION 3.20)
project(attention LANGUAGES C CXX)
set(ZEPHYR_CURRENT_MODULE_DIR "$packages/zephyr")
set(CONFIG_FOVEA y)
macro(zephyr_library_named name)
  add_library(\${name} STATIC)
  set(library \${name})
endmacro()
foreach(what sources compile_options compile_definitions)
  cmake_language(EVAL CODE "macro(zephyr_library_\${what})\n target_\${what}(\\\${library} PRIVATE \\\${ARGN})\n endmacro()")
endforeach()
macro(zephyr_library_include_directories)
  target_include_directories(\${library} PRIVATE \${ARGN})
endmacro()
macro(zephyr_include_directories)
  target_include_directories(\${library} PUBLIC \${ARGN})
endmacro()
include($packages/zephyr/zephyr/CMakeLists.txt)
TEXT
  quietly cmake -S project -B build --toolchain "$consumer/pico.cmake" "-DCORE=$m4_core" \
    "-DCMAKE_CXX_FLAGS=$m4_core -mthumb -Os -ffunction-sections"
  quietly cmake --build build
  link_for_board m4 consumer.elf "$consumer/consumer.cpp" build/libfovea.a
  right_bits "Zephyr's sources on m4" run_on_board m4 consumer.elf
  quietly arm-none-eabi-gcc -mthumb $m4_core -Os "-I$packages/zephyr/include" -c \
    "$packages/zephyr/samples/attention/src/main.c" -o main.o
  link_for_board m4 sample.elf main.o build/libfovea.a
  said_ok "Zephyr's sample on m4" run_on_board m4 sample.elf
}

check_pico() { # the SDK is GitHub's; its toolchain has a system name that CMake does not know
  "$fovea/dev" package pico
  need arm-none-eabi-g++ qemu-system-arm cmake
  for one in "m0 thumb" "m4 dsp"; do
    set -- $one
    mkdir -p "project_$1"
    printf 'cmake_minimum_required(VERSION 3.20)\nproject(attention C CXX ASM)\nadd_subdirectory(%s fovea)\n' "$packages/pico" >"project_$1/CMakeLists.txt"
    core=$(core_of "$1")
    quietly cmake -S "project_$1" -B "build_$1" --toolchain "$consumer/pico.cmake" "-DCORE=$core" \
      "-DCMAKE_CXX_FLAGS=$core -mthumb -ffast-math"
    quietly cmake --build "build_$1"
    link_for_board "$1" consumer.elf "$consumer/consumer.cpp" "build_$1/fovea/fovea/lib/libfovea.a"
    right_bits "Pico's package on $1" run_on_board "$1" consumer.elf
    grep -q ", $2:" said || fail "$2 was not chosen"
  done
}
