// The dialog about one transfer: its state with the reason, its settings, its URL and its history.

import { h, fill, text, button, dialog, act, toast } from "./dom.js";
import { patch } from "./api.js";
import { state, listen, tellTask, taskPath } from "./store.js";
import { shortName, taskName, stateName, parseRate, typedRate, moment, particulars, decision, answer,
  isOver } from "./format.js";
import { mainAction, cancel, canCancel, canPause, retarget, single, explain } from "./transfer-actions.js";

export async function details(id) {
  const body = h("div", { class: "stack" });
  const node = dialog("Transfer", body);
  node.classList.add("sheet");
  let last = "";
  async function show() {
    const task = state.hidden.has(id) ? null : state.tasks.get(id);
    if (!task) {
      node.close();
      return;
    }
    // Redraw the dialog only if one of these values has changed, so that text that you are typing stays.
    const now = `${task.state} ${task.priority} ${task.rateLimit} ${task.wait?.reason} ${task.url}`;
    if (now === last) return;
    last = now;
    text(node.querySelector("h2"), shortName(task));
    let why = null;
    try {
      why = await explain(id);
    } catch (error) {
      why = { sentence: error.message, history: [] };
    }
    if (node.open) fill(body, explained(task, why), actions(task), settings(task), newURL(task), facts(task), past(
      why));
  }
  const end = listen(["tasks"], show);
  node.addEventListener("close", end);
  await show();
}

function explained(task, why) {
  return h("p", { class: "answer" }, h("strong", {}, `${stateName(task)}: `), answer(why));
}

function settings(task) {
  if (isOver(task)) return null;
  const priority = h("input", { type: "range", min: 0, max: 1, step: 0.05, value: String(task.priority),
    id: "priority" });
  const shown = h("output", { for: "priority", class: "number" }, task.priority.toFixed(2));
  priority.addEventListener("input", () => text(shown, Number(priority.value).toFixed(2)));
  priority.addEventListener("change", () => act(priority, () => patch(taskPath(task.id), { priority: Number(priority
      .value) }).then(tellTask), "The priority was changed."));
  const limit = h("input", { class: "field", id: "limit", value: typedRate(task.rateLimit), placeholder: "none",
    autocomplete: "off", "aria-describedby": "limit-help" });
  return h("form", {
      class: "form",
      onsubmit: event => {
        event.preventDefault();
        const bytes = parseRate(limit.value);
        if (Number.isNaN(bytes)) {
          toast("The limit is not a rate. Type a number with K, M or G, such as 500K.", true);
          return;
        }
        act(limit, () => patch(taskPath(task.id), { rateLimit: bytes }).then(tellTask),
          "The limit was changed.");
      }
    },
    h("label", { for: "priority" }, "Priority"), h("div", { class: "row" }, priority, shown),
    h("label", { for: "limit" }, "Limit"), h("div", { class: "row" }, limit, h("button", { type: "submit",
        class: "button" }, "Set"), h("span", { id: "limit-help", class: "faint" },
      "bytes per second: 500K, 1.5M")));
}

/** The form for a new URL of a download, such as a mirror or a renewed link. */
function newURL(task) {
  if (task.state === "completed" || task.state === "cancelled" || task.kind === "upload" || task.file) return null;
  const url = h("input", { class: "field", id: "retarget", type: "url", required: true, placeholder: "https://…",
    autocomplete: "off", "aria-describedby": "retarget-help" });
  const submit = h("button", { type: "submit", class: "button" }, "Use this URL");
  return h("form", {
      class: "stack",
      id: "retarget-form",
      onsubmit: event => {
        event.preventDefault();
        act(submit, () => retarget(task, url.value.trim()), "The transfer continues at the new URL.");
      }
    }, h("label", { for: "retarget" }, "New URL"), h("div", { class: "row" }, url, submit),
    h("p", { class: "faint", id: "retarget-help" },
      "The downloaded data is kept if the file at the new URL is the same."));
}

function actions(task) {
  const action = mainAction(task);
  const remove = isOver(task) && action?.run !== single.remove;
  return h("div", { class: "row" },
    action && button(action.icon, action.words, event => act(event.currentTarget, () => action.run(task)), {
      showsWords: true, "data-action": "main" }),
    canPause(task) && action?.run !== single.pause && button("pause", "Pause", event => act(event
      .currentTarget, () => single.pause(task)), { showsWords: true }),
    canCancel(task) && button("stop", "Cancel", event => cancel(task, event.currentTarget), { showsWords: true,
      kind: "bad" }),
    remove && button("remove", "Remove from the list", () => single.remove(task), { showsWords: true }));
}

function facts(task) {
  const rows = [
    ["Name", taskName(task)],
    ["Number", task.id],
    ["From", task.currentURL ?? task.url],
    ["Session", task.session],
    ["To", task.file ?? task.destination?.directory],
    ["Source", task.source],
    ["Added", moment(task.createdAt)],
    ["Ended", task.endedAt && moment(task.endedAt)],
    ["Attempts", task.attempts],
    ["Connections", task.connections],
    ["Response", task.response && `HTTP ${task.response.status}`],
    ["Verified", task.verified?.join(", ")],
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
