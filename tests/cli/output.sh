# Output appears completely or not at all, and never overwrites files that are not ours.
. "$PLIMSOLL_CLI/common.sh"
small_model
compile() { plimsoll compile net.onnx --batch 8 --costs modelled -o "$@" -q; }

expect 0 compile trainer
for file in CMakeLists.txt README.md plan.json manifest.json model.onnx; do
  [[ -s trainer/$file ]] || fail "trainer/$file is missing"
done
expect 0 compile trainer                       # ours, so it is overwritten
cp -r trainer before
expect 0 compile trainer
diff -r -x plan.json -x manifest.json before trainer || fail "the same input gave another program"

mkdir theirs && echo precious > theirs/thesis.tex
expect 7 compile theirs;                       says "not made by plimsoll"
[[ $(cat theirs/thesis.tex) == precious ]] || fail "somebody's file was touched"
expect 7 compile no/such/place
expect 7 plimsoll plan net.onnx --batch 8 -q -o no/such/plan.json; says "cannot write no/such/plan.json: No such"
echo file > occupied
expect 7 compile occupied
expect 7 plimsoll plan net.onnx --batch 8 -o /dev/full -q
for told in "--help" "--version" "plan --help" "model --list" operators doctor "man" "completion bash" \
    "inspect net.onnx" "inspect trainer"; do
  expect 7 bash -c "plimsoll $told >/dev/full"; says "cannot write to standard output: No space left on device"
done
expect 7 plimsoll plan net.onnx --batch 8 -o no/such/plan.json -q
flock busy.lock sleep 20 >/dev/null 2>&1 & holder=$!
sleep 0.3
expect 7 compile busy;                         says "right now"
kill $holder 2>/dev/null || true
left_behind() { find . -name '*.tmp-*' -o -name '.*.plimsoll*'; }
[[ -z $(left_behind) ]] || fail "temporary files are left behind: $(left_behind)"

# Ctrl-C while a directory is written leaves nothing, or all of it, never a part.
plimsoll model vgg11:input=32,width=64,hidden=512,classes=10 -o large.onnx 2>/dev/null
for turn in 1 2; do
  plimsoll compile large.onnx --batch 2 --policy liveness --costs modelled -o cut -q & child=$!
  while [[ ! -e cut.lock ]] && kill -0 $child 2>/dev/null; do :; done
  kill -TERM $child 2>/dev/null || true
  code=0; wait $child || code=$?
  [[ $code -eq 143 || $code -eq 0 ]] || fail "exit $code when it was ended"
  [[ -z $(left_behind) ]] || fail "ended while it wrote, it left $(left_behind)"
  [[ ! -e cut ]] || { plimsoll verify cut >/dev/null; rm -r cut; }
done

# A full disk while the model or later files are written: exit 7, and nothing is left there.
if unshare -m true 2>/dev/null; then
  mkdir disk
  model=$(stat -c %s trainer/model.onnx)
  for bytes in $((model / 2)) $((model + 65536)) 4096; do
    expect 7 unshare -m bash -c "mount -t tmpfs -o size=$bytes none disk && { code=0
      plimsoll compile net.onnx --batch 8 --costs modelled -o disk/trainer -q || code=\$?
      ls -A disk >left; exit \$code; }"
    says "No space left"
    [[ ! -s left ]] || fail "on a full disk it left $(cat left)"
  done
  expect 7 unshare -m bash -c "mount -t tmpfs -o size=4096 none disk && { code=0
    plimsoll plan net.onnx --batch 8 -o disk/plan.json -q || code=\$?; ls -A disk >left; exit \$code; }"
  [[ ! -s left ]] || fail "on a full disk plan left $(cat left)"
else
  echo "no file system of a few kilobytes to be had here: its part is left out"
fi

# The compiler is killed before every call that changes a directory. There is no trainer or a complete one. If there was
# one before, there is the old or the new one. The next compilation removes leftovers.
c++ -std=c++20 -shared -fPIC -O1 "$PLIMSOLL_CLI/preload/die.cpp" -o die.so -ldl
whole() { (cd "$1" && /usr/bin/python3 -c '
import hashlib, json
for name, sum in json.load(open("manifest.json"))["files"].items():
    assert hashlib.sha256(open(name, "rb").read()).hexdigest() == sum, name
') || fail "killed at call $call, $1 is not whole"; }
quick() { compile "$1" --policy liveness; }
quick killed
mkdir killed/build && echo made >killed/build/train
mkdir killed.old-1 killed.tmp-2 && printf 1 >killed.old-1/mine && printf 2 >killed.tmp-2/mine
left_behind() { find . -name '*.tmp-*' ! -name killed.tmp-2 -o -name '.*.plimsoll*'; }
for what in new killed; do
  for ((call = 1; ; ++call)); do
    code=0
    LD_PRELOAD=$PWD/die.so DIE_FROM=$what.lock DIE_AT=$call quick $what 2>/dev/null || code=$?
    [[ $code -eq 137 || $code -eq 0 ]] || fail "exit $code when it was killed at call $call"
    [[ $what != killed || -d killed ]] || fail "killed at call $call, there is no trainer where one was"
    [[ ! -e $what ]] || whole $what
    [[ $code -ne 0 ]] || break
    [[ $what == killed ]] || rm -rf new
  done
  [[ $call -gt 20 ]] || fail "$what was written with $call calls"
  [[ -z $(left_behind) && ! -e $what.lock ]] || fail "left behind: $(ls -A)"
done
[[ $(cat killed/build/train) == made ]] || fail "killed now and then, it lost the build tree"
[[ $(cat killed.old-1/mine killed.tmp-2/mine) == "12" ]] || fail "somebody's directory of a name like ours is gone"

# The same for a file: none or a complete one, the old or the new one. If the file system permits files without names,
# nothing is left of the killed process; otherwise the next process that writes the file removes it.
mkdir kept && echo precious >kept/.file.plimsoll-mine
beside() { find kept -name '.file.*' ! -name '*-mine'; }
plimsoll plan net.onnx --batch 8 --policy liveness --costs modelled -q -o drawn.json
undisturbed_profiler  # so that a second profile has the times of the first
for how in "model lenet -o" "export trainer -o" "plan net.onnx --batch 8 --policy liveness --costs modelled -q -o" \
           "profile net.onnx --batch 8 --threads 1 -q -o" "inspect drawn.json --html"; do
  plimsoll $how good 2>/dev/null
  for named in "" 1; do
    for before in "" before; do
      for ((call = 1; ; ++call)); do
        rm -f kept/file && [[ -z $before ]] || echo $before >kept/file
        code=0
        env ${named:+NAMED=1} LD_PRELOAD=$PWD/die.so DIE_FROM=kept DIE_EVERY=1 DIE_AT=$call plimsoll $how kept/file \
          2>/dev/null || code=$?
        [[ $code -eq 137 || $code -eq 0 ]] || fail "exit $code when $how was killed at call $call"
        [[ $code -ne 0 ]] || break
        [[ $(beside | wc -l) -le 1 ]] || fail "killed at call $call, $how left $(beside)"
        [[ -n $named$before || -z $(beside) ]] || fail "killed at call $call, $how left $(beside)"
        [[ $(cat kept/file 2>/dev/null) == "$before" ]] || fail "killed at call $call, $how left a piece of a file"
      done
      [[ $call -gt 3 ]] || fail "$how wrote with $call calls"
      [[ -z $(beside) ]] || fail "$how left $(beside)"
      if [[ $how == plan* ]]; then plimsoll verify kept/file >/dev/null; else cmp good kept/file; fi ||
          fail "$how wrote another file"
    done
  done
done
# A model with external weights replaces another such model: either the old one with its weights, or the new one with
# its own.
mkdir pairs
pair() { # the model, by the sum of its own text and of the weights that it names
  local name
  name=$(grep -aom1 'net\.onnx\.data\|[0-9a-f]\{16\}\.weights' pairs/net.onnx | head -n 1)
  { sed 's/net\.onnx\.data/weights/g; s/[0-9a-f]\{16\}\.weights/weights/g' pairs/net.onnx; cat "pairs/$name"; } |
    sha256sum
}
plimsoll model lenet:init=zeros -o pairs/net.onnx 2>/dev/null && ten=$(pair)
plimsoll model lenet:init=zeros,classes=100 -o pairs/net.onnx 2>/dev/null && hundred=$(pair)
[[ $ten != "$hundred" ]] || fail "two models are one"
for ((call = 1; ; ++call)); do
  rm pairs/* && plimsoll model lenet:init=zeros -o pairs/net.onnx 2>/dev/null
  code=0
  LD_PRELOAD=$PWD/die.so DIE_FROM=pairs DIE_EVERY=1 DIE_AT=$call plimsoll model lenet:init=zeros,classes=100 \
    -o pairs/net.onnx 2>/dev/null || code=$?
  [[ $code -eq 137 || $code -eq 0 ]] || fail "exit $code when it was killed at call $call"
  is=$(pair)
  [[ $is == "$ten" || $is == "$hundred" ]] ||
    fail "killed at call $call, it left a model with weights that are not its own"
  [[ $code -ne 0 ]] || break
  plimsoll model lenet:init=zeros -o pairs/net.onnx 2>/dev/null
  plimsoll model lenet:init=zeros,classes=100 -o pairs/net.onnx 2>/dev/null
  [[ $(pair) == "$hundred" && $(ls -A pairs | wc -l) -eq 2 ]] ||
    fail "behind a kill at call $call there is $(ls -A pairs)"
done
[[ $call -gt 6 && $is == "$hundred" && $(ls -A pairs | wc -l) -eq 2 ]] || fail "with $call calls it left $(ls -A pairs)"
[[ $(cat kept/.file.plimsoll-mine) == precious ]] || fail "somebody's file of a name like ours is gone"
for how in "model lenet -o" "export trainer -o"; do
  mkfifo pipe 2>/dev/null || true
  expect 7 plimsoll $how pipe;                 says "it exists and is not a file"
  [[ -p pipe ]] || fail "$how replaced a pipe by a file"
done
