// What stands above the figure, and what is said of a tensor and of a step.

const ENTITIES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
const html = (text) => String(text).replace(/[&<>"]/g, (c) => ENTITIES[c]);
const byId = (id) => document.getElementById(id);

function drawHead(plan) {
  const last = plan.last_sub_batch === plan.sub_batch ? "" : `, the last of ${plan.last_sub_batch}`;
  const rounds = plan.rounds === 1 ? "in one round" : `in ${plan.rounds} rounds of ${plan.sub_batch}${last}`;
  const ranks = plan.ranks > 1 ? ` on ${plan.ranks} ranks` : "";
  byId("title").textContent = `Memory plan of ${plan.model}`;
  document.title = `Memory plan of ${plan.model} in ${bytesText(plan.budget)}`;
  byId("verdict").textContent = plan.verdict;
  const device = plan.device ? ` for ${plan.device}` : "";
  byId("subtitle").textContent = `Batch ${plan.batch} ${rounds}${ranks}, policy ${plan.policy}, target ${plan.target}; `
    + `times ${plan.costs}${device}.`;
  const { robust } = plan.summary;
  const spread = robust === undefined ? "" : " If single steps take 20 % more or less time than predicted, "
    + `an iteration takes up to ${(100 * robust).toFixed(1)} % longer.`;
  const tensors = numberText(plan.tensors.name.length), tasks = numberText(plan.tasks.layer.length);
  byId("footer").textContent = `${plan.generator}. ${tensors} tensors, ${tasks} tasks, `
    + `${numberText(plan.count)} steps a round.${spread} Made by plimsoll inspect --html.`;
}

function drawTiles(plan) {
  const s = plan.summary, tiles = [];
  const tile = (name, value, note, share) => {
    const meter = share === undefined ? ""
      : `<div class="meter"><i style="width:${Math.min(100, share * 100).toFixed(1)}%"></i></div>`;
    tiles.push(`<div class="tile"><div class="name">${html(name)}</div><div class="value">${html(value)}</div>`
      + `<div class="note">${html(note)}</div>${meter}</div>`);
  };
  const unlimited = s.unconstrained_seconds;
  const change = unlimited ? 100 * (s.iteration_seconds / unlimited - 1) : 0;
  const changeText = `${change >= 0 ? "+" : "−"}${Math.abs(change).toFixed(1)} %`;
  tile("arena", bytesText(s.arena_bytes), `of a budget of ${bytesText(plan.budget)}`, s.arena_bytes / plan.budget);
  if (s.minimum_bytes) tile("minimum", bytesText(s.minimum_bytes), "the smallest budget with a plan");
  if (s.unconstrained_bytes) {
    const note = unlimited ? `${secondsText(unlimited)} an iteration` : "no limit";
    tile("unlimited", bytesText(s.unconstrained_bytes), note);
  }
  const predicted = unlimited ? `predicted; ${changeText} against unlimited` : "predicted";
  tile("iteration", secondsText(s.iteration_seconds), predicted);
  if (plan.measured) {
    const ratio = plan.seconds > 0 ? `: ${(plan.measured.seconds / plan.seconds).toFixed(2)} times that` : "";
    tile("round, measured", secondsText(plan.measured.seconds), `${secondsText(plan.seconds)} predicted${ratio}`);
  }
  const moved = s.offloaded_bytes + s.prefetched_bytes;
  if (moved) {
    const note = s.stall_seconds > 0 ? `compute waits ${secondsText(s.stall_seconds)}` : "compute never waits";
    tile("transferred", bytesText(moved), note);
  }
  if (plan.ranks > 1)
    tile("reduced over ranks", bytesText(s.reduced_bytes), `by each, ${secondsText(s.reduce_seconds)}`);
  if (s.recomputed_tasks) {
    const operations = `${numberText(s.recomputed_tasks)} operation${s.recomputed_tasks === 1 ? "" : "s"}`;
    const when = plan.rounds === 1 ? "an iteration" : "in each round";
    tile("recomputed", secondsText(s.recompute_seconds), `${operations} ${when}`);
  }
  if (s.more_bytes) {
    const saved = s.iteration_seconds - s.more_seconds;
    const note = saved > 5e-4 * s.iteration_seconds ? `${secondsText(saved)} faster` : "no faster";
    tile(`with ${bytesText(s.more_bytes)} more`, secondsText(s.more_seconds), note);
  }
  byId("tiles").innerHTML = tiles.join("");
}

function tensorText(plan, tensor, block) {
  const { blocks, tensors } = plan, layer = plan.layerOf(tensor), module = plan.moduleOfTensor(tensor);
  const kind = plan.kinds[tensors.kind[tensor]].replace("_", " "), size = bytesText(tensors.bytes[tensor]);
  let text = `<b>${html(tensors.name[tensor])}</b><br>`
    + `<span class="muted">${kind}, ${size}, ${plan.fateText(tensor)}</span>`;
  if (module) text += `<br>module <b>${html(module)}</b>`;
  if (layer >= 0) text += `<br>layer ${html(plan.layers.name[layer])}, ${html(plan.operators[plan.layers.op[layer]])}`;
  if (block < 0) return text;
  const first = blocks.first[block], last = blocks.last[block];
  text += `<br>at 0x${blocks.offset[block].toString(16)}`;
  if (first >= 0) {
    const times = `${secondsText(blocks.from[block])} to ${secondsText(blocks.to[block])}`;
    text += `, steps ${first} to ${Math.min(last, plan.count)}, ${times}`;
  }
  return text + `<div class="why">${html(plan.why(block))}</div>`;
}

function stepText(plan, step) {
  const { steps, measured } = plan, kind = steps.kind[step];
  const times = `${secondsText(steps.length[step])} from ${secondsText(steps.start[step])}`;
  let text = `<b>${html(plan.stepName(step))}</b><br><span class="muted">step ${step}, ${times}</span>`;
  if (measured && measured.seen[step])
    text += `<br>measured ${secondsText(measured.end[step] - measured.start[step])}`;
  const module = kind === COMPUTE ? plan.moduleOf(plan.tasks.layer[steps.of[step]])
    : kind === REDUCE ? ""
    : plan.moduleOfTensor(steps.of[step]);
  if (module) text += `<br>module <b>${html(module)}</b>`;
  if (kind === COMPUTE) {
    const algorithm = plan.algorithms[steps.algorithm[step]], workspace = steps.workspace[step];
    if (algorithm) text += `<br>${html(algorithm)}, ${workspace ? bytesText(workspace) : "no"} workspace`;
    text += `<br>${bytesText(plan.memory.live[step])} live`;
  } else {
    text += `<br>${bytesText(plan.touchedBytes(step))}`;
    if (kind === REDUCE) text += ` of ${plan.touched(step).length} tensors, over ${plan.ranks} ranks`;
    const exposed = steps.exposed[step];
    const why = exposed > 0 ? `compute waits ${secondsText(exposed)} for it` : "entirely overlapped with compute";
    text += `<div class="why">${why}</div>`;
  }
  return text;
}
