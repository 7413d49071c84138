# Four machines with a network between them, each with one rank; torchrun's variables connect them. They train as four
# ranks on one machine do. If a rank is killed, or a cable is pulled, the others end and name it. The machines are
# network namespaces, which root can make if the container permits it.
. "$PLIMSOLL_E2E/ranks.bash"
command -v ip >/dev/null || { echo "skipped: no ip (Debian: iproute2)"; exit 77; }
name=plimsoll-$$
hosts() { seq 0 3; }
clear_up() {
  for host in $(hosts) hub; do ip netns del $name-$host 2>/dev/null || true; done
}
trap clear_up EXIT
{ ip netns add $name-hub && ip -n $name-hub link add bridge type bridge &&
  ip -n $name-hub link set bridge up; } 2>err ||
  { echo "skipped: no network namespaces can be made here: $(head -n 1 err)"; exit 77; }
for host in $(hosts); do
  ip netns add $name-$host
  ip -n $name-$host link add eth type veth peer name port$host netns $name-hub
  ip -n $name-hub link set port$host master bridge up
  ip -n $name-$host addr add 10.77.0.$((host + 1))/24 dev eth
  ip -n $name-$host link set eth up
done

plimsoll model vgg11:input=32,width=16,hidden=64,classes=10 -o net.onnx 2>/dev/null
random_data 52 3 32 10
build_trainer four net.onnx --batch 16 --threads 1 --clip-norm 1 --budget 16MiB --sub-batch 8 --ranks 4
data="--data npy:x.npy,y.npy"
forever="$data --epochs 100000 --quiet --metrics life.jsonl --patience 4"
by_hand 4 four $data --steps 4 --save here.onnx --quiet
ended 0 0 1 2 3

on_host() {
  local host=$1
  shift
  LOCAL_RANK=0 exec ip netns exec $name-$host "$@"
}
before=on_host address=10.77.0.1
by_hand 4 four $data --steps 4 --save there.onnx --quiet
ended 0 0 1 2 3
$python "$PLIMSOLL_E2E/weights.py" here.onnx there.onnx 0 || fail "other weights on four machines"

by_hand 4 four $forever
trains life.jsonl "${pids[0]}"
kill -9 "${pids[2]}"
ended 11 0 1 3
one_says "^error: rank 2 is lost in iteration [0-9]*: its process ended; all others end$" 0 1 3

# A cable of rank 2, and of rank 0: the rank that is cut off ends, too, and reports what it knows.
rm life.jsonl
by_hand 4 four $forever
trains life.jsonl "${pids[0]}"
ip -n $name-hub link set port2 down
ended 11 0 1 2 3
one_says "^error: rank 2 is lost in iteration [0-9]*: nothing was heard from it for 4 s; all others end$" 0 1 3
one_says "^error: rank 0 is lost in iteration [0-9]*: nothing was heard from it for 4 s; all others end$" 2
ip -n $name-hub link set port2 up

rm life.jsonl
by_hand 4 four $forever
trains life.jsonl "${pids[0]}"
ip -n $name-hub link set port0 down
ended 11 0 1 2 3
for rank in 1 2 3; do
  one_says "^error: rank 0 is lost in iteration [0-9]*: nothing was heard from it for 4 s; all others end$" $rank
done
