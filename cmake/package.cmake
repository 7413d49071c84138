# `cpack -G DEB` in the build directory makes a Debian package of what `cmake --install` installs; `cpack -G TGZ` an
# archive. tools/package.sh builds for a processor that most machines are compatible with and then runs cpack.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME plimsoll)
set(CPACK_PACKAGE_VENDOR "The Plimsoll authors")
set(CPACK_PACKAGE_CONTACT "The Plimsoll authors")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "ahead-of-time memory planning for neural network training")
set(CPACK_PACKAGE_DESCRIPTION "Plimsoll compiles an ONNX model and a memory budget into a C++ training program.
It plans one training iteration ahead of time: which activations to keep,
offload or recompute, which algorithms to use, and where each buffer lies.
The program makes one allocation of the planned size and never exceeds it.
.
The runtime library of this package is compiled for ${PLIMSOLL_PROCESSOR}.")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/package_files.cmake)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
# The libraries that the programs are linked with, as dpkg-shlibdeps names their packages.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# The compiler plans without these; building a trainer needs them.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "cmake, g++, make | ninja-build, libdnnl-dev, libpng-dev, libjpeg-dev")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "libopenmpi-dev, openmpi-bin, python3-torch, python3-onnx")

# Installing refuses a processor that lacks the instructions which the package's kernels and profiler use.
set(plimsoll_flags_x86-64-v2 "popcnt sse4_2")
set(plimsoll_flags_x86-64-v3 "avx2 bmi2 fma")
set(plimsoll_flags_x86-64-v4 "avx512f avx512bw avx512dq avx512vl")
set(flags "${plimsoll_flags_${PLIMSOLL_PROCESSOR}}")
if(flags)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/preinst.in ${PROJECT_BINARY_DIR}/package/preinst @ONLY
    FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
  set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/package/preinst)
endif()
include(CPack)
