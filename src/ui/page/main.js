// The feed, and which of the two views is to be seen.
import { Job } from "./job.js";
import { List } from "./list.js";
import { Rows, painted } from "./rows.js";

const $ = (id) => document.getElementById(id);
const rows = new Rows();
const list = new List(rows);
const job = new Job(rows);

// Said aloud by screen readers, and so only when it changes.
const say = (text) => {
  if ($("standing").textContent !== text) $("standing").textContent = text;
};

let listScroll = 0;
const route = () => {
  const at = location.hash.match(/^#\/job\/([^/]+)\/([^/]+)$/);
  if (!$("list").hidden) listScroll = scrollY;
  $("list").hidden = Boolean(at);
  $("job").hidden = !at;
  if (at) {
    job.open(decodeURIComponent(at[1]), decodeURIComponent(at[2]), list.address());
    scrollTo(0, 0);
    return;
  }
  const before = job.close();
  document.title = "TrainJobs";
  list.recall(location.hash.replace(/^#\/?\??/, ""));
  list.update();
  if (!before) return;
  scrollTo(0, listScroll);
  list.active = rows.find(before.ns, before.name)?.id || "";
  $("grid").focus({ preventScroll: true });
};

const showSources = (message) => {
  $("where").textContent = `${message.cluster}, ${message.ns ? "namespace " + message.ns : "all namespaces"}`;
  const words = {
    missing: "the cluster does not know this kind",
    forbidden: "you may not list and watch them here",
    behind: "cannot be followed at present; what is shown may be old",
    loading: "are being read",
  };
  const trouble = message.sources
    .filter((each) => each.state !== "synced" && (each.error || each.state !== "loading"))
    .map((each) => `${each.kind}s: ${words[each.state] || each.state}${each.error ? " (" + each.error + ")" : ""}`);
  if (message.full) trouble.push(`There are more jobs than this page keeps: ${rows.all.size.toLocaleString("en")} are shown.`);
  const had = [...$("trouble").children].map((each) => each.textContent);
  if (had.join("\n") === trouble.join("\n")) return;
  $("trouble").replaceChildren(
    ...trouble.map((text) => {
      const out = document.createElement("li");
      out.textContent = text;
      return out;
    }),
  );
};

let shown = false;
let drawing = false;
// At most once a frame.
const draw = () => {
  if (drawing) return;
  drawing = true;
  requestAnimationFrame(() => {
    drawing = false;
    list.update();
  });
};

const take = (message) => {
  rows.take(message);
  showSources(message);
  const loading = message.sources.some((each) => each.kind === "TrainJob" && each.state === "loading");
  say(loading || !rows.complete ? "reading the jobs …" : "");
  job.changed(message.rows);
  // Of a snapshot the first rows are drawn at once, and then the whole.
  if (!rows.complete && !(message.head && list.isPlain())) return;
  if (shown) return draw();
  shown = true;
  list.update();
  painted(() => {
    performance.measure("cotrain first list", { start: 0, end: performance.now() });
    work();
  });
};

// Messages that came and wait: the first list is painted before the others, and each of them is a task of its own.
const waiting = [];
let working = false;
const work = () => {
  working = true;
  const next = waiting.shift();
  if (next === undefined) {
    working = false;
    return;
  }
  const first = !shown;
  take(JSON.parse(next));
  if (!first || !shown) setTimeout(work);
};

const source = new EventSource("feed");
source.onmessage = (event) => {
  waiting.push(event.data);
  if (!working) work();
};
source.onerror = () => {
  say("the server of this page is gone; waiting for it …");
  // A server that refuses, because it was started anew or has too many pages, is asked no more by the browser itself.
  if (source.readyState === EventSource.CLOSED) say("the server of this page does not answer any more: take the address that it says now");
};

addEventListener("hashchange", route);
addEventListener("keydown", (event) => {
  const typing = ["INPUT", "SELECT", "TEXTAREA"].includes(event.target.tagName);
  if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    if ($("list").hidden) location.hash = list.address();
    $("search").focus();
  } else if (event.key === "Escape" && !$("job").hidden) {
    location.hash = list.address();
  } else if (event.key === "Escape" && event.target === $("search")) {
    event.preventDefault();
    $("search").value = "";
    list.change({ query: "" });
    $("grid").focus();
  } else if (event.key === "ArrowDown" && event.target === $("search")) {
    event.preventDefault();
    $("grid").focus();
  }
});
// Ages go on while nothing happens.
setInterval(() => {
  if (!document.hidden && rows.complete) list.drawRows();
}, 5000);
route();
