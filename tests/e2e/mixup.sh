# --mixup and --cutmix with exact labels train as PyTorch does on the mixed samples and labels, in rounds, too: for a
# model that computes F.cross_entropy(scores, probabilities) itself and gets one-hot labels, and for class labels with
# --mixed-labels, with class weights, smoothing and ignored labels.
. "$PLIMSOLL_E2E/trainer.bash"
with_torch=$(python_with torch onnx numpy)
[[ -n $with_torch ]] || { echo "skipped: no Python here has PyTorch and onnx"; exit 77; }
export PYTHONDONTWRITEBYTECODE=1
preload with_torch torch onnx
"$with_torch" "$PLIMSOLL_E2E/mixup.py" export >log 2>&1 || { cat log; fail "the exporter"; }
build_trainer whole soft.onnx --batch 8 --loss output --optimizer sgd
build_trainer rounds soft.onnx --batch 8 --sub-batch 3 --loss output --optimizer sgd
run="--data npy:x.npy,y.npy --no-shuffle --seed 3 --lr 0.5"
for trainer in whole rounds; do
  for alphas in "1 0" "0 1" "0.4 0.7"; do
    read -r mixup cutmix <<<"$alphas"
    expect 0 $trainer/build/train $run --mixup $mixup --cutmix $cutmix --workers 2 --save trained.onnx
    "$with_torch" "$PLIMSOLL_E2E/mixup.py" check trained.onnx $mixup $cutmix ||
      fail "$trainer: not as PyTorch with mixup $mixup, cutmix $cutmix"
  done
done

# Class labels.
mixed="scores.onnx --batch 8 --mixed-labels --optimizer sgd"
weights=0.5,2,1,3
build_trainer plain $mixed
build_trainer weighed $mixed --sub-batch 3 --class-weights $weights --label-smoothing 0.1
for alphas in "1 0" "0 1"; do
  read -r mixup cutmix <<<"$alphas"
  for case in "plain classes 1,1,1,1 0" "plain holes 1,1,1,1 0" "weighed classes $weights 0.1" \
      "weighed holes $weights 0.1"; do
    read -r trainer labels of_classes smoothing <<<"$case"
    expect 0 $trainer/build/train --data npy:x.npy,$labels.npy --no-shuffle --seed 3 --lr 0.5 --workers 2 \
      --mixup $mixup --cutmix $cutmix --save trained.onnx --metrics metrics.jsonl
    ! grep -q "labels drawn" out err || fail "labels are drawn"
    "$with_torch" "$PLIMSOLL_E2E/mixup.py" check trained.onnx $mixup $cutmix $labels.npy metrics.jsonl $of_classes \
      $smoothing || fail "$case: not as PyTorch with mixup $mixup, cutmix $cutmix"
    rm metrics.jsonl
  done
done

# Without mixing, the loss is that of one label, in evaluations and in training.
build_trainer single scores.onnx --batch 8 --optimizer sgd --class-weights $weights --label-smoothing 0.1
for trainer in single weighed; do
  expect 0 $trainer/build/train --data npy:x.npy,holes.npy --eval-data npy:x.npy,classes.npy --last pad --steps 3 \
    --lr 0.5 --save $trainer.onnx
  sed -n 's/  [0-9.]* s, .*//; /^epoch/p' out >$trainer.epochs
done
"$with_torch" "$PLIMSOLL_E2E/weights.py" single.onnx weighed.onnx 1e-6 || fail "other weights without mixing"
cmp single.epochs weighed.epochs || { diff single.epochs weighed.epochs; fail "other losses without mixing"; }

# Without --mixed-labels, the trainer says that labels are drawn. Predictions need no labels.
expect 0 single/build/train --data npy:x.npy,classes.npy --mixup 1 --steps 1;   says "labels drawn"
expect 0 weighed/build/train --predict x.npy --out scores.npy
expect 2 plimsoll plan scores.onnx --batch 8 --loss mse --mixed-labels
says "--mixed-labels requires --loss softmax-cross-entropy"
