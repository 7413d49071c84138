# The page of training runs, opened in a browser: light and dark, wide and narrow.
. "$PLIMSOLL_CLI/common.sh"
mkdir a b
/usr/bin/python3 - <<'PY'
import json, math
for name, slow in (("a", 1), ("b", 2)):
    with open(f"{name}/metrics.jsonl", "w") as file:
        for i in range(300):
            loss = None if name == "b" and i == 100 else 2.5 * math.exp(-i / (60 * slow))
            line = {
                "iteration": i, "epoch": i // 100, "loss": loss, "accuracy": 1 - math.exp(-i / (50 * slow)),
                "samples": 32, "lr": 0.1, "seconds": 0.01 * slow, "arena_planned_bytes": 1 << 20,
                "arena_allocated_bytes": 1 << 20, "resident_peak_bytes": (3 + slow) << 20
            }
            file.write(json.dumps(line) + "\n")
            if i % 100 == 99:
                file.write(
                    json.dumps({
                        "iteration": i, "epoch": i // 100, "eval_loss": 1 /
                        (i + slow), "eval_accuracy": 0.9 / slow, "eval_samples": 100
                    }) + "\n")
PY
expect 0 plimsoll runs a/metrics.jsonl b/metrics.jsonl; says "90.00%"; says "3200.0"
expect 0 plimsoll runs a/metrics.jsonl b/metrics.jsonl --html runs.html; says "wrote runs.html"
expect 3 plimsoll runs none.jsonl
echo hello >none.jsonl
expect 3 plimsoll runs none.jsonl; says "line 1 contains no metrics"
exec /usr/bin/python3 - <<'PY'
import os, sys
sys.path.insert(0, os.environ["PLIMSOLL_BROWSER"])
from chromium import Page, need_chromium
need_chromium()
for dark in (False, True):
    with Page("runs.html", dark=dark) as page:
        page.wait_for("window.page !== undefined")
        page.settle()
        assert page.requests == [page.address], page.requests
        text = page.evaluate("document.body.innerText")
        for wanted in ("Loss", "Accuracy", "Learning rate", "Samples a second", "Memory",
                       "a has the best test accuracy: 90.00%"):
            assert wanted in text, wanted
        assert "NaN" not in text and "undefined" not in text and "-0" not in page.evaluate(
            "[...document.querySelectorAll('.plot text')].map((t) => t.textContent)"), text
        assert page.evaluate("document.querySelectorAll('#plot-0 .curve').length") == 2 and page.evaluate(
            "document.querySelectorAll('#plot-0 circle').length") == 6
        assert page.evaluate("document.querySelectorAll('#plot-0 .curve')[1].getAttribute('d').split('M').length"
                            ) == 3, "the gap of a loss that is no number is closed"
        x, y = page.evaluate(
            "(() => { const b = document.getElementById('plot-1').getBoundingClientRect(); "
            "return [b.left + b.width / 2, b.top + 80]; })()"
        )
        page.mouse("mouseMoved", x, y)
        said = page.evaluate("[...document.querySelectorAll('.said')].map((s) => s.textContent)")
        assert all(s.startswith("at ") for s in said), said
        page.evaluate("document.getElementById('by-elapsed').click()")
        assert page.evaluate("page.charts[0].place.end") > 5.9, "the axis is not time"
        page.evaluate("document.getElementById('log').click(); document.querySelectorAll('#runs button')[1].click()")
        assert page.evaluate(
            "document.querySelectorAll('#plot-0 .curve').length") == 1, "a run that was hidden is shown"
        page.resize(390, 844)
        page.settle()
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, "it runs out of a narrow window"
        assert page.complaints == [], page.complaints
PY
