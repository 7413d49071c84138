#!/usr/bin/env bash
# Installs what Plimsoll needs on a fresh Debian 12 or 13. `tools/setup.sh` is enough to build and to train;
# `tools/setup.sh test` adds what only the tests use, `tools/setup.sh browser` also Chromium, in which the tests open the pages
# of `plimsoll inspect --html` (without it they are skipped). `tools/setup.sh python [DIR]` makes a virtual environment (in
# build/python) of what Debian does not have: onnxruntime, a current PyTorch with its exporter; some gigabytes. Tests that
# look into them find it there, or where PLIMSOLL_PYTHON says. Does nothing for what is there already.
set -euo pipefail

# install PACKAGES…: those of Debian that are not there.
install() {
  local package missing=() sudo=()
  for package in "$@"; do
    [[ $(dpkg-query -W -f='${Status}' "$package" 2>/dev/null) == *"install ok installed"* ]] || missing+=("$package")
  done
  [[ ${#missing[@]} -gt 0 ]] || return 0
  command -v apt-get >/dev/null || { echo "setup: no apt-get here; install by hand what Debian calls ${missing[*]}" >&2; exit 8; }
  if [[ $(id -u) -ne 0 ]]; then
    command -v sudo >/dev/null || { echo "setup: need root (or sudo) to install: ${missing[*]}" >&2; exit 8; }
    sudo=(sudo)
  fi
  echo "setup: installing ${missing[*]}" >&2
  "${sudo[@]}" apt-get update -qq
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

if [[ "${1:-}" == python ]]; then
  directory=${2:-"$(dirname "$0")/../build/python"}
  wanted=(numpy onnx onnxruntime onnxscript torch torchvision scikit-learn)
  python3 -c 'import venv, ensurepip' 2>/dev/null || install python3 python3-venv
  [[ -x $directory/bin/pip ]] || python3 -m venv "$directory"
  "$directory/bin/pip" install -q "${wanted[@]}"
  # For its copy of the trace viewer alone.
  "$directory/bin/pip" install -q --no-deps torch-tb-profiler
  exit 0
fi

# make: what CMake builds with where nobody says -G. LLVM, clang and OpenMP for it in the release's own version: 14 in Debian 12, 19 in 13.
packages=(g++ cmake make ninja-build ccache protobuf-compiler libprotobuf-dev nlohmann-json3-dev libfmt-dev libdnnl-dev
          libssl-dev libpng-dev libjpeg62-turbo-dev libopenmpi-dev openmpi-bin
          llvm-dev zlib1g-dev libzstd-dev libtinfo-dev)
demo=(python3 python3-numpy python3-sklearn)
tests=(catch2 clang libomp-dev python3-torch python3-torchvision python3-onnx)

wanted=("${packages[@]}" "${demo[@]}")
[[ "${1:-}" == test || "${1:-}" == browser ]] && wanted+=("${tests[@]}")
[[ "${1:-}" == browser ]] && wanted+=(chromium libjs-webcomponentsjs-custom-element-v0)

install "${wanted[@]}"
