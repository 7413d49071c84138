# Losses that the model computes itself. The loss of each iteration and the weights are those of numpy in double
# precision, with the batch whole and in rounds, also for a smaller last batch. A loss that is not a sum over samples
# keeps the batch whole, and the compiler says so.
. "$PLIMSOLL_E2E/trainer.bash"
has $python onnx || { echo "skipped: no onnx for $python"; exit 77; }
losses=("$python" "$PLIMSOLL_E2E/output_losses.py")
"${losses[@]}" make
options=(--batch 8 --loss output --optimizer sgd)
# trains NAME DIR: 8, 8 and 5 samples
trains() {
  expect 0 $2/build/train --data npy:$("${losses[@]}" inputs $1) --no-shuffle --last keep --epochs 1 --lr 0.1 \
    --metrics $2.jsonl --save $2.onnx
  "${losses[@]}" check $1 $2.jsonl $2.onnx 8 3 0.1 || fail "$2: not as numpy"
}
build_trainer mse-whole mse.onnx "${options[@]}"
trains mse mse-whole
for name in $("${losses[@]}" list split); do
  build_trainer $name-rounds $name.onnx "${options[@]}" --sub-batch 3
  trains $name $name-rounds
done
for name in $("${losses[@]}" list whole); do
  build_trainer $name-whole $name.onnx "${options[@]}"
  trains $name $name-whole
  expect 2 plimsoll plan $name.onnx "${options[@]}" --sub-batch 3 -q -o plan.json
  says "the batch of 8 must stay whole, but --sub-batch splits it"
done

# The loss compares samples with each other, for this number of samples only. The last 5 are left for the next epoch.
build_trainer pairs contrastive.onnx "${options[@]}"
expect 0 pairs/build/train --data npy:x.npy,t.npy --no-shuffle --epochs 1 --lr 0.1 --metrics pairs.jsonl \
  --save pairs.onnx
"${losses[@]}" check contrastive pairs.jsonl pairs.onnx 8 2 0.1 || fail "pairs: not as numpy"
expect 2 pairs/build/train --data npy:x.npy,t.npy --last keep
says "the model combines the samples of a batch, and is compiled for 8 of them"
expect 0 plimsoll plan contrastive.onnx "${options[@]}" -o plan.json
says "the batch is fixed to 8"; says "has the batch in more than one dimension"
says "the batch stays whole: the model is valid for exactly 8 samples"
expect 2 plimsoll plan contrastive.onnx "${options[@]}" --sub-batch 4 -q -o plan.json
says "the batch of 8 must stay whole"
expect 5 plimsoll plan contrastive.onnx --batch 4 --loss output -q -o plan.json
says "has the batch in more than one dimension"

# The model's own inputs are the only inputs. Synthetic data fits them; evaluation and prediction report what they
# support.
expect 0 heads-rounds/build/train --data synthetic --eval-data synthetic --steps 2;  says "test loss"
expect 2 heads-rounds/build/train --predict x.npy --out out.npy
says "no step of this program computes the input of its loss"
expect 2 heads-rounds/build/train --data npy:x.npy,t.npy
says "npy: takes one file for each of the model's 3 inputs, 2 are given"
expect 2 heads-rounds/build/train --steps 1;                      says "--data npy:x.npy,t.npy,hot.npy or synthetic"

# The output is named, or it is the only scalar.
expect 0 plimsoll plan mse.onnx --batch 8 --loss output:loss -q -o plan.json
expect 2 plimsoll plan mse.onnx --batch 8 --loss output:lost -q -o plan.json
says "--loss output:lost: the model has no such output; outputs: 'loss' f32[]"
expect 2 plimsoll plan mse.onnx --batch 8 --loss output:loss --output loss -o plan.json;  says "are mutually exclusive"
expect 2 plimsoll plan mse.onnx --batch 8 --loss output: -o plan.json
says "output:NAME, where NAME is an output of the model"
expect 4 plimsoll plan heads.onnx --batch 8 --loss output:likelihood -q -o plan.json
says "output 'likelihood' f32[N,3] is not a loss: a loss is a single f32"; says "reduce the loss over all samples"
expect 0 plimsoll plan rmse.onnx --batch 8 --loss output -o plan.json
says "the batch stays whole: layer 'loss' (Sqrt) does not sum over samples"
expect 2 plimsoll plan rmse.onnx --batch 8 --loss output --ranks 2 -q -o plan.json;       says "--ranks splits it"
expect 2 plimsoll plan rmse.onnx --batch 8 --loss output --batch-norm split --sub-batch 4 -q -o plan.json
says "the batch of 8 must stay whole"
