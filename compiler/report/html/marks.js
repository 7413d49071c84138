// What is written into the figure: captions with their legends, labels of blocks, the begin of the backward, the peak,
// and a chosen range.

// The end of a name tells more than its beginning: what does not fit is cut at the front.
function cutFront(c, text, width) {
  if (c.measureText(text).width <= width) return text;
  let low = 1, high = text.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (c.measureText("…" + text.slice(middle)).width <= width) high = middle;
    else low = middle + 1;
  }
  return text.length - low < 7 ? "" : "…" + text.slice(low);
}

// Black or white, whichever is read better on a colour like "#4a7fc6".
function inkOn(colour) {
  const channel = (at) => parseInt(colour.slice(at, at + 2), 16) / 255;
  return 0.299 * channel(1) + 0.587 * channel(3) + 0.114 * channel(5) > 0.56 ? "#10161d" : "#ffffff";
}

function textInside(c, text, box, ink) {
  const shown = cutFront(c, text, box.width - 8);
  if (!shown) return;
  c.fillStyle = ink;
  c.textAlign = "left";
  c.fillText(shown, box.left + 4, box.top + box.height / 2 + 0.5);
}

function labelBlock(figure, c, box, block, name) {
  const { plan } = figure;
  const left = Math.max(box.left, GUTTER), right = Math.min(box.left + box.width, figure.width - RIGHT);
  const tensor = plan.blocks.tensor[block], size = bytesText(plan.blocks.bytes[block]);
  if (right - left < 44) return;
  const ink = inkOn(figure.colour[name]), text = tensor < 0 ? "workspace" : plan.shortName(tensor);
  const inside = { left, top: box.top, width: right - left, height: box.height };
  if (box.height >= 28 && right - left >= 60) {
    textInside(c, text, { ...inside, top: box.top + box.height / 2 - 14, height: 14 }, ink);
    c.globalAlpha = 0.8;
    textInside(c, size, { ...inside, top: box.top + box.height / 2, height: 14 }, ink);
    c.globalAlpha = 1;
  } else textInside(c, right - left > 190 ? `${text}  ${size}` : text, inside, ink);
}

// ---- captions: a name, what is drawn, and what its colours mean ----

const has = (values, wanted) => values.some((value) => value === wanted);

function blockColours(figure) {
  const { tensors, summary, tasks, steps } = figure.plan;
  const workspace = has(figure.plan.blocks.tensor, -1) && ["workspace", "workspace"];
  if (figure.byKind) {
    const kinds = [
      ["persistent", "weights and state"], ["input", "input"], ["activation", "activation"], ["stash", "stash"],
      ["gradient", "activation gradient"], ["weight-gradient", "weight gradient"],
    ];
    const isShown = ([colour]) => tensors.kind.some((kind) => KIND_COLOURS[kind] === colour);
    return [...kinds.filter(isShown), workspace].filter(Boolean);
  }
  const decided = (fate, ...entry) => has(tensors.fate, fate) && entry;
  return [
    decided(KEEP, "keep", "kept"),
    decided(FATE_OFFLOAD, "offload", "offloaded"),
    decided(RECOMPUTE, "recompute", "recomputed"),
    decided(RELOAD, "input", "loaded again"),
    decided(HOME, "home", "on the host between uses"),
    ["brief", "short-lived"],
    ["persistent", "weights and state"],
    workspace,
  ].filter(Boolean);
}

function streamColours(plan) {
  const { again, kind, exposed } = plan.steps;
  return [
    ["forward", "forward"],
    (has(again, 1) || has(again, true)) && ["recompute", "recomputed"],
    ["backward", "backward"],
    ["update", "update"],
    has(kind, OFFLOAD) && ["offload", "offload"],
    has(kind, PREFETCH) && ["prefetch", "prefetch"],
    has(kind, LOAD) && ["input", "input"],
    has(kind, REDUCE) && ["weight-gradient", "reduce over ranks"],
    exposed.some((seconds) => seconds > 0) && ["stall", "compute waits for this part"],
  ].filter(Boolean);
}

// Rows of entries, as many as the width needs; an entry is a mark with a text.
function captionsOf(figure) {
  const c = figure.base.getContext("2d"), { plan } = figure;
  c.setTransform(1, 0, 0, 1, 0, 0);
  c.font = FONT;
  const box = ([colour, text]) => ({ colour, text, mark: "box" });
  const lines = [
    { colour: "live", text: "live", mark: "line" },
    { colour: "muted", text: "if everything were kept", mark: "line", dash: [5, 4] },
    { colour: "floor", text: "needed by the step itself", mark: "line", dash: [1, 2] },
    { colour: "budget", text: `budget ${bytesText(plan.budget)}`, mark: "line" },
  ];
  const named = [
    ["Memory", lines],
    ["Addresses", blockColours(figure).map(box)],
    ["Streams", streamColours(plan).map(box)],
  ];
  return named.map(([name, entries]) => {
    let x = 10 + c.measureText(name).width + 22, row = 0;
    for (const entry of entries) {
      const width = 18 + c.measureText(entry.text).width;
      if (x + width > figure.width - RIGHT && x > 20) [x, row] = [10, row + 1];
      Object.assign(entry, { x, row });
      x += width + 14;
    }
    return { name, entries, height: (row + 1) * 17 + 7 };
  });
}

function drawCaption(figure, c, { name, entries }, top) {
  c.textAlign = "left";
  c.fillStyle = figure.colour.ink;
  c.font = "600 " + FONT;
  c.fillText(name, 10, top + 12);
  c.font = FONT;
  for (const { x, row, colour, text, mark, dash } of entries) {
    const y = top + 12 + row * 17;
    if (mark === "box") {
      c.fillStyle = figure.colour[colour];
      c.fillRect(x, y - 5, 11, 10);
    } else {
      c.beginPath();
      c.moveTo(x, y);
      c.lineTo(x + 14, y);
      c.strokeStyle = figure.colour[colour];
      c.lineWidth = 2;
      c.setLineDash(dash || []);
      c.stroke();
      c.setLineDash([]);
    }
    c.fillStyle = figure.colour.muted;
    c.fillText(text, x + 18, y);
  }
}

// ---- marks over all three ----

// The step at which the backward begins; -1: there is none.
function backwardOf(plan) {
  const { kind, again, of } = plan.steps;
  const isBackward = (step) => kind[step] === COMPUTE && !again[step] && [2, 3, 4].includes(plan.tasks.kind[of[step]]);
  for (let step = 0; step < plan.count; ++step)
    if (isBackward(step)) return step;
  return -1;
}

function dashed(c, x, from, to, dash, colour) {
  c.beginPath();
  c.moveTo(x, from);
  c.lineTo(x, to);
  c.strokeStyle = colour;
  c.lineWidth = 1;
  c.setLineDash(dash);
  c.stroke();
  c.setLineDash([]);
}

// The lines of the marks, within the three areas; labels of blocks and notes stand over them.
function drawGuides(figure, c) {
  const { plan } = figure, begins = backwardOf(plan), span = begins < 0 ? null : figure.stepSpan(begins);
  const at = plan.peak >= 0 && plan.peak < plan.count ? figure.stepSpan(plan.peak) : null;
  const inView = (x) => x >= GUTTER && x <= figure.width - RIGHT;
  figure.divider = span && inView(figure.x(span[0])) ? figure.x(span[0]) : null;
  figure.peakAt = at && inView(figure.x((at[0] + at[1]) / 2)) ? figure.x((at[0] + at[1]) / 2) : null;
  for (const area of [figure.curve, figure.map, figure.streams]) {
    if (figure.divider !== null) dashed(c, figure.divider, area.top, area.bottom, [6, 3], figure.colour.muted);
    if (figure.peakAt === null || area === figure.streams) continue;
    const top = area === figure.curve ? figure.curveY(plan.memory.live[plan.peak]) : area.top;
    dashed(c, figure.peakAt, top, area.bottom, [2, 3], figure.colour.ink);
  }
}

// A text over a line, on paper so that the line does not run through it.
function note(figure, c, text, x, y, align) {
  const width = c.measureText(text).width;
  const left = align === "right" ? x - width : align === "center" ? x - width / 2 : x;
  c.globalAlpha = 0.82;
  c.fillStyle = figure.colour.paper;
  c.fillRect(left - 3, y - 7, width + 6, 14);
  c.globalAlpha = 1;
  c.fillStyle = figure.colour.ink;
  c.textAlign = "left";
  c.fillText(text, left, y);
}

function drawMarks(figure, c) {
  const { plan, colour, divider, peakAt } = figure, left = GUTTER, right = figure.width - RIGHT;
  if (divider !== null) {
    if (divider - left > 70) note(figure, c, "forward", divider - 6, figure.curve.bottom - 9, "right");
    if (right - divider > 70) note(figure, c, "backward", divider + 6, figure.curve.bottom - 9, "left");
  }
  if (peakAt !== null) {
    const x = peakAt, y = figure.curveY(plan.memory.live[plan.peak]);
    c.beginPath();
    c.moveTo(x, y - 1);
    c.lineTo(x - 5, y - 9);
    c.lineTo(x + 5, y - 9);
    c.closePath();
    c.fillStyle = colour.ink;
    c.fill();
    const text = `peak ${bytesText(plan.summary.live_bytes)}`, beside = x + 10 + c.measureText(text).width < right;
    note(figure, c, text, beside ? x + 9 : x - 9, y + 11, beside ? "left" : "right");
  }
  if (figure.range) drawRange(figure, c);
}

function drawRange(figure, c) {
  const [from, to] = figure.range;
  const left = Math.max(GUTTER, figure.x(from)), right = Math.min(figure.width - RIGHT, figure.x(to));
  if (right <= left) return;
  for (const area of [figure.curve, figure.map, figure.streams]) {
    c.globalAlpha = 0.13;
    c.fillStyle = figure.colour.accent;
    c.fillRect(left, area.top, right - left, area.bottom - area.top);
    c.globalAlpha = 1;
    for (const x of [left, right]) dashed(c, x, area.top, area.bottom, [], figure.colour.accent);
  }
}
