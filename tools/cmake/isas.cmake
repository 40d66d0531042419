# Which ISAs this compiler builds and the flags of each. FOVEA_ISAS and FOVEA_FIXED_ISAS list them; a new ISA has a file and a row of
# list.hpp in lib/isa, and its name and flags here.
include(CheckCXXCompilerFlag)
include(CheckCXXSourceCompiles)

# Compiles and does not link: a toolchain for a microcontroller cannot link without startup code. Options that a parent project gave to its
# folders may choose the core, so they are part of the question.
function(fovea_compiler_has result condition)
  set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
  get_directory_property(options COMPILE_OPTIONS)
  list(FILTER options EXCLUDE REGEX "[$]<")
  list(JOIN options " " options)
  string(APPEND CMAKE_REQUIRED_FLAGS " ${options}")
  check_cxx_source_compiles("${ARGN}\n#if !(${condition})\n#error no\n#endif\nint main() { return 0; }" ${result})
endfunction()

# Is there an operating system? Not CMAKE_SYSTEM_NAME says so: it is Generic here, PICO or ESP32 there.
fovea_compiler_has(FOVEA_COMPILES_FOR_SYSTEM "FOVEA_HAS_SYSTEM" "#include \"${PROJECT_SOURCE_DIR}/lib/common/system.hpp\"")
set(FOVEA_HOSTED ${FOVEA_COMPILES_FOR_SYSTEM})
if(NOT FOVEA_HOSTED)
  fovea_compiler_has(FOVEA_COMPILES_FOR_BARE_METAL "!FOVEA_HAS_SYSTEM" "#include \"${PROJECT_SOURCE_DIR}/lib/common/system.hpp\"")
  if(NOT FOVEA_COMPILES_FOR_BARE_METAL)
    message(FATAL_ERROR "fovea cannot compile five lines with the flags of this project: CMakeFiles/CMakeError.log (CMakeConfigureLog.yaml) says why.")
  endif()
endif()

# The compiler is asked, not CMAKE_SYSTEM_PROCESSOR: only it knows -m32, -mfpu and what a toolchain file chose.
# A core without fma has scalar_no_fma: the fmaf of a C library is 5 to 17 times slower, and bits of its own are no harm.
fovea_compiler_has(FOVEA_COMPILES_FMA
                   "defined(__FP_FAST_FMAF) || defined(__ARM_FEATURE_FMA) || defined(__riscv_flen) || defined(__powerpc64__)")
set(fovea_known_isas scalar_no_fma)
if(FOVEA_COMPILES_FMA)
  set(fovea_known_isas scalar)
endif()
set(fovea_flags_scalar "")
set(fovea_flags_scalar_no_fma "")
if(FOVEA_HOSTED)
  fovea_compiler_has(FOVEA_COMPILES_X86_64 "defined(__x86_64__)")
  fovea_compiler_has(FOVEA_COMPILES_X86_32 "defined(__i386__)")
  fovea_compiler_has(FOVEA_COMPILES_AARCH64 "defined(__aarch64__)")
  fovea_compiler_has(FOVEA_COMPILES_ARM_NEON "defined(__arm__) && defined(__ARM_NEON)")
  fovea_compiler_has(FOVEA_COMPILES_RVV "__riscv_xlen == 64 && __riscv_flen == 64 && __clang_major__ >= 17 && (defined(__linux__) || defined(__riscv_v))")
endif()
if(FOVEA_COMPILES_X86_64)
  set(fovea_known_isas scalar_no_fma scalar sse41 avx2 avx512) # CPUs without fma run the first and the third
  set(fovea_flags_scalar -mfma -fno-tree-vectorize) # it is to stay scalar
  set(fovea_flags_sse41 -msse4.1)
  set(fovea_flags_avx2 -mavx2 -mfma -mf16c)
  set(fovea_flags_avx512 -mavx512f -mavx512bw -mavx512cd -mavx512dq -mavx512vl -mavx2 -mfma -mprefer-vector-width=512)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    list(APPEND fovea_flags_avx512 -Wno-maybe-uninitialized -Wno-uninitialized) # gcc 12 warns of its own header
  endif()
elseif(FOVEA_COMPILES_X86_32)
  set(fovea_known_isas scalar_no_fma scalar)
  set(fovea_flags_scalar -mfma -fno-tree-vectorize)
elseif(FOVEA_COMPILES_AARCH64)
  set(fovea_known_isas scalar neon64)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    set(fovea_flags_neon64 -fno-schedule-insns) # else gcc 12 spills accumulators in the hot loop
  endif()
elseif(FOVEA_COMPILES_ARM_NEON AND FOVEA_COMPILES_FMA)
  set(fovea_known_isas scalar neon)
elseif(FOVEA_COMPILES_RVV) # clang makes instructions of any length of its own vectors; Linux tells whether the core has them
  set(fovea_known_isas scalar rvv)
  set(fovea_flags_rvv -march=rv64gcv)
endif()
set(fovea_default_isas "${fovea_known_isas}")

# Helium's floats. Flags may switch them off (+nomve.fp) because a compiler may turn any loop into them: then the one source that is meant to
# use them switches them on again, if FOVEA_ISAS names helium. With the flags of a core that has them, helium alone is the default: firmware
# needs no second kernel.
if(NOT FOVEA_HOSTED)
  set(fovea_has_helium_floats "defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 2)")
  fovea_compiler_has(FOVEA_COMPILES_HELIUM_FLOATS "${fovea_has_helium_floats}")
  if(FOVEA_COMPILES_HELIUM_FLOATS)
    set(fovea_default_isas helium)
  elseif(CMAKE_CXX_FLAGS MATCHES "(-mcpu=cortex-m[0-9]+)[+]nomve[.]fp")
    set(fovea_flags_helium ${CMAKE_MATCH_1})
  endif()
  set(CMAKE_REQUIRED_FLAGS "${fovea_flags_helium}")
  fovea_compiler_has(FOVEA_COMPILES_HELIUM "${fovea_has_helium_floats}")
  unset(CMAKE_REQUIRED_FLAGS)
  if(FOVEA_COMPILES_HELIUM)
    list(APPEND fovea_known_isas helium)
    list(APPEND fovea_flags_helium -fno-tree-vectorize -fno-tree-slp-vectorize -DFOVEA_NO_FLOAT_VECTORS=1)
  endif()
endif()

set(FOVEA_ISAS "${fovea_default_isas}" CACHE STRING "ISAs to build into the library, a list with one in it that every machine has: scalar, scalar_no_fma or helium")
if(FOVEA_ISAS STREQUAL "scalar" AND NOT "scalar" IN_LIST fovea_known_isas) # asked for, or of a build folder older than scalar_no_fma
  message(STATUS "fovea: this compiler has no fma, so FOVEA_ISAS=scalar becomes scalar_no_fma")
  set_property(CACHE FOVEA_ISAS PROPERTY VALUE scalar_no_fma)
endif()

if(NOT FOVEA_HOSTED AND FOVEA_COMPILES_FMA) # only where it is asked for: fewer cycles, and other bits
  list(APPEND fovea_known_isas scalar_no_fma)
endif()

# A list of ISAs that a user may give: all are built by this compiler, and one is among them that every machine has.
function(fovea_check_isas list known for_every_machine)
  foreach(isa IN LISTS ${list})
    if(NOT isa IN_LIST known)
      message(FATAL_ERROR "${list} names '${isa}', but this compiler builds only: ${known}.")
    endif()
    if(isa IN_LIST for_every_machine)
      set(runs_everywhere ON)
    endif()
  endforeach()
  if(NOT runs_everywhere)
    list(GET known 0 first)
    message(FATAL_ERROR "${list} must hold ${first}, the ISA that every machine has: pass -D${list}=\"${first};${${list}}\".")
  endif()
endfunction()
fovea_check_isas(FOVEA_ISAS "${fovea_known_isas}" "scalar;scalar_no_fma;helium")
set(FOVEA_NEEDS_XSIMD OFF)
if(FOVEA_ISAS MATCHES "sse|avx")
  set(FOVEA_NEEDS_XSIMD ON)
endif()

option(FOVEA_OPTIMISE "Optimise the kernels, whatever build type and flags a parent project has" ON)
list(LENGTH FOVEA_ISAS fovea_isa_count)

# Gives `source` the flags of `isa`. It is always optimised: otherwise it would hold weak copies of inline functions built with this
# ISA's instructions, and the linker might keep those for everybody. With one ISA in all, or one core, there is nothing to mix up, and
# MinSizeRel counts.
# -O3 only unrolls what is unrolled already: half as much code again, and not faster.
function(fovea_compile_for_isa source isa)
  set(optimise -O2)
  if(NOT FOVEA_OPTIMISE)
    set(optimise "")
  elseif((fovea_isa_count EQUAL 1 OR NOT FOVEA_HOSTED) AND NOT isa MATCHES "^fixed_")
    set(optimise $<$<NOT:$<CONFIG:MinSizeRel>>:-O2>)
  endif()
  set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS ${optimise} ${fovea_flags_${isa}})
endfunction()

# Kernels of integer attention: a file lib/isa/fixed_<name>.cpp each. A microcontroller has one, and its compiler flags say which. Those of
# SIMD units are built beside the floats of that unit, unless FOVEA_FIXED_ISAS names others.
set(fovea_known_fixed_isas scalar)
if(NOT FOVEA_HOSTED)
  set(fovea_known_fixed_isas cortex_m) # -O2 also in a build for size: half of its code is hot, and Thumb-1 loses its high registers at -Os
endif()
set(fovea_default_fixed_isas ${fovea_known_fixed_isas})
if(FOVEA_COMPILES_X86_64)
  list(APPEND fovea_known_fixed_isas sse41 avx2 avx512vnni)
  check_cxx_compiler_flag(-mavxvnni FOVEA_COMPILES_AVXVNNI)
  if(FOVEA_COMPILES_AVXVNNI)
    list(APPEND fovea_known_fixed_isas avxvnni)
  endif()
  if("avx2" IN_LIST FOVEA_ISAS)
    set(fovea_default_fixed_isas ${fovea_known_fixed_isas})
  endif()
  set(fovea_flags_fixed_sse41 -msse4.1)
  set(fovea_flags_fixed_avx2 -mavx2 -mf16c)
  set(fovea_flags_fixed_avxvnni -mavx2 -mf16c -mavxvnni)
  set(fovea_flags_fixed_avx512vnni -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512vnni -mprefer-vector-width=512)
elseif(FOVEA_COMPILES_AARCH64)
  list(APPEND fovea_known_fixed_isas neon dotprod i8mm)
  if("neon64" IN_LIST FOVEA_ISAS)
    set(fovea_default_fixed_isas ${fovea_known_fixed_isas})
  endif()
  set(fovea_flags_fixed_dotprod -mcpu=cortex-a76) # not -march, which would contradict the -mcpu of a toolchain file
  set(fovea_flags_fixed_i8mm -mcpu=cortex-a76+i8mm)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    foreach(isa IN ITEMS neon dotprod i8mm)
      # Else gcc 12 spills accumulators in the hot loop, and takes loads and stores apart that go together.
      list(APPEND fovea_flags_fixed_${isa} -fno-schedule-insns -fno-tree-ter)
    endforeach()
  endif()
elseif(FOVEA_COMPILES_ARM_NEON)
  list(APPEND fovea_known_fixed_isas neon)
  if("neon" IN_LIST FOVEA_ISAS OR NOT FOVEA_COMPILES_FMA) # integers need no fma
    set(fovea_default_fixed_isas ${fovea_known_fixed_isas})
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    set(fovea_flags_fixed_neon -fno-schedule-insns) # else it spills accumulators here, too
  endif()
endif()

set(FOVEA_FIXED_ISAS "" CACHE STRING "ISAs of integers to build into the library, a list with scalar in it; empty: those that go with FOVEA_ISAS")
if(FOVEA_FIXED_ISAS STREQUAL "")
  set(FOVEA_FIXED_ISAS ${fovea_default_fixed_isas}) # the setting stays empty, and follows FOVEA_ISAS later on
endif()
fovea_check_isas(FOVEA_FIXED_ISAS "${fovea_known_fixed_isas}" "scalar;cortex_m")
if("i8mm" IN_LIST FOVEA_FIXED_ISAS AND NOT "dotprod" IN_LIST FOVEA_FIXED_ISAS)
  message(FATAL_ERROR "FOVEA_FIXED_ISAS names i8mm without dotprod, which serves its single rows: pass \"${FOVEA_FIXED_ISAS};dotprod\".")
endif()

list(LENGTH FOVEA_FIXED_ISAS fovea_fixed_isa_count)
if(NOT FOVEA_OPTIMISE AND (fovea_isa_count GREATER 1 OR fovea_fixed_isa_count GREATER 1))
  message(FATAL_ERROR "FOVEA_OPTIMISE=OFF needs -DFOVEA_ISAS=scalar, and FOVEA_FIXED_ISAS empty or scalar: inline functions that are not "
                      "inlined would be linked once for all ISAs.")
endif()

# What is built, and what is missed by a compiler that was not told of the core's SIMD unit.
list(JOIN FOVEA_ISAS " " fovea_floats)
list(JOIN FOVEA_FIXED_ISAS " " fovea_integers)
message(STATUS "fovea: kernels of floats: ${fovea_floats}; of integers: ${fovea_integers}")
if(FOVEA_COMPILES_HELIUM AND NOT "helium" IN_LIST FOVEA_ISAS)
  message(STATUS "fovea: floats do not use Helium. If this core has its vectors of floats, -DFOVEA_ISAS=helium takes 0.4 times the instructions")
endif()
if(FOVEA_HOSTED)
  fovea_compiler_has(FOVEA_COMPILES_ARMV7 "defined(__arm__) && __ARM_ARCH >= 7")
endif()
if(FOVEA_COMPILES_ARMV7 AND NOT (FOVEA_COMPILES_ARM_NEON AND FOVEA_COMPILES_FMA))
  message(WARNING "fovea: this compiler may not use NEON with fma, so attention is several times slower than it could be, and floats lack "
                  "the promise of equal bits. For a Raspberry Pi 2 or newer add -mfpu=neon-vfpv4 to CMAKE_CXX_FLAGS and CMAKE_C_FLAGS.")
endif()

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND fovea_flags_fixed_avx512vnni -Wno-maybe-uninitialized -Wno-uninitialized) # gcc 12 warns of its own header
endif()

if(NOT FOVEA_HOSTED)
  fovea_compiler_has(FOVEA_COMPILES_BARE_ARM "defined(__arm__)")
endif()

# What keeps the bits. These flags stand behind those of a parent project, a toolchain file and the environment, and undo theirs; lib/common/build.hpp
# refuses to be compiled where they are missing. No fma but the explicit ones. Clang's -ffast-math sets -ffp-contract and its -O2 undoes
# -fno-tree-vectorize, hence the order: they come last, fp-contract behind fast-math.
set(FOVEA_EXACT -fno-fast-math -fno-unsafe-math-optimizations -fno-associative-math -fno-reciprocal-math -fno-finite-math-only -fsigned-zeros
                -fno-math-errno -fno-trapping-math -ffp-contract=off -DFOVEA_EXACT_FLAGS=1)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND FOVEA_EXACT -fno-single-precision-constant)
endif()
if(FOVEA_COMPILES_X86_32)
  list(APPEND FOVEA_EXACT -msse2 -mfpmath=sse) # x87 computes with more bits than a float has
endif()
if(NOT FOVEA_HOSTED)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    list(APPEND FOVEA_EXACT -fno-branch-count-reg) # see lib/common/build.hpp
  endif()
  if(FOVEA_COMPILES_HELIUM_FLOATS) # else its vectors of floats flush denormals and their comparisons lose NaN
    list(APPEND FOVEA_EXACT -fno-tree-vectorize -fno-tree-slp-vectorize -DFOVEA_NO_FLOAT_VECTORS=1)
  endif()
endif()

# What every source of the project is compiled with.
set(FOVEA_WARNINGS -Wall -Wextra -Wpedantic -Wshadow)
if(FOVEA_WERROR)
  list(APPEND FOVEA_WARNINGS -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT FOVEA_COMPILES_X86_64 AND NOT FOVEA_COMPILES_X86_32)
  list(APPEND FOVEA_WARNINGS -Wno-psabi)
endif()
