# Included by arm-none-eabi.cmake: clang compiles, with newlib's headers; gcc links, because it knows where its libraries for this core are.
string(REPLACE "clang++" "clang" fovea_clang "${FOVEA_BOARD_CLANG}")
set(CMAKE_C_COMPILER "${fovea_clang}")
set(CMAKE_CXX_COMPILER "${FOVEA_BOARD_CLANG}")
set(CMAKE_C_COMPILER_TARGET thumbv8.1m.main-none-eabihf)
set(CMAKE_CXX_COMPILER_TARGET thumbv8.1m.main-none-eabihf)

# Where gcc finds its headers for this core, its own folder aside.
separate_arguments(fovea_core_flags UNIX_COMMAND "${fovea_gcc_core} -mthumb")
function(fovea_headers language result)
  execute_process(COMMAND arm-none-eabi-gcc ${fovea_core_flags} -E -v -x ${language} /dev/null OUTPUT_QUIET ERROR_VARIABLE said)
  string(REGEX MATCHALL "\n /[^\n]+" folders "${said}")
  list(FILTER folders INCLUDE REGEX "/arm-none-eabi/include")
  string(REGEX REPLACE ";?\n " " -isystem " flags "${folders}")
  set(${result} "${flags}" PARENT_SCOPE)
endfunction()
fovea_headers(c fovea_c_headers)
fovea_headers(c++ fovea_cxx_headers)

set(fovea_board_flags "${fovea_board_flags} -fshort-enums") # as gcc for this target does
foreach(language IN ITEMS C CXX)
  set(CMAKE_${language}_LINK_EXECUTABLE "arm-none-eabi-g++ ${fovea_gcc_core} -mthumb <LINK_FLAGS> <OBJECTS> -o <TARGET> <LINK_LIBRARIES>")
endforeach()

# int32_t is long for gcc and int for clang, so the names of C++ functions differ. What the tests of the m7, compiled by gcc, share with those
# of the m55 takes gcc's; the library, whose interface is C, keeps clang's.
set(FOVEA_INT32_OF_GCC -Wno-builtin-macro-redefined -U__INT32_TYPE__ -U__UINT32_TYPE__ "-D__INT32_TYPE__=long int"
                       "-D__UINT32_TYPE__=long unsigned int")
set(FOVEA_INT32_OF_CLANG -U__INT32_TYPE__ -U__UINT32_TYPE__ -D__INT32_TYPE__=int "-D__UINT32_TYPE__=unsigned int")
