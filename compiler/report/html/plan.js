// Puts the page together: figures in numbers, the linked figure, the table, and what hands and keys do.

const html = (text) => String(text).replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);
const byId = (id) => document.getElementById(id);

function drawHead(plan) {
  const rounds = plan.rounds === 1 ? "in one round" : `in ${plan.rounds} rounds of ${plan.sub_batch}${plan.last_sub_batch === plan.sub_batch ? "" : `, the last of ${plan.last_sub_batch}`}`;
  byId("title").textContent = plan.model;
  document.title = `${plan.model} in ${bytesText(plan.budget)}`;
  byId("subtitle").textContent = `batch ${plan.batch} ${rounds}${plan.ranks > 1 ? ` on ${plan.ranks} ranks` : ""}, policy ${plan.policy}, target ${plan.target}; times ${[plan.costs, plan.device].filter(Boolean).join(", ")}`;
  byId("footer").textContent = `${plan.generator}. ${numberText(plan.tensors.name.length)} tensors, ${numberText(plan.tasks.layer.length)} tasks, ${numberText(plan.count)} steps a round. Made by plimsoll inspect --html.`;
}

function drawTiles(plan) {
  const s = plan.summary, tiles = [];
  const whole = (text) => html(text).replace(/(\d) (?=\p{L})/gu, "$1&nbsp;");  // a number keeps its unit
  const tile = (name, value, note, share) => tiles.push(`<div class="tile"><div class="name">${whole(name)}</div><div class="value">${html(value)}</div><div class="note">${whole(note)}</div>${share === undefined ? "" : `<div class="meter"><i style="width:${Math.min(100, share * 100).toFixed(1)}%"></i></div>`}</div>`);
  tile("arena", bytesText(s.arena_bytes), `of a budget of ${bytesText(plan.budget)}`, s.arena_bytes / plan.budget);
  if (s.unconstrained_bytes) tile("without a budget", bytesText(s.unconstrained_bytes), `the plan takes ${shareText(s.arena_bytes / s.unconstrained_bytes)} of it`, s.arena_bytes / s.unconstrained_bytes);
  if (s.minimum_bytes) tile("least budget", bytesText(s.minimum_bytes), `for which a plan is known, ${shareText(s.minimum_bytes / plan.budget)} of this one`, s.minimum_bytes / plan.budget);
  const robust = s.robust === undefined ? "" : `; robust to ±20 %: ${s.robust > 0 ? "+" : ""}${(100 * s.robust).toFixed(1)} %`;
  tile("iteration, predicted", secondsText(s.iteration_seconds), (s.unconstrained_seconds ? `${secondsText(s.unconstrained_seconds)} without a budget` : "all rounds and the update") + robust);
  if (plan.measured) tile("round, measured", secondsText(plan.measured.seconds), `${secondsText(plan.seconds)} predicted${plan.seconds > 0 ? `: ${(plan.measured.seconds / plan.seconds).toFixed(2)} times that` : ""}`);
  const moved = s.offloaded_bytes + s.prefetched_bytes;
  if (moved) tile("moved", bytesText(moved), `in an iteration; compute waits ${secondsText(s.stall_seconds)}`);
  if (plan.ranks > 1) tile("reduced over ranks", bytesText(s.reduced_bytes), `by each, ${secondsText(s.reduce_seconds)} on the comm stream`);
  if (s.recomputed_tasks) tile("run again", `${numberText(s.recomputed_tasks)} task${s.recomputed_tasks === 1 ? "" : "s"}`, `${secondsText(s.recompute_seconds)} of an iteration`);
  if (s.more_bytes) tile(`${bytesText(s.more_bytes)} more`, secondsText(s.more_seconds), s.iteration_seconds - s.more_seconds > 5e-4 * s.iteration_seconds ? `would save ${secondsText(s.iteration_seconds - s.more_seconds)}` : "would buy nothing");
  const half = Math.ceil(tiles.length / 2);
  byId("tiles").innerHTML = tiles.join("");
  byId("tiles").style.setProperty("--row", tiles.length > 7 ? half : tiles.length);
  byId("tiles").style.setProperty("--half", half);
}

// What the streams' colours say, of those that this plan has.
function streamColours(plan) {
  const { again, kind } = plan.steps, has = (values, wanted) => values.some((value) => value === wanted);
  return [["activation", "forward"], ["gradient", "backward"], ["persistent", "update"],
    again.some((is) => is) && ["recompute", "run again"], has(kind, OFFLOAD) && ["offload", "to the host"], has(kind, PREFETCH) ? ["prefetch", "back, and samples"] : has(kind, LOAD) && ["input", "samples"],
    has(kind, REDUCE) && ["weight-gradient", "over ranks"]].filter(Boolean);
}

function drawLegend(figure) {
  const box = (colour, text) => `<span><i style="background:var(--${colour})"></i>${text}</span>`;
  const line = (colour, text, dash = "") => `<span><i class="line ${dash}" style="border-color:var(--${colour})"></i>${text}</span>`;
  const blocks = figure.byFate
    ? [["persistent", "persistent"], ["activation", "kept through its gap"], ["offload", "offloaded"], ["recompute", "made again"], ["input", "loaded again"], ["brief", "no gap"], ["workspace", "workspace"]]
    : [["persistent", "weights, their state, statistics"], ["input", "input"], ["activation", "activation"], ["stash", "stash"], ["gradient", "activation gradient"], ["weight-gradient", "weight gradient"], ["workspace", "workspace"]];
  byId("legend").innerHTML = blocks.map(([colour, text]) => box(colour, text)).join("")
    + line("budget", "budget; under a copy: compute waits for it") + line("muted", "live, were everything kept", "dash") + line("floor", "what each step itself needs")
    + `<span class="break"></span><span class="of">streams:</span>` + streamColours(figure.plan).map(([colour, text]) => box(colour, text)).join("");
}

function tensorText(plan, tensor, block) {
  const { blocks, tensors } = plan, layer = plan.layerOf(tensor);
  let text = `<b>${html(tensors.name[tensor])}</b><br><span class="muted">${plan.kinds[tensors.kind[tensor]].replace("_", " ")}, ${bytesText(tensors.bytes[tensor])}, ${plan.fateText(tensor)}</span>`;
  if (layer >= 0) text += `<br>of layer ${html(plan.layers.name[layer])}, ${html(plan.operators[plan.layers.op[layer]])}`;
  if (block < 0) return text;
  const first = blocks.first[block], last = blocks.last[block];
  text += `<br>at 0x${blocks.offset[block].toString(16)}`;
  if (first >= 0) text += `, steps ${first} to ${Math.min(last, plan.count)}, ${secondsText(blocks.from[block])} to ${secondsText(blocks.to[block])}`;
  return text + `<div class="why">${html(plan.why(block))}</div>`;
}

function stepText(plan, step) {
  const { steps } = plan, kind = steps.kind[step];
  let text = `<b>${html(plan.stepName(step))}</b><br><span class="muted">step ${step}, ${secondsText(steps.length[step])} from ${secondsText(steps.start[step])}</span>`;
  if (plan.measured && plan.measured.seen[step]) text += `<br>measured ${secondsText(plan.measured.end[step] - plan.measured.start[step])}`;
  if (kind === COMPUTE) {
    if (plan.algorithms[steps.algorithm[step]]) text += `<br>${html(plan.algorithms[steps.algorithm[step]])}, ${steps.workspace[step] ? bytesText(steps.workspace[step]) : "no"} workspace`;
    text += `<br>${bytesText(plan.memory.live[step])} live`;
  } else {
    text += `<br>${bytesText(plan.touched(step).reduce((sum, tensor) => sum + plan.tensors.bytes[tensor], 0))}`;
    if (kind === REDUCE) text += ` of ${plan.touched(step).length} tensors, over ${plan.ranks} ranks`;
    text += `<div class="why">${steps.exposed[step] > 0 ? `compute waits ${secondsText(steps.exposed[step])} for it` : "wholly beside the work of compute"}</div>`;
  }
  return text;
}

class Page {
  constructor(plan) {
    this.plan = plan;
    this.figure = new Figure(byId("canvas"), plan);
    this.table = new LayerTable(byId("layers"), plan, (layer) => this.chooseLayer(layer));
    this.atPeak = this.tensorsAtPeak();
    byId("by-measured").hidden = !plan.measured;
    drawHead(plan);
    drawTiles(plan);
    this.refresh();
    this.say("");
    this.listen();
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
    for (let i = 0; i < tensor.length; ++i) if (tensor[i] >= 0 && first[i] <= peak && peak <= last[i]) found.push(tensor[i]);
    return found.sort((a, b) => this.plan.tensors.bytes[b] - this.plan.tensors.bytes[a] || a - b);
  }

  refresh() {
    const { figure } = this;
    drawLegend(figure);
    for (const [id, on] of [["by-time", figure.axis === "time"], ["by-measured", figure.axis === "measured"], ["by-step", figure.axis === "step"], ["by-kind", !figure.byFate], ["by-fate", figure.byFate]]) byId(id).setAttribute("aria-pressed", on);
    figure.redraw();
  }
  setAxis(axis) {
    this.figure.setAxis(axis);
    this.refresh();
  }
  setFate(byFate) {
    this.figure.byFate = byFate;
    this.refresh();
  }

  say(text) {
    const s = this.plan.summary;
    byId("chosen").innerHTML = text || `<span class="muted">The peak: ${bytesText(s.live_bytes)} live at ${this.plan.peak >= 0 ? html(this.plan.stepName(this.plan.peak)) : "no step"}. Point at a block to see what it is and why it is there; click it, or a layer, to follow it.</span>`;
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
    this.say(`<b>${html(plan.layers.name[layer])}</b>, ${html(plan.operators[plan.layers.op[layer]])}: ${made.length} tensors of ${tasks.length} tasks` + made.map((tensor) => `<br>${html(plan.tensors.name[tensor])}: ${bytesText(plan.tensors.bytes[tensor])}, ${plan.fateText(tensor)}`).join(""));
  }
  letGo() {
    this.figure.choose([]);
    this.table.mark(-1, false);
    this.say("");
  }
  walk(by) {
    if (this.atPeak.length === 0) return;
    const [now] = this.figure.chosen, at = this.figure.chosen.size === 1 ? this.atPeak.indexOf(now) : -1;
    this.chooseTensor(this.atPeak[(at < 0 ? (by > 0 ? 0 : this.atPeak.length - 1) : at + by + this.atPeak.length) % this.atPeak.length]);
  }

  point(event) {
    const { figure, plan } = this, box = figure.canvas.getBoundingClientRect();
    const found = figure.find(event.clientX - box.left, event.clientY - box.top), tip = byId("tip");
    figure.hover(found.block >= 0 || found.step >= 0 ? found : null);
    tip.hidden = !figure.hovered;
    if (!figure.hovered) return;
    const tensor = found.block >= 0 ? plan.blocks.tensor[found.block] : -1;
    tip.innerHTML = found.step >= 0 ? stepText(plan, found.step) : tensor >= 0 ? tensorText(plan, tensor, found.block) : `<b>workspace</b><br>${bytesText(plan.blocks.bytes[found.block])}<div class="why">${html(plan.why(found.block))}</div>`;
    const width = tip.offsetWidth, height = tip.offsetHeight;
    tip.style.left = `${Math.max(6, event.clientX + 18 + width > innerWidth ? event.clientX - width - 14 : event.clientX + 18)}px`;
    tip.style.top = `${Math.max(6, event.clientY + 18 + height > innerHeight ? event.clientY - height - 14 : event.clientY + 18)}px`;
  }

  listen() {
    const { figure } = this, { canvas } = figure;
    const position = (event) => event.clientX - canvas.getBoundingClientRect().left;
    canvas.addEventListener("wheel", (event) => {
      if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) figure.move((event.deltaX / figure.width) * (figure.to - figure.from));
      else figure.zoom(Math.exp(Math.max(-60, Math.min(60, event.deltaY)) * 0.006), figure.valueAt(position(event)));
      event.preventDefault();
    }, { passive: false });
    let dragged = null;
    canvas.addEventListener("pointerdown", (event) => {
      dragged = { x: position(event), far: false };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!dragged) return this.point(event);
      const x = position(event), by = x - dragged.x;
      if (!dragged.far && Math.abs(by) < 4) return;
      dragged.far = true;
      canvas.classList.add("dragging");
      byId("tip").hidden = true;
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
      const keys = {
        "+": () => figure.zoom(0.7), "=": () => figure.zoom(0.7), "-": () => figure.zoom(1 / 0.7), "0": () => figure.showAll(),
        ArrowLeft: () => figure.move(-step), ArrowRight: () => figure.move(step),
        t: () => this.setAxis({ time: this.plan.measured ? "measured" : "step", measured: "step", step: "time" }[figure.axis]), c: () => this.setFate(!figure.byFate), n: () => this.walk(1), p: () => this.walk(-1), Escape: () => this.letGo(),
      };
      if (!keys[event.key]) return;
      keys[event.key]();
      event.preventDefault();
    });
    const press = { "by-time": () => this.setAxis("time"), "by-measured": () => this.setAxis("measured"), "by-step": () => this.setAxis("step"), "by-kind": () => this.setFate(false), "by-fate": () => this.setFate(true), "zoom-in": () => figure.zoom(0.6), "zoom-out": () => figure.zoom(1 / 0.6), "zoom-all": () => figure.showAll() };
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
