# Common part of all trainers' CMake projects. To be included after project().
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
# Off by default, because other compilers give other warnings.
option(PLIMSOLL_WERROR "warnings are errors" OFF)
set(PLIMSOLL_RUNTIME "$ENV{PLIMSOLL_RUNTIME}" CACHE PATH
  "a build directory of Plimsoll, or PREFIX/lib/plimsoll: link its runtime instead of building runtime/ here")
if(NOT PLIMSOLL_RUNTIME AND (Plimsoll_ROOT OR Plimsoll_DIR))
  find_package(Plimsoll CONFIG REQUIRED)
  set(PLIMSOLL_RUNTIME ${Plimsoll_RUNTIME})
endif()

add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wall> $<$<COMPILE_LANGUAGE:CXX>:-Wextra>)
if(PLIMSOLL_WERROR)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Werror>)
endif()

include(${CMAKE_CURRENT_LIST_DIR}/images.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/batches.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/page.cmake)

# plimsoll_built(NAME): imports the library of that name from PLIMSOLL_RUNTIME.
function(plimsoll_built name)
  find_library(${name}_FILE NAMES ${name} HINTS ${PLIMSOLL_RUNTIME} ${PLIMSOLL_RUNTIME}/runtime
    NO_DEFAULT_PATH REQUIRED)
  add_library(${name} STATIC IMPORTED)
  set_target_properties(${name} PROPERTIES IMPORTED_LOCATION ${${name}_FILE})
endfunction()

# plimsoll_compiled_types(VARIABLE TYPES types… MOST_ELEMENTS n): the definitions of runtime/compiled_types.h for
# operands of these types with at most `n` elements.
function(plimsoll_compiled_types variable)
  cmake_parse_arguments(ARG "" "MOST_ELEMENTS" "TYPES" ${ARGN})
  set(narrow 0)
  if("bf16" IN_LIST ARG_TYPES)
    math(EXPR narrow "${narrow} + 1")
  endif()
  if("f16" IN_LIST ARG_TYPES)
    math(EXPR narrow "${narrow} + 2")
  endif()
  set(definitions PLIMSOLL_NARROW_TYPES=${narrow})
  if(ARG_MOST_ELEMENTS LESS 2147483648)
    list(APPEND definitions PLIMSOLL_INDEX_BITS=32)
  endif()
  set(${variable} ${definitions} PARENT_SCOPE)
endfunction()

# plimsoll_trainer(BACKEND PROGRAM sources… RUNTIME sources… TYPES types… MOST_ELEMENTS n): adds the program `train` and
# its library plimsoll_BACKEND, built from RUNTIME or found in PLIMSOLL_RUNTIME. TYPES and MOST_ELEMENTS: of the
# program's operands.
function(plimsoll_trainer backend)
  cmake_parse_arguments(ARG "" "MOST_ELEMENTS" "PROGRAM;RUNTIME;TYPES" ${ARGN})
  # The program consists of calls and constants: optimizing it costs seconds and saves microseconds.
  plimsoll_batches(program program ${ARG_PROGRAM})
  # Line numbers let a debugger stop in it in every build type (train --no-overlap).
  set_source_files_properties(${program} PROPERTIES COMPILE_OPTIONS "-O0;-g1;-U_FORTIFY_SOURCE")
  add_executable(train runtime/train/main.cpp ${program})
  target_include_directories(train PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  set_source_files_properties(runtime/train/main.cpp PROPERTIES
    COMPILE_DEFINITIONS "PLIMSOLL_TRAINER_DIR=\"${CMAKE_CURRENT_SOURCE_DIR}\"")
  if(PLIMSOLL_RUNTIME)
    plimsoll_built(plimsoll_${backend})
  else()
    # The runtime is not edited here: with few cores, each folder is compiled as one file.
    cmake_host_system_information(RESULT cores QUERY NUMBER_OF_LOGICAL_CORES)
    if(cores LESS 4 AND PLIMSOLL_BATCH GREATER 1)
      set(PLIMSOLL_BATCH 64)
    endif()
    plimsoll_run_page(page)
    plimsoll_batches(sources ${backend} ONLY "/(${backend}|cudnn|ops|train)$" ${ARG_RUNTIME} ${page})
    # Data, checkpoints and metrics take half of the compile time and have no inner loops, so they are optimized less.
    set(around_the_loop ${sources})
    list(FILTER around_the_loop INCLUDE REGEX "runtime[_/]train[_/]")
    set_source_files_properties(${around_the_loop} PROPERTIES
      COMPILE_OPTIONS "$<$<NOT:$<CONFIG:Debug>>:-O1;-ftree-vectorize>")
    add_library(plimsoll_${backend} STATIC ${sources})
    target_include_directories(plimsoll_${backend} PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
    plimsoll_images(plimsoll_${backend})
    plimsoll_compiled_types(definitions TYPES ${ARG_TYPES} MOST_ELEMENTS ${ARG_MOST_ELEMENTS})
    target_compile_definitions(plimsoll_${backend} PRIVATE ${definitions})
  endif()
  target_link_libraries(train PRIVATE plimsoll_${backend})
endfunction()

# plimsoll_ranks(BACKEND): if the plan is of several ranks, links what they need; runtime/dist/BACKEND/ is not there
# otherwise.
macro(plimsoll_ranks backend)
  set(ranks ${CMAKE_CURRENT_SOURCE_DIR}/runtime/dist/${backend}/ranks.cmake)
  if(EXISTS ${ranks})
    if(PLIMSOLL_RUNTIME)
      plimsoll_built(plimsoll_ranks_${backend})
      target_link_libraries(train PRIVATE plimsoll_ranks_${backend} plimsoll_${backend})
    endif()
    include(${ranks})  # what the archive needs follows it: linkers may drop a library that nothing before it needs
  endif()
endmacro()
