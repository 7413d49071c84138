include(${PROJECT_SOURCE_DIR}/runtime/train/batches.cmake)

# What both kinds of room are made of: sets `sources` and ARG_DEPENDS. BATCHED: several sources at a time, of folders that
# match (batches.cmake).
macro(plimsoll_room name)
  cmake_parse_arguments(ARG "" "BATCHED" "GLOB;SOURCES;DEPENDS;PRECOMPILED" ${ARGN})
  set(sources ${ARG_SOURCES})
  foreach(pattern IN LISTS ARG_GLOB)
    file(GLOB found CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${pattern})
    list(APPEND sources ${found})
  endforeach()
  if(ARG_BATCHED)
    plimsoll_batches(sources ${name} ONLY ${ARG_BATCHED} ${sources})
  endif()
endmacro()

# Headers of others, which never change, are parsed once for several files: a third of the time that compiling took. A source
# includes what it needs all the same (it has to build with CMAKE_DISABLE_PRECOMPILE_HEADERS=ON). To precompile them takes as
# long as five files take to parse them.
set(plimsoll_standard_headers <algorithm> <cmath> <cstdint> <cstring> <filesystem> <fstream> <functional> <map> <memory> <optional>
    <set> <span> <sstream> <string> <tuple> <unordered_map> <variant> <vector>)

# plimsoll_precompile(target [SHARED] headers…), or plimsoll_precompile(target other): what the other has. Where a target has
# few files it has none, unless others share them.
function(plimsoll_precompile target)
  if(TARGET "${ARGV1}")
    get_target_property(headers ${ARGV1} PRECOMPILE_HEADERS)
    if(headers)
      target_precompile_headers(${target} REUSE_FROM ${ARGV1})
    endif()
  elseif(ARGC GREATER 1)
    cmake_parse_arguments(ARG "SHARED" "" "" ${ARGN})
    get_target_property(sources ${target} SOURCES)
    list(FILTER sources INCLUDE REGEX "\\.cpp$")
    list(LENGTH sources files)
    if(ARG_SHARED OR files GREATER 5)
      target_precompile_headers(${target} PRIVATE ${ARG_UNPARSED_ARGUMENTS})
    endif()
  endif()
endfunction()

# A room of the house: plimsoll_library(name SOURCES… DEPENDS… PRECOMPILED headers… or room). Sources are globbed: a file dropped in is built.
function(plimsoll_library name)
  plimsoll_room(${name} ${ARGN})
  if(NOT sources)
    add_library(${name} INTERFACE)
    target_include_directories(${name} INTERFACE ${PROJECT_SOURCE_DIR})
    target_link_libraries(${name} INTERFACE ${ARG_DEPENDS})
    return()
  endif()
  add_library(${name} STATIC ${sources})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PUBLIC ${ARG_DEPENDS})
  plimsoll_precompile(${name} ${ARG_PRECOMPILED})
endfunction()

# Objects that several libraries or programs take in: compiled once.
#   plimsoll_objects(name GLOB… SOURCES… DEPENDS…)
function(plimsoll_objects name)
  plimsoll_room(${name} ${ARGN})
  add_library(${name} OBJECT ${sources})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PUBLIC ${ARG_DEPENDS})
  plimsoll_precompile(${name} ${ARG_PRECOMPILED})
endfunction()

# plimsoll_embed(OUT file.cpp HEADER header.h FUNCTION name FILES paths below the root…): the files, inside the compiler.
function(plimsoll_embed)
  cmake_parse_arguments(ARG "" "OUT;HEADER;FUNCTION" "FILES" ${ARGN})
  set(out ${CMAKE_CURRENT_BINARY_DIR}/${ARG_OUT})
  string(REPLACE ";" "\n" lines "${ARG_FILES}")
  file(GENERATE OUTPUT ${out}.txt CONTENT "${lines}\n")
  list(TRANSFORM ARG_FILES PREPEND ${PROJECT_SOURCE_DIR}/ OUTPUT_VARIABLE files)
  add_custom_command(
    OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR} -DLIST=${out}.txt -DHEADER=${ARG_HEADER}
            -DFUNCTION=${ARG_FUNCTION} -DOUT=${out} -P ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
    DEPENDS ${files} ${out}.txt ${PROJECT_SOURCE_DIR}/cmake/embed.cmake)
endfunction()
