# A rank that is killed, stopped or makes no progress ends all others, which name it, and no process is left behind. A
# rank that is slow, or stopped for less than the others' timeout, is not lost.
. "$PLIMSOLL_E2E/ranks.bash"
plimsoll model vgg11:input=32,width=16,hidden=64,classes=10 -o net.onnx 2>/dev/null
random_data 52 3 32 10
build_trainer two net.onnx --batch 16 --threads 1 --clip-norm 1 --budget 16MiB --sub-batch 8 --ranks 2
build_trainer four net.onnx --batch 16 --threads 1 --clip-norm 1 --budget 16MiB --sub-batch 8 --ranks 4
c++ -shared -fPIC -O1 "$PLIMSOLL_E2E/preload/hang.cpp" -o hang.so -ldl
data="--data npy:x.npy,y.npy"
forever="$data --epochs 100000 --quiet --metrics life.jsonl"

# Killed. A shell between mpirun and the rank keeps mpirun from ending the others.
mpirun -np 2 bash -c "two/build/train $forever & echo \$! >pid.\$OMPI_COMM_WORLD_RANK
                      wait \$!; echo \$? >code.\$OMPI_COMM_WORLD_RANK" >out 2>err & all=$!
trains life.jsonl $all
kill -9 $(cat pid.1)
wait $all || true
says "error: rank 1 is lost in iteration"
[[ $(cat code.0) -eq 11 ]] || fail "rank 0 ended with $(cat code.0)"

# One of four that is stopped is as silent as a rank whose machine failed. When it continues it is alone, and ends.
for signal in STOP KILL; do
  rm -f life.jsonl
  by_hand 4 four $forever --patience 4
  trains life.jsonl "${pids[0]}"
  kill -$signal "${pids[2]}"
  ended 11 0 1 3
  how="its process ended"
  if [[ $signal == STOP ]]; then
    how="nothing was heard from it for 4 s"
    kill -CONT "${pids[2]}"
    ! wait "${pids[2]}" || fail "a rank that was stopped goes on alone"
  fi
  one_says "^error: rank 2 is lost in iteration [0-9]*: $how; all others end$" 0 1 3
done

# No progress inside a kernel, or while reading samples, with a lifeline that still reports: the rank is lost, and ends
# itself.
hanging() {
  local rank=$1
  shift
  exec env LD_PRELOAD="$PWD/hang.so" HANG="hang.$rank" "$@"
}
before=hanging
for where in kernel:2 read:3 kernel:0; do
  export HANG_IN=${where%:*}
  rank=${where#*:}
  rm -f life.jsonl
  by_hand 4 four $forever --patience 4
  trains life.jsonl "${pids[0]}"
  touch hang.$rank
  ended 11 0 1 2 3
  rm hang.$rank
  why="it is alive, but made no progress for 4 s"
  one_says "^error: rank $rank is lost in iteration [0-9]*: $why; all others end$" 0 1 2 3
done

# A short pause ends nothing, and an evaluation of many steps may take longer than the timeout.
rm -f life.jsonl
HANG_IN=kernel by_hand 2 two $forever --patience 30
trains life.jsonl "${pids[0]}"
touch hang.1
sleep 2
rm hang.1
lines=$(wc -l <life.jsonl)
while [[ $(wc -l <life.jsonl) -lt $((lines + 3)) ]]; do
  kill -0 "${pids[0]}" || { cat err.*; fail "a moment ended it"; }; sleep 0.05
done
kill -TERM "${pids[1]}"
ended 143 0 1
SLOW=15 by_hand 2 two $data --test npy:x.npy,y.npy --steps 2 --eval-every 1 --patience 2
ended 0 0 1
grep -q "test accuracy" out.0 || { cat out.0; fail "it did not evaluate"; }

# A slow disk ends nothing either: a checkpoint is synced in pieces, and each piece counts as progress. If every piece
# takes longer than the timeout, the rank is lost.
plimsoll model vgg11:input=32,width=16,hidden=3000,classes=10 -o wide.onnx 2>/dev/null
build_trainer wide wide.onnx --batch 16 --threads 1 --ranks 2 --policy liveness
SLOW_SYNC=1500 by_hand 2 wide $data --steps 1 --checkpoint ck --patience 4
ended 0 0 1
[[ $(stat -c %s ck/ckpt-000000001/weights.safetensors) -gt $((32 << 20)) ]] ||
  fail "the checkpoint is of less than three pieces"
SLOW_SYNC=9000 by_hand 2 wide $data --steps 1 --checkpoint late --patience 3
ended 11 0 1
one_says "^error: rank 0 is lost .*: it is alive, but made no progress for 3 s; all others end$" 0 1
[[ -z $(ls late 2>/dev/null | grep '^ckpt-') ]] || fail "a checkpoint that was not finished is there"
