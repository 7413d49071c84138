# The trace of a plan and that of its trainer, opened by the importer of chrome://tracing.
. "$PLIMSOLL_E2E/trainer.bash"
polyfill=/usr/lib/javascript/webcomponentsjs-custom-element-v0/CustomElements.js
with=$(python_with torch_tb_profiler)
if [[ ! -e $polyfill || -z $with ]]; then
  echo "skipped: no trace viewer; \`tools/setup.sh browser\` and \`tools/setup.sh python\` install what it is made of"
  exit 77
fi
viewer=$("$with" -c 'import importlib.util, os
print(os.path.dirname(importlib.util.find_spec("torch_tb_profiler").origin))')/static/trace_viewer_full.html
plimsoll model resnet18:input=32,stem=cifar,width=8,classes=10 -o net.onnx 2>/dev/null
random_data 32 3 32 10
build_trainer trainer net.onnx --batch 16 --policy vdnn-all:m --budget 100%
trained trainer out.onnx --steps 2 --trace run.json
plimsoll inspect trainer --trace plan.json 2>/dev/null
exec /usr/bin/python3 "$PLIMSOLL_BROWSER/trace_viewer.py" "$viewer" "$polyfill" compute,d2h,h2d plan.json run.json
