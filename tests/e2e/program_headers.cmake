# For CMAKE_PROJECT_INCLUDE of a trainer that the tests build: its program's files use the precompiled headers beside
# PLIMSOLL_PROGRAM_HEADERS, which saves a third of their compile time. They include the same headers by themselves. If
# the compiler or its options differ, g++ does not use what is precompiled, and reads the headers.
function(plimsoll_use_program_headers)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU" OR NOT EXISTS ${PLIMSOLL_PROGRAM_HEADERS}.gch)
    return()
  endif()
  get_target_property(sources train SOURCES)
  list(FILTER sources EXCLUDE REGEX "main\\.cpp$")
  # -fopenmp: a trainer for CUDA is compiled without it, and the headers are precompiled with it.
  set_property(SOURCE ${sources} APPEND PROPERTY COMPILE_OPTIONS -fopenmp -include ${PLIMSOLL_PROGRAM_HEADERS})
endfunction()
cmake_language(DEFER CALL plimsoll_use_program_headers)
