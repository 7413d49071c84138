#!/usr/bin/env bash
# Builds a Debian package of the compiler, its profiler and the runtime library of --target host. Prints its path.
#   tools/package.sh [PROCESSOR]
#     PROCESSOR   what the runtime library is compiled for, as -march names it. Default: x86-64-v3 (AVX2 and FMA), and
#                 armv8-a on ARM. native: the processor of this machine. Trainers that build the runtime sources they
#                 carry are compiled for the machine that builds them, whatever the package was built for.
# The package depends on the libraries of the Debian release that it is built on, so build it on the release it is for.
# The CUDA runtime is not part of it: NVIDIA's libraries are no Debian packages. `cmake --install` installs that.
set -euo pipefail
cd "$(dirname "$0")/.."

case "${1:-}" in
  --help | -h) sed -n '2,/^set -e/{/^set -e/d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
  -*) echo "package: there is no option '$1'" >&2; exit 2 ;;
esac
processor=${1:-}
if [[ -z $processor ]]; then
  case "$(uname -m)" in
    x86_64) processor=x86-64-v3 ;;
    aarch64) processor=armv8-a ;;
    *) processor=native ;;
  esac
fi

tools/setup.sh package >&2
build=build/package
# NOTFOUND: a CUDA toolkit on this machine does not become part of the package.
cmake -S . -B "$build" -G Ninja -DBUILD_TESTING=OFF -DPLIMSOLL_BATCH=256 -DPLIMSOLL_PROCESSOR="$processor" \
  -DCMAKE_CUDA_COMPILER=NOTFOUND >/dev/null
cmake --build "$build" -j "$(nproc)" --target plimsoll_installed >&2
rm -f "$build"/*.deb
(cd "$build" && cpack -G DEB) >&2
ls "$PWD/$build"/*.deb
