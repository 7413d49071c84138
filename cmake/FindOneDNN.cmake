# find_package(OneDNN REQUIRED): as a generated trainer finds it. It is an error where it is not there or not of a version
# that the runtime supports.
include(${CMAKE_CURRENT_LIST_DIR}/../runtime/host/onednn.cmake)
set(OneDNN_FOUND TRUE)
