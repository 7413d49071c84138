# The devices for which a trainer is compiled: stand-ins for nvidia-smi and nvcc state the devices of a machine.
set -euo pipefail
fail() { echo "failed: $*" >&2; exit 1; }
asked() { cmake -P asks.cmake 2>&1 | tr -s ' \n' ' '; }  # CMake wraps its sentences
mkdir -p bin
printf '#!/bin/sh\n[ -s "%s/gpus" ] || exit 9\ncat "%s/gpus"\n' "$PWD" "$PWD" >bin/nvidia-smi
printf '#!/bin/sh\n[ "$1" = --list-gpu-arch ] && cat "%s/known"\n' "$PWD" >bin/nvcc
chmod +x bin/nvidia-smi bin/nvcc
PATH=$PWD/bin:$PATH
cat >asks.cmake <<'CMAKE'
include($ENV{PLIMSOLL_SOURCE}/runtime/cuda/toolkit.cmake)
plimsoll_cuda_architectures(devices nvcc)
message("${devices}")
CMAKE

compiles_for() { # EXPECTED GPU…
  local expected=$1 told
  shift
  printf '%s\n' "$@" >gpus
  told=$(asked) || fail "$* ends in: $told"
  [[ $told == "$expected " ]] || fail "for $*: '$told', not '$expected'"
}
refuses() { # SENTENCE GPU…
  local sentence=$1 told
  shift
  printf '%s\n' "$@" >gpus
  told=$(asked) && fail "$* is compiled for: $told"
  [[ $told == *"$sentence"* ]] || fail "no '$sentence' in: $told"
}

printf 'compute_%s\n' 50 52 60 61 70 75 80 86 87 89 90 >known  # nvcc 12.4
compiles_for 90 "NVIDIA H200, 9.0" "NVIDIA H200, 9.0"
compiles_for 70 "Tesla V100-SXM2-16GB, 7.0"
compiles_for "75;89" "Tesla T4, 7.5" "NVIDIA L4, 8.9"
compiles_for 90-virtual "NVIDIA B200, 10.0"  # newer than this nvcc
compiles_for 90-virtual "NVIDIA GeForce RTX 5090, 12.0"

printf 'compute_%s\n' 75 80 86 87 88 89 90 100 110 103 120 121 >known  # nvcc 13.0, in its order
compiles_for 100 "NVIDIA B200, 10.0"
compiles_for "86;120" "NVIDIA GeForce RTX 3090, 8.6" "NVIDIA GeForce RTX 5090, 12.0"
compiles_for 103 "another, 10.9"              # of a family that it supports
refuses "a GPU of an older kind (Tesla V100-SXM2-16GB, 7.0) than nvcc compiles for (7.5 and later)" \
  "Tesla V100-SXM2-16GB, 7.0"
refuses "need CUDA 12 and cuDNN 9.10 or older" "NVIDIA H200, 9.0" "Quadro P6000, 6.1"

: >known  # an nvcc that does not list architectures
compiles_for 70 "Tesla V100-SXM2-16GB, 7.0"
: >gpus
[[ $(asked) == "75-virtual;80-real;90-real " ]] || fail "no GPU"

# The cuDNN of that toolkit, and versions that are too old.
cat >asks.cmake <<'CMAKE'
include($ENV{PLIMSOLL_SOURCE}/runtime/cuda/toolkit.cmake)
plimsoll_cudnn_version(version ${CMAKE_CURRENT_LIST_DIR})
message("${version}")
set(CMAKE_CUDA_COMPILER nvcc)
set(CMAKE_CUDA_COMPILER_VERSION $ENV{NVCC_VERSION})
plimsoll_check_toolkit(${CMAKE_CURRENT_LIST_DIR})
CMAKE
with_cudnn() {
  printf '#define CUDNN_MAJOR %s\n#define CUDNN_MINOR %s\n#define CUDNN_PATCHLEVEL %s\n' "$@" >cudnn_version.h
}
with_cudnn 9 19 0
[[ $(NVCC_VERSION=12.0.76 asked) == "9.19.0 " ]] || fail "cuDNN 9.19"
told=$(NVCC_VERSION=11.8.89 asked) && fail "CUDA 11.8 is taken"
[[ $told == *"CUDA 12.0 or later is needed"* ]] || fail "$told"
with_cudnn 9 1 0
told=$(NVCC_VERSION=12.4.131 asked) && fail "cuDNN 9.1 is taken"
[[ $told == *"cuDNN 9.1.0: 9.8 or later is needed"* ]] || fail "$told"
