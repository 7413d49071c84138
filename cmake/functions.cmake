include(${PROJECT_SOURCE_DIR}/runtime/train/batches.cmake)

# The arguments that plimsoll_library and plimsoll_objects share: sets `sources` and ARG_DEPENDS. BATCHED: the sources
# of matching folders are compiled several at a time, at most MOST (batches.cmake).
macro(plimsoll_room name)
  cmake_parse_arguments(ARG "" "BATCHED;MOST" "GLOB;SOURCES;DEPENDS;PRECOMPILED" ${ARGN})
  set(sources ${ARG_SOURCES})
  foreach(pattern IN LISTS ARG_GLOB)
    file(GLOB found CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${pattern})
    list(APPEND sources ${found})
  endforeach()
  if(ARG_BATCHED)
    if(NOT ARG_MOST)
      set(ARG_MOST ${PLIMSOLL_BATCH})
    endif()
    plimsoll_batches(sources ${name} ONLY ${ARG_BATCHED} MOST ${ARG_MOST} ${sources})
  endif()
endmacro()

# Headers of other projects never change, so they are precompiled, which saves a third of the build time. A source still
# includes what it needs: it has to build with CMAKE_DISABLE_PRECOMPILE_HEADERS=ON. Precompiling takes as long as
# parsing the headers in five files.
set(plimsoll_standard_headers <algorithm> <cmath> <cstdint> <cstring> <filesystem> <fstream> <functional> <map> <memory>
    <optional> <set> <span> <sstream> <string> <tuple> <unordered_map> <variant> <vector>)

# plimsoll_precompile(target [SHARED] headers…) precompiles headers for a target with more than five files, or with
# SHARED for any target. plimsoll_precompile(target other) reuses the headers of another target.
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

# A library: plimsoll_library(name GLOB patterns… SOURCES files… DEPENDS… PRECOMPILED headers… or a target). With GLOB a
# file that is added to the folder is built without further ado.
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

# Objects that several libraries or programs contain, compiled once.
#   plimsoll_objects(name GLOB… SOURCES… DEPENDS…)
function(plimsoll_objects name)
  plimsoll_room(${name} ${ARGN})
  add_library(${name} OBJECT ${sources})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PUBLIC ${ARG_DEPENDS})
  plimsoll_precompile(${name} ${ARG_PRECOMPILED})
endfunction()

# plimsoll_embed(OUT file.cpp HEADER header.h FUNCTION name FILES paths below the root…): embeds files into the
# compiler.
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
