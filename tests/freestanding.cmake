# The program freestanding: the library linked with nothing at all. Where FOVEA_FREESTANDING_ONLY is set it is the only test, with the self
# tests in it.
get_target_property(fovea_type fovea TYPE)
if(fovea_type STREQUAL "STATIC_LIBRARY" AND (NOT FOVEA_HOSTED OR FOVEA_COMPILES_X86_64 OR FOVEA_COMPILES_AARCH64
                                            OR FOVEA_FREESTANDING_ONLY))
  add_executable(freestanding "${PROJECT_SOURCE_DIR}/tools/check/freestanding.c")
  # Its memcpy and its kin are called by name: link-time optimisation would drop them before it makes the calls.
  set_target_properties(freestanding PROPERTIES C_STANDARD 99 POSITION_INDEPENDENT_CODE OFF LINKER_LANGUAGE C
                                                INTERPROCEDURAL_OPTIMIZATION OFF)
  target_compile_options(freestanding PRIVATE ${FOVEA_WARNINGS} -ffreestanding -fno-pie -fno-stack-protector)
  target_link_options(freestanding PRIVATE -nostdlib)
  # By its file: the target would bring along libstdc++ and libm.
  target_include_directories(freestanding PRIVATE "${PROJECT_SOURCE_DIR}/include")
  target_link_libraries(freestanding PRIVATE $<TARGET_FILE:fovea> ${FOVEA_LIBGCC})
  add_dependencies(freestanding fovea)
  if(FOVEA_HOSTED)
    target_link_options(freestanding PRIVATE -static -no-pie -Wl,-e,start)
  else()
    target_link_libraries(freestanding PRIVATE fovea_board_start gcc)
    if(FOVEA_SMALL_BOARD)
      fovea_board_memory(freestanding PRIVATE ${FOVEA_SMALL_BOARD_MEMORY})
      set_property(TARGET freestanding PROPERTY CROSSCOMPILING_EMULATOR "${FOVEA_BOARD_RUN};${FOVEA_SMALL_BOARD}")
    else()
      fovea_board_memory(freestanding PRIVATE ${FOVEA_BOARD_MEMORY})
    endif()
  endif()
  if(FOVEA_FREESTANDING_ONLY)
    target_compile_definitions(freestanding PRIVATE FOVEA_SELF_TESTS=1)
  endif()
  add_test(NAME freestanding COMMAND freestanding)
endif()
if(FOVEA_FREESTANDING_ONLY)
  file(GENERATE OUTPUT "${PROJECT_BINARY_DIR}/run-tests"
       CONTENT "#!/bin/sh\n# This target has one test.\nexec ctest --test-dir '${PROJECT_BINARY_DIR}' --output-on-failure --no-tests=error -R '^freestanding$'\n"
       FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
endif()
