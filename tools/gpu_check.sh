#!/usr/bin/env bash
# Shows what only a GPU can show. In two halves, for the machine with the GPU need not have ONNX, Protobuf or LLVM:
#
#   tools/gpu_check.sh prepare [--part N] [--small] [-d DIR]           here: trainers and their inputs, into DIR (under 60 MiB)
#   DIR/gpu_check.sh run [--part N] [--minutes M] [--out O] [--dry-run]  there: builds, runs, compares, for M minutes (9)
#   tools/gpu_check.sh report [-d DIR]                                 results as docs/benchmarks/gpu.json and gpu.md
#
#   1 operators: cuda against the host, every sample; a small network every way; sanitizers
#   2 three iterations against PyTorch; budgets; compute-sanitizer     3 profiles; predicted against measured at five budgets
#   4 throughput against PyTorch                                       5 beyond the card
#
# Images lie as the compiler decides, and in parts 1, 2 and 4 once more in the other layout: each network has a trainer in nchw and one in
# nhwc, beside PyTorch's two memory formats.
#
# A part takes under ten minutes, or goes on where it was when it is run again (exit code 10: time is up); what fails is told and passed
# over, and so is a step that hangs or takes its process with it. Without --part all of them are run, what tells most first and what has
# failed before at last, so that whatever time there is, is spent well. What has passed, and what has been measured, is not done again: for
# that, take it out of DIR/results/part-N.json.
# After each step all results so far are in O/results.tar.gz: unpacked in DIR, they are where a run on another machine goes on, what
# `report` shows, and what `prepare --part 3` and `--part 4` plan with: profiles, and the memory that PyTorch held. A run builds in DIR, and
# of the trainers only those whose results are still to come. --dry-run needs no GPU: it builds all, lists engines for a described device and
# runs PyTorch's twins on the CPU.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

usage() { sed -n '2,/^set -e/{/^set -e/d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"; }
fail() { echo "error: $*" >&2; exit 2; }

command=${1:-}
[[ $# -gt 0 ]] && shift
part="" dir="" dry=() small=() more=()
while [[ $# -gt 0 ]]; do
  case $1 in
    --part) part=${2:?--part needs a number}; shift 2 ;;
    -d) dir=${2:?-d needs a folder}; shift 2 ;;
    --dry-run) dry=(--dry-run); shift ;;
    --minutes | --out) more+=("$1" "${2:?$1 needs a value}"); shift 2 ;;
    --small) small=(--small); shift ;;
    *) fail "unexpected argument '$1'; without arguments it says how it is used" ;;
  esac
done
[[ -z $part || $part =~ ^[1-5]$ ]] || fail "--part is 1 to 5, not '$part'"

case $command in
  prepare)
    build=${PLIMSOLL_BUILD:-$here/../build}
    dir=${dir:-$build/gpu-check}
    /usr/bin/python3 "$here/gpu/prepare.py" --plimsoll "$build/bin/plimsoll" --test-ops "$build/tests/ops/test_ops" \
      --out "$dir" --parts "${part:-1,2,3,4,5}" "${small[@]}"
    cp "$here/gpu_check.sh" "$dir/"
    ;;
  run)
    dir=${dir:-$here}
    [[ -f $dir/index.json ]] || fail "'$dir' was not prepared: run tools/gpu_check.sh prepare on the machine with the compiler"
    python=${PYTHON:-python3}
    "$python" -c 'import importlib.util, sys; sys.exit(not all(map(importlib.util.find_spec, ("torch", "torchvision", "numpy"))))' ||
      fail "$python has no torch, torchvision and numpy; PYTHON says which has"
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
