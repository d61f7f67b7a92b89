// The journal view: every decision with its reason, newest first, with filters.

import { h, fill, text } from "./dom.js";
import { JournalCopy } from "./journal-copy.js";
import { state } from "./store.js";
import { words, decision, particulars, clock, day, moment } from "./format.js";
import { VirtualList } from "./list.js";

const spans = [
  [3600, "the last hour"],
  [86400, "the last day"],
  [7 * 86400, "the last week"],
  [0, "all"]
];

const said = new WeakMap();

/** Returns the text of an entry. Entries that repeat each other have equal texts. */
function saying(entry) {
  let known = said.get(entry);
  if (known === undefined) {
    known = JSON.stringify([entry.decision, entry.detail, entry.wait?.reason, entry.wait?.detail, entry.error
      ?.message, inputs(entry)
    ]);
    said.set(entry, known);
  }
  return known;
}

/** The number of entries in the longest repeated group: a start, a remark, and the wait after the failure. */
const longestRound = 3;

/** Returns how many times `length` entries occur in a row; 1 if none of the entries is a wait. */
function repetitions(entries, from, length) {
  let end = from + length;
  if (!entries.slice(from, end).some(entry => entry.decision === "held")) return 1;
  while (end < entries.length && saying(entries[end]) === saying(entries[end - length])) end += 1;
  return Math.floor((end - from) / length);
}

/** Groups repeated entries of a transfer or app. Returns [{entry, since, count}] in the order of the last entries. */
export function runs(entries) {
  const subjects = new Map();
  for (const entry of entries) {
    const subject = entry.task ?? entry.app;
    const own = subjects.get(subject);
    if (own) own.push(entry);
    else subjects.set(subject, [entry]);
  }
  const found = [];
  for (const own of subjects.values()) {
    for (let index = 0; index < own.length;) {
      let [length, count] = [1, 1];
      for (let other = 1; other <= longestRound; other += 1) {
        const times = repetitions(own, index, other);
        if (times > 1 && other * times > length * count) [length, count] = [other, times];
      }
      for (let place = index; place < index + length; place += 1) {
        found.push({ entry: own[place + length * (count - 1)], since: own[place].time, count });
      }
      index += length * count;
    }
  }
  return found.sort((one, other) => one.entry.id - other.entry.id);
}

export function journal(root) {
  let shown = 0;
  // The time to draw grows with the number of entries. During a read, draw the list only when their number has doubled.
  const copy = new JournalCopy(() => {
    if (!copy.isReading || copy.entries.length >= 2 * shown) show();
  });
  const since = h("select", { class: "field", id: "journal-since", "aria-label": "Time range" }, spans.map(([
    seconds, name
  ]) => h("option", { value: String(seconds) }, name)));
  since.value = "86400";
  const app = h("select", { class: "field", id: "journal-app", "aria-label": "App" });
  const kind = h("select", { class: "field", id: "journal-kind", "aria-label": "Decision" });
  const task = h("input", { class: "field short", id: "journal-task", inputmode: "numeric",
  placeholder: "Number", "aria-label": "Number of a transfer" });
  const find = h("input", { type: "search", class: "field", id: "journal-find",
  placeholder: "Find", "aria-label": "Find in the journal" });
  const count = h("span", { class: "faint number", role: "status" });
  const list = new VirtualList({ label: "Journal", create: makeRow, update: showRow });
  list.node.classList.add("journal-list");
  const empty = h("div", { class: "empty", hidden: true }, "No decision matches.");
  fill(root, h("div", { class: "toolbar" }, h("h1", {}, "Journal"), count), h(
  "div", { class: "toolbar second filters" }, since, app, kind, task, find), empty, list.node);

  function choices() {
    const names = new Map([...state.apps.values()].map(one => [one.id, one.name || one.id]));
    const kinds = new Set();
    for (const entry of copy.entries) {
      if (entry.app && !names.has(entry.app)) names.set(entry.app, entry.app);
      kinds.add(entry.decision);
    }
    options(app, "every app", [...names]);
    options(kind, "every decision", [...kinds].sort().map(name => [name, words.decisions[name] ?? name]));
  }

  function options(node, all, rows) {
    if (node.options.length === rows.length + 1) return;
    const chosen = node.value;
    fill(node, h("option", { value: "" }, all), rows.map(([value, name]) => h("option", { value }, name)));
    node.value = chosen;
  }

  function show() {
    shown = copy.entries.length;
    choices();
    const number = Number(task.value.replace("#", "")) || 0;
    const sought = find.value.trim().toLowerCase();
    const chosen = copy.entries.filter(entry => (!app.value || entry.app === app.value) && (!kind.value || entry
        .decision === kind.value) &&
      (!number || entry.task === number) && (!sought ||
        `${decision(entry)} ${particulars(entry)} ${entry.app ?? ""} ${inputs(entry)}`.toLowerCase().includes(
          sought)));
    text(count, chosen.length === 1 ? "1 decision" : `${chosen.length} decisions`);
    empty.hidden = chosen.length > 0 || !state.isLoaded;
    list.set(runs(chosen).reverse());
  }

  function read() {
    shown = 0;
    copy.read(Number(since.value));
  }

  since.addEventListener("change", read);
  for (const node of [app, kind]) node.addEventListener("change", show);
  for (const node of [task, find]) node.addEventListener("input", show);
  read();
  return () => {
    copy.end();
    list.end();
  };
}

const inputs = entry => Object.entries(entry.inputs ?? {}).sort().map(([key, value]) => `${key}=${value}`).join(
" ");

function makeRow(node) {
  const parts = { time: h("time", { class: "number" }), who: h("span", { class: "who" }), what: h(
    "span", { class: "what" }), more: h("span", { class: "faint more" }) };
  node.append(h("div", { class: "when", role: "gridcell" }, parts.time), h("div", { class: "who-cell",
    role: "gridcell" }, parts.who), h("div", { class: "what-cell", role: "gridcell" }, parts.what, " ", parts
    .more));
  return parts;
}

function showRow(parts, { entry, since, count }, node) {
  const date = new Date(entry.time);
  text(parts.time, `${day(date)} ${clock(date)}`);
  text(parts.who, [entry.app && (state.apps.get(entry.app)?.name ?? entry.app), entry.task && `#${entry.task}`]
    .filter(Boolean).join(" ") || "device");
  text(parts.what, decision(entry));
  const extra = [count > 1 && `${count} times since ${moment(since)}`, particulars(entry), inputs(entry)]
    .filter(Boolean).join(" · ");
  text(parts.more, extra);
  const whole = `${decision(entry)} ${extra}`;
  if (node.title !== whole) node.title = whole;
  node.dataset.decision = entry.decision;
}
