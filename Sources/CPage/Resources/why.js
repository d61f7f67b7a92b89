// Why: one question, about a transfer, an app, a push or a region, and the service's own explanation.

import { h, fill } from "./dom.js";
import { get, has, optional, segment } from "./api.js";
import { state, listen, taskPath, appPath } from "./store.js";
import { taskName, stateNames, appStateNames, moment, answer as inWords } from "./format.js";
import { past } from "./transfers.js";
import { appFacts } from "./switcher.js";

export function why(root, argument) {
  const suggestions = h("datalist", { id: "why-list" });
  const input = h("input", { class: "field big", id: "question", list: "why-list", autocomplete: "off",
    placeholder: "A transfer's number or name, an app, a push, a region", "aria-label": "About what",
    value: argument ?? "" });
  const answer = h("section", { class: "panel", "aria-live": "polite", "aria-label": "The explanation",
    hidden: true });
  fill(root, h("div", { class: "toolbar" }, h("h1", {}, "Why?")), h("form", {
      class: "row ask",
      onsubmit: event => {
        event.preventDefault();
        ask(input.value.trim());
      }
    },
    input, suggestions, h("button", { type: "submit", class: "button primary" }, "Explain")), answer);

  function suggest() {
    const apps = [...state.apps.values()].map(app => h("option", { value: app.id }, app.name));
    const tasks = [];
    for (const task of state.tasks.values()) {
      if (tasks.length >= 50) break;
      if (!["completed", "cancelled"].includes(task.state)) tasks.push(h("option", { value: String(task.id) },
        `${taskName(task)}, ${stateNames[task.state]}`));
    }
    fill(suggestions, apps, tasks);
  }

  async function ask(question) {
    if (!question) return;
    history.replaceState(null, "", `#why/${encodeURIComponent(question)}`);
    answer.hidden = false;
    fill(answer, "Reading…");
    try {
      const found = await explain(question);
      fill(answer, found ?? [h("h2", {}, question), h("p", {},
        "There is no transfer, no app and nothing else of this name.")]);
    } catch (error) {
      fill(answer, h("p", {}, error.message));
    }
  }

  const end = listen(["apps"], suggest);
  suggest();
  if (argument) ask(argument);
  else input.focus();
  return end;
}

async function explain(question) {
  const number = /^#?(\d+)$/.exec(question)?.[1];
  const wanted = question.toLowerCase();
  const task = number ? { id: number } : null;
  if (task) {
    const found = await optional(taskPath(task.id, "why"));
    if (found) return shown(`${taskName(found.task)} (${found.task.id})`, stateNames[found.task.state], found,
      h("dl", { class: "facts" }, h("dt", {}, "From"), h("dd", {}, found.task.url), found.task.wait && [h(
        "dt", {}, "Waits since"), h("dd", {}, moment(found.task.wait.since))]));
  }
  const app = [...state.apps.values()].find(app => [app.id, app.name].some(name => name.toLowerCase() ===
    wanted)) ??
    [...state.apps.values()].find(app => [app.id, app.name].some(name => name.toLowerCase().includes(wanted)));
  if (app) {
    const found = await get(appPath(app.id, "why"));
    return shown(found.app.name || found.app.id, appStateNames[found.app.state], found, appFacts(found.app));
  }
  const named = [...state.tasks.values()].filter(task => taskName(task).toLowerCase().includes(wanted) || task.url
    .toLowerCase() === wanted).pop();
  if (named) return explain(String(named.id));
  // Parts that a service may not have.
  for (const part of ["pushes", "regions"]) {
    const found = await has(`/v1/${part}/{id}/why`) && await optional(`/v1/${part}/${segment(question)}/why`);
    if (found) return shown(question, "", found);
  }
  return null;
}

function shown(title, state, why, more) {
  return [h("h2", {}, title), h("p", { class: "answer" }, state ? h("strong", {}, `${state}: `) : null, inWords(
    why)), more, past(why)];
}
