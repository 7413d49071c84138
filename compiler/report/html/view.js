// The view as a link: the fragment of the address holds the axis, the zoom, the colours, what is chosen and the range.
// Also the totals of a range, and the search for a name.

// Totals of what lies in the chosen range, by kind of work.
function rangeText(figure) {
  const { plan, range: [from, to] } = figure, { measured } = plan;
  const time = figure.byTime, work = {}, copies = {}, tensors = new Set();
  const copyNames = { [OFFLOAD]: "offload", [PREFETCH]: "prefetch", [LOAD]: "input", [REDUCE]: "reduce" };
  let most = 0, steps = 0, waits = 0;
  for (let step = 0; step < plan.count; ++step) {
    const span = figure.stepSpan(step);
    if (!span || span[1] <= from || span[0] >= to) continue;
    const share = span[1] > span[0] ? (Math.min(to, span[1]) - Math.max(from, span[0])) / (span[1] - span[0]) : 1;
    const length = figure.axis === "measured" ? measured.end[step] - measured.start[step] : plan.steps.length[step];
    const kind = plan.steps.kind[step], into = kind === COMPUTE ? work : copies;
    const name = kind === COMPUTE ? figure.stepColour(step) : copyNames[kind];
    into[name] = into[name] || { seconds: 0, bytes: 0, count: 0 };
    into[name].seconds += share * length;
    into[name].count += 1;
    if (kind !== COMPUTE) into[name].bytes += share * plan.touchedBytes(step);
    waits += share * plan.steps.exposed[step];
    steps += 1;
    if (kind !== COMPUTE) continue;
    most = Math.max(most, plan.memory.live[step]);
    for (const tensor of plan.tasks.writes(plan.steps.of[step])) tensors.add(tensor);
  }
  const busy = Object.values(work).reduce((sum, one) => sum + one.seconds, 0);
  const title = time ? `${secondsText(from)} to ${secondsText(to)}: ${secondsText(to - from)}`
    : `steps ${Math.floor(from)} to ${Math.ceil(to)}`;
  const row = (name, { count, seconds }, bytes) =>
    `<tr><td>${name}</td><td>${numberText(count)}</td><td>${secondsText(seconds)}</td><td>${bytes}</td></tr>`;
  const rows = [
    ...Object.entries(work).map(([name, one]) => row(name, one, "")),
    ...Object.entries(copies).map(([name, one]) => row(name, one, bytesText(one.bytes))),
  ];
  const works = time && to > from ? `, ${shareText(Math.min(1, busy / (to - from)))} of the range` : "";
  const waiting = waits > 0 ? `, waits ${secondsText(waits)} for copies` : "";
  return `<b>Range ${title}</b>, ${numberText(steps)} steps. Compute works ${secondsText(busy)}${works}${waiting}; `
    + `at most ${bytesText(most)} live; ${numberText(tensors.size)} tensors written.`
    + `<table class="totals"><thead><tr><th>work</th><th>steps</th><th>time</th><th>bytes</th></tr></thead>`
    + `<tbody>${rows.join("")}</tbody></table>`;
}

class View {
  constructor(page) {
    this.page = page;
    this.timer = 0;
    this.hits = [];
    this.at = -1;
    this.restore();
    page.figure.onChange = () => this.save();
    addEventListener("hashchange", () => this.restore());
    const search = byId("search");
    search.addEventListener("input", () => this.find(search.value));
    search.addEventListener("keydown", (event) => {
      if (event.key === "Enter") this.next(event.shiftKey ? -1 : 1);
      if (event.key === "Escape") {
        search.value = "";
        this.find("");
        search.blur();
      }
    });
  }

  // ---- search ----

  find(text) {
    const { page } = this, { plan, figure } = page, wanted = text.trim().toLowerCase();
    this.hits = [];
    this.at = -1;
    if (wanted) {
      const isHit = (name) => name.toLowerCase().includes(wanted);
      const layers = plan.layers.name.map((_, layer) => plan.namesOfLayer(layer).some(isHit));
      for (let tensor = 0; tensor < plan.tensors.name.length; ++tensor) {
        const layer = plan.layerOf(tensor), names = [plan.tensors.name[tensor], plan.moduleOfTensor(tensor)];
        if (names.some(isHit) || (layer >= 0 && layers[layer])) this.hits.push(tensor);
      }
      this.hits.sort((a, b) => plan.tensors.bytes[b] - plan.tensors.bytes[a] || a - b);
    }
    figure.found = wanted ? new Set(this.hits) : null;
    const count = this.hits.length;
    byId("hits").textContent = wanted ? `${numberText(count)} tensor${count === 1 ? "" : "s"}` : "";
    if (figure.chosen.size > 0) page.letGo();
    figure.redraw();
  }
  next(by) {
    if (this.hits.length === 0) return;
    this.at = (this.at + by + this.hits.length) % this.hits.length;
    this.page.chooseTensor(this.hits[this.at], false);
    byId("hits").textContent = `${numberText(this.at + 1)} of ${numberText(this.hits.length)}`;
    this.show(this.hits[this.at]);
  }
  // Moves so that the tensor's first block is on the screen.
  show(tensor) {
    const { figure, plan } = this.page, own = plan.tensors.blocks[tensor];
    if (own.length === 0) return;
    const [from, to] = figure.blockSpan(own[0]), half = (figure.to - figure.from) / 2;
    if (to < figure.from || from > figure.to) figure.move((from + to) / 2 - figure.from - half);
  }

  // ---- the fragment ----

  text() {
    const { figure, plan, table } = this.page, parts = new URLSearchParams();
    const share = (value) => (value / figure.whole).toFixed(6);
    if (figure.axis !== "time") parts.set("axis", figure.axis);
    if (figure.from > 0 || figure.to < figure.whole) parts.set("view", `${share(figure.from)}-${share(figure.to)}`);
    if (figure.byKind) parts.set("colours", "kind");
    if (figure.range) parts.set("range", `${share(figure.range[0])}-${share(figure.range[1])}`);
    if (figure.chosen.size === 1) parts.set("tensor", plan.tensors.name[[...figure.chosen][0]]);
    else if (figure.chosenTasks.size > 0 && table.chosen >= 0) parts.set("layer", plan.layers.name[table.chosen]);
    return parts.toString();
  }
  // A drag changes the view many times a second; the address follows when it rests.
  save() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      const text = this.text();
      if (text === location.hash.slice(1)) return;
      history.replaceState(null, "", text ? "#" + text : location.pathname + location.search);
    }, 150);
  }
  restore() {
    const { page } = this, { figure, plan } = page, parts = new URLSearchParams(location.hash.slice(1));
    if (location.hash.slice(1) === this.text()) return;
    const shares = (key) => {
      const found = /^([0-9.]+)-([0-9.]+)$/.exec(parts.get(key) || "");
      const [from, to] = found ? [Number(found[1]), Number(found[2])] : [0, 0];
      return to > from && to <= 1 ? [from * figure.whole, to * figure.whole] : null;
    };
    figure.setAxis(parts.get("axis") || "time");
    figure.byKind = parts.get("colours") === "kind";
    [figure.from, figure.to] = shares("view") || [0, figure.whole];
    const tensor = plan.tensors.name.indexOf(parts.get("tensor")), layer = plan.layers.name.indexOf(parts.get("layer"));
    if (parts.has("tensor") && tensor >= 0) page.chooseTensor(tensor, false);
    else if (parts.has("layer") && layer >= 0 && layer !== page.table.chosen) page.chooseLayer(layer);
    const range = shares("range");
    if (range) page.setRange(range);
    page.refresh();
  }
  async copy() {
    clearTimeout(this.timer);
    const text = this.text(), address = location.href.split("#")[0] + (text ? "#" + text : "");
    history.replaceState(null, "", address);
    const button = byId("link"), before = button.textContent;
    try {
      await navigator.clipboard.writeText(address);
      button.textContent = "copied";
    } catch {
      button.textContent = "in the address bar";
    }
    setTimeout(() => (button.textContent = before), 1600);
  }
}
