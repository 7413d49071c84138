# Device and host memory that other processes hold or a library takes. The trainers run on the emulation, which
# simulates other processes (emulation/memory.cpp), with a stand-in for the driver's management library.
. "$(dirname "$0")/emulated.bash"
here=$(cd "$(dirname "$0")" && pwd)
figure() { $python -c 'import json, sys; print(json.load(open(sys.argv[1]))["summary"][sys.argv[2]])' "$@"; }
MiB=$((1 << 20))

plimsoll model resnet18:input=8,stem=cifar,width=4,classes=10 -o net.onnx 2>/dev/null
random_data 16 3 8 10
emulated free net.onnx --batch 8
emulated least net.onnx --batch 8 --budget "$(figure free/plan.json minimum_bytes)"
train() { local directory=$1; shift; "$directory/train" --data npy:x.npy,y.npy --no-shuffle "$@"; }
arena=$(figure free/plan.json arena_bytes) pool=$(figure least/plan.json host_pool_bytes)

# Too little memory is free: the message names the processes that hold the rest, if the management library is present.
mkdir management
${CXX:-g++} -std=c++20 -shared -fPIC -O1 "$here/management/nvml.cpp" -o management/libnvidia-ml.so.1
short=(env PLIMSOLL_EMULATED_MEMORY=$((arena + MiB)) PLIMSOLL_EMULATED_OTHERS=$((2 * MiB)))
expect 6 "${short[@]}" free/train --data npy:x.npy,y.npy
says "the planned arena is "; says "emulated GPU has "; says " free of "
! grep "process" err || fail "somebody is named where nobody is known"
expect 6 "${short[@]}" LD_LIBRARY_PATH="$PWD/management" free/train --data npy:x.npy,y.npy
says "; process 21422 (python3) holds 24136.0 MiB, process 7 (Xorg) holds 12.0 MiB, process 40 holds 1.0 MiB, \
process 41 holds an unknown part, and 2 more hold memory: "
expect 6 "${short[@]}" LD_LIBRARY_PATH="$PWD/management" MANAGEMENT=refuses free/train --data npy:x.npy,y.npy
! grep "process" err || fail "somebody is named though the library refuses"
expect 0 env PLIMSOLL_EMULATED_MEMORY=$((arena + 4 * MiB)) PLIMSOLL_EMULATED_OTHERS=$((2 * MiB)) free/train \
  --data npy:x.npy,y.npy --steps 1

# Another process takes memory between the query of the free memory and the allocation: the message states the memory
# that was free at the allocation.
expect 6 env PLIMSOLL_EMULATED_MEMORY=$((arena + 4 * MiB)) PLIMSOLL_EMULATED_COMES=$((4 * MiB + arena / 2))@0 \
  free/train --data npy:x.npy,y.npy
says "$($python -c 'import sys; print("has %.1f MiB free of %.1f MiB" % tuple(int(n) / 2**20 for n in sys.argv[1:]))' \
  $((arena - arena / 2)) $((arena + 4 * MiB)))"
# Or all remaining memory is taken later. Training has taken what it needs at its start, so it continues, with a short
# last batch and evaluation, to the same bits. A kind of round that was not recorded by then is issued step by step,
# which is reported once.
$python -c 'import numpy as np; [np.save(f + "12.npy", np.load(f + ".npy")[:12]) for f in "xy"]'
later=(--data npy:x12.npy,y12.npy --no-shuffle --epochs 3 --last keep --test npy:x.npy,y.npy)
for directory in free least; do
  expect 0 $directory/train "${later[@]}" --save undisturbed.onnx
  ! grep "one by one" err || fail "a round is not recorded though there is memory"
  for launch in 1 40 300; do
    expect 0 env PLIMSOLL_EMULATED_COMES=$((1 << 40))@$launch $directory/train "${later[@]}" --save late.onnx
    same undisturbed.onnx late.onnx 0
    [[ $launch -eq 300 ]] || says "warning: CUDA graph capture failed (the device has no memory left for its graph"
    says "launching kernels one by one: same results, slower"
    [[ $(grep -c "one by one" err) -le 1 ]] || fail "it is said more than once"
  done
done

# Pinned memory that the system refuses does not affect the plan. Host memory that does not exist does, and is reported
# before any is taken.
expect 8 env PLIMSOLL_EMULATED_PINNED=4096 least/train --data npy:x.npy,y.npy
says "the host pool is "; says "($pool bytes) of pinned memory, which this machine does not give"; says "ulimit -l"
c++ -std=c++20 -shared -fPIC -O1 "$PLIMSOLL_CLI/preload/machine.cpp" -o machine.so -ldl
mkdir -p machine/proc && echo "MemAvailable: 100 kB" > machine/proc/meminfo
expect 6 env MACHINE=machine LD_PRELOAD="$PWD/machine.so" least/train --data npy:x.npy,y.npy
says "error: the pinned host pool of "
says "($pool bytes) is more than the 0.1 MiB (102400 bytes) that this machine has left"
says "--host-budget 102400"
expect 0 env MACHINE=machine LD_PRELOAD="$PWD/machine.so" free/train --data npy:x.npy,y.npy --steps 1

# The memory of libraries beyond the arena has a slack. Above it there is a warning: after the warm-up, or at the end
# for memory taken later.
expect 0 train free --epochs 3
says "device memory besides the arena 0.0 MiB since the start, by libraries and graphs, of a slack of 512.0 MiB"
! grep "warning: .* MiB of device memory" err || fail "a warning where nothing was taken"
expect 0 env PLIMSOLL_EMULATED_LIBRARY=$((600 * MiB))@1 free/train --data npy:x.npy,y.npy --epochs 3
says "warning: 600.0 MiB of device memory are used besides the arena since the start"
says "more than the slack of 512.0 MiB"
expect 0 env PLIMSOLL_EMULATED_LIBRARY=$((600 * MiB))@1 free/train --data npy:x.npy,y.npy --epochs 3 --slack 600
! grep "warning: .* MiB of device memory" err || fail "a warning within the slack"
expect 0 env PLIMSOLL_EMULATED_LIBRARY=$((3 * MiB))@1 free/train --data npy:x.npy,y.npy --steps 1 --slack 2
says "warning: 3.0 MiB of device memory are used besides the arena"
# When steps are issued one by one, an iteration launches the same kernels each time: more than 75, and fewer than 500.
expect 0 env PLIMSOLL_EMULATED_LIBRARY=$((3 * MiB))@1500 free/train --data npy:x.npy,y.npy --epochs 10 \
  --no-graph --slack 2
says "warning: 3.0 MiB of device memory were taken since iteration 3, more than the slack of 2.0 MiB"
! grep "are used besides the arena since the start" err ||
  fail "memory that was taken later is reported as taken since the start"

# With other libraries than those of the plan, and --revalidate: the same algorithms in no more workspace, or nothing
# runs.
cp -r free other && sed -i 's/\(libraries = "[^"]*cudnn \)[0-9.]*/\19.99.0/' other/program.cpp
grep -q 'cudnn 9.99.0' other/program.cpp ||
  { grep -n 'libraries' other/program.cpp >&2; fail "the plan's libraries are not to be found"; }
linked other
expect 0 train other --steps 1 --revalidate
says "revalidated: "
says "kernels as planned with "
says "cudnn 9.99.0, on "
cp -r other larger && sed -i -E -z 's/(k\.add<ConvBackwardWeights[^;]*"default", )[0-9]+/\1-1/' larger/kernels_*.cpp
cmp -s larger/kernels_0.cpp other/kernels_0.cpp && fail "no workspace was changed"
linked larger
expect 8 train larger --steps 1 --revalidate
says "--revalidate: 1 kernel is not available as planned, with "
says "bytes of workspace on this machine, but -1 are planned"
says "without --revalidate other algorithms are taken"
# Without it, an engine that is missing is replaced within the planned memory, and the trainer says so.
cp -r other engine && sed -i -E -z 's/(k\.add<ConvForward[^;]*)"default"/\1"eng34_k2=5"/' engine/kernels_*.cpp
grep -q '"eng34_k2=5"' engine/kernels_*.cpp || fail "no engine was changed"
linked engine
expect 0 train engine --steps 1
says "warning: 1 kernel is not as planned"
says "eng34_k2=5 -> default"
says "; workspaces of what is here are held to the plan"
