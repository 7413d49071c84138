#!/usr/bin/env bash
# Makes the images of docs/: plans ResNet-50 with several policies, and takes screenshots of the reports in headless
# Chromium.
#   tools/docs/pictures.sh [WORK_DIRECTORY]      needs build/bin/plimsoll, chromium, python3-pil
set -euo pipefail
cd "$(dirname "$0")/../.."
work=${1:-build/pictures}
mkdir -p "$work" docs/pictures
plimsoll=build/bin/plimsoll
common=(--batch 32 --costs p100 -q)
"$plimsoll" model resnet50 -o "$work/resnet50.onnx" 2>/dev/null
budget=40%  # of auto's unlimited arena, the same for all policies
for policy in auto superneurons sublinear vdnn-all:p modnn dymem; do
  "$plimsoll" plan "$work/resnet50.onnx" "${common[@]}" --policy "$policy" --budget "$budget" \
    -o "$work/${policy/:/-}.json"
  [[ $policy != auto ]] || budget=$(grep -om1 '"budget_bytes": *[0-9]*' "$work/auto.json" | grep -o '[0-9]*$')
  "$plimsoll" inspect "$work/${policy/:/-}.json" --html "$work/${policy/:/-}.html" 2>/dev/null
done
"$plimsoll" compare "$work/resnet50.onnx" "${common[@]}" --budget 100% --budget 60% --budget 40% --budget 25% \
  --html "$work/compare.html"
"$plimsoll" frontier "$work/resnet50.onnx" "${common[@]}" --html "$work/frontier.html"
exec /usr/bin/python3 tools/docs/pictures.py "$work" docs/pictures
