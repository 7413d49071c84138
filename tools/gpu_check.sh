#!/usr/bin/env bash
# Tests and measures what only a GPU can show. It has two halves, because the machine with the GPU need not have ONNX,
# Protobuf or LLVM:
#
#   tools/gpu_check.sh prepare [--part N] [--networks A,B] [--sequences C,D] [--precisions P,Q] [--small] [-d DIR]
#       here: writes trainers and their inputs to DIR (under 60 MiB), of all networks and in all precisions unless some
#       are named
#   DIR/gpu_check.sh run [--part N] [--minutes M] [--out O] [--work W] [--dry-run]
#       there: builds in W, runs and compares, for M minutes (9)
#   tools/gpu_check.sh report [-d DIR]
#       here: writes the results as docs/benchmarks/gpu.json and gpu.md
#
# The parts are:
#
#   1 operators: every sample, cuda compared with the host; a small network in every way; sanitizers
#   2 three iterations compared with PyTorch in fp32, TF32 and bf16, also of a small GPT with the fused operator of
#     attention; budgets; two ranks on one device, where NCCL allows them; compute-sanitizer
#   3 profiles; predicted and measured times at five budgets
#   4 throughput compared with PyTorch in the same precision; Nsight Compute (ncu) on six of the own kernels
#   5 networks beyond the memory of the card
#
# No part runs regions (runs of tasks that go through a round in parts): the compiler has none yet.
#
# Images have the layout that the compiler chooses. Parts 1, 2 and 4 repeat with the other layout: each network has a
# trainer in nchw and one in nhwc, compared with PyTorch's two memory formats.
#
# A part takes under ten minutes, or continues when it is run again (exit code 10: time is up). Failures are reported
# and skipped, and so is a step that hangs or ends its process. Without --part all parts are run: the most informative
# steps first, and the steps that failed before at last, so that limited time is used well. Steps that have passed and
# measurements are not repeated; to repeat one, remove it from DIR/results/part-N.json.
#
# After each step all results so far are in O/results.tar.gz. Unpacked in DIR, they let a run on another machine
# continue. `report` shows them. `prepare --part 3` and `--part 4` plan with them: with the profiles, and with the
# memory that PyTorch used. Profiles are measured before throughput; trainers of part 4 that were planned without them
# come last.
#
# A run builds only the trainers that have no result yet. It builds outside DIR, in W, so DIR can be copied to the
# machine again without losing the builds; the default is a folder in the system's folder for temporary files. `prepare`
# keeps the ONNX files in the build directory. --dry-run needs no GPU: it builds everything, lists engines for a
# described device and runs PyTorch's networks on the CPU. With PLIMSOLL_GPU_CHECK_BUILT=DIR, a build directory of
# Plimsoll, the runtime is linked from there instead of being built. PLIMSOLL_GPU_CHECK_OPTIONS are CMake's options for
# trainers.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)

usage() { sed -n '2,/^set -e/{/^set -e/d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"; }
fail() { echo "error: $*" >&2; exit 2; }

command=${1:-}
[[ $# -gt 0 ]] && shift
part="" dir="" dry=() small=() chosen=() more=()
while [[ $# -gt 0 ]]; do
  case $1 in
    --part) part=${2:?--part needs a number}; shift 2 ;;
    -d) dir=${2:?-d needs a folder}; shift 2 ;;
    --dry-run) dry=(--dry-run); shift ;;
    --networks | --sequences | --precisions) chosen+=("$1" "${2?$1 needs a value}"); shift 2 ;;
    --minutes | --out | --work) more+=("$1" "${2:?$1 needs a value}"); shift 2 ;;
    --small) small=(--small); shift ;;
    *) fail "unexpected argument '$1'; run it without arguments for its usage" ;;
  esac
done
[[ -z $part || $part =~ ^[1-5]$ ]] || fail "--part is 1 to 5, not '$part'"

case $command in
  prepare)
    build=${PLIMSOLL_BUILD:-$here/../build}
    dir=${dir:-$build/gpu-check}
    /usr/bin/python3 "$here/gpu/prepare.py" --plimsoll "$build/bin/plimsoll" --test-ops "$build/tests/ops/test_ops" \
      --out "$dir" --models "$build/gpu-check-models" --parts "${part:-1,2,3,4,5}" "${small[@]}" "${chosen[@]}"
    cp "$here/gpu_check.sh" "$dir/"
    ;;
  run)
    dir=${dir:-$here}
    [[ -f $dir/index.json ]] ||
      fail "'$dir' was not prepared: run tools/gpu_check.sh prepare on the machine with the compiler"
    python=${PYTHON:-python3}
    "$python" -c 'import importlib.util, sys
sys.exit(not all(map(importlib.util.find_spec, ("torch", "torchvision", "numpy"))))' ||
      fail "$python has no torch, torchvision and numpy; set PYTHON to one that has them"
    exec "$python" "$dir/source/tools/gpu/check.py" --dir "$dir" ${part:+--part "$part"} "${dry[@]}" "${more[@]}"
    ;;
  report)
    dir=${dir:-${PLIMSOLL_BUILD:-$here/../build}/gpu-check}
    exec "${PYTHON:-python3}" "$here/gpu/report.py" "$dir/results" "$here/../docs/benchmarks"
    ;;
  *)
    usage
    [[ -z $command || $command == --help ]] || exit 2
    ;;
esac
