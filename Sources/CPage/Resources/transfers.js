// Transfers: a live list of any length, and everything that can be done to one or to all.

import { h, fill, text, attribute, button, dialog, confirm, act, toast } from "./dom.js";
import { get, post, patch, remove } from "./api.js";
import { state, listen, tellTask, forgetTask, taskPath } from "./store.js";
import { amounts, size, rate, timeLeft, taskName, taskSentence, stateNames, host, parseRate, typedRate,
  moment, particulars, decision, answer, isOver } from "./format.js";
import { VirtualList } from "./list.js";
import { addDialog, limits, everything } from "./transfer-dialogs.js";

const filters = [
  ["active", "Under way", task => !isOver(task)],
  ["waiting", "Waiting", task => task.state === "waiting" || task.state === "suspended"],
  ["failed", "Failed", task => task.state === "failed"],
  ["done", "Done", task => task.state === "completed" || task.state === "cancelled"],
  ["all", "All", () => true],
];
const order = { running: 0, finishing: 0, waiting: 1, suspended: 2, failed: 3, completed: 4, cancelled: 5 };

let chosen = "active";
let sought = "";

// MARK: - What is done to one

const single = {
  pause: task => post(taskPath(task.id, "suspend")).then(tellTask),
  resume: task => post(taskPath(task.id, "resume")).then(tellTask),
  retry: task => post(taskPath(task.id, "retry")).then(tellTask),
  cancel: task => post(taskPath(task.id, "cancel")).then(tellTask),
  remove: async task => {
    await remove(taskPath(task.id));
    forgetTask(task.id);
  },
};

async function cancel(task, node) {
  if (await confirm(`Cancel ${taskName(task)}?`, "What is here of it goes away.", "Cancel the transfer")) {
    await act(node, () => single.cancel(task));
  }
}

/** The button that a row leads with: what one most likely wants. */
function mainAction(task) {
  if (task.state === "suspended") return ["play", "Resume", single.resume];
  if (task.state === "waiting" && ["retry", "retryAfter", "hostBackoff"].includes(task.wait?.reason)) return [
    "retry", "Try again now", single.retry
  ];
  if (["waiting", "running"].includes(task.state)) return ["pause", "Pause", single.pause];
  if (isOver(task)) return ["remove", "Remove from the list", single.remove];
  return null;
}

// MARK: - The list

export function transfers(root) {
  const counts = new Map();
  const tabs = filters.map(([key, name]) => {
    const count = h("span", { class: "count" });
    counts.set(key, count);
    return h("button", {
      type: "button",
      class: "chip",
      "aria-pressed": String(key === chosen),
      "data-filter": key,
      onclick: () => {
        chosen = key;
        for (const tab of tabs) attribute(tab, "aria-pressed", tab.dataset.filter === key);
        list.node.scrollTop = 0;
        show();
      }
    }, name, count);
  });
  const search = h("input", {
    type: "search",
    class: "field",
    placeholder: "Find",
    "aria-label": "Find transfers",
    value: sought,
    oninput: () => {
      sought = search.value.trim().toLowerCase();
      show();
    }
  });
  const total = h("span", { class: "total number" });
  const empty = h("div", { class: "empty", hidden: true });
  const list = new VirtualList({
    label: "Transfers",
    create: makeRow,
    update: showRow,
    open: task => details(task.id),
    keys: { p: task => act(null, () => (task.state === "suspended" ? single.resume : single.pause)(task)),
      Delete: task => cancel(task) }
  });
  list.node.classList.add("transfer-list");

  fill(root, h("div", { class: "toolbar" },
      h("h1", {}, "Transfers"), total, h("span", { class: "spring" }),
      button("add", "Add", () => addDialog(), { showsWords: true, kind: "primary", id: "add" }),
      button("limit", "Limits of all", limits, { id: "limits" }), button("more", "All transfers",
      everything, { id: "everything" })),
    h("div", { class: "toolbar second" }, h("div", { class: "chips", role: "group", "aria-label": "Which" },
      tabs), search),
    empty, list.node);

  function show() {
    const matches = filters.find(filter => filter[0] === chosen)[2];
    const numbers = new Map(filters.map(filter => [filter[0], 0]));
    const items = [];
    for (const task of state.tasks.values()) {
      for (const [key, , isIn] of filters)
        if (isIn(task)) numbers.set(key, numbers.get(key) + 1);
      if (matches(task) && (!sought || isSought(task))) items.push(task);
    }
    items.sort((a, b) => order[a.state] - order[b.state] || (isOver(a) ? b.id - a.id : a.id - b.id));
    for (const [key, node] of counts) text(node, String(numbers.get(key)));
    empty.hidden = items.length > 0;
    text(empty, !state.isLoaded && state.link !== "away" ? "Reading…" : sought ? "Nothing is called so." :
      chosen === "active" ? "Nothing is under way. Paste URLs here, or press Add." : "Nothing is here.");
    list.set(items);
    sum();
  }

  function sum() {
    let speed = 0;
    for (const task of state.tasks.values())
      if (task.state === "running") speed += task.bytesPerSecond ?? 0;
    text(total, speed > 0 ? rate(speed) : "");
  }

  const ends = [listen(["tasks", "link"], show), listen(["progress"], () => {
    list.draw();
    sum();
  })];
  show();
  return () => {
    for (const end of ends) end();
    list.end();
  };
}

const isSought = task => taskName(task).toLowerCase().includes(sought) || task.url.toLowerCase().includes(sought) ||
  task.session.toLowerCase().includes(sought) || String(task.id) === sought;

function makeRow(node, item) {
  const parts = {
    name: h("span", { class: "name" }),
    from: h("span", { class: "from" }),
    state: h("span", { class: "badge" }),
    sentence: h("span", { class: "sentence" }),
    amount: h("span", { class: "number amount" }),
    rate: h("span", { class: "number rate" }),
    left: h("span", { class: "number left" }),
    bar: h("span", { class: "bar-fill" }),
  };
  parts.meter = h("span", { class: "bar",
role: "progressbar", "aria-valuemin": 0, "aria-valuemax": 100, "aria-label": "Progress" }, parts.bar);
  parts.main = h("button", {
    type: "button",
    class: "button main-action",
    onclick: () => {
      const task = item();
      act(parts.main, () => mainAction(task)?.[2](task));
    }
  });
  parts.cancel = button("stop", "Cancel", () => cancel(item(), parts.cancel));
  parts.more = button("more", "More", () => details(item().id));
  node.append(
    h("div", { class: "what", role: "gridcell" }, h("div", { class: "line" }, parts.state, parts.name, parts
      .from), parts.sentence),
    h("div", { class: "how", role: "gridcell" }, parts.meter, h("div", { class: "line" }, parts.amount, parts
      .rate, parts.left)),
    h("div", { class: "actions", role: "gridcell" }, parts.main, parts.cancel, parts.more));
  return parts;
}

function showRow(parts, task, node) {
  const { done, total } = amounts(task);
  const part = total > 0 ? Math.min(1, done / total) : task.state === "completed" ? 1 : 0;
  text(parts.name, taskName(task));
  text(parts.from, host(task.currentURL ?? task.url));
  text(parts.state, stateNames[task.state] ?? task.state);
  attribute(node, "data-state", task.state);
  attribute(node, "data-id", task.id);
  const sentence = taskSentence(task);
  text(parts.sentence, sentence);
  if (parts.sentence.title !== sentence) parts.sentence.title = sentence;
  text(parts.amount, total > 0 ? `${size(done)} of ${size(total)}` : done > 0 ? size(done) : "");
  text(parts.rate, task.state === "running" && task.bytesPerSecond > 0 ? rate(task.bytesPerSecond) : "");
  text(parts.left, timeLeft(task));
  const scale = `scaleX(${part.toFixed(4)})`;
  if (parts.scale !== scale) {
    parts.scale = scale;
    parts.bar.style.transform = scale;
  }
  attribute(parts.meter, "aria-valuenow", total > 0 || part ? Math.round(part * 100) : null);
  const action = mainAction(task);
  parts.main.hidden = !action;
  if (action && parts.action !== action[1]) {
    parts.action = action[1];
    const shape = button(action[0], action[1], null);
    parts.main.replaceChildren(...shape.childNodes);
    attribute(parts.main, "aria-label", action[1]);
    attribute(parts.main, "title", action[1]);
  }
  parts.cancel.hidden = isOver(task) || task.state === "finishing";
}

// MARK: - One

async function details(id) {
  const body = h("div", { class: "stack" });
  const node = dialog("Transfer", body);
  node.classList.add("sheet");
  let last = "";
  async function show() {
    const task = state.tasks.get(id);
    if (!task) {
      node.close();
      return;
    }
    // What is being typed is not taken away: only another state makes it anew.
    const now = `${task.state} ${task.priority} ${task.rateLimit} ${task.wait?.reason}`;
    if (now === last) return;
    last = now;
    text(node.querySelector("h2"), taskName(task));
    let why = null;
    try {
      why = await get(taskPath(id, "why"));
    } catch (error) {
      why = { sentence: error.message, history: [] };
    }
    if (node.open) fill(body, explained(task, why), settings(task), deeds(task), facts(task), past(why));
  }
  const end = listen(["tasks"], show);
  node.addEventListener("close", end);
  await show();
}

function explained(task, why) {
  return h("p", { class: "answer" }, h("strong", {}, `${stateNames[task.state]}: `), answer(why));
}

function settings(task) {
  if (isOver(task)) return null;
  const priority = h("input", { type: "range", min: 0, max: 1, step: 0.05, value: String(task.priority),
    id: "priority" });
  const shown = h("output", { for: "priority", class: "number" }, task.priority.toFixed(2));
  priority.addEventListener("input", () => text(shown, Number(priority.value).toFixed(2)));
  priority.addEventListener("change", () => act(priority, () => patch(taskPath(task.id), { priority: Number(priority
      .value) }).then(tellTask), "The priority is changed."));
  const limit = h("input", { class: "field", id: "limit", value: typedRate(task.rateLimit), placeholder: "none",
    autocomplete: "off", "aria-describedby": "limit-help" });
  return h("form", {
      class: "form",
      onsubmit: event => {
        event.preventDefault();
        const bytes = parseRate(limit.value);
        if (Number.isNaN(bytes)) {
          toast("A limit is a number with K, M or G, such as 500K.", true);
          return;
        }
        act(limit, () => patch(taskPath(task.id), { rateLimit: bytes }).then(tellTask),
        "The limit is changed.");
      }
    },
    h("label", { for: "priority" }, "Priority"), h("div", { class: "row" }, priority, shown),
    h("label", { for: "limit" }, "Limit"), h("div", { class: "row" }, limit, h("button", { type: "submit",
        class: "button" }, "Set"), h("span", { id: "limit-help", class: "faint" },
      "bytes per second: 500K, 1.5M")));
}

function deeds(task) {
  const action = mainAction(task);
  return h("div", { class: "row" },
    action && button(action[0], action[1], event => act(event.currentTarget, () => action[2](
    task)), { showsWords: true }),
    task.state === "waiting" && action?.[1] !== "Pause" && button("pause", "Pause", event => act(event
      .currentTarget, () => single.pause(task)), { showsWords: true }),
    !isOver(task) && task.state !== "finishing" && button("stop", "Cancel", event => cancel(task, event
      .currentTarget), { showsWords: true, kind: "bad" }));
}

function facts(task) {
  const rows = [
    ["Number", task.id],
    ["From", task.currentURL ?? task.url],
    ["Session", task.session],
    ["To", task.file ?? task.destination?.directory],
    ["Source", task.source],
    ["Added", moment(task.createdAt)],
    ["Ended", task.endedAt && moment(task.endedAt)],
    ["Attempts", task.attempts],
    ["Connections", task.connections],
    ["Answer", task.response && `HTTP ${task.response.status}`],
    ["Checked", task.verified?.join(", ")],
    ["Last error", task.lastError?.message],
    ["Not before", task.earliestBeginDate && moment(task.earliestBeginDate)]
  ];
  return h("dl", { class: "facts" }, rows.filter(([, value]) => value !== undefined && value !== null && value !==
      "" && value !== false)
    .map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
}

export function past(why) {
  if (!why.history?.length) return null;
  return h("details", {}, h("summary", {}, "What happened"), h("ol", { class: "past" }, why.history.slice(-20).map(
    entry =>
    h("li", {}, h("time", { class: "number", datetime: entry.time }, moment(entry.time)), " ", decision(
      entry), " ", h("span", { class: "faint" }, particulars(entry))))));
}
