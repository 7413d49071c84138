# A model in f16 or bf16 is trained in f32 and saved in the type it came in: its weights are, rounded, those of the f32
# model that has the same initial weights. This holds for one file and for two, for checkpoints and for a second
# training.
. "$PLIMSOLL_E2E/trainer.bash"
/usr/bin/python3 -c "import onnx, numpy" 2>/dev/null || { echo "skipped: no python3-onnx here"; exit 77; }
convert() { /usr/bin/python3 "$PLIMSOLL_E2E/narrow_file.py" "$@"; }
random_data 16 1 32 10
plimsoll model lenet -o given.onnx -q
train() { "$1/build/train" --data npy:x.npy,y.npy --no-shuffle --lr 0.05 --quiet "${@:2}"; }
for type in f16 bf16; do
  convert to $type given.onnx $type.onnx wide-$type.onnx
  expect 0 plimsoll plan $type.onnx --batch 8 --costs modelled
  grep -q "16 bits" err || fail "nothing says that the file has 16 bits: $(cat err)"
  build_trainer trainer-$type $type.onnx --batch 8
  build_trainer wide-trainer-$type wide-$type.onnx --batch 8
  train trainer-$type --steps 5 --save trained-$type.onnx --checkpoint ck-$type --checkpoint-every 5
  train wide-trainer-$type --steps 5 --save trained-wide-$type.onnx
  convert same trained-$type.onnx trained-wide-$type.onnx

  # --- a checkpoint holds f32, and is exported in the file's type
  expect 0 plimsoll export trainer-$type --checkpoint "$(echo ck-$type/ckpt-*5)" -o exported-$type.onnx
  convert same exported-$type.onnx trained-wide-$type.onnx
  train trainer-$type --steps 10 --checkpoint ck-$type --resume --save twice-$type.onnx
  train wide-trainer-$type --steps 10 --save twice-wide-$type.onnx
  convert same twice-$type.onnx twice-wide-$type.onnx

  # --- the saved model is trained again, from its rounded weights
  train trainer-$type --model trained-$type.onnx --steps 1 --save again-$type.onnx
  cmp -s again-$type.onnx trained-$type.onnx && fail "a second training changes nothing"

  # --- weights in a second file
  build_trainer apart-$type $type.onnx --batch 8 --external-data
  mkdir apart-saved-$type
  train apart-$type --steps 5 --save apart-saved-$type/net.onnx
  expect 0 plimsoll export apart-saved-$type/net.onnx -o merged-$type.onnx
  convert same merged-$type.onnx trained-wide-$type.onnx
done

# --- f16 ends at 65504: a larger weight is not saved as infinity
code=0
train trainer-f16 --steps 1 --lr 1e9 --save large.onnx 2>err || code=$?
[[ $code -eq 4 ]] || { cat err; fail "a weight that is too large for f16: exit $code"; }
grep -q "f16, which ends at 65504" err || fail "the error does not say why: $(cat err)"
[[ ! -e large.onnx ]] || fail "a model with infinite weights was saved"
