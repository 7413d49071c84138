# Under another budget with the same sub-batch, weights have the same bits; so have they when a trainer runs twice.
. "$PLIMSOLL_E2E/trainer.bash"
plimsoll model resnet18:input=32,stem=cifar,width=16,classes=10 -o net.onnx 2>/dev/null
random_data 32 3 32 10
build_trainer full net.onnx --batch 8 --sub-batch 4
build_trainer tight net.onnx --batch 8 --sub-batch 4 --budget "$($python -c '
import json; print(json.load(open("full/plan.json"))["summary"]["arena_bytes"])')"
build_trainer separate net.onnx --batch 8 --sub-batch 4 --policy network-wide --budget auto
trained full a.onnx --steps 3
trained full b.onnx --steps 3
trained tight c.onnx --steps 3
trained separate d.onnx --steps 3
for other in b c d; do $python "$PLIMSOLL_E2E/weights.py" a.onnx $other.onnx 0; done
