# cmake -DPROJECT_BINARY_DIR=<scratch folder> -P fetch_all.cmake: fills the download cache, so that later builds work offline.
cmake_minimum_required(VERSION 3.20)
include("${CMAKE_CURRENT_LIST_DIR}/fetch.cmake")
foreach(name IN ITEMS xsimd nanobench)
  fovea_fetch(${name} folder)
endforeach()
