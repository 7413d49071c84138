# Unity builds: several small files are compiled together, so that headers are parsed and templates instantiated once.
# That is most of the build time, here and in a trainer. Any files of a folder may be combined, so names in unnamed
# namespaces must be unique in their folder; tests/structure/names_test.cpp checks it. Object files and generated
# sources are not combined.
set(PLIMSOLL_BATCH 8 CACHE STRING "source files that are compiled together; 1: each alone, to work on them")

# plimsoll_batches(OUT NAME [ONLY regex] [MOST count] files…): sets OUT to the files to compile instead. ONLY: combines
# only files in matching folders. Files that a program replaces one by one, as tests do with the host's streams, must
# not be combined. MOST: the largest number of files to combine. A file of many kernels takes longer to compile than its
# parts, because g++ takes longer to look up a template instantiation when there are more of them.
function(plimsoll_batches out name)
  cmake_parse_arguments(ARG "" "ONLY;MOST" "" ${ARGN})
  set(most ${PLIMSOLL_BATCH})
  if(ARG_MOST AND PLIMSOLL_BATCH GREATER ARG_MOST)
    set(most ${ARG_MOST})
  endif()
  set(batches "")
  set(groups "")
  foreach(file IN LISTS ARG_UNPARSED_ARGUMENTS)
    get_filename_component(absolute "${file}" ABSOLUTE)
    file(RELATIVE_PATH path ${CMAKE_SOURCE_DIR} "${absolute}")
    string(FIND "${absolute}" "${CMAKE_BINARY_DIR}/" generated)
    get_filename_component(folder "${path}" DIRECTORY)
    if(file MATCHES "^\\$<" OR generated EQUAL 0 OR PLIMSOLL_BATCH LESS 2 OR
       (ARG_ONLY AND NOT folder MATCHES "${ARG_ONLY}"))
      list(APPEND batches ${file})
      continue()
    endif()
    get_filename_component(language ${path} LAST_EXT)
    string(MAKE_C_IDENTIFIER "${folder}" folder)
    set(group ${folder}${language})
    list(APPEND groups ${group})
    list(APPEND files_of_${group} ${path})
  endforeach()
  list(REMOVE_DUPLICATES groups)
  foreach(group IN LISTS groups)
    set(number 0)
    while(files_of_${group})
      list(SUBLIST files_of_${group} 0 ${most} files)
      list(REMOVE_ITEM files_of_${group} ${files})
      list(TRANSFORM files REPLACE "(.+)" "#include \"\\1\"\n" OUTPUT_VARIABLE lines)
      # g++ treats the included files as headers, and warns of classes with members from unnamed namespaces.
      string(CONCAT text "#ifndef __clang__\n#pragma GCC diagnostic ignored \"-Wsubobject-linkage\"\n#endif\n" ${lines})
      get_filename_component(folder ${group} NAME_WLE)
      get_filename_component(language ${group} LAST_EXT)
      set(batch ${CMAKE_CURRENT_BINARY_DIR}/batches/${name}_${folder}_${number}${language})
      file(GENERATE OUTPUT ${batch} CONTENT "${text}")
      list(APPEND batches ${batch})
      math(EXPR number "${number} + 1")
    endwhile()
  endforeach()
  set(${out} ${batches} PARENT_SCOPE)
endfunction()
