// The page together: figures in numbers, the linked figure, the table, and what pointer and keys do.

class Page {
  constructor(plan) {
    this.plan = plan;
    this.figure = new Figure(byId("canvas"), plan);
    this.selecting = false;
    this.table = new LayerTable(byId("layers"), plan, (layer) => this.chooseLayer(layer));
    this.atPeak = this.tensorsAtPeak();
    byId("by-measured").hidden = !plan.measured;
    drawHead(plan);
    drawTiles(plan);
    this.refresh();
    this.say("");
    this.listen();
    this.view = new View(this);
    followTheme((now) => {
      this.figure.readColours();
      if (now) {
        this.figure.stale = true;
        this.figure.draw();
      }
      else this.figure.redraw();
    });
  }

  tensorsAtPeak() {
    const peak = this.plan.peak, { first, last, tensor } = this.plan.blocks, found = [];
    for (let i = 0; i < tensor.length; ++i)
      if (tensor[i] >= 0 && first[i] <= peak && peak <= last[i]) found.push(tensor[i]);
    return found.sort((a, b) => this.plan.tensors.bytes[b] - this.plan.tensors.bytes[a] || a - b);
  }

  refresh() {
    const { figure } = this;
    const pressed = {
      "by-time": figure.axis === "time",
      "by-measured": figure.axis === "measured",
      "by-step": figure.axis === "step",
      "by-kind": figure.byKind,
      "by-decision": !figure.byKind,
      select: this.selecting,
    };
    for (const [id, on] of Object.entries(pressed)) byId(id).setAttribute("aria-pressed", on);
    figure.redraw();
  }
  setAxis(axis) {
    this.figure.setAxis(axis);
    this.refresh();
  }
  setKind(byKind) {
    this.figure.byKind = byKind;
    this.refresh();
  }
  setSelecting(on) {
    this.selecting = on;
    this.figure.canvas.classList.toggle("selecting", on);
    this.refresh();
  }

  say(text) { byId("chosen").innerHTML = text || this.peakText(); }
  peakText() {
    const { plan } = this, isTouch = matchMedia("(hover: none)").matches;
    const step = plan.peak >= 0 ? html(plan.stepName(plan.peak)) : "no step";
    const point = isTouch ? "Tap a block" : "Point at a block", click = isTouch ? "Tap" : "Click";
    return `<span class="muted">The peak: ${bytesText(plan.summary.live_bytes)} live at ${step}. `
      + `${point} to see what it is and why it is there. ${click} it, or a layer, to follow it.</span>`;
  }
  chooseTensor(tensor, scroll = true) {
    if (tensor < 0) return this.letGo();
    this.figure.choose([tensor]);
    this.table.mark(this.plan.layerOf(tensor), scroll);
    const blocks = this.plan.tensors.blocks[tensor];
    this.say(tensorText(this.plan, tensor, -1) + blocks.map((block) => `<br>${html(this.plan.why(block))}`).join(""));
  }
  chooseLayer(layer) {
    if (layer === this.table.chosen) return this.letGo();
    const { plan } = this, tasks = [], made = [];
    for (let task = 0; task < plan.tasks.layer.length; ++task) {
      if (plan.tasks.layer[task] !== layer) continue;
      tasks.push(task);
      made.push(...plan.tasks.writes(task));
    }
    this.figure.choose(made, tasks);
    this.table.mark(layer, false);
    const [name, module, operator] = plan.namesOfLayer(layer), { tensors } = plan;
    const ofModule = module ? ` of module <b>${html(module)}</b>` : "";
    const lines = made.map((tensor) =>
      `<br>${html(tensors.name[tensor])}: ${bytesText(tensors.bytes[tensor])}, ${plan.fateText(tensor)}`);
    this.say(`<b>${html(name)}</b>, ${html(operator)}${ofModule}: ${made.length} tensors of ${tasks.length} tasks`
      + lines.join(""));
  }
  letGo() {
    this.figure.range = null;
    this.figure.choose([]);
    this.table.mark(-1, false);
    this.say("");
  }
  setRange(range) {
    this.figure.range = range;
    this.figure.redraw();
    if (range) this.say(rangeText(this.figure));
    if (this.view) this.view.save();
  }
  walk(by) {
    const { atPeak } = this, { chosen } = this.figure;
    if (atPeak.length === 0) return;
    const [now] = chosen, at = chosen.size === 1 ? atPeak.indexOf(now) : -1;
    const first = by > 0 ? 0 : atPeak.length - 1;
    this.chooseTensor(atPeak[at < 0 ? first : (at + by + atPeak.length) % atPeak.length]);
  }

  point(event) {
    const { figure } = this, box = figure.canvas.getBoundingClientRect();
    const found = figure.find(event.clientX - box.left, event.clientY - box.top), tip = byId("tip");
    figure.hover(found.block >= 0 || found.step >= 0 ? found : null);
    tip.hidden = !figure.hovered;
    if (!figure.hovered) return;
    tip.innerHTML = this.tipText(found);
    const width = tip.offsetWidth, height = tip.offsetHeight, x = event.clientX, y = event.clientY;
    tip.style.left = `${Math.max(6, x + 18 + width > innerWidth ? x - width - 14 : x + 18)}px`;
    tip.style.top = `${Math.max(6, y + 18 + height > innerHeight ? y - height - 14 : y + 18)}px`;
  }
  tipText({ block, step }) {
    const { plan } = this;
    if (step >= 0) return stepText(plan, step);
    const tensor = plan.blocks.tensor[block];
    if (tensor >= 0) return tensorText(plan, tensor, block);
    const size = bytesText(plan.blocks.bytes[block]);
    return `<b>workspace</b><br>${size}<div class="why">${html(plan.why(block))}</div>`;
  }

  listen() {
    const { figure } = this, { canvas } = figure;
    const position = (event) => event.clientX - canvas.getBoundingClientRect().left;
    canvas.addEventListener("wheel", (event) => {
      const { deltaX, deltaY } = event;
      if (Math.abs(deltaX) > Math.abs(deltaY)) figure.move((deltaX / figure.width) * (figure.to - figure.from));
      else figure.zoom(Math.exp(Math.max(-60, Math.min(60, deltaY)) * 0.006), figure.valueAt(position(event)));
      event.preventDefault();
    }, { passive: false });
    let dragged = null;
    canvas.addEventListener("pointerdown", (event) => {
      const x = position(event);
      dragged = { x, far: false, range: this.selecting || event.shiftKey ? figure.clamped(x) : null };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!dragged) return this.point(event);
      const x = position(event), by = x - dragged.x;
      if (!dragged.far && Math.abs(by) < 4) return;
      dragged.far = true;
      byId("tip").hidden = true;
      if (dragged.range !== null) {
        const other = figure.clamped(x);
        this.setRange([Math.min(dragged.range, other), Math.max(dragged.range, other)]);
        return;
      }
      canvas.classList.add("dragging");
      figure.move((-by / (figure.width - GUTTER - RIGHT)) * (figure.to - figure.from));
      dragged.x = x;
    });
    canvas.addEventListener("pointerup", (event) => {
      const clicked = dragged && !dragged.far;
      dragged = null;
      canvas.classList.remove("dragging");
      if (!clicked) return;
      this.point(event);
      const found = figure.hovered;
      if (!found) this.letGo();
      else if (found.block >= 0) this.chooseTensor(this.plan.blocks.tensor[found.block]);
      else if (this.plan.steps.kind[found.step] !== COMPUTE) this.chooseTensor(this.plan.steps.of[found.step]);
      else this.chooseLayer(this.plan.tasks.layer[this.plan.steps.of[found.step]]);
    });
    canvas.addEventListener("pointerleave", () => {
      byId("tip").hidden = true;
      figure.hover(null);
    });
    canvas.addEventListener("dblclick", () => figure.showAll());
    addEventListener("keydown", (event) => {
      if (event.target.matches("input") || event.ctrlKey || event.metaKey || event.altKey) return;
      const step = (figure.to - figure.from) * 0.15;
      const nextAxis = { time: this.plan.measured ? "measured" : "step", measured: "step", step: "time" };
      const keys = {
        "+": () => figure.zoom(0.7),
        "=": () => figure.zoom(0.7),
        "-": () => figure.zoom(1 / 0.7),
        "0": () => figure.showAll(),
        ArrowLeft: () => figure.move(-step),
        ArrowRight: () => figure.move(step),
        "/": () => byId("search").focus(),
        s: () => this.setSelecting(!this.selecting),
        t: () => this.setAxis(nextAxis[figure.axis]),
        c: () => this.setKind(!figure.byKind),
        n: () => this.walk(1),
        p: () => this.walk(-1),
        Escape: () => this.letGo(),
      };
      if (!keys[event.key]) return;
      keys[event.key]();
      event.preventDefault();
    });
    const press = {
      "by-time": () => this.setAxis("time"),
      "by-measured": () => this.setAxis("measured"),
      "by-step": () => this.setAxis("step"),
      "by-kind": () => this.setKind(true),
      "by-decision": () => this.setKind(false),
      select: () => this.setSelecting(!this.selecting),
      link: () => this.view.copy(),
      "zoom-in": () => figure.zoom(0.6),
      "zoom-out": () => figure.zoom(1 / 0.6),
      "zoom-all": () => figure.showAll(),
    };
    for (const [id, act] of Object.entries(press)) byId(id).addEventListener("click", act);
    byId("filter").addEventListener("input", (event) => {
      this.table.filter = event.target.value;
      this.table.draw();
    });
    new ResizeObserver(() => figure.redraw()).observe(figure.canvas.parentElement);
  }
}

unpack(document.getElementById("data").textContent).then((packed) => {
  window.page = new Page(new PlanData(packed));
}).catch((error) => {
  document.getElementById("subtitle").textContent = "This browser cannot open the report: " + error.message;
  console.error(error);
});
