// Nothing: what the tests precompile (CMakeLists.txt) is a target of its own.
