# The pages of compare and frontier, opened in a browser: light and dark, wide and narrow.
. "$PLIMSOLL_CLI/common.sh"
plimsoll model lenet -o net.onnx 2>/dev/null
plimsoll compare -q net.onnx --batch 16 --costs k40m --effort 0 --budget 60% --budget 100% --html compare.html
plimsoll frontier -q net.onnx --batch 16 --costs k40m --effort 0 --html frontier.html
exec /usr/bin/python3 - compare.html frontier.html <<'PY'
import os, re, sys
sys.path.insert(0, os.environ["PLIMSOLL_BROWSER"])
from chromium import Page, need_chromium
need_chromium()
for path in sys.argv[1:]:
    for dark in (False, True):
        with Page(path, dark=dark) as page:
            assert page.requests == [page.address], page.requests
            assert page.evaluate(
                "document.querySelectorAll('.chart .mark[data-tip]').length") > 1, "there is nothing to point at"
            entries = page.evaluate("[...document.querySelectorAll('.legend span')].map((s) => s.innerHTML)")
            grey = {re.sub(r"(fill|stroke):var\(--(?!paper)[a-z-]+\)|[^>]*$", r"\1", entry) for entry in entries}
            assert len(grey) == len(entries) and len(entries) != 1, "without colours, two policies look alike"
            mark = page.evaluate(
                "(() => { const b = document.querySelector('.chart svg.wide .mark[data-tip]')"
                ".getBoundingClientRect(); return [b.left + b.width / 2, b.top + b.height / 2]; })()"
            )
            page.mouse("mouseMoved", *mark)
            assert " within " in page.evaluate(
                "document.getElementById('tip').hidden ? '' : document.getElementById('tip').textContent"
            ), "pointing at a mark tells nothing"
            assert len(page.pdf()) > 5000, "it does not print"
            paper = "getComputedStyle(document.documentElement).backgroundColor"
            before = page.evaluate(paper)
            page.evaluate("document.getElementById('theme').click()")
            assert page.evaluate(paper) != before, "the button does not change light and dark"
            page.resize(420, 800)
            page.settle()
            assert page.evaluate("document.documentElement.scrollWidth") <= 420, "it runs out of a narrow window"
            assert page.complaints == [], page.complaints
PY
