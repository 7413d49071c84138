"""Loads traces into the viewer of chrome://tracing with its own importer: no warnings, and its tracks match the trace.
Debian's Chromium has the page but not its resources, so this uses the viewer from the Python package torch-tb-profiler.

    trace_viewer.py VIEWER.html POLYFILL.js STREAMS TRACE.json…
"""
import json, os, sys

from chromium import Page, need_chromium

need_chromium()
viewer, polyfill, streams, traces = sys.argv[1], sys.argv[2], sys.argv[3].split(","), sys.argv[4:]

# The viewer compares slices in microseconds: a shorter slice may seem to lie inside the previous one.

# The viewer uses browser features of 2014.
STUBS = """<script>
Element.prototype.createShadowRoot = function () { return this.shadowRoot || this.attachShadow({ mode: "open" }); };
Object.defineProperty(document, "_currentScript", { get: () => document.currentScript });
window.__hideTraceViewerPolyfillWarning = true;
</script>"""
IMPORT = """(() => {
  const model = new tr.Model();
  new tr.importer.Import(model).importTraces([traceText]);
  const streams = {}, lives = [];
  let counters = [];
  const below = (s) => (s.subSlices || []).filter((one) => one.duration >= 0.001).length;
  const told = (s) => [s.title, s.start, s.duration, below(s)];
  for (const process of Object.values(model.processes)) {
    for (const counter of Object.values(process.counters))
      counters.push([counter.name, counter.series.map((s) => [s.name, s.samples.length])]);
    for (const thread of Object.values(process.threads)) {
      if (process.name === "streams") streams[thread.name] = thread.sliceGroup.slices.map(told);
      else if (process.name === "tensors") lives.push(...thread.asyncSliceGroup.slices.map((s) => s.title));
    }
  }
  const warnings = model.importWarnings.map((w) => w.message);
  return { warnings, streams, lives: lives.length, counters, flows: model.flowEvents.length };
})()"""

with open(viewer, encoding="utf-8") as file:
    html = file.read()
behind_head = html.index(">", html.index("<head")) + 1
with open("viewer.html", "w", encoding="utf-8") as file:
    with open(polyfill, encoding="utf-8") as elements:
        file.write(html[:behind_head] + STUBS + "<script>" + elements.read() + "</script>" + html[behind_head:])

with Page("viewer.html") as page:
    page.wait_for("typeof tr === 'object' && typeof tr.importer.Import === 'function'")
    for path in traces:
        with open(path) as file:
            text = file.read()
        events = json.loads(text)["traceEvents"]
        page.evaluate("window.traceText = " + json.dumps(text) + "; 0")
        seen = page.evaluate(IMPORT)
        assert seen["warnings"] == [], (path, seen["warnings"])
        assert list(seen["streams"]) == streams, (path, list(seen["streams"]))
        count = lambda phase: sum(event["ph"] == phase for event in events)
        slices = [s for each in seen["streams"].values() for s in each]
        assert len(slices) == count("X") > 0 and len(seen["streams"]["compute"]) > 0, (path, len(slices))
        assert all(below == 0 for *_, below in slices), (path, "a slice lies in another")
        assert seen["lives"] == count("b") == count("e") > 0, (path, seen["lives"])
        assert seen["flows"] == count("f") > 0, (path, seen["flows"])
        assert seen["counters"] == [["memory", [["live", count("C")]]]], (path, seen["counters"])
    assert page.complaints == [] or all("appearance" in text for text in page.complaints), page.complaints

    # The importer does report a broken trace.
    broken = {"traceEvents": [{"ph": phase, "name": name, "pid": 1, "tid": 1, "ts": time}
                              for phase, name, time in (("B", "a", 1), ("E", "b", 2), ("E", "c", 3))]}
    page.evaluate("window.traceText = " + json.dumps(json.dumps(broken)) + "; 0")
    assert page.evaluate(IMPORT)["warnings"] != [], "it warns of nothing at all"
print(f"{len(traces)} traces hold")
