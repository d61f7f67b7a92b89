// The Why view: the service's explanation of the state of a transfer, an app, a push or a region.

import { h, fill } from "./dom.js";
import { get, optional, segment } from "./api.js";
import { state, listen, taskPath, appPath } from "./store.js";
import { taskName, stateName, appStateName, words, moment, answer as inWords, pushLine } from "./format.js";
import { past } from "./transfer-details.js";
import { appFacts } from "./switcher.js";

export function why(root, argument) {
  const suggestions = h("datalist", { id: "why-list" });
  const input = h("input", { class: "field big", id: "question", list: "why-list", autocomplete: "off",
    placeholder: "A transfer's number or name, an app, a push, a region", "aria-label": "What to explain",
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
        `${taskName(task)}, ${stateName(task)}`));
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
        "No transfer, app, push or region has this name.")]);
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
    if (found) return shown(`${taskName(found.task)} (${found.task.id})`, stateName(found.task), found,
      h("dl", { class: "facts" }, h("dt", {}, "From"), h("dd", {}, found.task.url), found.task.wait && [h(
        "dt", {}, "Waiting since"), h("dd", {}, moment(found.task.wait.since))]));
  }
  const app = [...state.apps.values()].find(app => [app.id, app.name].some(name => name.toLowerCase() ===
    wanted)) ??
    [...state.apps.values()].find(app => [app.id, app.name].some(name => name.toLowerCase().includes(wanted)));
  if (app) {
    const [found, more] = await Promise.all([get(appPath(app.id, "why")), moreOf(app.id)]);
    return shown(found.app.name || found.app.id, appStateName(found.app), found, [appFacts(found.app), more]);
  }
  const named = [...state.tasks.values()].filter(task => taskName(task).toLowerCase().includes(wanted) || task.url
    .toLowerCase() === wanted).pop();
  if (named) return explain(String(named.id));
  return await pushNamed(wanted) ?? await regionNamed(wanted);
}

/** Returns the explanation of a push, which is found by its id. */
async function pushNamed(wanted) {
  const apps = (await optional("/v1/push"))?.apps ?? [];
  for (const app of apps) {
    const push = app.pushes.find(push => push.id.toLowerCase() === wanted);
    if (push) return [h("h2", {}, `A push for ${app.name || app.app}`), h("p", { class: "answer" }, pushLine(push))];
  }
  return null;
}

/** Returns the explanation of a region, for every app that has a region with this identifier. */
async function regionNamed(wanted) {
  const apps = (await optional("/v1/location"))?.apps ?? [];
  const found = apps.flatMap(app => app.regions.filter(region => region.region.identifier.toLowerCase() === wanted)
    .map(region => [app, region]));
  return found.length ? found.map(([app, region]) => [
    h("h2", {}, `${region.region.identifier} of ${app.name || app.app}`),
    h("p", { class: "answer" }, `${words.regionStates[region.state]?.sentence} ${app.sentence}`),
    h("dl", { class: "facts" }, h("dt", {}, "Events"), h("dd", {}, String(region.crossings)), region.lastCrossing && [
      h("dt", {}, "Last event"), h("dd", {}, moment(region.lastCrossing))])
  ]) : null;
}

/** Returns further facts about an app. */
async function moreOf(id) {
  const [push, location] = await Promise.all([optional(`/v1/push/${segment(id)}`), optional(
    `/v1/location/${segment(id)}`)]);
  const lines = [];
  if (push?.isRegistered || push?.pushes.length) lines.push(["Remote notifications", push.sentence], ["Last pushes",
    push.pushes.slice(-5).reverse().map(pushLine).join(" ")]);
  if (location?.regions.length || location?.monitorsSignificantChanges) lines.push(["Location", location.sentence], [
    "Regions", location.regions.map(region => `${region.region.identifier}: ${words.regionStates[region.state]?.short}`).join("; ")
  ]);
  return lines.length ? h("dl", { class: "facts" }, lines.filter(([, value]) => value).map(([name, value]) => [h("dt",
    {}, name), h("dd", {}, value)])) : null;
}

function shown(title, state, why, more) {
  return [h("h2", {}, title), h("p", { class: "answer" }, state ? h("strong", {}, `${state}: `) : null, inWords(
    why)), more, past(why)];
}
