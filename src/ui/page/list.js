// The list: counts by state, search, order, and as many rows as can be seen.
import { address, duration, kindOf, make, orders, painted, runs, states, wait } from "./rows.js";

const $ = (id) => document.getElementById(id);
const columns = [
  ["state", "cell-state"], ["name", "cell-name"], ["nodes", "num"], ["gpus", "num"], ["restarts", "num"],
  ["wait", "num"], ["runs", "num cell-runs"], ["age", "num"],
];
const beyond = 6;  // rows above and below what can be seen

export class List {
  constructor(rows) {
    this.rows = rows;
    this.view = { state: "", query: "", sort: "age", direction: "down" };
    this.shown = [];
    this.length = 0;  // of the list, of which the last rows may still be on their way
    this.active = "";  // id
    this.pool = [];
    this.chips = new Map();
    this.drawHead();
    this.listen();
  }

  listen() {
    $("search").addEventListener("input", () => this.change({ query: $("search").value }));
    $("sort").addEventListener("change", () => {
      const [sort, direction] = $("sort").value.split(" ");
      this.change({ sort, direction });
    });
    addEventListener("scroll", () => this.drawRows(), { passive: true });
    addEventListener("resize", () => this.drawRows());
    $("grid").addEventListener("keydown", (event) => this.key(event));
    $("grid").addEventListener("focus", () => this.activate(this.active || this.shown[this.firstSeen()]?.id, false));
    $("rows").addEventListener("click", (event) => {
      const row = event.target.closest(".row");
      if (row && !event.target.closest("a") && !getSelection().toString()) location.hash = row.querySelector("a").hash;
    });
  }

  // Another state, search or order: measured, because it has to be instant.
  change(what) {
    const began = performance.now();
    Object.assign(this.view, what);
    history.replaceState(null, "", this.address());
    this.update();
    painted(() => performance.measure("cotrain filter", { start: began, end: performance.now() }));
  }

  // Whether the first rows of a snapshot are all that can be seen.
  isPlain() {
    const { state, query, sort, direction } = this.view;
    return !state && !query && sort === "age" && direction === "down";
  }

  // What leads back to what is shown.
  address() {
    const { state, query, sort, direction } = this.view;
    const out = new URLSearchParams();
    if (state) out.set("state", state);
    if (query) out.set("q", query);
    if (sort !== "age" || direction !== "down") out.set("sort", `${sort} ${direction}`);
    const text = out.toString();
    return `#/${text ? "?" + text : ""}`;
  }

  // From an address.
  recall(text) {
    const asked = new URLSearchParams(text);
    const [sort, direction] = (asked.get("sort") || "").split(" ");
    this.view = {
      state: asked.get("state") || "",
      query: asked.get("q") || "",
      sort: orders[sort] ? sort : "age",
      direction: direction === "up" ? "up" : "down",
    };
    $("search").value = this.view.query;
  }

  drawHead() {
    for (const [id, kind] of columns) {
      const button = make("button", { type: "button" }, orders[id].label);
      button.addEventListener("click", () => {
        const same = this.view.sort === id;
        const turned = this.view.direction === "up" ? "down" : "up";
        this.change({ sort: id, direction: same ? turned : orders[id].first });
      });
      $("head").append(make("div", { role: "columnheader", class: kind, "data-sort": id }, button));
    }
    $("head").append(make("div", { role: "columnheader", class: "quiet" }, "Message"));
    for (const [id, { label, first }] of Object.entries(orders)) {
      for (const direction of first === "up" ? ["up", "down"] : ["down", "up"]) {
        const word = id === "age" ? { down: "newest first", up: "oldest first" }[direction] : { down: "↓", up: "↑" }[direction];
        $("sort").append(make("option", { value: `${id} ${direction}` }, `${label} ${word}`));
      }
    }
  }

  update() {
    const { shown, counts, found, fits } = this.rows.select(this.view);
    this.shown = shown;
    this.length = fits;
    this.drawStates(counts, found);
    for (const cell of $("head").querySelectorAll("[data-sort]")) {
      if (cell.dataset.sort !== this.view.sort) cell.removeAttribute("aria-sort");
      else cell.setAttribute("aria-sort", this.view.direction === "up" ? "ascending" : "descending");
    }
    $("sort").value = `${this.view.sort} ${this.view.direction}`;
    const all = this.rows.size();
    const count = fits === all ? `${all.toLocaleString("en")} jobs` : `${fits.toLocaleString("en")} of ${all.toLocaleString("en")} jobs`;
    if ($("count").textContent !== count) $("count").textContent = count;
    $("grid").setAttribute("aria-rowcount", fits + 1);
    $("empty").hidden = fits > 0 || !this.rows.complete;
    $("empty").textContent = all === 0 ? "No TrainJob yet. In a terminal: kubectl apply -f trainjob.yaml" : "No TrainJob fits. Esc in the search clears it.";
    this.drawRows();
  }

  drawStates(counts, found) {
    const known = [...states, ...[...counts.keys()].filter((each) => !states.includes(each)).sort()];
    for (const state of ["", ...known]) {
      const count = state ? counts.get(state) || 0 : found;
      let chip = this.chips.get(state);
      if (!chip) {
        chip = make("button", { type: "button", class: state ? kindOf(state) : "" }, make("span", {}, state || "All"), " ", make("b"));
        chip.addEventListener("click", () => this.change({ state: this.view.state === state ? "" : state }));
        this.chips.set(state, chip);
        $("states").append(chip);
      }
      chip.hidden = Boolean(state) && count === 0 && this.view.state !== state;
      const text = count.toLocaleString("en");
      if (chip.lastChild.textContent !== text) chip.lastChild.textContent = text;
      chip.setAttribute("aria-pressed", String(this.view.state === state));
    }
    for (const [state, chip] of this.chips) if (state && !known.includes(state)) chip.hidden = true;
  }

  rowHeight() {
    return parseFloat(getComputedStyle(document.documentElement).getPropertyValue("--row")) || 50;
  }
  firstSeen() {
    return Math.max(0, Math.floor(-$("rows").getBoundingClientRect().top / this.rowHeight()));
  }

  // The rows that can be seen, in elements that are used again.
  drawRows() {
    if ($("list").hidden) return;
    const height = this.rowHeight();
    const into = $("rows");
    into.style.height = `${this.length * height}px`;
    const from = Math.max(0, this.firstSeen() - beyond);
    const to = Math.min(this.shown.length, from + Math.ceil(innerHeight / height) + 2 * beyond);
    while (this.pool.length < to - from) {
      const row = this.makeRow();
      this.pool.push(row);
      into.append(row);
    }
    const now = this.rows.seconds();
    let active = "";
    this.pool.forEach((row, i) => {
      row.hidden = from + i >= to;
      if (row.hidden) return;
      const job = this.shown[from + i];
      this.fill(row, job, now);
      row.id = `row-${i}`;
      row.setAttribute("aria-rowindex", from + i + 2);
      row.style.transform = `translateY(${(from + i) * height}px)`;
      row.classList.toggle("active", job.id === this.active);
      if (job.id === this.active) active = row.id;
    });
    if (active) $("grid").setAttribute("aria-activedescendant", active);
    else $("grid").removeAttribute("aria-activedescendant");
  }

  makeRow() {
    const row = make("div", { class: "row", role: "row" });
    for (const [id, kind] of columns) row.append(make("div", { role: "gridcell", class: kind }));
    row.append(make("div", { role: "gridcell", class: "cell-message" }));
    row.children[0].append(make("span", { class: "state" }));
    row.children[1].append(make("a", { tabIndex: -1 }), make("small"));
    // What stands before and after a number where there is no head above it.
    const words = [["", " nodes"], ["", " GPUs"], ["", " restarts"], ["wait ", ""], ["", ""], ["age ", ""]];
    words.forEach(([before, after], i) => Object.assign(row.children[i + 2].dataset, { before, after }));
    return row;
  }

  fill(row, job, now) {
    const put = (element, text) => {
      if (element.textContent !== text) element.textContent = text;
    };
    const [state, name, nodes, gpus, restarts, waited, ran, age, message] = row.children;
    row.className = `row ${kindOf(job.state)}`;
    state.firstChild.className = `state ${kindOf(job.state)}`;
    put(state.firstChild, job.state || "Unknown");
    const [link, small] = name.children;
    put(link, job.name);
    if (link.getAttribute("href") !== address(job)) link.href = address(job);
    put(small, [job.ns, job.runtime, job.queue && `queue ${job.queue}`].filter(Boolean).join(" · "));
    put(nodes, ["Complete", "Failed"].includes(job.state) ? `${job.nodes}` : `${job.ready}/${job.nodes}`);
    put(gpus, job.gpus ? `${job.gpus}` : "–");
    put(restarts, `${job.restarts}`);
    gpus.classList.toggle("none", job.gpus === 0);
    restarts.classList.toggle("none", job.restarts === 0);
    put(waited, duration(wait(job, now)));
    put(ran, duration(runs(job, now)));
    put(age, duration(Math.max(0, now - job.created)));
    put(message, job.message);
    message.title = job.message;
  }

  activate(id, scroll = true) {
    this.active = id || "";
    const at = this.shown.findIndex((job) => job.id === this.active);
    if (scroll && at >= 0) {
      const height = this.rowHeight();
      const top = $("rows").getBoundingClientRect().top + at * height;
      const head = $("head").offsetHeight;
      if (top < head) scrollBy(0, top - head);
      if (top + height > innerHeight) scrollBy(0, top + height - innerHeight);
    }
    this.drawRows();
  }

  key(event) {
    if (event.target !== $("grid") || event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor(innerHeight / this.rowHeight()) - 2);
    const last = this.shown.length - 1;
    const at = this.shown.findIndex((job) => job.id === this.active);
    const steps = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + page, PageUp: at - page, Home: 0, End: last };
    if (event.key in steps && last >= 0) {
      event.preventDefault();
      this.activate(this.shown[Math.min(last, Math.max(0, steps[event.key]))].id);
    } else if (event.key === "Enter" && at >= 0) {
      event.preventDefault();
      location.hash = address(this.shown[at]);
    }
  }
}
