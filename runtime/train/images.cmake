# Images (--data images:DIR) need libpng and libjpeg, which are optional. Without one of them, the trainer refuses its
# files with a message. Debian: libpng-dev libjpeg62-turbo-dev
find_package(PNG QUIET)
find_package(JPEG QUIET)

function(plimsoll_images target)
  if(TARGET PNG::PNG)
    target_compile_definitions(${target} PRIVATE PLIMSOLL_HAS_PNG)
    target_link_libraries(${target} PRIVATE PNG::PNG)
  endif()
  if(TARGET JPEG::JPEG)
    target_compile_definitions(${target} PRIVATE PLIMSOLL_HAS_JPEG)
    target_link_libraries(${target} PRIVATE JPEG::JPEG)
  endif()
endfunction()
