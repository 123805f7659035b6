// The rows as the feed brings them: kept, counted, searched and sorted. Draws nothing.
export const states = ["Running", "Starting", "Restarting", "Pending", "Blocked", "Suspending", "Suspended", "Failed", "Complete"];

const over = (job) => job.state === "Complete" || job.state === "Failed";
export const wait = (job, now) => {
  if (job.started) return Math.max(0, job.started - job.created);
  // A controller that does not write status.startTime leaves open when its Pods came.
  return over(job) || job.state === "Running" ? -1 : Math.max(0, now - job.created);
};
export const runs = (job, now) => (job.started ? Math.max(0, (job.ended || now) - job.started) : -1);

const text = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
// How rows are compared; the first way that a column is sorted is what is mostly looked for.
export const orders = {
  age: { label: "Age", first: "down", key: (job) => job.created },
  name: { label: "Name", first: "up", key: (job) => `${job.ns}/${job.name}` },
  state: { label: "State", first: "up", key: (job) => states.indexOf(job.state) },
  nodes: { label: "Nodes", first: "down", key: (job) => job.nodes },
  gpus: { label: "GPUs", first: "down", key: (job) => job.gpus },
  restarts: { label: "Restarts", first: "down", key: (job) => job.restarts },
  wait: { label: "Queue wait", first: "down", key: wait },
  runs: { label: "Runtime", first: "down", key: runs },
};

// What a word of the search is looked for in.
const fields = { ns: "ns", namespace: "ns", queue: "queue", runtime: "runtime", name: "name" };
const termOf = (word) => {
  const colon = word.indexOf(":");
  const field = colon > 0 ? fields[word.slice(0, colon)] : undefined;
  if (!field) return (job) => job.text.includes(word);
  const value = word.slice(colon + 1);
  return field === "ns" ? (job) => job.ns === value : (job) => job[field].toLowerCase().includes(value);
};

export class Rows {
  constructor() {
    this.all = new Map();
    this.complete = false;
    this.counts = undefined;  // by state, of all, until all rows are there
    this.skew = 0;
  }

  // Takes in one message; the jobs of which something changed.
  take(message) {
    if (message.reset) this.all.clear();
    if (message.reset) this.complete = false;
    for (const id of message.gone) this.all.delete(id);
    for (const job of message.rows) {
      job.text = `${job.ns}/${job.name} ${job.runtime} ${job.queue} ${job.state} ${job.message}`.toLowerCase();
      this.all.set(job.id, job);
    }
    if (message.head) this.counts = new Map(message.head.map(({ state, count }) => [state, count]));
    if (message.complete) {
      this.complete = true;
      this.counts = undefined;
    }
    this.skew = message.now - Date.now() / 1000;
  }

  seconds() {
    return Math.round(Date.now() / 1000 + this.skew);
  }

  size() {
    return this.counts ? [...this.counts.values()].reduce((a, b) => a + b, 0) : this.all.size;
  }

  find(ns, name) {
    for (const job of this.all.values()) if (job.name === name && job.ns === ns) return job;
    return undefined;
  }

  // The jobs that are to be seen, in order, and how many of those that fit the search are in which state.
  select({ state, query, sort, direction }) {
    const terms = query.toLowerCase().split(/\s+/).filter(Boolean).map(termOf);
    const counts = new Map();
    const shown = [];
    let found = 0;
    for (const job of this.all.values()) {
      if (!terms.every((fits) => fits(job))) continue;
      ++found;
      counts.set(job.state, (counts.get(job.state) || 0) + 1);
      if (!state || job.state === state) shown.push(job);
    }
    const now = this.seconds();
    const { key } = orders[sort];
    for (const job of shown) job.key = key(job, now);
    const sign = direction === "up" ? 1 : -1;
    shown.sort((a, b) => sign * text(a.key, b.key) || text(a.name, b.name) || text(a.ns, b.ns));
    if (this.counts) return { shown, counts: this.counts, found: this.size(), fits: this.size() };
    return { shown, counts, found, fits: shown.length };
  }
}

// "45s", "3m20s", "5h12m", "4d3h", "40d"
export const duration = (seconds) => {
  if (seconds < 0) return "–";
  const parts = [[86400, "d"], [3600, "h"], [60, "m"], [1, "s"]];
  const at = Math.max(0, parts.findIndex(([size]) => seconds >= size));
  if (seconds < 1) return "0s";
  const [size, unit] = parts[at];
  const whole = Math.floor(seconds / size);
  const next = parts[at + 1];
  const rest = next ? Math.floor((seconds % size) / next[0]) : 0;
  return `${whole}${unit}${next && rest && whole < 10 ? rest + next[1] : ""}`;
};

export const clock = (seconds) => (seconds ? new Date(seconds * 1000).toISOString().replace("T", " ").replace(".000Z", "Z") : "–");

// After the next frame has been painted.
export const painted = (then) =>
  requestAnimationFrame(() => {
    const channel = new MessageChannel();
    channel.port1.onmessage = then;
    channel.port2.postMessage(0);
  });

// An element with text and children; nothing of it is ever read as markup.
export const make = (name, properties, ...children) => {
  const out = document.createElement(name);
  for (const [key, value] of Object.entries(properties || {})) {
    if (key === "class") out.className = value;
    else if (key in out && !key.startsWith("aria")) out[key] = value;
    else out.setAttribute(key, value);
  }
  out.append(...children.filter((each) => each !== undefined && each !== null).map((each) => (each instanceof Node ? each : String(each))));
  return out;
};

// A state becomes part of a class only if we know it.
export const kindOf = (state) => (states.includes(state) ? state : "other");
export const badge = (state) => make("span", { class: `state ${kindOf(state)}` }, state || "Unknown");
export const address = (job) => `#/job/${encodeURIComponent(job.ns)}/${encodeURIComponent(job.name)}`;
