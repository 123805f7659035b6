// The page of one job: what the row says, and what is read from the cluster when it is opened or changes.
import { badge, clock, duration, kindOf, make, runs, wait } from "./rows.js";

const refreshAfter = 1500;  // ms from a change to the next look
const refreshEvery = 15000;  // while it runs
const cellsMax = 1024;  // of one part; those that are not ready come first

const section = (title, ...children) => make("section", {}, make("h2", {}, title), ...children);
const fact = (label, value) => (value === "" || value === undefined ? undefined : make("div", {}, make("dt", {}, label), make("dd", {}, value)));
const time = (seconds) => make("time", { dateTime: new Date(seconds * 1000).toISOString() }, clock(seconds));
const table = (caption, heads, rows) =>
  make("div", { class: "scroll" },
    make("table", { class: "wide" }, make("caption", { hidden: true }, caption),
      make("thead", {}, make("tr", {}, ...heads.map((each) => make("th", { scope: "col" }, each)))), make("tbody", {}, ...rows)));
const row = (kind, ...cells) =>
  make("tr", {}, ...cells.map((each, i) => make("td", { class: i === cells.length - 1 ? "" : `short ${i === 0 ? kind : ""}` }, each)));

// Of a Pod, or of a rank that has none: the first that is true.
const statusOf = (pod) => {
  if (!pod) return "missing";
  if (pod.phase === "Succeeded") return "succeeded";
  if (pod.phase === "Failed") return "failed";
  if (pod.ready) return "ready";
  if (pod.restarts > 0) return "restarting";
  return "starting";
};
const statuses = ["failed", "restarting", "missing", "starting", "ready", "succeeded"];

export class Job {
  constructor(rows) {
    this.rows = rows;
    this.at = undefined;
    this.parts = {};  // what was read last: job, pods, events, children
    this.errors = {};
    this.picked = "";  // the rank that is looked at
    this.timer = 0;
  }

  open(ns, name, back) {
    if (!this.at || this.at.ns !== ns || this.at.name !== name) {
      this.parts = {};
      this.errors = {};
      this.picked = "";
    }
    this.at = { ns, name, back };
    document.title = `${name} – TrainJobs`;
    this.draw();
    document.getElementById("job").focus({ preventScroll: true });
    this.load();
  }

  // Where it was.
  close() {
    const { at } = this;
    this.at = undefined;
    clearTimeout(this.timer);
    return at;
  }

  // Rows of the feed: ours may be among them.
  changed(rows) {
    if (!this.at || !rows.some((each) => each.name === this.at.name && each.ns === this.at.ns)) return;
    this.draw();
    this.later(refreshAfter);
  }

  later(ms) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => (document.hidden ? this.later(refreshEvery) : this.load()), ms);
  }

  async ask(what, parameters = {}) {
    const { ns, name } = this.at;
    const answer = await fetch(`api/${what}?${new URLSearchParams({ ns, name, ...parameters })}`);
    if (what === "object" && answer.ok) return answer.text();
    const body = await answer.json();
    if (!answer.ok) throw new Error(body.error);
    return body;
  }

  async load() {
    clearTimeout(this.timer);
    const { at } = this;
    const one = async (what) => {
      try {
        const got = await this.ask(what);
        if (this.at !== at) return;
        this.parts[what] = got;
        delete this.errors[what];
      } catch (error) {
        if (this.at === at) this.errors[what] = error.message;
      }
    };
    await Promise.all(["job", "pods", "events", "children"].map(one));
    if (this.at !== at) return;
    this.draw();
    const seen = this.rows.find(at.ns, at.name);
    if (seen && seen.state !== "Complete" && seen.state !== "Failed") this.later(refreshEvery);
  }

  // Keeps what is open and where the keyboard is.
  draw() {
    const into = document.getElementById("job");
    const job = this.rows.find(this.at.ns, this.at.name);
    const open = new Set([...into.querySelectorAll("details[open]")].map((each) => each.dataset.which));
    const focused = document.activeElement?.dataset?.focus;
    const texts = new Map([...into.querySelectorAll("details[open] pre")].map((each) => [each.parentElement.dataset.which, each.textContent]));
    into.replaceChildren(
      make("a", { class: "back", href: this.at.back, "data-focus": "back" }, "← all jobs"),
      ...(job ? this.head(job) : [make("p", { class: "why" }, this.rows.complete ? `There is no TrainJob ${this.at.ns}/${this.at.name}.` : "reading …")]),
      ...(job ? [this.timeline(job), this.failures(), this.ranks(job), this.conditions(), this.events(), this.endpoints(open), this.objects(open, texts)] : []).filter(Boolean),
    );
    if (focused) [...into.querySelectorAll("[data-focus]")].find((each) => each.dataset.focus === focused)?.focus({ preventScroll: true });
  }

  failed(what) {
    if (this.errors[what]) return make("p", { class: "why Failed" }, `Not to be had: ${this.errors[what]}`);
    return this.parts[what] ? undefined : make("p", { class: "quiet" }, "reading …");
  }

  head(job) {
    const now = this.rows.seconds();
    const more = this.parts.job || {};
    const over = job.state === "Complete" || job.state === "Failed";
    return [
      make("div", { class: "title" }, make("h2", {}, job.name), badge(job.state)),
      make("p", { class: "quiet" }, `namespace ${job.ns}`),
      job.message ? make("p", { class: `why ${kindOf(job.state)}` }, job.message) : "",
      make("dl", { class: "facts" },
        fact("Nodes ready", over ? `${job.nodes} planned` : `${job.ready} of ${job.nodes}`), fact("GPUs", job.gpus || "–"), fact("Restarts", job.restarts),
        fact("Queue wait", duration(wait(job, now))), fact("Runtime", duration(runs(job, now))), fact("Age", duration(now - job.created)),
        fact(more.runtimeKind || "Runtime of", job.runtime), fact("Queue", job.queue), fact("Managed by", more.managedBy),
        fact("JobSet after", job.setMs >= 0 ? `${job.setMs.toFixed(1)} ms` : "")),
    ];
  }

  timeline(job) {
    const now = this.rows.seconds();
    const more = this.parts.job || { conditions: [], failures: [], setCreated: 0 };
    const over = job.state === "Complete" || job.state === "Failed";
    const end = Math.max(job.ended || (over ? job.created : now), job.created + 1);
    const bar = [];
    if (job.started) bar.push(["Pending", `waited ${duration(wait(job, now))}`, job.started - job.created]);
    const last = job.started ? end - job.started : end - job.created;
    bar.push([over ? job.state : job.started ? job.state : job.state || "Pending", `${over ? (job.state === "Failed" ? "failed after" : "complete after") : job.state} ${duration(last)}`, last]);
    const whole = bar.reduce((sum, [, , length]) => sum + Math.max(0, length), 0) || 1;
    const moments = [[job.created, "", "created"]];
    if (more.setCreated) moments.push([more.setCreated, "", "JobSet created"]);
    if (job.started) moments.push([job.started, "Running", "its Pods ran"]);
    for (const each of more.conditions)
      moments.push([each.at, each.status === "True" ? kindOf(each.type) : "", `${each.of === "TrainJob" ? "" : each.of + " "}${each.type} ${each.status === "True" ? "" : "is " + each.status} (${each.reason}) ${each.message}`]);
    for (const each of this.parts.events?.events || [])
      if (each.about.startsWith("TrainJob/") && !more.conditions.some((c) => c.reason === each.reason)) moments.push([each.at, each.type === "Warning" ? "Failed" : "", `${each.reason}: ${each.message}`]);
    moments.sort((a, b) => a[0] - b[0]);
    return section("Timeline",
      make("div", { class: "bar", role: "img", "aria-label": bar.map(([, words]) => words).join(", ") },
        ...bar.map(([state, words, length]) => {
          const out = make("span", { class: kindOf(state), title: words }, words);
          out.style.width = `${(100 * Math.max(0, length)) / whole}%`;
          return out;
        })),
      make("ol", { class: "moments" }, ...moments.map(([at, kind, words]) => make("li", { class: kind }, time(at), make("span", {}, words)))));
  }

  // status.failures of any shape: what is known by name first, the rest as it is called.
  failures() {
    const all = this.parts.job?.failures || [];
    if (!Array.isArray(all) || all.length === 0) return undefined;
    const show = (value) => (typeof value === "object" ? JSON.stringify(value) : value);
    return section("Failures", ...all.slice().reverse().map((each) =>
      make("dl", { class: "facts pod" }, ...Object.entries(each ?? {}).filter(([, value]) => value !== "" && value !== null).map(([key, value]) => fact(key, show(value))))));
  }

  ranks(job) {
    const parts = this.parts.job?.parts || [];
    const out = section("Ranks", this.failed("pods") || "");
    const pods = this.parts.pods?.pods;
    if (!pods) return out;
    for (const part of parts) {
      // Of several Pods of one rank the newest that stays.
      const newest = new Map();
      for (const pod of pods) {
        if (pod.part !== part.name) continue;
        const rank = pod.job * part.pods + pod.index;
        const other = newest.get(rank);
        if (!other || (other.deleting && !pod.deleting) || (other.deleting === pod.deleting && pod.created >= other.created)) newest.set(rank, pod);
      }
      const all = Array.from({ length: Math.min(part.replicas * part.pods, 100000) }, (_, rank) => ({ rank, pod: newest.get(rank), status: statusOf(newest.get(rank)) }));
      const counts = statuses.map((status) => [status, all.filter((each) => each.status === status).length]).filter(([, n]) => n > 0);
      let cells = all;
      if (all.length > cellsMax) cells = all.slice().sort((a, b) => statuses.indexOf(a.status) - statuses.indexOf(b.status) || a.rank - b.rank).slice(0, cellsMax);
      out.append(
        make("h3", {}, `${part.name}: ${part.replicas} × ${part.pods} Pods`, part.step && part.step !== part.name ? ` (${part.step})` : ""),
        make("p", { class: "quiet" }, counts.map(([status, n]) => `${n} ${status === "missing" ? "without a Pod" : status}`).join(", "),
          all.length > cells.length ? `; ${cells.length} of ${all.length} are drawn, those that are not ready first` : ""),
        this.grid(part, cells));
    }
    if (parts.length === 0) out.append(make("p", { class: "quiet" }, this.parts.job?.setError || (job.state === "Complete" || job.state === "Failed" ? "Its JobSet is gone." : "It has no JobSet yet.")));
    if (this.parts.pods.more) out.append(make("p", { class: "quiet" }, `Only the first ${pods.length} Pods were read.`));
    return out;
  }

  grid(part, cells) {
    const into = make("div", { class: "ranks", role: "group", "aria-label": `ranks of ${part.name}, arrow keys move` });
    const below = make("div", { "aria-live": "polite" });
    const buttons = cells.map(({ rank, pod, status }) => {
      const which = `${part.name}/${rank}`;
      const words = `rank ${rank}: ${status}${pod?.node ? " on " + pod.node : ""}${pod?.reason ? ", " + pod.reason : ""}`;
      const cell = make("button", { type: "button", class: status, title: words, "aria-label": words, "data-focus": `rank ${which}`, tabIndex: -1, "aria-pressed": String(this.picked === which) }, rank);
      cell.addEventListener("click", () => {
        this.picked = this.picked === which ? "" : which;
        for (const each of into.querySelectorAll("[aria-pressed=true]")) each.setAttribute("aria-pressed", "false");
        cell.setAttribute("aria-pressed", String(Boolean(this.picked)));
        below.replaceChildren(...(this.picked ? [this.pod(rank, pod, status)] : []));
      });
      if (this.picked === which) below.replaceChildren(this.pod(rank, pod, status));
      return cell;
    });
    const start = buttons.find((each) => each.getAttribute("aria-pressed") === "true") || buttons[0];
    if (start) start.tabIndex = 0;
    into.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      const to = step && buttons[buttons.indexOf(event.target) + step];
      if (!to) return;
      event.preventDefault();
      event.target.tabIndex = -1;
      to.tabIndex = 0;
      to.focus();
    });
    into.append(...buttons);
    return make("div", {}, into, below);
  }

  pod(rank, pod, status) {
    if (!pod) return make("p", { class: "pod" }, `Rank ${rank} has no Pod.`);
    return make("div", { class: "pod" },
      make("dl", { class: "facts" }, fact(`Rank ${rank}`, status), fact("Pod", pod.name), fact("Phase", pod.deleting ? `${pod.phase}, is being deleted` : pod.phase),
        fact("Node", pod.node || "none yet"), fact("Restarts", pod.restarts), fact("Exit code", pod.exitCode >= 0 ? pod.exitCode : ""), fact("Reason", pod.reason), fact("Age", duration(this.rows.seconds() - pod.created))),
      pod.message ? make("p", {}, pod.message) : "",
      this.yaml({ kind: "Pod", name: pod.name, which: "pod" }, false));
  }

  conditions() {
    const all = this.parts.job?.conditions;
    if (!all) return section("Conditions", this.failed("job") || "");
    if (all.length === 0) return undefined;
    return section("Conditions", table("Conditions", ["Condition", "Status", "Since", "Reason", "Message"],
      all.map((each) => row("", `${each.of === "TrainJob" ? "" : each.of + " "}${each.type}`, each.status, time(each.at), each.reason, each.message))));
  }

  events() {
    const all = this.parts.events;
    if (!all) return section("Events", this.failed("events"));
    if (all.events.length === 0) return section("Events", make("p", { class: "quiet" }, "None: the API server keeps them for an hour, mostly."));
    return section("Events", table("Events", ["Type", "Reason", "Last", "About", "Message"],
      all.events.map((each) => row(each.type === "Warning" ? "Warning" : "", each.type, each.reason, time(each.at), each.about, each.message + (each.count > 1 ? ` (${each.count} times)` : "")))),
      all.more ? make("p", { class: "quiet" }, "There are more than were read.") : "");
  }

  endpoints(open) {
    const all = this.parts.job?.endpoints || [];
    if (all.length === 0) return undefined;
    const ports = [...new Set(all.map((each) => each.ports).filter(Boolean))];
    const left = this.parts.job.endpointsLeftOut;
    const count = all.length + left;
    const out = make("details", { "data-which": "endpoints", open: open.has("endpoints") || count <= 8 },
      make("summary", { "data-focus": "endpoints" }, `${count} host names, from ${all[0].host}`),
      make("ul", { class: "hosts" }, ...all.map((each) => make("li", {}, make("code", {}, each.host)))),
      left ? make("p", { class: "quiet pad" }, `and ${left} more`) : "");
    return section("Endpoints", make("p", { class: "quiet" }, `Within the namespace${ports.length ? "; ports: " + ports.join("; ") : ""}`), out);
  }

  objects(open, texts) {
    const all = this.parts.children;
    if (!all) return section("Objects", this.failed("children"));
    const more = this.parts.job;
    const runtime = more?.runtime ? [{ kind: more.runtimeKind, name: more.runtime, which: more.runtimeKind.toLowerCase() }] : [];
    return section("Objects", ...[...all.children, ...runtime].map((each) => this.yaml(each, open.has(each.which), texts.get(each.which))),
      make("p", { class: "quiet" }, "As the API server has them, without managedFields. Secrets are never read."));
  }

  yaml(child, isOpen, text) {
    const out = make("details", { "data-which": child.which, open: isOpen }, make("summary", { "data-focus": `yaml ${child.which}` }, `${child.kind} ${child.name}`));
    if (text !== undefined) out.append(make("pre", { tabIndex: 0, role: "region", "aria-label": `YAML of ${child.kind} ${child.name}` }, text));
    out.addEventListener("toggle", async () => {
      if (!out.open || out.querySelector("pre")) return;
      const into = make("pre", { tabIndex: 0, role: "region", "aria-label": `YAML of ${child.kind} ${child.name}` }, "reading …");
      out.append(into);
      try {
        into.textContent = await this.ask("object", { name: child.name, kind: child.which });
      } catch (error) {
        into.textContent = error.message;
      }
    });
    return out;
  }
}
