# The sources stand beside the port: vcpkg install fovea --overlay-ports=path/to/ports
get_filename_component(SOURCE_PATH "${CURRENT_PORT_DIR}/../../source" ABSOLUTE)
vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS -DFOVEA_SHARED_TOO=OFF "-DFOVEA_DEPS_DIR=${CURRENT_INSTALLED_DIR}"
)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(PACKAGE_NAME fovea CONFIG_PATH lib/cmake/fovea)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
