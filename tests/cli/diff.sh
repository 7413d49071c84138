# Two plans of one network: the changes made by the larger budget.
. "$PLIMSOLL_CLI/common.sh"
plimsoll model resnet:n=3,input=32,width=8,channels=1,classes=10 -o net.onnx 2>/dev/null
for share in 23 35 90; do
  plimsoll plan -q net.onnx --batch 16 --costs k40m --effort 0 --policy auto --budget $share% -o $share.json
done

expect 0 plimsoll diff 35.json 90.json
for part in "budget" "iteration" "→ keep"; do says "$part"; done
[[ $(LC_ALL=C.UTF-8 wc -L <out) -le 100 ]] || fail "a line is longer than 100 characters"
expect 0 plimsoll diff 23.json 90.json; says "on the host → in the arena"
expect 0 plimsoll diff 35.json 35.json; says "no figure, decision or algorithm differs"
plimsoll plan -q net.onnx --batch 16 --optimizer adam --costs k40m --policy liveness -o adam.json
expect 0 plimsoll diff 90.json adam.json
expect 2 plimsoll diff 35.json
expect 3 plimsoll diff 35.json none.json
echo '{}' >empty.json
expect 4 plimsoll diff empty.json 35.json; says "empty.json"
expect 0 plimsoll diff 35.json 90.json --html page.html; says "wrote page.html"
for part in "Two plans of" "After takes" "Decisions that changed" "→ keep"; do
  grep -F "$part" page.html >/dev/null || fail "the page does not say: $part"
done
expect 7 plimsoll diff 35.json 90.json --html none/page.html
