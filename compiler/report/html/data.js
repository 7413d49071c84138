// The plan as it is packed into the page: JSON of columns (compiler/report/plan_page.cpp). A column
// whose key ends in "+" holds differences; what is left out is zero.

function columns(table) {
  const made = {};
  for (const [key, values] of Object.entries(table)) {
    if (!key.endsWith("+")) {
      made[key] = values;
      continue;
    }
    let sum = 0;
    made[key.slice(0, -1)] = Float64Array.from(values, (difference) => (sum += difference));
  }
  return made;
}

// lists.of[i] … lists.of[i + 1] of lists.items, which are differences to `i` of the places before.
function unpackLists(packed, base) {
  const from = new Uint32Array(packed.counts.length + 1);
  packed.counts.forEach((count, i) => (from[i + 1] = from[i] + count));
  const items = new Int32Array(packed.items.length);
  for (let i = 0; i < packed.counts.length; ++i)
    for (let j = from[i]; j < from[i + 1]; ++j) items[j] = base[i] - packed.items[j];
  return (i) => items.subarray(from[i], from[i + 1]);
}

// The module path in a name by the TorchScript exporter: "layer2.3.conv3" of "/layer2/layer2.3/conv3/Conv".
function moduleByName(name) {
  if (!name.startsWith("/")) return "";
  let path = [], parent = "";
  for (const scope of name.split("/").slice(1, -1)) {
    if (parent && scope.startsWith(parent + ".")) path.pop();  // a child of a Sequential repeats its parent
    path.push(scope);
    parent = scope;
  }
  return path.join(".");
}
function shortNodeName(name) {
  const gradient = name.startsWith("d/"), bare = gradient ? name.slice(1) : name, module = moduleByName(bare);
  return module ? `${gradient ? "d" : ""}${module}/${bare.slice(bare.lastIndexOf("/") + 1)}` : name;
}

// At most `most` characters, if possible: modules without a number are left out, from the left. The
// number tells similar layers apart. The terminal does the same (shortened() of report/table.cpp).
function withoutModules(name, most) {
  const parts = name.match(/[./]?[^./]+|[./]/g) || [], out = parts.map(() => false);
  const text = (part, i) => (!out[i] ? part.slice(out[i - 1] ? 1 : 0) : out[i - 1] ? "" : "…");
  const rest = () => parts.map(text).join("");
  if (parts.length > 100) return name;
  for (let i = 0; i + 1 < parts.length && rest().length > most; ++i)
    out[i] = !/[0-9]/.test(parts[i]) && !/^[./][0-9]/.test(parts[i + 1]);
  return rest();
}

const COMPUTE = 0, OFFLOAD = 1, PREFETCH = 2, LOAD = 3, REDUCE = 4;  // kinds of steps
const KEEP = 1, FATE_OFFLOAD = 2, RECOMPUTE = 3, RELOAD = 4, HOME = 5;

class PlanData {
  constructor(packed) {
    Object.assign(this, packed.head);
    this.tensors = columns(packed.tensors);
    this.tasks = columns(packed.tasks);
    this.steps = columns(packed.steps);
    this.blocks = columns(packed.blocks);
    this.layers = columns(packed.layers);
    this.memory = columns(packed.memory);
    this.measured = packed.measured ? columns(packed.measured) : null;
    const base = this.tasks.base;
    this.tasks.reads = unpackLists(packed.tasks.reads, base);
    this.tasks.writes = unpackLists(packed.tasks.writes, base);
    this.tasks.updates = unpackLists(packed.tasks.updates, base);
    this.count = this.steps.kind.length;
    const inSeconds = (values) => Float64Array.from(values, (ns) => ns * 1e-9);
    for (const key of ["start", "length", "exposed"]) this.steps[key] = inSeconds(this.steps[key]);
    this.steps.end = this.steps.start.map((start, i) => start + this.steps.length[i]);
    this.seconds = this.steps.end.reduce((a, b) => Math.max(a, b), 0);
    if (this.measured) this.readMeasured();
    this.findMakers();
    this.findBlocks();
  }

  // A step that was not seen is taken to have run where it was predicted, to the scale of the round.
  readMeasured() {
    const { measured, steps } = this;
    measured.seen = Array.from(measured.start, (ns) => ns >= 0);
    measured.seconds = measured.end.reduce((a, b) => Math.max(a, b), 0) * 1e-9;
    const scale = measured.seconds / Math.max(this.seconds, 1e-12);
    measured.start = Float64Array.from(measured.start, (ns, i) => (ns >= 0 ? ns * 1e-9 : steps.start[i] * scale));
    measured.end = Float64Array.from(measured.end, (ns, i) => (ns >= 0 ? ns * 1e-9 : steps.end[i] * scale));
  }

  findMakers() {
    const tensors = this.tensors.name.length;
    this.tensors.maker = new Int32Array(tensors).fill(-1);
    this.tensors.blocks = Array.from({ length: tensors }, () => []);
    this.tensors.touches = Array.from({ length: tensors }, () => []);
    for (let task = 0; task < this.tasks.layer.length; ++task)
      for (const tensor of this.tasks.writes(task)) this.tensors.maker[tensor] = task;
    for (let step = 0; step < this.count; ++step)
      for (const tensor of this.touched(step)) this.tensors.touches[tensor].push(step);
  }

  // Blocks of tensors, then those of workspaces, whose tensor is -1.
  findBlocks() {
    const blocks = this.blocks, n = blocks.tensor.length, workspaces = [];
    for (let step = 0; step < this.count; ++step) if (this.steps.workspace[step] > 0) workspaces.push(step);
    const all = n + workspaces.length;
    const made = {
      tensor: new Int32Array(all).fill(-1),
      offset: new Float64Array(all),
      bytes: new Float64Array(all),
      first: new Int32Array(all),
      last: new Int32Array(all),
    };
    for (let i = 0; i < all; ++i) {
      const step = i < n ? -1 : workspaces[i - n];
      made.tensor[i] = i < n ? blocks.tensor[i] : -1;
      made.offset[i] = i < n ? blocks.offset[i] : this.steps.workspaceOffset[step];
      made.bytes[i] = i < n ? this.tensors.bytes[blocks.tensor[i]] : this.steps.workspace[step];
      made.first[i] = i < n ? blocks.first[i] : step;
      made.last[i] = i < n ? blocks.first[i] + blocks.span[i] : step;
      if (i < n) this.tensors.blocks[made.tensor[i]].push(i);
    }
    this.blocks = made;
    [made.from, made.to] = this.blockTimes(this.steps, this.seconds);
    this.tail = this.tailOf(this.steps, made);
    if (!this.measured) return;
    [this.measured.from, this.measured.to] = this.blockTimes(this.measured, this.measured.seconds);
    this.measured.tail = this.tailOf(this.measured, this.measured);
  }
  // When blocks begin and end by this clock, predicted or measured.
  blockTimes(clock, seconds) {
    const { first, last } = this.blocks;
    return [
      Float64Array.from(first, (step) => (step < 0 ? 0 : clock.start[step])),
      Float64Array.from(last, (step) => (step >= this.count ? seconds : clock.end[step])),
    ];
  }

  // What is live after the last task, while copies go on. The clock decides, not the order of issue: a copy that was
  // issued long before keeps its bytes until it is done.
  tailOf(clock, { from, to }) {
    const last = this.steps.stream.lastIndexOf(0);
    if (last < 0) return [];
    const begin = clock.end[last], copies = [], some = [];
    for (let step = 0; step < this.count; ++step) if (clock.end[step] > begin) copies.push(step);
    const ends = copies.flatMap((step) => [Math.max(begin, clock.start[step]), clock.end[step]]);
    const all = ends.concat(copies.length ? begin : []).sort((a, b) => a - b);
    // Where one copy follows another, rounding may separate the end of the first from the start of the second. No time
    // passes there.
    const times = all.filter((time, i) => i === 0 || time - all[i - 1] > 1e-12);
    let always = 0;
    for (let i = 0; i < to.length; ++i) {
      if (to[i] <= begin) continue;
      if (from[i] <= begin && to[i] >= all[all.length - 1]) always += this.blocks.bytes[i];
      else some.push(i);
    }
    return times.slice(1).map((end, i) => {
      const start = times[i], middle = (start + end) / 2, there = (one, other) => one < middle && middle < other;
      const bytesOf = (block) => (there(from[block], to[block]) ? this.blocks.bytes[block] : 0);
      const floorOf = (step) => (there(clock.start[step], clock.end[step]) ? this.memory.floor[step] : 0);
      return {
        from: start,
        to: end,
        live: some.reduce((sum, block) => sum + bytesOf(block), always),
        floor: copies.reduce((most, step) => Math.max(most, floorOf(step)), 0),
      };
    });
  }

  touched(step) {
    if (this.steps.kind[step] === REDUCE) return this.buckets[step];
    if (this.steps.kind[step] !== COMPUTE) return [this.steps.of[step]];
    const task = this.steps.of[step];
    const all = [...this.tasks.reads(task), ...this.tasks.writes(task)];
    return [...new Set(this.steps.again[step] ? all : all.concat([...this.tasks.updates(task)]))];
  }
  touchedBytes(step) { return this.touched(step).reduce((sum, tensor) => sum + this.tensors.bytes[tensor], 0); }

  // PyTorch's module path; empty if it is not known. The name of a tensor tells more than its layer, which may consist
  // of several nodes.
  moduleOf(layer) { return layer < 0 ? "" : this.modules[this.layers.module[layer]]; }
  moduleOfTensor(tensor) {
    const name = this.tensors.name[tensor], kind = this.kinds[this.tensors.kind[tensor]];
    const node = name.replace(/^d\//, "/").replace(/_output_\d+.*$/, "");
    const own = ["weight", "statistic"].includes(kind) ? name.slice(0, Math.max(0, name.lastIndexOf("."))) : "";
    return moduleByName(node) || own || this.moduleOf(this.layerOf(tensor));
  }
  // "layer2.3.conv3/Conv" for "/layer2/layer2.3/conv3/Conv_output_0": exporters repeat what the module path says.
  shortName(tensor) {
    const [, node, rest] = /^(.*?)(?:_output_0(.*))?$/s.exec(this.tensors.name[tensor]);
    return shortNodeName(node) + (rest || "");
  }
  taskName(task) {
    const { name, layer, suffix } = this.tasks;
    return name[task] || this.layers.name[layer[task]] + "." + this.suffixes[suffix[task]];
  }
  stepName(step) {
    const kind = this.steps.kind[step];
    if (kind === COMPUTE) return (this.steps.again[step] ? "recompute:" : "") + this.taskName(this.steps.of[step]);
    return ["", "offload:", "prefetch:", "load:", "reduce:"][kind] + this.tensors.name[this.steps.of[step]];
  }
  // The names of a layer, of its module and of its operator. A search looks in all three.
  namesOfLayer(layer) {
    return [this.layers.name[layer], this.moduleOf(layer), this.operators[this.layers.op[layer]]];
  }
  layerOf(tensor) { return this.tensors.maker[tensor] < 0 ? -1 : this.tasks.layer[this.tensors.maker[tensor]]; }
  isPersistent(tensor) { return this.tensors.blocks[tensor].some((block) => this.blocks.first[block] < 0); }

  // Why a block lies there: the sentence of the tooltip.
  why(block) {
    const { first, last, tensor } = this.blocks, id = tensor[block];
    if (id < 0) {
      const algorithm = this.algorithms[this.steps.algorithm[first[block]]] || "no name";
      return `workspace of ${this.stepName(first[block])} (${algorithm})`;
    }
    if (first[block] < 0) return "persistent: it holds its value from round to round";
    const uses = this.tensors.touches[id].filter((step) => step >= first[block] && step <= last[block]);
    const next = uses[uses.length - 1];
    const made = this.steps.again[first[block]] ? "recomputed by" : "made by";
    const verbs = { [COMPUTE]: made, [PREFETCH]: "prefetched by", [LOAD]: "loaded by" };
    const begins = verbs[this.steps.kind[first[block]]] || "from";
    const leaves = last[block] >= this.count ? "kept until the round ends"
      : this.steps.kind[next] === OFFLOAD ? "offloaded to the host"
      : `last used by ${this.stepName(next)}`;
    return `${begins} ${this.stepName(first[block])}; ${leaves}`;
  }

  fateText(tensor) {
    const fate = this.tensors.fate[tensor];
    if (fate === FATE_OFFLOAD) return "offloaded between its uses";
    if (fate === RECOMPUTE) return "dropped and recomputed";
    if (fate === RELOAD) return "loaded again";
    if (fate === KEEP) return "kept between its uses";
    if (fate === HOME) return "kept on the host between uses";
    return this.isPersistent(tensor) ? "persistent" : "short-lived";
  }
}
