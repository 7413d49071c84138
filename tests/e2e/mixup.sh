# --mixup and --cutmix with soft labels: a model that computes F.cross_entropy(scores, probabilities) itself gets one-hot
# labels, and is then trained as PyTorch trains it on the mixed samples and labels; in rounds, too.
. "$PLIMSOLL_E2E/trainer.bash"
with_torch=$(python_with torch onnx numpy)
[[ -n $with_torch ]] || { echo "skipped: no Python here has PyTorch and onnx"; exit 77; }
export PYTHONDONTWRITEBYTECODE=1
"$with_torch" "$PLIMSOLL_E2E/mixup.py" export >log 2>&1 || { cat log; fail "the exporter"; }
build_trainer whole soft.onnx --batch 8 --loss output --optimizer sgd
build_trainer rounds soft.onnx --batch 8 --sub-batch 3 --loss output --optimizer sgd
run="--data npy:x.npy,y.npy --no-shuffle --seed 3 --lr 0.5"
for trainer in whole rounds; do
  for alphas in "1 0" "0 1" "0.4 0.7"; do
    read -r mixup cutmix <<<"$alphas"
    expect 0 $trainer/build/train $run --mixup $mixup --cutmix $cutmix --workers 2 --save trained.onnx
    "$with_torch" "$PLIMSOLL_E2E/mixup.py" check trained.onnx $mixup $cutmix || fail "$trainer: not as PyTorch with mixup $mixup, cutmix $cutmix"
  done
done
