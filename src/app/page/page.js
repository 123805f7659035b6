// Draws the state that the server sends; a new state replaces what is drawn of a job.
"use strict";

const make = (name, text, kinds) => {
  const out = document.createElement(name);
  if (text !== undefined) out.textContent = text;
  if (kinds) out.className = kinds;
  return out;
};

const partRow = (into, part, over) => {
  const all = part.active + part.succeeded + part.failed + part.suspended;
  const bar = make("progress");
  bar.max = Math.max(all, 1);
  bar.value = part.ready + part.succeeded;
  const counts = ["ready", "succeeded", "failed", "suspended"].filter((w) => part[w] > 0).map((w) => `${part[w]} ${w}`);
  const words = counts.join(", ") || (over ? "gone with the job" : part.active ? "starting" : "waiting");
  bar.setAttribute("aria-label", `jobs of ${part.name}: ${words}`);
  into.append(make("span", part.name), bar, make("small", words));
};

// What is wrong has to be read without a mouse.
const isTrouble = (each) => each.status === (each.type === "ResourcesReady" ? "False" : "True") && ["Failed", "ResourcesReady"].includes(each.type);

const draw = (job) => {
  const out = make("article");
  const over = (job.conditions || []).some((c) => (c.type === "Complete" || c.type === "Failed") && c.status === "True");
  out.dataset.name = `${job.namespace}/${job.name}`;
  const head = make("h2", job.name);
  head.append(make("small", `${job.namespace} · runtime ${job.runtime}`));
  for (const each of job.conditions || []) {
    const badge = make("span", each.status === "True" ? each.type : `${each.type}: ${each.status}`, `condition ${each.status} ${each.type}`);
    badge.title = `${each.reason}: ${each.message}`;
    head.append(badge);
  }
  out.append(head);
  for (const each of (job.conditions || []).filter(isTrouble)) out.append(make("p", `${each.reason}: ${each.message}`, "why"));
  const parts = make("div", undefined, "parts");
  for (const each of job.parts || []) partRow(parts, each, over);
  out.append(parts);
  const facts = over ? [] : [`${job.podsReady} of ${job.pods} pods ready`];
  if (job.gang) facts.push(`gang of ${job.gang.minMember}: ${job.gang.phase}, ${job.gang.running} running`);
  if (job.latencyMs !== undefined) facts.push(`JobSet after ${job.latencyMs} ms`);
  out.append(make("div", facts.join(" · "), "facts"));
  const events = make("ul", undefined, "events");
  for (const each of job.events) events.append(make("li", each));
  if (job.events.length > 0) out.append(events);
  return out;
};

// Said aloud by screen readers, and so only when it changes.
const stand = (text) => {
  const at = document.getElementById("standing");
  if (at.textContent !== text) at.textContent = text;
};

const show = (state) => {
  stand("");
  document.getElementById("summary").textContent =
    `${state.jobsEver} so far · created → JobSet: p50 ${state.p50Ms} ms, p99 ${state.p99Ms} ms (${state.measured} measured)`;
  document.getElementById("jobs").replaceChildren(...state.jobs.map(draw));
  document.getElementById("empty").hidden = state.jobs.length > 0;
};

const source = new EventSource("state");
source.onmessage = (message) => show(JSON.parse(message.data));
source.onerror = () => stand("the playground is gone; waiting for it …");
