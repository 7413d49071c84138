# Ranks over NCCL, for trainers compiled for several ranks.
find_path(NCCL_INCLUDE_DIR nccl.h HINTS ${NCCL_ROOT} ENV NCCL_ROOT ${CUDAToolkit_INCLUDE_DIRS} PATH_SUFFIXES include)
find_library(NCCL_LIBRARY NAMES nccl
  HINTS ${NCCL_ROOT} ENV NCCL_ROOT ${CUDAToolkit_LIBRARY_DIR} PATH_SUFFIXES lib lib64)
if(NOT NCCL_INCLUDE_DIR OR NOT NCCL_LIBRARY)
  message(FATAL_ERROR "NCCL is not found: install it (NVIDIA's libnccl-dev) or set NCCL_ROOT to where it is; "
                      "this trainer is of several ranks")
endif()
if(NOT PLIMSOLL_RUNTIME)
  target_include_directories(plimsoll_cuda PRIVATE ${NCCL_INCLUDE_DIR})
endif()
target_link_libraries(train PRIVATE ${NCCL_LIBRARY})
