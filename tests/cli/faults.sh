# Unexpected properties of a machine or a model: another locale, names of any bytes, spaces in paths, a file that
# changes while it is read, a network as deep as it is long.
. "$PLIMSOLL_CLI/common.sh"
small_model

# Names and paths may contain spaces, quotes and invalid UTF-8. Numbers have decimal points in every locale. Most build
# machines have no locale with commas, so the test makes one if its sources are installed.
locale=$(locale -a 2>/dev/null | grep -E '^(de|fr|it|es)_' | head -n 1 || true)
[[ -n $locale ]] || { localedef -i de_DE -f UTF-8 "$PWD/de_DE.UTF-8" 2>/dev/null && locale=de_DE.UTF-8 &&
  export LOCPATH=$PWD; } || true
[[ -n $locale ]] || echo "no locale with decimal commas is here: that part says nothing"
strange="a model's"$'\xff\xe9'" net.onnx"
mkdir "some where" && cp net.onnx "some where/$strange"
expect 0 env LC_ALL="${locale:-C}" plimsoll plan "some where/$strange" --batch 8 --budget 95% \
  -o "some where/a plan.json"
expect 0 plimsoll verify "some where/a plan.json"
expect 0 plimsoll plan net.onnx --batch 8 --budget 95% -o plan.json
/usr/bin/python3 - <<'PY'
import json
there, here = json.load(open("some where/a plan.json")), json.load(open("plan.json"))
assert [s["start"] for s in there["steps"]] == [s["start"] for s in here["steps"]]
PY
expect 0 plimsoll inspect "some where/a plan.json" --html "some where/a report.html"

# External weights that become shorter while they are read: the exit code of a missing file, and no plan.
c++ -std=c++20 -shared -fPIC -O1 "$PLIMSOLL_CLI/preload/shorten.cpp" -o shorten.so -ldl
plimsoll compile net.onnx --batch 8 --costs modelled --external-data -q -o apart
weights=$(cd apart && echo *.weights)
expect 3 env LD_PRELOAD="$PWD/shorten.so" SHORTEN="apart/$weights" plimsoll plan apart/model.onnx --batch 8 \
  --costs modelled -o short.json
says "the file became shorter";  says "'$weights'"
[[ ! -e short.json ]] || fail "a plan was made of a file that changed"
expect 3 plimsoll plan apart/model.onnx --batch 8 --costs modelled -o short.json;  says "which has 1"
says "copy the file again"

# No walk over a graph is recursive, because a chain of nodes is as deep as it is long.
/usr/bin/python3 -c 'import onnx, numpy' 2>/dev/null || { echo "no onnx for /usr/bin/python3: no chain"; exit 0; }
/usr/bin/python3 - <<'PY'
from onnx import TensorProto, helper, save
import numpy as np
from onnx.numpy_helper import from_array
length = 3000
nodes = [helper.make_node("Gemm", ["x", "w"], ["y0"])
        ] + [helper.make_node("Sigmoid", [f"y{i}"], [f"y{i + 1}"]) for i in range(length)]
info = helper.make_tensor_value_info
graph = helper.make_graph(nodes, "chain", [info("x", TensorProto.FLOAT, ["n", 4])],
                          [info(f"y{length}", TensorProto.FLOAT, ["n", 4])],
                          [from_array(np.ones((4, 4), np.float32), "w")])
save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 15)], ir_version=8), "chain.onnx")
PY
expect 0 bash -c 'ulimit -s 256; plimsoll plan chain.onnx --batch 4 --policy liveness -o chain.json -q'
