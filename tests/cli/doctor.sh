# The doctor inspects the machine: what is installed, what is missing, and how to get it.
. "$PLIMSOLL_CLI/common.sh"

expect 0 plimsoll doctor
for part in "plimsoll 0.1.0" "this machine" "CPU" "to build trainers" "cmake version" oneDNN PNG JPEG MPI "for GPUs" \
    NCCL; do
  says "$part"
done
[[ $(LC_ALL=C.UTF-8 wc -L <out) -le 100 ]] || fail "a line is longer than 100 characters"
! grep -q "…" out || fail "a sentence is shortened"

# Without a compiler and CMake no trainer can be built; the profiler may fail; both are reported.
plimsoll=$(command -v plimsoll)
mkdir empty
expect 8 env PATH="$PWD/empty" "$plimsoll" doctor
says "apt-get install cmake"; says "apt-get install g++"; says "tools/setup.sh"
says "cannot be checked without a compiler"; says "apt-get install libopenmpi-dev openmpi-bin"
# A compiler and CMake need a build program; CMAKE_GENERATOR says which.
mkdir tools-only && ln -s "$(command -v cmake)" "$(command -v c++)" tools-only/ &&
  ln -s "$(type -P true)" tools-only/ninja
expect 8 env -u CMAKE_GENERATOR PATH="$PWD/tools-only" "$plimsoll" doctor
says "build program"; says "apt-get install make, or export CMAKE_GENERATOR=Ninja"
expect 0 env CMAKE_GENERATOR=Ninja plimsoll doctor; says "build program"
# NCCL is found by its header in the given folder.
mkdir -p nccl/include && printf '#define NCCL_MAJOR 2\n#define NCCL_MINOR 27\n#define NCCL_PATCH 3\n' \
  >nccl/include/nccl.h
expect 0 env NCCL_ROOT="$PWD/nccl" plimsoll doctor; says "2.27.3, $PWD/nccl"
printf '#!/bin/sh\necho broken >&2\nexit 3\n' >profiler && chmod +x profiler
expect 8 env PLIMSOLL_PROFILER="$PWD/profiler" plimsoll doctor; says "fails: broken"
expect 8 env PLIMSOLL_PROFILER="$PWD/nowhere" plimsoll doctor;  says "missing"

# Whether bf16 is faster on this processor.
saves="saves memory, not time"
if grep -q avx512_bf16 /proc/cpuinfo && ! grep -q GenuineIntel /proc/cpuinfo; then saves="saves memory and time"; fi
if grep -q amx_bf16 /proc/cpuinfo; then saves="saves memory and time"; fi
expect 0 plimsoll doctor; says "$saves"
