# Models as PyTorch's exporters write them can be planned: a dozen of each kind (tests/exported, made by
# tools/bench/frozen_models.py).
. "$PLIMSOLL_CLI/common.sh"
/usr/bin/python3 -c "import onnx, numpy" 2>/dev/null || { echo "skipped: no python3-onnx here"; exit 77; }

planned=0 refused=""
while read -r name flags; do
  # shellcheck disable=SC2086
  if plimsoll plan "$name.onnx" --batch 4 --assume trainable --budget 100% --costs p100 --effort 0 -q $flags \
      -o plan.json >out 2>err; then
    planned=$((planned + 1))
  else
    refused+=" $name"
    echo "$name: $(head -c 300 err)" >&2
  fi
  rm -f "$name.onnx"
done < <(PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 "$PLIMSOLL_SOURCE/tests/exported/prepare.py" models)
echo "$planned models are planned"
[[ -z $refused ]] || fail "not planned:$refused"
[[ $planned -ge 70 ]] || fail "only $planned models were tried"
