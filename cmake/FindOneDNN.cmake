# find_package(OneDNN REQUIRED): finds oneDNN as a generated trainer does. It is an error if oneDNN is missing or of a
# version that the runtime does not support.
include(${CMAKE_CURRENT_LIST_DIR}/../runtime/host/onednn.cmake)
set(OneDNN_FOUND TRUE)
