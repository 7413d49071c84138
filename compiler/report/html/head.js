// What stands above the figure, and what is said of a tensor and of a step.

const html = (text) => String(text).replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);
const byId = (id) => document.getElementById(id);

function drawHead(plan) {
  const last = plan.last_sub_batch === plan.sub_batch ? "" : `, the last of ${plan.last_sub_batch}`;
  const rounds = plan.rounds === 1 ? "in one round" : `in ${plan.rounds} rounds of ${plan.sub_batch}${last}`;
  const ranks = plan.ranks > 1 ? ` on ${plan.ranks} ranks` : "";
  byId("title").textContent = `Memory plan of ${plan.model}`;
  document.title = `Memory plan of ${plan.model} in ${bytesText(plan.budget)}`;
  byId("verdict").textContent = plan.verdict;
  byId("subtitle").textContent = `Batch ${plan.batch} ${rounds}${ranks}, policy ${plan.policy}, target ${plan.target}; times ${plan.costs}${plan.device ? ` for ${plan.device}` : ""}.`;
  const { robust } = plan.summary;
  const spread = robust === undefined ? "" : ` If single steps take 20 % more or less time than predicted, an iteration takes up to ${(100 * robust).toFixed(1)} % longer.`;
  byId("footer").textContent = `${plan.generator}. ${numberText(plan.tensors.name.length)} tensors, ${numberText(plan.tasks.layer.length)} tasks, ${numberText(plan.count)} steps a round.${spread} Made by plimsoll inspect --html.`;
}

function drawTiles(plan) {
  const s = plan.summary, tiles = [];
  const tile = (name, value, note, share) => tiles.push(`<div class="tile"><div class="name">${html(name)}</div><div class="value">${html(value)}</div><div class="note">${html(note)}</div>${share === undefined ? "" : `<div class="meter"><i style="width:${Math.min(100, share * 100).toFixed(1)}%"></i></div>`}</div>`);
  const change = s.unconstrained_seconds ? 100 * (s.iteration_seconds / s.unconstrained_seconds - 1) : 0;
  tile("arena", bytesText(s.arena_bytes), `of a budget of ${bytesText(plan.budget)}`, s.arena_bytes / plan.budget);
  if (s.minimum_bytes) tile("minimum", bytesText(s.minimum_bytes), "the smallest budget with a plan");
  if (s.unconstrained_bytes) tile("unlimited", bytesText(s.unconstrained_bytes), s.unconstrained_seconds ? `${secondsText(s.unconstrained_seconds)} an iteration` : "no limit");
  tile("iteration", secondsText(s.iteration_seconds), s.unconstrained_seconds ? `predicted; ${change >= 0 ? "+" : "−"}${Math.abs(change).toFixed(1)} % against unlimited` : "predicted");
  if (plan.measured) tile("round, measured", secondsText(plan.measured.seconds), `${secondsText(plan.seconds)} predicted${plan.seconds > 0 ? `: ${(plan.measured.seconds / plan.seconds).toFixed(2)} times that` : ""}`);
  const moved = s.offloaded_bytes + s.prefetched_bytes;
  if (moved) tile("transferred", bytesText(moved), s.stall_seconds > 0 ? `compute waits ${secondsText(s.stall_seconds)}` : "compute never waits");
  if (plan.ranks > 1) tile("reduced over ranks", bytesText(s.reduced_bytes), `by each, ${secondsText(s.reduce_seconds)}`);
  if (s.recomputed_tasks) tile("recomputed", secondsText(s.recompute_seconds), `${numberText(s.recomputed_tasks)} operation${s.recomputed_tasks === 1 ? "" : "s"} an iteration`);
  if (s.more_bytes) tile(`with ${bytesText(s.more_bytes)} more`, secondsText(s.more_seconds), s.iteration_seconds - s.more_seconds > 5e-4 * s.iteration_seconds ? `${secondsText(s.iteration_seconds - s.more_seconds)} faster` : "no faster");
  byId("tiles").innerHTML = tiles.join("");
}

function tensorText(plan, tensor, block) {
  const { blocks, tensors } = plan, layer = plan.layerOf(tensor), module = plan.moduleOfTensor(tensor);
  let text = `<b>${html(tensors.name[tensor])}</b><br><span class="muted">${plan.kinds[tensors.kind[tensor]].replace("_", " ")}, ${bytesText(tensors.bytes[tensor])}, ${plan.fateText(tensor)}</span>`;
  if (module) text += `<br>module <b>${html(module)}</b>`;
  if (layer >= 0) text += `<br>layer ${html(plan.layers.name[layer])}, ${html(plan.operators[plan.layers.op[layer]])}`;
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
  const module = kind === COMPUTE ? plan.moduleOf(plan.tasks.layer[steps.of[step]]) : kind === REDUCE ? "" : plan.moduleOfTensor(steps.of[step]);
  if (module) text += `<br>module <b>${html(module)}</b>`;
  if (kind === COMPUTE) {
    if (plan.algorithms[steps.algorithm[step]]) text += `<br>${html(plan.algorithms[steps.algorithm[step]])}, ${steps.workspace[step] ? bytesText(steps.workspace[step]) : "no"} workspace`;
    text += `<br>${bytesText(plan.memory.live[step])} live`;
  } else {
    text += `<br>${bytesText(plan.touched(step).reduce((sum, tensor) => sum + plan.tensors.bytes[tensor], 0))}`;
    if (kind === REDUCE) text += ` of ${plan.touched(step).length} tensors, over ${plan.ranks} ranks`;
    text += `<div class="why">${steps.exposed[step] > 0 ? `compute waits ${secondsText(steps.exposed[step])} for it` : "entirely overlapped with compute"}</div>`;
  }
  return text;
}
