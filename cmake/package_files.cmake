# What a Debian package has beyond `cmake --install` (Debian policy, 12.1 and 12.5): a file `copyright`, and compressed
# manual pages. CPack runs this on the installed files before it packs them.
set(share ${CPACK_TEMPORARY_INSTALL_DIRECTORY}${CPACK_PACKAGING_INSTALL_PREFIX}/share)
if(CPACK_GENERATOR STREQUAL "DEB")
  file(COPY ${CMAKE_CURRENT_LIST_DIR}/copyright DESTINATION ${share}/doc/plimsoll
    FILE_PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
  file(GLOB pages ${share}/man/man*/*.[1-8])
  foreach(page ${pages})
    execute_process(COMMAND gzip -9nf ${page} COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
endif()
