"""The report of a plan in a browser: it loads without errors, points, zooms, pans, selects, sorts, filters, prints.

    plan_page.py PAGE.html PAGE_WITH_MEASURED.html PAGE_OF_RANKS.html PAGE_OF_HOMES.html PAGE_OF_ROUNDS.html
"""
import sys

from chromium import Page, need_chromium

need_chromium()
plain, measured, ranks, homes, rounds = sys.argv[1:6]


def check(condition, what):
    if not condition:
        raise SystemExit(f"FAILED: {what}")


def box(page):
    return page.evaluate(
        "(() => { const b = document.getElementById('canvas').getBoundingClientRect(); return [b.left, b.top, b.width, "
        "b.height]; })()"
    )


# A pixel inside the largest block that is not persistent.
BIGGEST = """(() => {
  const { figure, plan } = page, b = plan.blocks;
  let best = -1;
  const area = (i) => b.bytes[i] * (b.to[i] - b.from[i]);
  for (let i = 0; i < b.tensor.length; ++i)
    if (b.first[i] >= 0 && b.tensor[i] >= 0 && (best < 0 || area(i) > area(best))) best = i;
  const box = figure.blockBox(best);
  return { x: box.left + box.width / 2, y: box.top + box.height / 2, name: plan.tensors.name[b.tensor[best]] };
})()"""

for dark in (False, True):
    with Page(plain, dark=dark) as page:
        page.wait_for("window.page !== undefined")
        page.settle()
        check(page.requests == [page.address], f"it asks for more than itself: {page.requests}")
        colours = page.evaluate(
            "[...new Set(Array.from(page.figure.context.getImageData(0, 0, page.figure.canvas.width, "
            "page.figure.canvas.height).data).filter((_, i) => i % 4 === 0))].length"
        )
        check(colours > 20, "the canvas is all but empty")
        paper = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
        check((paper == "rgb(255, 255, 255)") != dark, f"the paper is {paper}")

        left, top, width, height = box(page)
        biggest = page.evaluate(BIGGEST)
        page.mouse("mouseMoved", left + biggest["x"], top + biggest["y"])
        tip = page.evaluate("document.getElementById('tip').hidden ? '' : document.getElementById('tip').textContent")
        check(biggest["name"] in tip and "used by" in tip, f"the tooltip of {biggest['name']} says: {tip}")

        before = page.evaluate("page.figure.to - page.figure.from")
        under = page.evaluate(f"page.figure.valueAt({biggest['x']})")
        for _ in range(6):
            page.mouse("mouseWheel", left + biggest["x"], top + biggest["y"], deltaX=0, deltaY=-60)
        after = page.evaluate("page.figure.to - page.figure.from")
        check(after < 0.3 * before, "the wheel does not zoom")
        check(
            abs(page.evaluate(f"page.figure.valueAt({biggest['x']})") - under) < before / width,
            "what is under the pointer moved by more than a pixel")
        start = page.evaluate("page.figure.from")
        page.mouse("mousePressed", left + width / 2, top + height / 2, button="left", clickCount=1)
        page.mouse("mouseMoved", left + width / 2 - 90, top + height / 2, button="left", buttons=1)
        page.mouse("mouseReleased", left + width / 2 - 90, top + height / 2, button="left", clickCount=1)
        check(page.evaluate("page.figure.from") > start, "dragging does not move")
        page.key("0")
        check(page.evaluate("page.figure.to - page.figure.from") == before, "0 does not show all")

        page.click(left + biggest["x"], top + biggest["y"])
        check(biggest["name"] in page.evaluate("document.getElementById('chosen').textContent"),
              "a click chooses nothing")
        check(page.evaluate("document.querySelectorAll('#layers tr.chosen').length") <= 1, "several layers are marked")
        page.key("Escape")
        check(page.evaluate("page.figure.chosen.size") == 0, "Escape does not let go")
        page.key("n")
        first = page.evaluate("[...page.figure.chosen][0]")
        page.key("n")
        check(page.evaluate("[...page.figure.chosen][0]") != first, "n does not walk on")
        page.key("t")
        check(page.evaluate("page.figure.byTime") is False, "t does not change the axis")
        page.key("c")
        check(page.evaluate("page.figure.byKind") is True, "c does not change the colours")
        page.key("Escape")

        rows = page.evaluate("document.querySelectorAll('#layers tbody tr').length")
        check(rows == page.evaluate("page.plan.layers.name.length"), "a layer is missing in the table")
        page.evaluate(
            "[...document.querySelectorAll('#layers th button')].find((b) => b.textContent === 'forward').click()")
        times = page.evaluate(
            "[...document.querySelectorAll('#layers tbody tr')].map((r) => page.plan.layers.forward[r.dataset.layer])")
        check(times == sorted(times, reverse=True), "the table is not sorted")
        page.evaluate("document.querySelector('#layers tbody tr').click()")
        check(page.evaluate("page.figure.chosenTasks.size") > 0, "a layer in the table is not linked to the figure")
        page.evaluate(
            "(() => { const f = document.getElementById('filter'); f.value = 'conv'; f.dispatchEvent(new "
            "Event('input')); })()"
        )
        check(0 < page.evaluate("document.querySelectorAll('#layers tbody tr').length") < rows,
              "the filter filters nothing")

        name = "bert.encoder.layer.11.attention.self.query/node_MatMul_39"
        for most, wanted in [(60, name), (31, "…layer.11…query/node_MatMul_39"), (9, "…layer.11…node_MatMul_39")]:
            shown = page.evaluate(f"withoutModules('{name}', {most})")
            check(shown == wanted, f"in {most} characters, {name} is shown as {shown}")

        page.resize(420, 800)
        page.settle()
        check(page.evaluate("document.documentElement.scrollWidth") <= 420, "it runs out of a narrow window")
        check(len(page.pdf()) > 5000, "it does not print")
        # In print, the chart is scaled to the paper, by the same factor in both directions.
        page.ask("Emulation.setEmulatedMedia", media="print")
        shape = page.evaluate(
            "(() => { const c = page.figure.canvas; c.style.width = '50%'; const shape = [c.clientWidth / "
            "c.clientHeight, c.width / c.height]; c.style.width = ''; return shape; })()"
        )
        check(
            abs(shape[0] / shape[1] - 1) < 0.05,
            f"printed, the picture is {shape[0]:.2f} times as wide as high when it was drawn {shape[1]:.2f} times as "
            "wide"
        )
        page.ask("Emulation.setEmulatedMedia", media="")
        check(page.complaints == [], f"the console holds: {page.complaints}")

# The first screen, and the view stored in the address. Both themes have the same layout, so one is enough.
ENTRIES = """page.figure.captions.map((c) => c.entries.map((e) => {
  page.figure.context.font = FONT;
  return { x: e.x, row: e.row, width: 18 + page.figure.context.measureText(e.text).width };
}))"""
for width, height in ((1280, 900), (390, 844)):
    with Page(plain, width=width, height=height) as page:
        page.wait_for("window.page !== undefined")
        page.settle()
        check(page.evaluate("document.title").startswith("Memory plan of "), "the title does not say what the page is")
        verdict = page.evaluate("document.getElementById('verdict').textContent")
        check(
            verdict.startswith("Fits ") and "than unlimited" in verdict
            and ("offloaded" in verdict or "recomputed" in verdict), f"the verdict is: {verdict}")
        check(
            page.evaluate("document.documentElement.scrollWidth") <= width,
            f"it runs out of a window of {width} pixels")
        if width == 1280:
            bottom = page.evaluate(
                "page.figure.streams.bottom + document.getElementById('canvas').getBoundingClientRect().top")
            check(bottom <= height, f"the streams end at {bottom} of {height} pixels")
            check(page.evaluate("page.figure.large.length") > 0, "no block is large enough for a label")
        for entries in page.evaluate(ENTRIES):
            for a, b in zip(entries, entries[1:]):
                check(b["row"] > a["row"] or a["x"] + a["width"] <= b["x"],
                      f"two entries of a legend overlap: {a}, {b}")
            check(all(entry["x"] + entry["width"] <= page.evaluate("page.figure.width") for entry in entries),
                  "a legend runs out of the figure")
        check(page.evaluate("page.figure.divider !== null && page.figure.peakAt !== null"),
              "the divider or the peak is not marked")
        check(page.complaints == [], f"the console holds: {page.complaints}")

with Page(plain) as page:
    page.wait_for("window.page !== undefined")
    page.settle()
    whole = page.evaluate("page.figure.whole")
    # One colour, one meaning: no two entries of the page share a colour, except those with the same meaning.
    colours = page.evaluate(
        "page.figure.captions.flatMap((c) => c.entries.map((e) => [page.figure.colour[e.colour], e.text]))")
    for colour, text in colours:
        others = {other for same, other in colours if same == colour and other != text}
        check(
            not others or {text, *others} <= {"offloaded", "offload"} or {text, *others} <= {"recomputed"}
            or {text, *others} <= {"weights and state", "update"} or {text, *others} <= {"loaded again", "input"},
            f"{text} has the colour of {others}")

    # Shift and dragging selects a range; its totals are those of its steps.
    left, top, width, height = box(page)
    for kind, x in (("mousePressed", 0.3), ("mouseMoved", 0.5), ("mouseReleased", 0.6)):
        page.mouse(kind, left + width * x, top + 60, button="left", clickCount=1, modifiers=8, buttons=1)
    page.evaluate("page.setRange([0, page.figure.whole])")
    text = page.evaluate("document.getElementById('chosen').innerText")
    check("Range" in text and f"{page.evaluate('page.plan.count'):,} steps" in text, f"the totals of all are: {text}")
    for kind, x in (("mousePressed", 0.3), ("mouseMoved", 0.5), ("mouseReleased", 0.5)):
        page.mouse(kind, left + width * x, top + 60, button="left", clickCount=1, modifiers=8, buttons=1)
    chosen = page.evaluate("page.figure.range")
    check(0 < chosen[0] < chosen[1] < whole, f"Shift and dragging chose {chosen}")
    check(page.evaluate("page.figure.from") == 0, "selecting a range moves the figure")
    page.key("Escape")
    check(page.evaluate("page.figure.range") is None, "Escape keeps the range")

    # A search marks its results and steps through them; a tooltip names the module.
    page.evaluate(
        "(() => { const s = document.getElementById('search'); s.value = 'layer2.0.conv1'; s.dispatchEvent(new "
        "Event('input')); })()"
    )
    hits = page.evaluate("page.view.hits.length")
    check(hits > 0 and str(hits) in page.evaluate("document.getElementById('hits').textContent"),
          "the search finds nothing by its module path")
    page.evaluate("page.view.next(1)")
    check("module layer" in page.evaluate("document.getElementById('chosen').innerText"),
          "what was found does not name its module")
    for name, module, short in (("/layer2/layer2.0/conv1/Conv_output_0", "layer2.0.conv1", "layer2.0.conv1/Conv"),
                                ("layer2.0.conv1.weight", "layer2.0.conv1", "layer2.0.conv1.weight")):
        said = page.evaluate(
            "(() => "
            f"{{ const t = page.plan.tensors.name.indexOf('{name}'); "
            "return [page.plan.moduleOfTensor(t), page.plan.shortName(t), tensorText(page.plan, t, -1)]; })()"
        )
        check(said[:2] == [module, short] and f"module <b>{module}</b>" in said[2], f"of {name} it says {said}")

    # The address holds the view; another page of the same address shows it.
    page.evaluate(
        "page.setKind(true); page.figure.zoom(0.25); page.setRange([page.figure.from, (page.figure.from + "
        "page.figure.to) / 2])"
    )
    page.wait_for("location.hash.includes('range=') && location.hash.includes('tensor=')")
    hash = page.evaluate("location.hash")
    state = "[page.figure.from, page.figure.to, page.figure.byKind, [...page.figure.chosen], page.figure.range]"
    before = page.evaluate(state)
    page.ask("Page.navigate", url="about:blank")
    page.ask("Page.navigate", url=page.address + hash)
    page.wait_for("window.page !== undefined")
    after = page.evaluate(state)
    check(
        after[2:4] == before[2:4]
        and all(abs(a - b) < 1e-5 * whole for a, b in zip(after[:2] + after[4], before[:2] + before[4])),
        f"a link to {before} shows {after}")
    check(page.complaints == [], f"the console holds: {page.complaints}")

with Page(measured) as page:
    page.wait_for("window.page !== undefined")
    page.settle()
    check(page.evaluate("page.figure.lanes.length") == 6, "measured streams are not beside the predicted ones")
    page.key("t")
    check(page.evaluate("page.figure.axis") == "measured", "t does not go by the measured clock")
    check(
        abs(page.evaluate("page.figure.whole - page.plan.measured.seconds")) < 1e-9,
        "the axis is not the measured round")
    check("measured" in page.evaluate("document.querySelector('#layers thead').textContent"),
          "the table has no measured times")
    check("measured" in page.evaluate("page.figure.axisCaption"), "the axis does not say that it is the measured one")
    columns = page.evaluate("document.querySelectorAll('#layers th').length")
    check(columns == 13, f"the plan is to have every column of the table, but {columns} are shown")
    page.resize(1280, 900)
    page.settle()
    over = page.evaluate(
        "(() => { const t = document.getElementById('layers'); return t.scrollWidth - t.clientWidth; })()")
    check(over <= 0, f"in a window of 1280 pixels the table is {over} pixels wider than its place")
    for width in (1280, 800):
        page.resize(width, 900)
        page.settle()
        check(
            page.evaluate("document.documentElement.scrollWidth") <= width,
            f"it runs out of a window of {width} pixels")
    check("measured" in page.evaluate("document.getElementById('tiles').textContent"), "no tile compares")
    check(page.complaints == [], f"the console holds: {page.complaints}")

with Page(ranks) as page:
    page.wait_for("window.page !== undefined")
    page.settle()
    text = page.evaluate("document.body.innerText")
    for wanted in ("on 2 ranks", "reduced over ranks", "over ranks"):
        check(wanted in text, f"the page of two ranks does not say: {wanted}")
    check("NaN" not in text and "undefined" not in text, "a figure is missing")
    check(page.evaluate("page.figure.lanes.length") == 4, "the comm stream is missing")
    check(page.complaints == [], f"the console holds: {page.complaints}")

with Page(homes) as page:
    page.wait_for("window.page !== undefined")
    page.settle()
    first = page.evaluate(
        "(() => { const s = page.plan.steps, at = s.stream.indexOf(0); return [at, s.start[at]]; })()")
    check(first[0] > 1 and first[1] > 0, "no copy comes before the first task")
    curve = page.evaluate("page.figure.curvePoints(page.plan.memory.live)")
    check(curve[0]["from"] == 0 and curve[0]["value"] > 0, f"the curve begins with {curve[0]}")
    check(all(a["from"] <= b["from"] for a, b in zip(curve, curve[1:])), "the curve goes back in time")
    # Updated tensors are offloaded after the last task: the curve continues until the last copy ends.
    last = page.evaluate("(() => { const s = page.plan.steps; return s.end[s.stream.lastIndexOf(0)]; })()")
    end = page.evaluate("page.plan.seconds")
    check(last < end, "no copy goes on behind the last task")
    for values in ("live", "floor", "keepAll"):
        curve = page.evaluate(f"page.figure.curvePoints(page.plan.memory.{values})")
        behind = [point for point in curve if point["from"] >= last]
        check(abs(curve[-1]["to"] - end) < 1e-12, f"the curve '{values}' ends at {curve[-1]}, the round at {end}")
        check(behind and all(0 < point["value"] for point in behind),
              f"behind the last task the curve '{values}' is {behind}")
    live, floor = (page.evaluate(f"page.figure.curvePoints(page.plan.memory.{values})") for values in ("live", "floor"))
    behind = [(a["value"], b["value"]) for a, b in zip(live, floor) if a["from"] >= last]
    check(all(b <= a <= page.evaluate("page.plan.summary.arena_bytes") for a, b in behind),
          f"live and floor behind the last task: {behind}")
    check(page.complaints == [], f"the console holds: {page.complaints}")

# plan.json states the tasks that one round recomputes, and the time that all rounds take for them.
with Page(rounds) as page:
    page.wait_for("window.page !== undefined")
    page.settle()
    tasks, count = page.evaluate("[page.plan.summary.recomputed_tasks, page.plan.rounds]")
    check(tasks > 1 and count == 4, f"the plan recomputes {tasks} tasks in each of {count} rounds")
    tiles = page.evaluate("document.getElementById('tiles').textContent")
    check(f"{tasks} operations in each round" in tiles, f"the tiles do not say that {tasks} are of one round: {tiles}")
    check(page.complaints == [], f"the console holds: {page.complaints}")
print("all pages hold")
