#!/usr/bin/env bash
# Installs what Plimsoll needs on a fresh Debian 12 or 13. It does nothing for packages that are installed already.
#   tools/setup.sh                what building, training and the demo need
#   tools/setup.sh build          without the demo's Python packages
#   tools/setup.sh pip            what `build` installs, and Python with virtual environments, for `pip install .`
#   tools/setup.sh package        what `build` installs, and what `cpack -G DEB` finds dependencies with
#   tools/setup.sh test           what building, training, the demo and the tests need
#   tools/setup.sh browser        and Chromium: tests open the pages of `plimsoll inspect --html` in it, and are skipped
#                                 without it
#   tools/setup.sh format         clang-format, which tools/format.sh runs, and nothing else
#   tools/setup.sh python [DIR]   a virtual environment (default build/python) with what Debian does not have:
#                                 onnxruntime and a current PyTorch with its exporter. It takes some gigabytes. Tests
#                                 that compare with them look in build/python and in PLIMSOLL_PYTHON, and are skipped
#                                 without them.
#   tools/setup.sh keras [DIR]    a virtual environment (default build/keras) with what exports Keras models, for the
#                                 tests that compare with Keras. TensorFlow is kept apart from PyTorch.
set -euo pipefail

# install PACKAGES…: installs those Debian packages that are missing.
install() {
  local package missing=() sudo=()
  for package in "$@"; do
    [[ $(dpkg-query -W -f='${Status}' "$package" 2>/dev/null) == *"install ok installed"* ]] || missing+=("$package")
  done
  [[ ${#missing[@]} -gt 0 ]] || return 0
  command -v apt-get >/dev/null ||
    { echo "setup: there is no apt-get here; install by hand what Debian calls ${missing[*]}" >&2; exit 8; }
  if [[ $(id -u) -ne 0 ]]; then
    command -v sudo >/dev/null || { echo "setup: need root (or sudo) to install: ${missing[*]}" >&2; exit 8; }
    sudo=(sudo)
  fi
  echo "setup: installing ${missing[*]}" >&2
  "${sudo[@]}" apt-get update -qq
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install \
    -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

if [[ "${1:-}" == python || "${1:-}" == keras ]]; then
  directory=${2:-"$(dirname "$0")/../build/$1"}
  wanted=(numpy onnx onnxruntime onnxscript torch torchvision scikit-learn scikit-build-core)
  [[ $1 == python ]] || wanted=(numpy onnx tf2onnx keras tensorflow-cpu)
  python3 -c 'import venv, ensurepip' 2>/dev/null || install python3 python3-venv
  [[ -x $directory/bin/pip ]] || python3 -m venv "$directory"
  "$directory/bin/pip" install -q "${wanted[@]}"
  # The tests use its copy of the trace viewer.
  [[ $1 == keras ]] || "$directory/bin/pip" install -q --no-deps torch-tb-profiler
  exit 0
fi

if [[ "${1:-}" == format ]]; then
  install clang-format
  exit 0
fi

# CMake builds with make where no generator is named. The metapackages llvm-dev, clang and libomp-dev bring the
# release's own version of LLVM: 14 in Debian 12, 19 in Debian 13.
packages=(g++ cmake make ninja-build ccache protobuf-compiler libprotobuf-dev nlohmann-json3-dev libfmt-dev libdnnl-dev
          libssl-dev libpng-dev libjpeg-dev libopenmpi-dev openmpi-bin
          llvm-dev zlib1g-dev libzstd-dev libtinfo-dev libmimalloc-dev)
demo=(python3 python3-numpy python3-sklearn)
tests=(catch2 clang git libclang-rt-dev libomp-dev lld python3-torch python3-torchvision python3-onnx)

wanted=("${packages[@]}")
case "${1:-}" in
  "") wanted+=("${demo[@]}") ;;
  build) ;;
  pip) wanted+=(python3 python3-venv) ;;
  package) wanted+=(dpkg-dev file) ;;
  test) wanted+=("${demo[@]}" "${tests[@]}") ;;
  browser) wanted+=("${demo[@]}" "${tests[@]}" chromium libjs-webcomponentsjs-custom-element-v0) ;;
  *) echo "setup: '$1' is no set of packages: build, pip, package, test, browser, format, python, keras" >&2; exit 2 ;;
esac

install "${wanted[@]}"
