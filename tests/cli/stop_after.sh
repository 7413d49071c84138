# --stop-after writes what --dump writes after a pass, and later passes do not run.
. "$PLIMSOLL_CLI/common.sh"
small_model
options="--batch 8 --budget 80% --costs h200 --effort 0 -q"
without_times() { grep -v '^summary' "$1"; }  # planning takes another time

expect 0 plimsoll plan net.onnx $options -o plan.json --dump dumps
for dump in dumps/*; do
  pass=${dump#dumps/*.} pass=${pass%.*}
  expect 0 plimsoll plan net.onnx $options --stop-after $pass -o stopped
  diff <(without_times $dump) <(without_times stopped) || fail "--stop-after $pass writes another text than --dump"
done
plimsoll plan net.onnx $options --stop-after place 2>/dev/null | cmp - dumps/12.place.plan ||
  fail "stdout has another dump"

# A dump continues to a later stop, and that to the plan.
expect 0 plimsoll plan net.onnx $options --from dumps/02.fuse.network --stop-after order -o order.plan
expect 0 plimsoll plan net.onnx $options --from order.plan --stop-after sync -o sync.plan
cmp sync.plan dumps/14.sync.plan || fail "two stops give another plan"
expect 0 plimsoll plan net.onnx $options --from sync.plan -o again.json
diff <(grep -v planning_seconds plan.json) <(grep -v planning_seconds again.json) ||
  fail "two stops end in another plan"

# Passes after the stop do not run: no costs are opened, and no other dump is written.
expect 0 plimsoll compile net.onnx --batch 8 --costs nowhere.json -q --stop-after fuse -o fuse.network --dump some
cmp fuse.network dumps/02.fuse.network || fail "compile stops with another network"
[[ $(echo some/*) == "some/00.import.network some/01.make_trainable.network some/02.fuse.network" ]] ||
  fail "dumps are $(echo some/*)"
[[ ! -e trainer ]] || fail "a compile that stopped left a trainer"

expect 2 plimsoll plan net.onnx $options --stop-after oder;   says "Did you mean 'order'?"
expect 2 plimsoll plan net.onnx $options --stop-after lunch
says "unknown pass 'lunch'; passes: import, make_trainable"
expect 2 plimsoll plan net.onnx $options --stop-after assign_precision
says "pass 'assign_precision' does not run with these options; those that run are import, make_trainable, fuse, assign"
expect 2 plimsoll plan net.onnx $options --from sync.plan --stop-after place -o never
says "pass 'place' does not run with these options; those that run are prune_waits"
expect 2 plimsoll compile net.onnx --from plan.json --stop-after place -o never; says "--stop-after has no effect"
expect 2 plimsoll plan net.onnx $options --stop-after place --json
expect 2 plimsoll compile net.onnx $options;                  says "-o DIR is required"
[[ ! -e never ]] || fail "a refused stop left a file"
expect 0 plimsoll help plan;                                  says "--stop-after PASS"
says "conv_algorithm"
