# --loss-form auto, the default: the planner takes the form of the loss that is faster within the budget.
. "$PLIMSOLL_CLI/common.sh"
plimsoll model gpt:layers=1,heads=2,width=32,context=128,vocab=4096 -o gpt.onnx 2>/dev/null
small_model
options="--batch 4 --costs modelled --effort 0 --threads 2 --host-budget 0 -q"
figure() { grep -o "\"$2\":[^,}]*" "$1" | head -1 | cut -d: -f2 | tr -d ' '; }
same_plan() { diff <(grep -v '"planning_seconds"' "$1") <(grep -v '"planning_seconds"' "$2") >/dev/null; }

# Without a limit the logits are a tensor, and the plan is the one that it would be without the choice.
expect 0 plimsoll plan gpt.onnx $options -o auto.json
expect 0 plimsoll plan gpt.onnx $options --loss-form plain -o plain.json
! grep -q loss_form auto.json || fail "the fused form is taken without need"
[[ $(figure auto.json iteration_seconds) == $(figure plain.json iteration_seconds) ]] || fail "another plan"
[[ $(figure auto.json arena_bytes) == $(figure plain.json arena_bytes) ]] || fail "another plan"

# Within no budget is it slower than either form alone. Where the plain form does not fit, the fused one says so.
least=$(figure auto.json minimum_bytes) most=$(figure auto.json unconstrained_bytes)
[[ $least -lt $(figure plain.json minimum_bytes) ]] || fail "the fused form needs no less memory"
for part in 0 30 70; do
  budget=$((least + (most - least) * part / 100))
  for form in plain fused auto; do
    rm -f $form.json
    code=0
    plimsoll plan gpt.onnx $options --budget $budget --loss-form $form -o $form.json 2>err || code=$?
    [[ $code == 0 || $code == 6 ]] || { cat err; fail "a plan of the form $form ends with $code"; }
  done
  [[ -e auto.json ]] || fail "no plan within $budget"
  for form in plain fused; do
    [[ -e $form.json ]] || continue
    /usr/bin/env python3 -c 'import sys; sys.exit(not float(sys.argv[1]) <= float(sys.argv[2]))' \
      "$(figure auto.json iteration_seconds)" "$(figure $form.json iteration_seconds)" ||
      fail "auto is slower than $form within $budget"
  done
done
expect 0 plimsoll plan gpt.onnx ${options% -q} --budget $least -o auto.json
says "loss_form fused: plain needs at least "
expect 0 plimsoll inspect auto.json
says "loss_form fused: plain needs at least "

# A finished plan says its form, so its trainer needs no flag; nor does another plan of the same algorithms. The dumps
# are of that form.
expect 0 plimsoll compile gpt.onnx --threads 2 --from auto.json -o trainer
expect 0 plimsoll plan gpt.onnx $options --algorithms-of auto.json -o again.json
grep -q LinearCrossEntropy again.json || fail "another form than that of the given plan"
expect 0 plimsoll plan gpt.onnx $options --budget $least -o auto.json --dump dumps
grep -q '^network .* loss_form=fused' dumps/02.fuse.network || fail "another form is dumped"
for dump in dumps/{01,06}.*; do
  expect 0 plimsoll plan gpt.onnx $options --budget $least --from "$dump" -o again.json
  same_plan auto.json again.json || fail "$dump ends in another plan"
done
bf16="--precision bf16 --loss-form fused"
expect 0 plimsoll plan gpt.onnx $options $bf16 --stop-after assign_precision -o bf16.network
grep -q 'LinearCrossEntropyLoss.* factors_in_bf16' bf16.network || fail "the factors are not in bf16"
expect 0 plimsoll plan gpt.onnx $options $bf16 --from bf16.network -o bf16.json

# A network without such a loss is planned as before, and a request for the fused form is answered.
for form in plain fused auto; do
  expect 0 plimsoll plan net.onnx $options --budget 100% --loss-form $form -o $form.json
  same_plan plain.json $form.json || fail "--loss-form $form gives net another plan"
done
expect 0 plimsoll plan net.onnx ${options% -q} --loss-form fused -o fused.json
says "--loss-form fused changes nothing"

# A profile is of the tasks of both forms.
expect 0 plimsoll profile gpt.onnx --batch 4 --threads 2 --tasks-only -o tasks.json
grep -q '"LinearCrossEntropy"' tasks.json && grep -q '"SoftmaxCrossEntropy"' tasks.json || fail "a form is not measured"
