# The label `quick`: `ctest -L quick` takes less than four minutes on two cores, and runs something of every part.
#
# A test is quick unless it is of one of these kinds, which are too long to be run after each change:
#   plans of many random graphs, or of the large networks of the papers
#   gradients by finite differences of every operator
#   trainers played on random plans (streams), and anything that builds with sanitizers
#   scripts that build a trainer: of those only the ones that a QUICK list names
# tools/test.sh prints the slowest tests: see that none of them is quick without need.

# Rooms of which no test case is quick.
set(plimsoll_long_rooms papers streams)
# Test cases of the other rooms that are not quick, by name.
string(JOIN "|" plimsoll_long_cases
  "^check: ?every policy plans random graphs soundly"
  "^check: ?the same where batch normalization may see a part"
  "^check: ?auto is never slower than a policy that fits"
  "^check: ?more effort gives no slower plan"
  "^check: ?a host budget is kept, and auto keeps"
  "^import: ?damaged bytes never crash"
  "^models: ?every model of the zoo becomes a task graph"
  "^ops: ?gradients agree with finite differences")

# plimsoll_label_cases(room): labels the test cases of test_ROOM. catch_discover_tests finds them when the room is
# built. It cannot pass a list of labels on, so ctest sets them when it reads the tests.
function(plimsoll_label_cases room)
  if(room IN_LIST plimsoll_long_rooms)
    return()
  endif()
  set(labels ${CMAKE_CURRENT_BINARY_DIR}/test_${room}_labels.cmake)
  file(WRITE ${labels} "# Made by tests/quick.cmake.
foreach(test IN LISTS test_${room}_TESTS)
  if(NOT test MATCHES [==[${plimsoll_long_cases}]==])
    set_tests_properties(\"\${test}\" PROPERTIES LABELS \"${room};quick\")
  endif()
endforeach()
")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${labels})
endfunction()
