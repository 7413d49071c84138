# Output appears whole or not at all, and never on top of what is not ours.
. "$PLIMSOLL_CLI/common.sh"
small_model
compile() { plimsoll compile net.onnx --batch 8 -o "$@" -q; }

expect 0 compile trainer
for file in CMakeLists.txt README.md plan.json manifest.json model.onnx; do
  [[ -s trainer/$file ]] || fail "trainer/$file is missing"
done
expect 0 compile trainer                       # ours: written again
cp -r trainer before
expect 0 compile trainer
diff -r -x plan.json -x manifest.json before trainer || fail "the same input gave another program"

mkdir theirs && echo precious > theirs/thesis.tex
expect 7 compile theirs;                       says "not made by plimsoll"
[[ $(cat theirs/thesis.tex) == precious ]] || fail "somebody's file was touched"
expect 7 compile no/such/place
echo file > occupied
expect 7 compile occupied
expect 7 plimsoll plan net.onnx --batch 8 -o /dev/full -q
expect 7 plimsoll plan net.onnx --batch 8 -o no/such/plan.json -q
flock busy.lock sleep 20 >/dev/null 2>&1 & holder=$!
sleep 0.3
expect 7 compile busy;                         says "right now"
kill $holder 2>/dev/null || true
[[ -z $(find . -name '*.tmp-*' -o -name '*.old-*') ]] || fail "temporary files are left behind"

# Ctrl-C while a directory is written leaves nothing, or all of it; never a part.
plimsoll model vgg11:input=32,width=64,hidden=512,classes=10 -o large.onnx 2>/dev/null
for turn in 1 2; do
  plimsoll compile large.onnx --batch 2 --policy liveness --costs modelled -o cut -q & child=$!
  while [[ ! -e cut.lock ]] && kill -0 $child 2>/dev/null; do :; done
  kill -TERM $child 2>/dev/null || true
  code=0; wait $child || code=$?
  [[ $code -eq 143 || $code -eq 0 ]] || fail "exit $code when it was ended"
  [[ -z $(find . -name '*.tmp-*' -o -name '*.old-*') ]] || fail "ended while it wrote, it left $(find . -name '*.tmp-*')"
  [[ ! -e cut ]] || { plimsoll verify cut >/dev/null; rm -r cut; }
done
