#!/usr/bin/env bash
# Makes docs/pictures/measured.png: runs the commands of docs/tutorial.md (export, compile, build, training with
# --trace) and takes a screenshot of the report with the measured streams, in headless Chromium.
#   tools/docs/measured.sh [WORK_DIRECTORY]
# Needs build/bin/plimsoll, chromium, python3-pil, and a Python with torch, torchvision and onnx: $PLIMSOLL_PYTHON, or
# python3. The picture shows times of this machine. The text below it in the tutorial states how they compare with the
# prediction: update both together.
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$PWD work=${1:-build/measured}
mkdir -p "$work" docs/pictures
export PATH=$root/build/bin:$PATH
cd "$work"

# The page's own program and commands, so that the picture is of what a reader runs.
/usr/bin/python3 - "$root/docs/tutorial.md" <<'PY'
import re, sys
page = open(sys.argv[1]).read()
open("export.py", "w").write(re.search(r"```python\n(.*?)```", page, re.S).group(1))
command = lambda start: re.search(r"^\$ (" + re.escape(start) + r"(?:.*\\\n)*.*)$", page, re.M).group(1)
compile_, train = command("plimsoll compile "), command("trainer/build/train ")
open("compile.sh", "w").write(compile_ + "\n")
open("train.sh", "w").write(re.sub(r"--epochs \d+", "--epochs 1", train) + "\n")
PY
"${PLIMSOLL_PYTHON:-python3}" export.py
[[ -d digits ]] || /usr/bin/python3 "$root/tools/data/digits.py" digits
rm -rf trainer
bash -eu compile.sh
cmake -S trainer -B trainer/build -G Ninja -DPLIMSOLL_RUNTIME="$root/build" && cmake --build trainer/build
bash -eu train.sh
plimsoll inspect trainer --html measured.html
exec /usr/bin/python3 "$root/tools/docs/pictures.py" . "$root/docs/pictures" measured
