# Ranks over MPI, for trainers compiled for several ranks.
find_package(MPI COMPONENTS CXX)
if(NOT MPI_CXX_FOUND)
  message(FATAL_ERROR "MPI is not found: install it (Debian: libopenmpi-dev openmpi-bin); "
                      "this trainer is of several ranks")
endif()
if(NOT PLIMSOLL_RUNTIME)
  target_link_libraries(plimsoll_host PRIVATE MPI::MPI_CXX)
endif()
target_link_libraries(train PRIVATE MPI::MPI_CXX)
