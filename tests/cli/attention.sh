# --attention auto, the default: the planner takes the form of attention that is faster within the budget.
. "$PLIMSOLL_CLI/common.sh"
plimsoll model gpt:layers=2,heads=2,width=32,context=256,vocab=64 -o long.onnx 2>/dev/null
plimsoll model gpt:layers=1,heads=2,width=32,context=48,vocab=64 -o short.onnx 2>/dev/null
small_model
options="--batch 4 --costs modelled --effort 0 --threads 2 -q"
figure() { grep -o "\"$2\":[^,}]*" "$1" | head -1 | cut -d: -f2 | tr -d ' '; }
same_plan() { diff <(grep -v '"planning_seconds"' "$1") <(grep -v '"planning_seconds"' "$2") >/dev/null; }

# A long sequence takes the fused form without being asked, and says why in the first lines of the report.
expect 0 plimsoll plan long.onnx ${options% -q} -o auto.json
says "attention fused: faster within this budget (unlimited: fused "
expect 0 plimsoll inspect auto.json
says "attention fused: faster within this budget"
grep -q ScaledDotProductAttention auto.json || fail "the plan is not of the fused form"

# Within no budget is it slower than either form alone, and it has a plan wherever one of them has.
most=$(figure auto.json unconstrained_bytes) least=$(figure auto.json minimum_bytes)
for part in 0 10 40 100; do
  budget=$((least + (most - least) * part / 100))
  for form in spelled fused auto; do
    rm -f $form.json
    code=0
    plimsoll plan long.onnx $options --budget $budget --attention $form -o $form.json 2>err || code=$?
    [[ $code == 0 || $code == 6 ]] || { cat err; fail "a plan of the form $form ends with $code"; }
  done
  [[ -e auto.json ]] || fail "no plan within $budget"
  for form in spelled fused; do
    [[ -e $form.json ]] || continue
    /usr/bin/env python3 -c 'import sys; sys.exit(not float(sys.argv[1]) <= float(sys.argv[2]))' \
      "$(figure auto.json iteration_seconds)" "$(figure $form.json iteration_seconds)" ||
      fail "auto is slower than $form within $budget"
  done
done

# Neither a network without attention nor one whose sequences are short is planned twice, nor in another way.
for model in net short; do
  for form in spelled fused auto; do
    expect 0 plimsoll plan $model.onnx $options --budget 70% --attention $form -o $form.json
    same_plan spelled.json $form.json || fail "--attention $form gives $model another plan"
  done
  ! grep -q '"attention"' auto.json || fail "$model has no choice"
done

# The policies of the literature plan what the model spells out.
expect 0 plimsoll plan long.onnx $options --policy vdnn-dyn --attention spelled -o spelled.json
expect 0 plimsoll plan long.onnx $options --policy vdnn-dyn -o auto.json
same_plan <(sed 's/,"attention":"spelled"//' auto.json) spelled.json || fail "a policy's numbers have changed"

# The dumps are of the form that was taken; planning continues from each with that form.
expect 0 plimsoll plan long.onnx $options --budget 60% -o auto.json --dump dumps
grep -q '^network .* attention=fused' dumps/02.fuse.network || fail "another form is dumped"
grep -q ScaledDotProductAttention dumps/04.build_task_graph.tasks || fail "the tasks are of another form"
expect 0 plimsoll plan long.onnx $options --budget 60% --stop-after fuse -o stopped.network
cmp stopped.network dumps/02.fuse.network || fail "--stop-after fuse has another form than --dump"
for dump in dumps/{01,06,12}.*; do
  expect 0 plimsoll plan long.onnx $options --budget 60% --from "$dump" -o again.json
  same_plan auto.json again.json || fail "$dump ends in another plan"
done
expect 0 plimsoll plan $options --budget "$(figure auto.json budget_bytes)" --from dumps/04.build_task_graph.tasks \
  -o again.json
[[ $(figure again.json iteration_seconds) == $(figure auto.json iteration_seconds) ]] || fail "the tasks plan otherwise"

# A finished plan says its form, so its trainer needs no flag; nor does another plan of the same algorithms.
for form in spelled fused; do
  expect 0 plimsoll plan long.onnx $options --attention $form -o $form.json
  expect 0 plimsoll compile long.onnx --threads 2 --from $form.json -o trainer
  expect 0 plimsoll plan long.onnx $options --budget 90% --algorithms-of $form.json -o again.json
  [[ $(grep -c ScaledDot again.json) -eq $(grep -c ScaledDot $form.json) ]] || fail "another form than $form.json's"
done

# A profile is of the tasks of both forms.
expect 0 plimsoll profile long.onnx --batch 4 --threads 2 --tasks-only -o tasks.json
grep -q Attention tasks.json && grep -q Softmax tasks.json || fail "a form is not measured"

# The commands that make several plans choose for each.
expect 0 plimsoll frontier long.onnx $options --csv
expect 0 plimsoll compare long.onnx $options --budget 60% --csv
awk -F, '$2 == "auto" { time = $10 } END { exit time == "" }' out || fail "compare has no row of auto"
expect 0 plimsoll diff spelled.json fused.json
