# `carried`: the runtime's sources, as paths below the root. The compiler contains them and writes them into each
# generated directory.
file(GLOB carried CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}
  ${PROJECT_SOURCE_DIR}/runtime/*.h ${PROJECT_SOURCE_DIR}/runtime/*.cpp ${PROJECT_SOURCE_DIR}/runtime/stamp.cpp.in
  ${PROJECT_SOURCE_DIR}/runtime/attrs/*.h ${PROJECT_SOURCE_DIR}/runtime/attrs/*.def
  ${PROJECT_SOURCE_DIR}/runtime/machine/*.h
  ${PROJECT_SOURCE_DIR}/runtime/host/*.h ${PROJECT_SOURCE_DIR}/runtime/host/*.cpp
  ${PROJECT_SOURCE_DIR}/runtime/host/*.cmake
  ${PROJECT_SOURCE_DIR}/runtime/host/ops/*.h ${PROJECT_SOURCE_DIR}/runtime/host/ops/*.cpp
  ${PROJECT_SOURCE_DIR}/runtime/cuda/*.h ${PROJECT_SOURCE_DIR}/runtime/cuda/*.cpp
  ${PROJECT_SOURCE_DIR}/runtime/cuda/*.cu ${PROJECT_SOURCE_DIR}/runtime/cuda/*.cmake
  ${PROJECT_SOURCE_DIR}/runtime/cuda/device/*.h ${PROJECT_SOURCE_DIR}/runtime/cuda/device/*.cpp
  ${PROJECT_SOURCE_DIR}/runtime/cuda/cudnn/*.h ${PROJECT_SOURCE_DIR}/runtime/cuda/cudnn/*.cpp
  ${PROJECT_SOURCE_DIR}/runtime/cuda/ops/*.h ${PROJECT_SOURCE_DIR}/runtime/cuda/ops/*.cpp
  ${PROJECT_SOURCE_DIR}/runtime/cuda/ops/*.cu
  ${PROJECT_SOURCE_DIR}/runtime/dist/*.h ${PROJECT_SOURCE_DIR}/runtime/dist/*.cpp
  ${PROJECT_SOURCE_DIR}/runtime/dist/*/*.h ${PROJECT_SOURCE_DIR}/runtime/dist/*/*.cpp
  ${PROJECT_SOURCE_DIR}/runtime/dist/*/*.cmake
  ${PROJECT_SOURCE_DIR}/runtime/train/*.h ${PROJECT_SOURCE_DIR}/runtime/train/*.cpp
  ${PROJECT_SOURCE_DIR}/runtime/train/*.cmake ${PROJECT_SOURCE_DIR}/runtime/train/page/*)

# plimsoll_stamp(OUT TEMPLATE): writes TEMPLATE as a C++ source, with a hash of the carried sources in place of {STAMP}.
# The runtime library defines a symbol of that name and a generated program refers to it, so they link only if they were
# made of the same sources.
function(plimsoll_stamp out template)
  set(sources ${carried})
  list(FILTER sources INCLUDE REGEX "\\.(h|cpp|cu|def)$")
  string(REPLACE ";" "\n" lines "${sources}")
  file(GENERATE OUTPUT ${out}.txt CONTENT "${lines}\n")
  list(TRANSFORM sources PREPEND ${PROJECT_SOURCE_DIR}/)
  add_custom_command(
    OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR} -DLIST=${out}.txt -DTEMPLATE=${template} -DOUT=${out}
            -P ${PROJECT_SOURCE_DIR}/cmake/stamp.cmake
    DEPENDS ${sources} ${out}.txt ${template} ${PROJECT_SOURCE_DIR}/cmake/stamp.cmake)
endfunction()
