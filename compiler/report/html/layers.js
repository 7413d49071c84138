// The table of layers: sorted by any column, filtered by name, linked to the figure.

const ROWS = 1500;  // shown at once; a filter finds the others
const NAME = 26;    // characters that the first column has room for, in a window of 1400 pixels

class LayerTable {
  constructor(root, plan, onChoose) {
    this.root = root;
    this.plan = plan;
    this.onChoose = onChoose;
    this.sorted = { key: "place", down: false };
    this.filter = "";
    this.chosen = -1;
    const layers = plan.layers, dash = (text, value) => (value ? text(value) : "–");
    const bytes = (key) => {
      const value = (i) => layers[key][i];
      return { key, title: key, value, text: (i) => dash(bytesText, value(i)) };
    };
    const seconds = (key, value) => ({ key, value, text: (i) => dash(secondsText, value(i)) });
    const some = (values) => values.some((value) => value > 0);
    const operator = (i) => plan.operators[layers.op[i]], algorithm = (i) => plan.algorithms[layers.algorithm[i]];
    const name = { value: (i) => i, text: (i) => this.nameOf(i), full: (i) => layers.name[i] };
    this.columns = [
      { key: "place", title: "layer", left: true, ...name },
      { key: "op", title: "operator", left: true, value: operator, text: operator },
      { title: "forward", ...seconds("forward", (i) => layers.forward[i] * 1e-9) },
      { title: "backward", ...seconds("backward", (i) => layers.backward[i] * 1e-9) },
      { title: "recompute", ...seconds("again", (i) => layers.again[i] * 1e-9), when: some(layers.again) },
      { title: "measured", ...seconds("measured", (i) => plan.measured.layer[i] * 1e-9), when: plan.measured !== null },
      bytes("outputs"),
      { ...bytes("kept"), colour: "keep" },
      { ...bytes("offloaded"), when: some(layers.offloaded), colour: "offload" },
      { ...bytes("recomputed"), when: some(layers.recomputed), colour: "recompute" },
      { key: "algorithm", title: "algorithm", left: true, value: algorithm, text: (i) => algorithm(i) || "–" },
      { ...bytes("workspace"), when: some(layers.workspace) },
      { title: "lost to memory", ...seconds("lost", (i) => layers.lost[i] * 1e-9), when: some(layers.lost) },
    ].filter((column) => column.when !== false);
    const most = (values) => values.reduce((a, b) => Math.max(a, b), 0);
    this.most = Math.max(1, most(layers.kept), most(layers.offloaded), most(layers.recomputed));
    this.drawHead();
    this.draw();
  }

  // The module alone where the operator's column says the rest.
  nameOf(i) {
    const { layers, operators } = this.plan;
    const short = shortNodeName(layers.name[i]), rest = "/" + operators[layers.op[i]];
    const name = short !== layers.name[i] && short.endsWith(rest) ? short.slice(0, -rest.length) : short;
    return withoutModules(name, NAME);
  }

  drawHead() {
    const row = document.createElement("tr");
    for (const column of this.columns) {
      const cell = document.createElement("th"), button = document.createElement("button");
      cell.scope = "col";
      if (column.left) cell.className = "left";
      button.textContent = column.title;
      button.addEventListener("click", () => {
        this.sorted = { key: column.key, down: this.sorted.key === column.key ? !this.sorted.down : !column.left };
        this.draw();
      });
      cell.append(button);
      column.cell = cell;
      row.append(cell);
    }
    this.root.querySelector("thead").replaceChildren(row);
  }

  draw() {
    const { plan, sorted } = this;
    const column = this.columns.find((one) => one.key === sorted.key), sign = sorted.down ? -1 : 1;
    for (const one of this.columns)
      one.cell.ariaSort = one !== column ? "none" : sorted.down ? "descending" : "ascending";
    const wanted = this.filter.toLowerCase();
    const isWanted = (i) => !wanted || plan.namesOfLayer(i).some((name) => name.toLowerCase().includes(wanted));
    const places = plan.layers.name.map((_, i) => i).filter(isWanted);
    places.sort((a, b) => {
      const x = column.value(a), y = column.value(b);
      return (x < y ? -sign : x > y ? sign : 0) || a - b;
    });
    const rows = places.slice(0, ROWS).map((i) => this.row(i));
    this.root.querySelector("tbody").replaceChildren(...rows);
    const more = places.length - ROWS;
    const note = more > 0 ? `and ${numberText(more)} more: filter or sort to see them` : "";
    document.getElementById("layers-note").textContent = note;
  }

  row(i) {
    const row = document.createElement("tr");
    row.tabIndex = 0;
    row.dataset.layer = i;
    if (i === this.chosen) row.className = "chosen";
    for (const column of this.columns) {
      const cell = document.createElement("td");
      if (column.left) cell.className = "left";
      const value = column.colour ? column.value(i) : 0;
      if (value > 0) {
        const share = document.createElement("span");
        share.className = "share";
        share.style.width = `${Math.max(1, (value / this.most) * 100)}%`;
        share.style.background = `var(--${column.colour})`;
        cell.append(share);
      }
      const text = column.text(i);
      if (column.left) {
        const name = document.createElement("bdi");
        name.textContent = text;
        cell.append(name);
      } else cell.append(text);
      if (column.left) cell.title = column.full ? column.full(i) : text;
      row.append(cell);
    }
    const choose = () => this.onChoose(i);
    row.addEventListener("click", choose);
    row.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      choose();
    });
    return row;
  }

  mark(layer, scroll) {
    this.chosen = layer;
    let found = null;
    for (const row of this.root.querySelectorAll("tbody tr")) {
      const own = Number(row.dataset.layer) === layer;
      row.classList.toggle("chosen", own);
      if (own) found = row;
    }
    if (found && scroll) this.root.scrollTop = found.offsetTop - this.root.clientHeight / 2;
  }
}
