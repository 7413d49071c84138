// Curves of training runs: one SVG a chart, one horizontal axis and one cross for all of them.

const RUN_COLOURS = [
  "--keep", "--gradient", "--recompute", "--offload", "--stall", "--input", "--workspace", "--weight-gradient",
];
const byId = (id) => document.getElementById(id);
const ENTITIES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
const escaped = (text) => String(text).replace(/[&<>"]/g, (c) => ENTITIES[c]);
const short = (value) => {
  if (value === 0) return "0";
  const isExponential = Math.abs(value) >= 1e5 || Math.abs(value) < 1e-3;
  return isExponential ? value.toExponential(2) : String(Number(value.toPrecision(4)));
};
const durationText = (seconds) => {
  if (seconds < 120) return secondsText(seconds);
  return seconds < 7200 ? `${(seconds / 60).toFixed(1)} min` : `${(seconds / 3600).toFixed(2)} h`;
};
const percentText = (share) => `${(100 * share).toFixed(1)} %`;

// Of ticks, which are round.
const roundedText = (text) => text.replace(/\.0+ /, " ");

const CHARTS = [
  { key: "loss", title: "Loss", evaluated: "loss", text: short, smooth: true },
  { key: "accuracy", title: "Accuracy", evaluated: "accuracy", text: percentText, smooth: true, top: 1 },
  { key: "speed", title: "Samples a second", text: short, smooth: true, zero: true },
  { key: "rate", title: "Learning rate", text: short, zero: true },
  {
    key: "resident", title: "Memory", text: bytesText, zero: true, bytes: true,
    level: (run) => run.allocated || run.planned,
  },
];

// Every value is pulled towards those before it; a gap, where the loss was no number, stays one.
function smoothed(values, weight) {
  let mean = 0, total = 0;
  return values.map((value) => {
    if (value === null) return null;
    mean = mean * weight + value * (1 - weight);
    total = total * weight + (1 - weight);
    return mean / total;
  });
}

const SECONDS = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 18000, 36000, 86400];

function roundTicks(from, to, wanted, { bytes = false, seconds = false, whole = false } = {}) {
  const raw = (to - from) / wanted;
  if (!(raw > 0)) return [from];
  const base = bytes ? 2 : 10, power = base ** Math.floor(Math.log(raw) / Math.log(base));
  let tick = bytes ? power * 2 : power * [1, 2, 5, 10].find((m) => m * power >= raw * (1 - 1e-9));
  if (seconds && raw > 1) tick = SECONDS.find((one) => one >= raw) ?? tick;
  if (whole) tick = Math.max(1, tick);
  const ticks = [];
  for (let at = Math.ceil(from / tick - 1e-9) * tick; at <= to + tick * 1e-9; at += tick) ticks.push(at || 0);
  return ticks;
}

class Runs {
  constructor({ runs, by = "plimsoll runs --html" }) {
    this.runs = runs;
    this.hidden = new Set();
    this.axis = "iteration";
    this.log = false;
    this.smoothing = 0.6;
    this.cross = null;
    this.restore();
    this.charts = CHARTS.filter((chart) => runs.some((run) => run[chart.key].some((value) => value !== null)));
    const plot = (chart, i) =>
      `<section class="plot" style="margin:0"><h2>${chart.title}<span>${this.note(chart)}</span></h2>`
      + `<svg id="plot-${i}" height="210" role="img" aria-label="${chart.title}"></svg>`
      + `<div class="said" id="said-${i}"></div></section>`;
    const button = (run, i) =>
      `<button data-run="${i}"><i style="border-color:${this.colour(i)}"></i>${escaped(run.name)}</button>`;
    byId("charts").innerHTML = this.charts.map(plot).join("");
    byId("runs").innerHTML = runs.length === 1 ? "" : runs.map(button).join("");
    const averaged = runs.filter((run) => run.averaged > 1)
      .map((run) => `${run.name} every ${run.averaged} neighbouring iterations`);
    const note = averaged.length ? `Of ${averaged.join(", of ")} are averaged. ` : "";
    byId("footer").textContent = `${note}Made by ${by}.`;
    if (!this.charts.length) byId("charts").innerHTML = "<p>There is no iteration yet.</p>";
    this.listen();
    this.draw();
  }
  // What is shown, in the page's address: a link leads to it, and it outlasts a reload.
  restore() {
    const view = new URLSearchParams(location.hash.slice(1));
    if (view.get("axis") === "time") this.axis = "elapsed";
    this.log = view.get("loss") === "log";
    const smoothing = Number(view.get("smoothing") ?? this.smoothing);
    if (smoothing >= 0 && smoothing < 1) this.smoothing = smoothing;
    const hidden = view.getAll("hide");
    this.runs.forEach((run, i) => {
      if (hidden.includes(run.name)) this.hidden.add(i);
    });
    byId("smoothing").value = this.smoothing;
  }
  keep() {
    const view = new URLSearchParams();
    if (this.axis === "elapsed") view.set("axis", "time");
    if (this.log) view.set("loss", "log");
    if (this.smoothing !== 0.6) view.set("smoothing", this.smoothing);
    for (const i of this.hidden) view.append("hide", this.runs[i].name);
    const text = view.toString();
    if (text === location.hash.slice(1)) return;
    history.replaceState(null, "", text ? "#" + text : location.pathname + location.search);
  }
  colour(i) { return `var(${RUN_COLOURS[i % RUN_COLOURS.length]})`; }
  note(chart) {
    const isTested = (run) => run.evaluations[chart.evaluated].some((value) => value !== null);
    if (chart.evaluated && this.runs.some(isTested)) return "line: training · rings: test";
    return chart.level ? "line: the process's peak · dashed: the arena" : "";
  }

  draw() {
    const pressed = {
      "by-iteration": this.axis === "iteration",
      "by-elapsed": this.axis === "elapsed",
      linear: !this.log,
      log: this.log,
    };
    for (const [id, on] of Object.entries(pressed)) byId(id).setAttribute("aria-pressed", on);
    for (const button of byId("runs").children)
      button.setAttribute("aria-pressed", !this.hidden.has(Number(button.dataset.run)));
    this.charts.forEach((chart, i) => this.drawChart(chart, i));
    this.say();
    clearTimeout(this.keeping);  // browsers limit how often an address may change
    this.keeping = setTimeout(() => this.keep(), 200);
  }

  drawChart(chart, i) {
    const svg = byId(`plot-${i}`), width = Math.max(240, svg.clientWidth), height = 210;
    const left = 66, right = 10, top = 8, bottom = 24;
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const shown = this.runs.map((run, at) => ({ run, at })).filter(({ at }) => !this.hidden.has(at));
    const all = [], log = this.log && chart.key === "loss";
    let end = 1;
    for (const { run } of shown) {
      for (const value of run[chart.key]) if (value !== null) all.push(value);
      if (chart.evaluated) for (const value of run.evaluations[chart.evaluated]) if (value !== null) all.push(value);
      if (chart.level) all.push(chart.level(run));
      for (const x of [...run[this.axis], ...run.evaluations[this.axis]]) end = Math.max(end, x);
    }
    // One outlier in a hundred values does not flatten the rest.
    all.sort((a, b) => a - b);
    const at = (share) => all[Math.min(all.length - 1, Math.floor(share * all.length))] ?? 0;
    const hasOutliers = chart.key === "loss" || chart.key === "speed";
    let low = chart.zero ? 0 : at(0), high = hasOutliers ? Math.max(at(0.99), at(0.9) * 1.1) : at(1);
    if (log) low = Math.max(low, high * 1e-9, Number.MIN_VALUE);
    if (chart.top) high = Math.min(chart.top, high * 1.04);
    else if (!log) high += (high - low) * 0.05;
    if (!(high > low)) high = low + (Math.abs(low) || 1);
    const scale = (value) => {
      const share = log ? Math.log(Math.max(value, low) / low) / Math.log(high / low) : (value - low) / (high - low);
      return Math.max(-0.02, Math.min(1.02, share));
    };
    const x = (value) => left + (value / end) * (width - left - right);
    const y = (value) => height - bottom - scale(value) * (height - top - bottom);
    chart.place = { x, y, left, right, width, end };
    const powers = log ? roundTicks(Math.log10(low), Math.log10(high), 4) : [];
    const ticks = log ? powers.map((power) => 10 ** power) : roundTicks(low, high, 5, chart);
    let text = "";
    for (const tick of ticks) {
      const line = y(tick).toFixed(1), baseline = (y(tick) + 4).toFixed(1), label = roundedText(chart.text(tick));
      text += `<line class="grid" x1="${left}" x2="${width - right}" y1="${line}" y2="${line}"/>`
        + `<text class="muted" text-anchor="end" x="${left - 6}" y="${baseline}">${label}</text>`;
    }
    const elapsed = this.axis === "elapsed", unit = elapsed ? "" : "iterations";
    for (const tick of roundTicks(0, end, Math.max(2, Math.floor(width / 60)), { seconds: elapsed, whole: !elapsed })) {
      if (x(tick) > width - (elapsed ? 26 : 86) && tick > 0) continue;
      const label = elapsed ? roundedText(durationText(tick)) : numberText(Math.round(tick));
      text += `<text class="muted" text-anchor="middle" x="${x(tick).toFixed(1)}" y="${height - 6}">${label}</text>`;
    }
    text += `<text class="muted" text-anchor="end" x="${width - right}" y="${height - 6}">${unit}</text>`;
    const path = (xs, ys) => {
      let d = "", down = false;
      ys.forEach((value, j) => {
        if (value === null) down = false;
        else {
          d += `${down ? "L" : "M"}${x(xs[j]).toFixed(1)} ${y(value).toFixed(1)}`;
          down = true;
        }
      });
      return d;
    };
    for (const { run, at: place } of shown) {
      const xs = run[this.axis], ys = run[chart.key], stroke = this.colour(place);
      const colour = `stroke="${stroke}" style="stroke:${stroke}"`;
      if (chart.smooth && this.smoothing > 0) text += `<path class="raw" ${colour} d="${path(xs, ys)}"/>`;
      run.shownValues = run.shownValues || {};
      run.shownValues[chart.key] = chart.smooth ? smoothed(ys, this.smoothing) : ys;
      text += `<path class="curve" ${colour} d="${path(xs, run.shownValues[chart.key])}"/>`;
      if (chart.level && chart.level(run)) {
        const level = y(chart.level(run)).toFixed(1);
        text += `<path class="curve dash" ${colour} d="M${left} ${level}H${width - right}"/>`;
      }
      if (!chart.evaluated) continue;
      run.evaluations[chart.evaluated].forEach((value, j) => {
        if (value === null) return;
        const cx = x(run.evaluations[this.axis][j]).toFixed(1), cy = y(value).toFixed(1);
        text += `<circle r="3.6" cx="${cx}" cy="${cy}" class="test" style="stroke:${stroke}"/>`;
      });
    }
    svg.innerHTML = text + `<line class="cross" y1="${top}" y2="${height - bottom}" visibility="hidden"/>`;
  }

  // The value of each run at the cross, and of its last test before it.
  say() {
    const nearest = (values, at) => {
      let low = 0, high = values.length - 1;
      while (low < high) {
        const middle = (low + high + 1) >> 1;
        if (values[middle] <= at) low = middle;
        else high = middle - 1;
      }
      return low;
    };
    this.charts.forEach((chart, i) => {
      const line = byId(`plot-${i}`).querySelector(".cross"), place = chart.place;
      const at = this.cross === null ? place.end : this.cross * place.end;
      line.setAttribute("visibility", this.cross === null ? "hidden" : "visible");
      for (const end of ["x1", "x2"]) line.setAttribute(end, place.x(at));
      const where = this.axis === "elapsed" ? durationText(at) : numberText(Math.round(at));
      byId(`said-${i}`).innerHTML = (this.cross === null ? "last" : `at ${where}`) + this.runs.map((run, j) => {
        if (this.hidden.has(j)) return "";
        const value = run.shownValues[chart.key][nearest(run[this.axis], at)];
        let tested = "";
        if (chart.evaluated && run.evaluations[this.axis].some((when) => when <= at)) {
          const test = run.evaluations[chart.evaluated][nearest(run.evaluations[this.axis], at)];
          if (test !== null) tested = `, test ${chart.text(test)}`;
        }
        const name = this.runs.length > 1 ? `${escaped(run.name)} ` : "";
        const shown = value === null || value === undefined ? "not a number" : chart.text(value);
        return ` · <span style="color:${this.colour(j)}">■</span> ${name}<b>${shown}${tested}</b>`;
      }).join("");
    });
  }

  listen() {
    const press = {
      "by-iteration": () => (this.axis = "iteration"),
      "by-elapsed": () => (this.axis = "elapsed"),
      linear: () => (this.log = false),
      log: () => (this.log = true),
    };
    for (const [id, act] of Object.entries(press)) byId(id).addEventListener("click", () => {
      act();
      this.draw();
    });
    byId("smoothing").addEventListener("input", (event) => {
      this.smoothing = Number(event.target.value);
      this.draw();
    });
    byId("runs").addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (!button) return;
      const run = Number(button.dataset.run);
      if (!this.hidden.delete(run)) this.hidden.add(run);
      this.draw();
    });
    byId("charts").addEventListener("pointermove", (event) => {
      const svg = event.target.closest("svg");
      if (!svg) return;
      const { left, right, width } = this.charts[Number(svg.id.slice(5))].place;
      const x = event.clientX - svg.getBoundingClientRect().left;
      this.cross = Math.min(1, Math.max(0, (x - left) / (width - left - right)));
      this.say();
    });
    byId("charts").addEventListener("pointerleave", () => {
      this.cross = null;
      this.say();
    });
    new ResizeObserver(() => this.draw()).observe(byId("charts"));
  }
}

unpack(document.getElementById("data").textContent).then((data) => {
  window.page = new Runs(data);
  // A trainer writes its page again while it runs.
  if (data.running) setTimeout(() => location.reload(), 20000);
}).catch((error) => {
  document.getElementById("charts").textContent = "This browser cannot open the report: " + error.message;
  console.error(error);
});
followTheme(() => {});
