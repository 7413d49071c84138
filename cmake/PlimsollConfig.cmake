# find_package(Plimsoll): the runtime libraries that lie beside this file, which trainers are linked with. A trainer uses it when it is
# configured with -DPlimsoll_ROOT=PREFIX; -DPLIMSOLL_RUNTIME=PREFIX/lib/plimsoll says the same.
set(Plimsoll_RUNTIME ${CMAKE_CURRENT_LIST_DIR})
get_filename_component(Plimsoll_EXECUTABLE ${CMAKE_CURRENT_LIST_DIR}/../../bin/plimsoll ABSOLUTE)
