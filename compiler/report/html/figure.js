// The linked figure: memory curve, map of addresses and streams. All three share one horizontal axis, in seconds or in
// steps.

const GUTTER = 74, RIGHT = 14, CURVE = 104, GAP = 6, LANE = 20, TICKS = 24, CAPTION = 16, AXIS = TICKS + CAPTION;
const FONT = '11.5px system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';

// The custom properties of page.css that the figure is drawn in.
const COLOURS = [
  "paper", "panel", "ink", "muted", "line", "grid", "accent", "budget", "live", "floor",
  "persistent", "input", "keep", "home", "activation", "stash", "gradient", "weight-gradient", "workspace",
  "offload", "prefetch", "recompute", "brief", "forward", "backward", "update", "stall",
];
const KIND_COLOURS = [
  "input", "activation", "gradient", "persistent", "weight-gradient", "persistent", "persistent", "stash",
];
const DECISION_COLOURS = ["brief", "keep", "offload", "recompute", "input", "home"];

const unitOf = (seconds) => seconds >= 1 ? [1, "s"] : seconds >= 1e-3 ? [1e-3, "ms"] : [1e-6, "µs"];

// Round numbers of bytes, far enough apart to be read.
function byteTicks(top, pixels) {
  let tick = 1;
  while ((tick / top) * pixels < 34) tick *= 2;
  return Array.from({ length: Math.floor(top / tick) + 1 }, (_, i) => i * tick);
}
const roundBytesText = (bytes) => bytesText(bytes).replace(/\.0+ /, " ");

// With as many digits as tell one tick from the next.
function tickText(seconds, tick) {
  if (seconds === 0) return "0";
  const [unit, name] = unitOf(seconds);
  const digits = Math.max(0, -Math.floor(Math.log10(tick / unit) + 1e-9));
  return `${(seconds / unit).toFixed(digits)} ${name}`;
}

class Figure {
  constructor(canvas, plan) {
    this.canvas = canvas;
    this.plan = plan;
    this.axis = plan.seconds > 0 ? "time" : "step";  // or "measured"
    this.byKind = false;  // blocks are coloured by decision
    this.range = null;  // two values of the axis
    this.found = null;  // tensors that a search found
    this.chosen = new Set();  // tensors
    this.chosenTasks = new Set();
    this.hovered = null;
    this.pending = false;
    this.base = document.createElement("canvas");  // all but what follows the pointer, which must not wait for the rest
    this.stale = true;
    const streams = ["compute", "d2h", "h2d", "comm"].slice(0, plan.ranks ? 4 : 3);
    this.lanes = streams.map((name, stream) => ({ name, stream, measured: false }));
    // Below them, the same streams as measured. The first of these lanes says so.
    if (plan.measured) {
      const asMeasured = (lane, row) => ({ ...lane, name: row === 0 ? "measured" : lane.name, measured: true });
      this.lanes.push(...this.lanes.map(asMeasured));
    }
    this.addressTop = Math.max(plan.budget, plan.summary.arena_bytes, 1);
    const memory = plan.memory;
    const most = (values) => values.reduce((a, b) => Math.max(a, b), 0);
    const keepAll = most(memory.keepAll);
    const budget = plan.budget <= 2 * keepAll ? plan.budget : 0;  // a larger one would flatten the curve
    this.curveTop = Math.max(1, budget, keepAll, most(memory.live)) * 1.04;
    this.readColours();
    this.showAll();
  }

  readColours() {
    const style = getComputedStyle(document.documentElement);
    const value = (name) => style.getPropertyValue("--" + name).trim();
    this.colour = {};
    for (const name of COLOURS) this.colour[name] = value(name);
  }

  // ---- the axis ----

  get byTime() { return this.axis !== "step"; }
  get whole() { return this.axis === "step" ? this.plan.count : this.clock.seconds; }
  // What the axis counts by: the prediction, or what was measured.
  get clock() {
    const { plan } = this;
    if (this.axis === "measured") return plan.measured;
    const { steps, blocks, seconds, tail } = plan;
    return { start: steps.start, end: steps.end, from: blocks.from, to: blocks.to, seconds, tail };
  }
  get axisCaption() {
    if (!this.byTime) return "steps, in the order of the plan";
    return `time since the start of the round, ${this.axis === "measured" ? "measured" : "predicted"}`;
  }
  showAll() {
    this.from = 0;
    this.to = this.whole;
    this.redraw();
  }
  setAxis(axis) {
    if (axis === this.axis) return;
    if ((axis === "time" && !(this.plan.seconds > 0)) || (axis === "measured" && !this.plan.measured)) return;
    const from = this.from / this.whole, to = this.to / this.whole;
    if (this.range) this.range = null;  // it has no meaning on another axis
    this.axis = axis;
    this.from = from * this.whole;
    this.to = to * this.whole;
    this.redraw();
  }
  // Never closer than two steps, or ten nanoseconds.
  zoom(factor, at = (this.from + this.to) / 2) {
    const least = this.byTime ? 1e-8 : 2;
    const width = Math.min(this.whole, Math.max(least, (this.to - this.from) * factor));
    const share = (at - this.from) / (this.to - this.from);
    this.from = at - share * width;
    this.to = this.from + width;
    this.keepInside();
  }
  move(by) {
    this.from += by;
    this.to += by;
    this.keepInside();
  }
  keepInside() {
    const width = this.to - this.from;
    this.from = Math.min(Math.max(0, this.from), this.whole - width);
    this.to = this.from + width;
    this.redraw();
  }
  x(value) { return GUTTER + ((value - this.from) / (this.to - this.from)) * (this.width - GUTTER - RIGHT); }
  valueAt(x) { return this.from + ((x - GUTTER) / (this.width - GUTTER - RIGHT)) * (this.to - this.from); }
  // The value at this place, or at the nearest that is shown.
  clamped(x) { return Math.min(this.to, Math.max(this.from, this.valueAt(x))); }
  blockSpan(i) {
    if (this.byTime) return [this.clock.from[i], this.clock.to[i]];
    const { first, last } = this.plan.blocks;
    return [Math.max(0, first[i]), Math.min(this.plan.count, last[i] + 1)];
  }
  // In a lane of the other clock, to the scale of the round, so that the two can be laid side by side.
  stepSpan(step, measured = this.axis === "measured") {
    if (!this.byTime) return [step, step + 1];
    const { plan } = this;
    const predicted = { start: plan.steps.start, end: plan.steps.end, seconds: plan.seconds };
    const own = measured ? plan.measured : predicted;
    if (measured && !own.seen[step]) return null;
    const scale = own.seconds > 0 ? this.whole / own.seconds : 1;
    return [own.start[step] * scale, own.end[step] * scale];
  }

  // ---- layout ----

  // The map of addresses takes what the window leaves, so that the streams are on the first screen.
  layout() {
    this.width = this.canvas.parentElement.clientWidth;
    this.captions = captionsOf(this);
    const rows = this.captions.map((caption) => caption.height);
    const top = this.canvas.getBoundingClientRect().top + scrollY;
    const others = rows[0] + rows[1] + rows[2] + CURVE + 2 * GAP + this.lanes.length * LANE + AXIS + 14;
    const mapHeight = Math.max(200, Math.min(460, innerHeight - top - others));
    this.curve = { top: rows[0], bottom: rows[0] + CURVE };
    const mapTop = this.curve.bottom + GAP + rows[1];
    this.map = { top: mapTop, bottom: mapTop + mapHeight };
    const streamsTop = this.map.bottom + GAP + rows[2];
    this.streams = { top: streamsTop, bottom: streamsTop + this.lanes.length * LANE };
    this.height = this.streams.bottom + AXIS;
    const ratio = window.devicePixelRatio || 1;
    const width = Math.round(this.width * ratio), height = Math.round(this.height * ratio);
    if (this.canvas.width !== width || this.canvas.height !== height) {
      for (const canvas of [this.canvas, this.base]) {
        canvas.width = width;
        canvas.height = height;
      }
      this.canvas.style.height = this.height + "px";
      this.stale = true;
    }
    this.context = this.canvas.getContext("2d");
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    return ratio;
  }

  redraw() {
    this.stale = true;
    if (this.onChange) this.onChange();
    this.schedule();
  }
  hover(found) {
    this.hovered = found;
    this.schedule();
  }
  schedule() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      this.draw();
    });
  }

  draw() {
    const ratio = this.layout();
    if (this.width === 0) return;  // a page that is not shown yet has no room; it is drawn when it has
    if (this.stale) this.drawBase(ratio);
    const c = this.context;
    c.drawImage(this.base, 0, 0, this.width, this.height);
    if (!this.hovered) return;
    const { block, step } = this.hovered;
    if (block >= 0) this.inside(c, this.map, () => this.frame(c, this.blockBox(block), this.colour.ink, 1.5));
    if (step >= 0) this.inside(c, this.streams, () => this.frameStep(c, step));
  }
  drawBase(ratio) {
    this.stale = false;
    const c = this.base.getContext("2d");
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.fillStyle = this.colour.paper;
    c.fillRect(0, 0, this.width, this.height);
    c.font = FONT;
    c.textBaseline = "middle";
    this.drawAxis(c);
    this.inside(c, this.curve, () => this.drawCurve(c));
    this.inside(c, this.map, () => this.drawMap(c));
    this.inside(c, this.streams, () => this.drawStreams(c));
    drawGuides(this, c);
    this.inside(c, this.map, () => this.drawOver(c));
    this.drawLabels(c);
    drawMarks(this, c);
  }
  inside(c, area, paint) {
    c.save();
    c.beginPath();
    c.rect(GUTTER, area.top - 1, this.width - GUTTER - RIGHT, area.bottom - area.top + 2);
    c.clip();
    paint();
    c.restore();
  }

  drawAxis(c) {
    const wanted = Math.max(4, Math.floor((this.width - GUTTER) / 90)), raw = (this.to - this.from) / wanted;
    const power = 10 ** Math.floor(Math.log10(raw));
    let tick = power * [1, 2, 5, 10].find((m) => m * power >= raw);
    if (!this.byTime) tick = Math.max(1, Math.round(tick));
    c.textAlign = "center";
    for (let at = Math.ceil(this.from / tick) * tick; at <= this.to; at += tick) {
      const x = this.x(at);
      c.fillStyle = this.colour.grid;
      for (const area of [this.curve, this.map, this.streams]) c.fillRect(x, area.top, 1, area.bottom - area.top);
      c.fillStyle = this.colour.muted;
      const text = this.byTime ? tickText(at, tick) : numberText(Math.round(at));
      if (x > GUTTER + 14 && x < this.width - RIGHT - 18) c.fillText(text, x, this.streams.bottom + TICKS / 2 + 2);
    }
    c.fillText(this.axisCaption, (GUTTER + this.width - RIGHT) / 2, this.streams.bottom + TICKS + CAPTION / 2 - 3);
  }

  addressY(bytes) { return this.map.bottom - (bytes / (this.addressTop * 1.03)) * (this.map.bottom - this.map.top); }
  curveY(bytes) { return this.curve.bottom - (bytes / this.curveTop) * (this.curve.bottom - this.curve.top); }

  // The points of a curve. By steps, the value at every step. Over time, the values at the tasks of the compute stream;
  // before the first task, those at the copies; after the last task, what the remaining copies hold.
  curvePoints(values) {
    const points = [], plan = this.plan, pixel = (this.to - this.from) / Math.max(1, this.width);
    const task = plan.steps.stream.indexOf(0), tasksBegin = (task >= 0 && this.stepSpan(task) || [0])[0];
    for (let step = 0; step < plan.count; ++step) {
      const isCopy = this.byTime && plan.steps.stream[step] !== 0;
      if (isCopy && step > task) continue;
      const span = this.stepSpan(step);
      if (!span || (isCopy && span[0] >= tasksBegin)) continue;
      const [from, to] = isCopy ? [span[0], span[0]] : span;  // until the next begins
      if (to < this.from && !isCopy) continue;
      if (from > this.to) break;
      const previous = points[points.length - 1];
      if (isCopy && previous && from <= previous.from) {
        previous.value = Math.max(previous.value, values[step]);
        continue;
      }
      // Many steps in one pixel are one: the most of them counts.
      if (previous && from - previous.from < pixel / 2 && to - previous.from < pixel) {
        previous.value = Math.max(previous.value, values[step]);
        previous.to = to;
      } else points.push({ from, to, value: values[step] });
    }
    if (!this.byTime) return points;
    const { live, floor } = plan.memory;
    for (const part of this.clock.tail) {
      if (part.to < this.from || part.from > this.to) continue;
      const value = values === live ? part.live : values === floor ? part.floor : values[plan.count - 1];
      points.push({ from: part.from, to: part.to, value });
    }
    return points;
  }
  trace(c, values) {
    const points = this.curvePoints(values);
    c.beginPath();
    points.forEach((point, i) => {
      const y = this.curveY(point.value);
      if (i === 0) c.moveTo(this.x(point.from), y);
      else c.lineTo(this.x(point.from), y);
      c.lineTo(this.x(i + 1 < points.length ? Math.max(point.to, points[i + 1].from) : point.to), y);
    });
    return points;
  }
  drawCurve(c) {
    const memory = this.plan.memory;
    const points = this.trace(c, memory.live);
    if (points.length > 0) {
      c.lineTo(this.x(points[points.length - 1].to), this.curve.bottom);
      c.lineTo(this.x(points[0].from), this.curve.bottom);
      c.closePath();
      c.globalAlpha = 0.16;
      c.fillStyle = this.colour.live;
      c.fill();
      c.globalAlpha = 1;
    }
    this.line(c, memory.floor, this.colour.floor, 1, [1, 2]);
    this.line(c, memory.keepAll, this.colour.muted, 1.2, [5, 4]);
    this.line(c, memory.live, this.colour.live, 1.6, []);
    this.level(c, this.curveY(this.plan.budget));
  }
  line(c, values, colour, width, dash) {
    this.trace(c, values);
    c.strokeStyle = colour;
    c.lineWidth = width;
    c.setLineDash(dash);
    c.stroke();
    c.setLineDash([]);
  }
  level(c, y) {
    c.fillStyle = this.colour.budget;
    c.fillRect(GUTTER, Math.round(y) - 1, this.width - GUTTER - RIGHT, 2);
  }

  blockColour(i) {
    const tensor = this.plan.blocks.tensor[i];
    if (tensor < 0) return "workspace";
    const kind = KIND_COLOURS[this.plan.tensors.kind[tensor]] || "activation";
    if (this.byKind || (kind === "persistent" && this.plan.tensors.fate[tensor] !== HOME)) return kind;
    return DECISION_COLOURS[this.plan.tensors.fate[tensor]] || "brief";
  }
  blockBox(i) {
    const [from, to] = this.blockSpan(i), blocks = this.plan.blocks;
    const left = this.x(from), right = this.x(to);
    const top = this.addressY(blocks.offset[i] + blocks.bytes[i]), bottom = this.addressY(blocks.offset[i]);
    return { left, top, width: Math.max(right - left, 0.6), height: Math.max(bottom - top, 0.6) };
  }
  drawMap(c) {
    const arenaTop = this.addressY(this.plan.summary.arena_bytes);
    c.fillStyle = this.colour.panel;
    c.fillRect(GUTTER, arenaTop, this.width, this.map.bottom - arenaTop);
    const byColour = new Map(), blocks = this.plan.blocks, shown = this.chosen.size > 0 ? this.chosen : this.found;
    this.large = [];
    const right = this.width - RIGHT;
    for (let i = 0; i < blocks.tensor.length; ++i) {
      const box = this.blockBox(i);
      if (box.left > right || box.left + box.width < GUTTER) continue;
      const name = this.blockColour(i);
      if (!byColour.has(name)) byColour.set(name, []);
      byColour.get(name).push([box, shown && !shown.has(blocks.tensor[i])]);
      if (box.height >= 12 && box.width >= 44) this.large.push([box, i, name]);
    }
    for (const [name, boxes] of byColour) {
      c.fillStyle = this.colour[name];
      for (const [box, dimmed] of boxes) {
        c.globalAlpha = dimmed ? 0.4 : 0.94;
        // A hair of paper between neighbours, where there is room for it.
        const inset = box.width > 3 && box.height > 3 ? 0.5 : 0;
        c.fillRect(box.left + inset, box.top + inset, box.width - 2 * inset, box.height - 2 * inset);
      }
    }
    c.globalAlpha = 1;
  }
  drawOver(c) {
    this.large.forEach(([box, i, name]) => labelBlock(this, c, box, i, name));
    this.drawChosen(c);
    this.level(c, this.addressY(this.plan.budget));
  }
  // The chosen tensors' blocks, and a bow over the time that each is away.
  drawChosen(c) {
    for (const tensor of this.chosen) {
      const own = this.plan.tensors.blocks[tensor];
      own.forEach((block) => this.frame(c, this.blockBox(block), this.colour.ink, 2));
      for (let i = 0; i + 1 < own.length; ++i) {
        const a = this.blockBox(own[i]), b = this.blockBox(own[i + 1]);
        const x0 = a.left + a.width, y0 = a.top + a.height / 2, x1 = b.left, y1 = b.top + b.height / 2;
        c.beginPath();
        c.moveTo(x0, y0);
        c.bezierCurveTo(x0 + (x1 - x0) / 3, y0 - 40, x1 - (x1 - x0) / 3, y1 - 40, x1, y1);
        c.strokeStyle = this.colour.ink;
        c.lineWidth = 1.4;
        c.setLineDash([4, 4]);
        c.stroke();
        c.setLineDash([]);
      }
    }
  }
  frame(c, box, colour, width) {
    c.strokeStyle = colour;
    c.lineWidth = width;
    c.strokeRect(box.left, box.top, box.width, box.height);
  }

  laneTop(lane) { return this.streams.top + lane * LANE; }
  stepColour(step) {
    const plan = this.plan, kind = plan.steps.kind[step];
    if (kind === OFFLOAD) return "offload";
    if (kind === PREFETCH) return "prefetch";
    if (kind === LOAD) return "input";
    if (kind === REDUCE) return "weight-gradient";
    if (plan.steps.again[step]) return "recompute";
    return ["forward", "forward", "backward", "backward", "backward", "update"][plan.tasks.kind[plan.steps.of[step]]];
  }
  drawStreams(c) {
    const plan = this.plan;
    this.lanes.forEach((lane, row) => {
      const top = this.laneTop(row) + 2, height = LANE - 4;
      c.fillStyle = this.colour.panel;
      c.fillRect(GUTTER, top, this.width, height);
      let until = -1, colour = "";
      for (let step = 0; step < plan.count; ++step) {
        if (plan.steps.stream[step] !== lane.stream) continue;
        const span = this.stepSpan(step, lane.measured);
        if (!span || span[1] < this.from || span[0] > this.to) continue;
        const left = this.x(span[0]), right = Math.max(this.x(span[1]), left + 0.7);
        const name = this.stepColour(step);
        if (right - until < 0.7 && name === colour) continue;  // nothing new in this pixel
        until = right;
        colour = name;
        const dimmed = (this.chosen.size > 0 || this.found) && !this.concerns(step);
        c.globalAlpha = dimmed ? 0.45 : 1;
        c.fillStyle = this.colour[name];
        c.fillRect(left, top, right - left > 3 ? right - left - 0.6 : right - left, height);
        // What compute waits for is marked along the foot.
        const exposed = plan.steps.exposed[step], box = { left, top, width: right - left, height };
        if (exposed > 0 && !lane.measured) {
          const share = Math.min(1, exposed / Math.max(1e-12, plan.steps.length[step]));
          c.fillStyle = this.colour.stall;
          c.fillRect(left, top + height - 4, box.width * share, 4);
        }
        if (box.width > 50) textInside(c, plan.stepName(step), box, inkOn(this.colour[name]));
        c.globalAlpha = 1;
      }
    });
  }
  frameStep(c, step) {
    this.lanes.forEach((lane, row) => {
      const span = this.plan.steps.stream[step] === lane.stream ? this.stepSpan(step, lane.measured) : null;
      if (!span) return;
      const left = this.x(span[0]), width = this.x(span[1]) - left;
      this.frame(c, { left, top: this.laneTop(row) + 2, width, height: LANE - 4 }, this.colour.ink, 1.5);
    });
  }
  concerns(step) {
    const { kind, of } = this.plan.steps;
    if (this.chosenTasks.size > 0 && kind[step] === COMPUTE && this.chosenTasks.has(of[step])) return true;
    const shown = this.chosen.size > 0 ? this.chosen : this.found || new Set();
    return this.plan.touched(step).some((tensor) => shown.has(tensor));
  }

  drawLabels(c) {
    c.textAlign = "right";
    const label = (text, y, colour) => {
      c.fillStyle = colour;
      c.fillText(text, GUTTER - 8, y);
    };
    const scale = (y, top, area) => {
      for (const bytes of byteTicks(top, area.bottom - area.top)) {
        label(roundBytesText(bytes), y(bytes), this.colour.muted);
        c.fillStyle = this.colour.line;
        c.fillRect(GUTTER - 5, Math.round(y(bytes)), 4, 1);
      }
      c.fillStyle = this.colour.line;
      c.fillRect(GUTTER - 1, area.top, 1, area.bottom - area.top);
    };
    scale((bytes) => this.curveY(bytes), this.curveTop / 1.04, this.curve);
    scale((bytes) => this.addressY(bytes), this.addressTop, this.map);
    this.lanes.forEach((lane, row) => label(lane.name, this.laneTop(row) + LANE / 2, this.colour.muted));
    const tops = [this.curve.top, this.map.top, this.streams.top];
    this.captions.forEach((caption, i) => drawCaption(this, c, caption, tops[i] - caption.height));
  }

  // ---- what lies under the pointer ----

  find(x, y) {
    const found = { block: -1, step: -1 };
    if (x < GUTTER || x > this.width - RIGHT) return found;
    const at = this.valueAt(x);
    if (y >= this.map.top && y <= this.map.bottom) {
      let area = Infinity;  // of blocks that share a place in place, the smaller
      for (let i = 0; i < this.plan.blocks.tensor.length; ++i) {
        const box = this.blockBox(i);
        if (x < box.left || x > box.left + box.width || y < box.top || y > box.top + box.height) continue;
        if (box.width * box.height >= area) continue;
        area = box.width * box.height;
        found.block = i;
      }
    } else if (y >= this.streams.top && y < this.streams.bottom) {
      const lane = this.lanes[Math.floor((y - this.streams.top) / LANE)];
      for (let step = 0; step < this.plan.count && found.step < 0; ++step) {
        if (this.plan.steps.stream[step] !== lane.stream) continue;
        const span = this.stepSpan(step, lane.measured);
        if (span && at >= span[0] && at <= span[1]) found.step = step;
      }
    }
    return found;
  }

  choose(tensors, tasks = []) {
    this.chosen = new Set(tensors);
    this.chosenTasks = new Set(tasks);
    this.redraw();
  }
}
