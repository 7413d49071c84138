# What `cmake --install`, a package (package.cmake) and a wheel (pyproject.toml) put where. The compiler carries the
# runtime's sources, so a trainer can be built wherever the compiler is installed.
#
#   bin/plimsoll                                    the compiler
#   libexec/plimsoll/plimsoll-profile-TARGET        the profilers, which the compiler runs
#   lib/plimsoll/libplimsoll_BACKEND.a              the runtime, for trainers that do not build the sources they carry
#   lib/plimsoll/PlimsollConfig.cmake, onednn.cmake find_package(Plimsoll)
#   share/man/man1/plimsoll.1, completions          what `plimsoll man` and `plimsoll completion` print
#   share/doc/plimsoll/                             LICENSE, NOTICE
include(GNUInstallDirs)
if(SKBUILD)  # in the environment's own prefix, where pip puts programs and data
  set(CMAKE_INSTALL_BINDIR ${SKBUILD_SCRIPTS_DIR})
  foreach(directory LIBEXEC DATA DOC MAN)
    set(CMAKE_INSTALL_${directory}DIR ${SKBUILD_DATA_DIR}/${CMAKE_INSTALL_${directory}DIR})
  endforeach()
endif()

# Programs of another build are imported (tests/tools/wheel).
function(plimsoll_install_program target destination)
  get_target_property(imported ${target} IMPORTED)
  if(imported)
    install(PROGRAMS $<TARGET_FILE:${target}> DESTINATION ${destination})
  else()
    install(TARGETS ${target} RUNTIME DESTINATION ${destination})
  endif()
endfunction()

plimsoll_install_program(plimsoll ${CMAKE_INSTALL_BINDIR})
foreach(backend host cuda)
  if(TARGET plimsoll-profile-${backend})
    plimsoll_install_program(plimsoll-profile-${backend} ${CMAKE_INSTALL_LIBEXECDIR}/plimsoll)
  endif()
endforeach()
set(runtimes "")
foreach(library host ranks_host cuda ranks_cuda)
  # A wheel goes to other processors than the one that the kernels are compiled for.
  if(TARGET plimsoll_${library} AND NOT SKBUILD)
    list(APPEND runtimes plimsoll_${library})
  endif()
endforeach()
if(runtimes)
  install(TARGETS ${runtimes} ARCHIVE DESTINATION lib/plimsoll)
  include(CMakePackageConfigHelpers)
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/PlimsollConfigVersion.cmake COMPATIBILITY ExactVersion)
  install(FILES cmake/PlimsollConfig.cmake ${PROJECT_BINARY_DIR}/PlimsollConfigVersion.cmake runtime/host/onednn.cmake
    DESTINATION lib/plimsoll)
endif()
install(FILES ${CMAKE_CURRENT_LIST_DIR}/../LICENSE ${CMAKE_CURRENT_LIST_DIR}/../NOTICE
  DESTINATION ${CMAKE_INSTALL_DOCDIR})

# plimsoll_generated(OUT arguments…): the output of `plimsoll arguments…` as a file.
set(generated "")
function(plimsoll_generated out)
  add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/share/${out}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/share
    COMMAND plimsoll ${ARGN} > ${PROJECT_BINARY_DIR}/share/${out}
    DEPENDS plimsoll VERBATIM)
  set(generated ${generated} ${PROJECT_BINARY_DIR}/share/${out} PARENT_SCOPE)
endfunction()
plimsoll_generated(plimsoll.1 man)
plimsoll_generated(plimsoll completion bash)
plimsoll_generated(_plimsoll completion zsh)
plimsoll_generated(plimsoll.fish completion fish)
add_custom_target(plimsoll_generated ALL DEPENDS ${generated})
install(FILES ${PROJECT_BINARY_DIR}/share/plimsoll.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${PROJECT_BINARY_DIR}/share/plimsoll DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${PROJECT_BINARY_DIR}/share/_plimsoll DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${PROJECT_BINARY_DIR}/share/plimsoll.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)

# Builds what is installed, and nothing else.
add_custom_target(plimsoll_installed DEPENDS plimsoll plimsoll_generated ${runtimes})
foreach(backend host cuda)
  if(TARGET plimsoll-profile-${backend})
    add_dependencies(plimsoll_installed plimsoll-profile-${backend})
  endif()
endforeach()

if(NOT SKBUILD)
  include(${PROJECT_SOURCE_DIR}/cmake/package.cmake)
endif()
