# Ranks by MPI: in a trainer that was compiled for several.
find_package(MPI REQUIRED COMPONENTS CXX)
if(PLIMSOLL_RUNTIME)
  find_library(PLIMSOLL_RANKS NAMES plimsoll_ranks_host HINTS ${PLIMSOLL_RUNTIME} ${PLIMSOLL_RUNTIME}/runtime NO_DEFAULT_PATH REQUIRED)
  target_link_libraries(train PRIVATE ${PLIMSOLL_RANKS} ${PLIMSOLL_HOST})
else()
  target_link_libraries(plimsoll_host PRIVATE MPI::MPI_CXX)
endif()
target_link_libraries(train PRIVATE MPI::MPI_CXX)
