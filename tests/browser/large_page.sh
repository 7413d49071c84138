# The report of a plan of 40,000 tensors in a browser: the file is small, and it opens, points, zooms and lists.
. "$PLIMSOLL_CLI/common.sh"
command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null ||
  { echo "skipped: there is no Chromium here; \`tools/setup.sh browser\` installs Debian's"; exit 77; }
plimsoll model gpt:layers=512,heads=1,width=8,context=4,vocab=16,init=zeros -o net.onnx 2>/dev/null
plimsoll plan -q net.onnx --batch 8 --costs p100 --policy liveness -o plan.json
plimsoll inspect plan.json --html page.html 2>/dev/null
[[ $(stat -c %s page.html) -lt 2000000 ]] || fail "the page has $(stat -c %s page.html) bytes"
exec /usr/bin/python3 - <<'PY'
import os, sys
sys.path.insert(0, os.environ["PLIMSOLL_BROWSER"])
from chromium import Page
# The block with the most bytes times steps, which is easy to hit among all of them.
THICKEST = """(() => {
  const { figure, plan } = page, b = plan.blocks;
  const area = (i) => b.bytes[i] * (b.to[i] - b.from[i]);
  let best = -1;
  for (let i = 0; i < b.tensor.length; ++i)
    if (b.first[i] >= 0 && b.tensor[i] >= 0 && (best < 0 || area(i) > area(best))) best = i;
  return best;
})()"""
with Page("page.html") as page:
    page.wait_for("window.page !== undefined")
    page.settle()
    tensors = page.evaluate("page.plan.tensors.name.length")
    assert tensors > 35000, tensors
    left, top, width, _ = page.evaluate(
        "(() => { const b = document.getElementById('canvas').getBoundingClientRect(); "
        "return [b.left, b.top, b.width, b.height]; })()"
    )
    block = page.evaluate(THICKEST)
    place = (f"(() => {{ const b = page.figure.blockBox({block}); "
             "return [b.left + b.width / 2, b.top + b.height / 2, b.width]; })()")
    x, y, before = page.evaluate(place)
    for _ in range(3):
        page.mouse("mouseWheel", left + x, top + y, deltaX=0, deltaY=-60)
    x, y, after = page.evaluate(place)
    assert after > 1.5 * before, (before, after)
    page.mouse("mouseMoved", left + x, top + y)
    tip = page.evaluate("document.getElementById('tip').hidden ? '' : document.getElementById('tip').textContent")
    assert " B" in tip or "iB" in tip, tip
    page.key("n")
    assert page.evaluate("page.figure.chosen.size") > 0, "n chooses nothing"
    page.key("0")
    # Not all layers are rows at once, and the page says so; a filter finds the others.
    layers, rows = page.evaluate("page.plan.layers.name.length"), page.evaluate(
        "document.querySelectorAll('#layers tbody tr').length")
    assert 1000 <= rows < layers and f"{layers - rows:,} more" in page.evaluate(
        "document.getElementById('layers-note').textContent"), (rows, layers)
    last = page.evaluate("page.plan.layers.name[page.plan.layers.name.length - 1]")
    page.evaluate(
        f"(() => {{ const f = document.getElementById('filter'); f.value = {last!r}; "
        "f.dispatchEvent(new Event('input')); })()"
    )
    assert last in page.evaluate("document.querySelector('#layers tbody tr').textContent"), last
    assert page.complaints == [] and page.requests == [page.address], (page.complaints, page.requests)
PY
