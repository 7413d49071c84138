# OneDNN::OneDNN: the library and its headers, 2.6 to 3.x. Plimsoll's own build and every generated trainer include this
# file. It does not use oneDNN's config file, because some packages require OpenCL there, which the CPU engine does not
# need.
find_path(OneDNN_INCLUDE_DIR oneapi/dnnl/dnnl_version.h HINTS ${ONEDNN_ROOT} ENV ONEDNN_ROOT PATH_SUFFIXES include)
find_library(OneDNN_LIBRARY NAMES dnnl HINTS ${ONEDNN_ROOT} ENV ONEDNN_ROOT PATH_SUFFIXES lib lib64)
string(CONCAT OneDNN_advice
  "install it (Debian: apt-get install libdnnl-dev), or "
  "set ONEDNN_ROOT to the directory that it is installed in")
if(NOT OneDNN_INCLUDE_DIR)
  message(FATAL_ERROR "oneDNN is not found (no oneapi/dnnl/dnnl_version.h): ${OneDNN_advice}")
elseif(NOT OneDNN_LIBRARY)
  message(FATAL_ERROR "the headers of oneDNN are in ${OneDNN_INCLUDE_DIR}, and its library libdnnl is not found: "
                      "${OneDNN_advice}")
endif()

set(OneDNN_VERSION "")
foreach(part MAJOR MINOR PATCH)
  file(STRINGS ${OneDNN_INCLUDE_DIR}/oneapi/dnnl/dnnl_version.h line REGEX "^#define DNNL_VERSION_${part} +[0-9]+")
  if(NOT line MATCHES "([0-9]+)$")
    message(FATAL_ERROR "${OneDNN_INCLUDE_DIR}/oneapi/dnnl/dnnl_version.h does not define DNNL_VERSION_${part}: "
                        "${OneDNN_advice}")
  endif()
  list(APPEND OneDNN_VERSION ${CMAKE_MATCH_1})
endforeach()
list(JOIN OneDNN_VERSION "." OneDNN_VERSION)
if(OneDNN_VERSION VERSION_LESS 2.6 OR OneDNN_VERSION VERSION_GREATER_EQUAL 4)
  message(FATAL_ERROR "oneDNN in ${OneDNN_INCLUDE_DIR} is ${OneDNN_VERSION}; 2.6 to 3.x are supported: "
                      "${OneDNN_advice}")
endif()

if(NOT TARGET OneDNN::OneDNN)
  add_library(OneDNN::OneDNN UNKNOWN IMPORTED)
  set_target_properties(OneDNN::OneDNN PROPERTIES
    IMPORTED_LOCATION ${OneDNN_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${OneDNN_INCLUDE_DIR})
endif()
