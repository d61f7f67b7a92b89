// The transfers: a live, sorted list of any length, with actions on one transfer, several or all of them.

import { h, fill, text, attribute, button, act } from "./dom.js";
import { state, listen } from "./store.js";
import { amounts, size, rate, timeLeft, taskName, taskSentence, stateName, host, isOver } from "./format.js";
import { VirtualList } from "./list.js";
import { RateGraph } from "./rate-graph.js";
import { addDialog, limits, everything } from "./transfer-dialogs.js";
import { mainAction, single, cancel, canCancel, canPause, canRestart, waitsForRetry, actOnAll, retryAll,
  removeTasks } from "./transfer-actions.js";
import { details } from "./transfer-details.js";

const filters = [
  ["active", "Unfinished", task => !isOver(task)],
  ["waiting", "Waiting", task => task.state === "waiting" || task.state === "suspended"],
  ["failed", "Failed", task => task.state === "failed"],
  ["done", "Done", task => task.state === "completed" || task.state === "cancelled"],
  ["all", "All", () => true],
];
const order = { running: 0, finishing: 0, waiting: 1, suspended: 2, failed: 3, completed: 4, cancelled: 5 };
const part = task => {
  const { done, total } = amounts(task);
  return total > 0 ? Math.min(1, done / total) : task.state === "completed" ? 1 : 0;
};
const currentRate = task => state.link === "live" && task.state === "running" ? task.bytesPerSecond ?? 0 : 0;
const collator = new Intl.Collator(undefined, { numeric: true });

/** The orders of the list. Each order compares the numbers last, so that equal rows have a fixed order. */
const orders = [
  ["state", "By state", (a, b) => order[a.state] - order[b.state] || (isOver(a) ? b.id - a.id : a.id - b.id)],
  ["newest", "Newest first", (a, b) => b.id - a.id],
  ["oldest", "Oldest first", (a, b) => a.id - b.id],
  ["name", "By name", (a, b) => collator.compare(taskName(a), taskName(b)) || a.id - b.id],
  ["size", "Largest first", (a, b) => amounts(b).total - amounts(a).total || a.id - b.id],
  ["progress", "Most complete first", (a, b) => part(b) - part(a) || a.id - b.id],
  ["rate", "Fastest first", (a, b) => currentRate(b) - currentRate(a) || a.id - b.id],
];

let chosen = "active";
let chosenOrder = "state";
let sought = "";
/** The numbers of the selected transfers. */
const selected = new Set();
const graph = new RateGraph();

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
        show(true);
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
      show(true);
    }
  });
  const sorting = h("select", { class: "field", id: "sort", "aria-label": "Order", onchange: () => {
    chosenOrder = sorting.value;
    list.node.scrollTop = 0;
    show(true);
  } }, orders.map(([key, name]) => h("option", { value: key }, name)));
  sorting.value = chosenOrder;
  const total = h("span", { class: "total number" });
  const empty = h("div", { class: "empty", hidden: true });
  const list = new VirtualList({
    label: "Transfers",
    create: (node, item) => makeRow(node, item, select),
    update: showRow,
    open: task => task.state === "removed" ? undefined : details(task.id),
    identify: task => task.id,
    left: (id, task) => !state.hidden.has(id) && state.tasks.get(id) || { ...task, state: "removed" },
    released: () => show(),
    keys: {
      p: task => act(null, () => (task.state === "suspended" ? single.resume : single.pause)(task)),
      " ": task => select(task, !selected.has(task.id)),
      Delete: task => isOver(task) ? removeTasks([task]) : canCancel(task) && cancel(task)
    }
  });
  list.node.classList.add("transfer-list");
  const selection = selectionBar(() => list.items, () => {
    showSelection();
    list.draw();
  });

  fill(root, h("div", { class: "toolbar" },
      h("h1", {}, "Transfers"), graph.node, total, h("span", { class: "spring" }),
      button("add", "Add", () => addDialog(), { showsWords: true, kind: "primary", id: "add" }),
      button("limit", "Limits of all transfers", limits, { id: "limits" }), button("more", "All transfers",
        everything, { id: "everything" })),
    h("div", { class: "toolbar second" }, h("div", { class: "chips", role: "group", "aria-label": "Filter of transfers" },
      tabs), sorting, search),
    empty, list.node, selection.node);

  let anchor = null;

  /** Selects or deselects a transfer. With `isRange`, selects all transfers from the last selected one to this one. */
  function select(task, isSelected, isRange = false) {
    const ids = list.items.map(item => item.id);
    const [from, to] = [ids.indexOf(anchor), ids.indexOf(task.id)].sort((a, b) => a - b);
    for (const id of isRange && from >= 0 ? ids.slice(from, to + 1) : [task.id]) {
      if (isSelected) selected.add(id);
      else selected.delete(id);
    }
    anchor = task.id;
    showSelection();
    list.draw();
  }

  function showSelection() {
    for (const id of selected)
      if (!state.tasks.has(id) || state.hidden.has(id)) selected.delete(id);
    selection.show();
    list.node.classList.toggle("under-bar", selected.size > 0);
  }

  function show(isChosen = false) {
    const matches = filters.find(filter => filter[0] === chosen)[2];
    const numbers = new Map(filters.map(filter => [filter[0], 0]));
    const items = [];
    for (const task of state.tasks.values()) {
      if (state.hidden.has(task.id)) continue;
      for (const [key, , isIn] of filters)
        if (isIn(task)) numbers.set(key, numbers.get(key) + 1);
      if (matches(task) && (!sought || isSought(task))) items.push(task);
    }
    items.sort(orders.find(one => one[0] === chosenOrder)[2]);
    for (const [key, node] of counts) text(node, String(numbers.get(key)));
    list.set(items, isChosen);
    empty.hidden = list.items.length > 0;
    text(empty, !state.isLoaded && state.link !== "away" ? "Reading…" : sought ? "No transfer matches." :
      chosen === "active" ? "No unfinished transfers. Paste URLs here, or press Add." : "No transfers here.");
    showSelection();
    sum();
  }

  function sum() {
    const isLive = state.link === "live";
    let speed = 0;
    for (const task of state.tasks.values()) speed += currentRate(task);
    text(total, speed > 0 ? rate(speed) : "");
    if (isLive) graph.add(speed, performance.now());
    else graph.clear();
  }

  const ends = [listen(["tasks", "link"], () => show()), listen(["progress"], () => {
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

// MARK: - Several

/** The toolbar for the selected transfers. It covers the end of the list, so that no row moves when the toolbar appears. */
function selectionBar(items, changed) {
  const count = h("span", { class: "number", role: "status" });
  const chosenTasks = isIn => [...selected].map(id => state.tasks.get(id)).filter(task => task && isIn(task));
  const part = (shape, words, isIn, run) => {
    const node = button(shape, words, async event => {
      await run(chosenTasks(isIn), event.currentTarget);
      changed();
    }, { "data-many": words.toLowerCase() });
    return { node, isIn };
  };
  const parts = [
    part("pause", "Pause", canPause, (tasks, node) => actOnAll("suspend", tasks, node)),
    part("play", "Resume", task => task.state === "suspended", (tasks, node) => actOnAll("resume", tasks, node)),
    part("retry", "Retry", task => waitsForRetry(task) || canRestart(task), retryAll),
    part("stop", "Cancel", canCancel, (tasks, node) => actOnAll("cancel", tasks, node)),
    part("remove", "Remove", isOver, tasks => removeTasks(tasks)),
  ];
  const node = h("div", { class: "selection", role: "toolbar", "aria-label": "Selected transfers", hidden: true },
    count, parts.map(one => one.node),
    h("button", { type: "button", class: "button", id: "select-all", onclick: () => {
      for (const task of items()) selected.add(task.id);
      changed();
    } }, "All"),
    button("close", "Select none", () => {
      selected.clear();
      changed();
    }));
  return {
    node,
    show() {
      node.hidden = selected.size === 0;
      text(count, `${selected.size} selected`);
      for (const one of parts) one.node.disabled = !chosenTasks(one.isIn).length;
    }
  };
}

// MARK: - A row

function makeRow(node, item, select) {
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
  parts.meter = h("span", { class: "bar", role: "progressbar", "aria-valuemin": 0, "aria-valuemax": 100,
    "aria-label": "Progress" }, parts.bar);
  parts.check = h("input", { type: "checkbox", "aria-label": "Select", onclick: event => select(item(), parts.check
    .checked, event.shiftKey) });
  parts.main = h("button", {
    type: "button",
    class: "button main-action",
    onclick: () => {
      const task = item();
      act(parts.main, () => mainAction(task)?.run(task));
    }
  });
  parts.second = h("button", {
    type: "button",
    class: "button",
    onclick: () => {
      const task = item();
      if (isOver(task)) removeTasks([task]);
      else cancel(task, parts.second);
    }
  });
  parts.more = button("more", "More", () => details(item().id));
  node.append(
    h("label", { class: "pick", role: "gridcell" }, parts.check),
    h("div", { class: "what", role: "gridcell" }, h("div", { class: "line" }, parts.state, parts.name, parts
      .from), parts.sentence),
    h("div", { class: "how", role: "gridcell" }, parts.meter, h("div", { class: "line" }, parts.amount, parts
      .rate, parts.left)),
    h("div", { class: "actions", role: "gridcell" }, parts.main, parts.second, parts.more));
  return parts;
}

/** Sets the icon and the label of a button if they have changed. */
function relabel(node, shape, words) {
  if (node.dataset.shape === `${shape} ${words}`) return;
  node.dataset.shape = `${shape} ${words}`;
  node.replaceChildren(...button(shape, words, null).childNodes);
  attribute(node, "aria-label", words);
  attribute(node, "title", words);
}

function showRow(parts, task, node) {
  const { done, total } = amounts(task);
  const isLive = state.link === "live";
  text(parts.name, taskName(task));
  text(parts.from, host(task.currentURL ?? task.url));
  text(parts.state, stateName(task));
  attribute(node, "data-state", task.state);
  attribute(node, "data-id", task.id);
  const isSelected = selected.has(task.id);
  attribute(node, "aria-selected", String(isSelected));
  if (parts.check.checked !== isSelected) parts.check.checked = isSelected;
  const sentence = taskSentence(task);
  text(parts.sentence, sentence);
  attribute(parts.sentence, "title", sentence);
  text(parts.amount, total > 0 ? `${size(done)} of ${size(total)}` : done > 0 ? size(done) : "");
  // The rate of a transfer is unknown while the page has no connection to the service.
  text(parts.rate, currentRate(task) > 0 ? rate(task.bytesPerSecond) : "");
  text(parts.left, isLive ? timeLeft(task) : "");
  const scale = `scaleX(${part(task).toFixed(4)})`;
  if (parts.scale !== scale) {
    parts.scale = scale;
    parts.bar.style.transform = scale;
  }
  attribute(parts.meter, "aria-valuenow", total > 0 || part(task) ? Math.round(part(task) * 100) : null);
  const action = mainAction(task);
  parts.main.hidden = !action;
  if (action) relabel(parts.main, action.icon, action.words);
  parts.second.hidden = !canCancel(task) && !(isOver(task) && action?.run !== single.remove);
  if (!parts.second.hidden) relabel(parts.second, isOver(task) ? "remove" : "stop", isOver(task) ?
    "Remove from the list" : "Cancel");
  parts.more.hidden = task.state === "removed";
}
