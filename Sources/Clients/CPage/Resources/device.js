// The device view: the readings and their sources, doze, the apps that keep the device awake, and test values.

import { h, fill, button, act, toast } from "./dom.js";
import { get, has, patch, post } from "./api.js";
import { state, listen, tellDevice } from "./store.js";
import { words, moment, size, policy, duration, capital } from "./format.js";

const names = {
  power: "Power",
  battery: "Battery",
  warning: "Battery warning",
  lowPower: "Saving power",
  network: "Network",
  connectivity: "Internet access",
  interface: "Kind of network",
  expensive: "Metered",
  constrained: "Data saver",
  networkName: "Name of the network",
  idle: "Idle",
  sleeping: "About to sleep",
  freeBytes: "Free space",
  location: "Location"
};
const sources = { assumed: "assumed", override: "test value", trace: "from a trace" };

const change = (node, body, done) => act(node, () => patch("/v1/device", body).then(tellDevice), done);

export function device(root) {
  const now = h("section", { class: "panel hero", "aria-label": "Doze" });
  const holders = h("section", { class: "panel", "aria-label": "Kept awake by" });
  const values = h("section", { class: "panel", "aria-label": "Values" });
  const trials = h("section", { class: "panel", "aria-label": "Test values" });
  const more = h("div", { class: "panels-more" });
  fill(root, h("div", { class: "toolbar" }, h("h1", {}, "Device")), h("div", { class: "panels" }, now, holders,
    values, trials, more));
  const form = trialForm();
  fill(trials, h("h2", {}, "Test values"), form.node);
  let told = "";

  function show() {
    const device = state.device;
    if (!device) {
      fill(now, h("p", { class: "faint" }, "Reading…"));
      return;
    }
    // Do not redraw after an unchanged answer, because a button must not vanish under the pointer.
    const answer = JSON.stringify(device);
    if (answer === told) return;
    told = answer;
    showPhase(now, device);
    showHolders(holders, device);
    showValues(values, device);
    form.show(device);
  }

  const end = listen(["device"], show);
  show();
  section(more, "/v1/push", "Remote notifications", answer => [[answer.sentence], ...answer.apps.map(app => [app
    .name || app.app, app.sentence])]);
  section(more, "/v1/location", "Location", answer => [...answer.sources.map(source => [source.name, source
    .sentence]), ...answer.apps.flatMap(app => [[app.name || app.app, app.sentence], ...app.regions.map(region => [
    region.region.identifier, words.regionStates[region.state]?.short,
    region.lastCrossing && `last event ${moment(region.lastCrossing)}`])])]);
  return () => end();
}

const phases = { awake: ["Awake", "Background work runs."], dozing: ["Dozing", "Background work is paused."],
  window: ["Maintenance window", "Deferred background work runs."] };

function showPhase(node, device) {
  const doze = device.doze;
  const [name, sentence] = phases[doze.phase] ?? [doze.phase, ""];
  const reason = words.awake[doze.awakeReason] ?? words.windows[doze.windowReason] ?? "";
  const to = phase => event => act(event.currentTarget, () => post("/v1/device/doze", { phase }).then(tellDevice));
  fill(node, h("div", { class: "phase", "data-phase": doze.phase }, h(
  "span", { class: "phase-dot", "aria-hidden": "true" }), h("h2", {}, name)),
    h("p", {}, `${sentence} ${reason}`), h("p", { class: "faint number" }, `Since ${moment(doze.since)}`, doze
      .until ? `, ${doze.phase === "window" ? "closes by" : "next window"} ${moment(doze.until)}` : ""),
    h("div", { class: "row" },
      h("button", { type: "button", class: "button", "data-phase": "dozing", disabled: doze.phase === "dozing",
        onclick: to("dozing") }, "Doze now"),
      h("button", { type: "button", class: "button", "data-phase": "window", disabled: doze.phase !== "dozing",
        onclick: to("window") }, "Open a window"),
      h("button", { type: "button", class: "button", "data-phase": "awake", disabled: doze.phase === "awake",
        onclick: to("awake") }, "Wake")));
}

function showHolders(node, device) {
  fill(node, h("h2", {}, "Kept awake by"), device.holders.length ?
    h("ul", { class: "plain" }, device.holders.map(holder => h("li", {}, h("strong", {}, state.apps.get(holder
      .app)?.name ?? holder.app), ` for ${holder.tasks.join(", ")}, since ${moment(holder.since)}`))) :
    h("p", { class: "faint" }, "No app keeps the device awake."),
    h("p", { class: "faint" },
      `Background time of apps: ${policy(device.settings.backgroundPolicy)}; apps are warned ${duration(device.settings.expirationLead)} before it ends.`
      ));
}

function shown(value) {
  if (value.key === "freeBytes" && /^\d+$/.test(value.value)) return size(Number(value.value));
  if (value.key === "battery" && value.value !== "none") return `${value.value} %`;
  return value.value;
}

function showValues(node, device) {
  const missing = device.providers.filter(provider => !provider.isPresent || provider.detail);
  fill(node, h("h2", {}, "Values"), h("table", { class: "values" },
      h("thead", { class: "sr" }, h("tr", {}, h("th", { scope: "col" }, "What"), h("th", { scope: "col" },
        "Value"), h("th", { scope: "col" }, "Source"), h("th", { scope: "col" }, "Action"))),
      h("tbody", {}, device.values.map(value => h("tr", { "data-key": value.key }, h("th", { scope: "row" },
          names[value.key] ?? value.key), h("td", { class: "number" }, shown(value)),
        h("td", {}, h("span", { class: value.source === "override" ? "badge warn" : "faint" }, sources[value
          .source] ?? value.source)),
        h("td", { class: "end" }, value.source === "override" ? button("close",
          `Remove the test value: ${names[value.key] ?? value.key}`, event => change(event
          .currentTarget, { overrides: {
              [value.key]: null } })) : null))))),
    missing.length ? h("details", {}, h("summary", {}, missing.length === 1 ? "1 source is not available" : `${missing.length} sources are not available`), h(
      "ul", { class: "plain" }, missing.map(provider =>
        h("li", {}, h("strong", {}, provider.name), ` ${provider.isPresent ? "" : "is not available. "}`, provider
          .detail ? capital(provider.detail) : "")))) : null);
}

const choices = { power: ["external", "battery"], lowPower: ["yes", "no"], network: ["yes", "no"], expensive: [
    "yes", "no"
  ], constrained: ["yes", "no"], idle: ["yes", "no"], sleeping: ["yes", "no"] };

function trialForm() {
  const key = h("select", { class: "field", id: "trial-key" });
  const value = h("input", { class: "field", id: "trial-value", list: "trial-values",
  autocomplete: "off", "aria-describedby": "trial-help" });
  const list = h("datalist", { id: "trial-values" });
  const help = h("p", { class: "faint", id: "trial-help" });
  const background = h("select", { class: "field", id: "policy" }, h("option", { value: "opportunistic" },
    "opportunistic"), h("option", { value: "contiguous" }, "contiguous"));
  const seconds = h("input", { class: "field short", id: "policy-seconds", type: "number", min: 10, max: 3600,
    placeholder: "usual" });
  const hint = () => {
    fill(list, (choices[key.value] ?? []).map(word => h("option", { value: word })));
    value.value = "";
    help.textContent = words.deviceKeys[key.value] ? capital(words.deviceKeys[key.value]) : "";
  };
  key.addEventListener("change", hint);
  const node = h("div", { class: "stack" }, h("form", {
        class: "stack",
        id: "trial",
        onsubmit: event => {
          event.preventDefault();
          if (!value.value.trim()) {
            toast("Type a value.", true);
            return;
          }
          change(event.submitter, { overrides: {
              [key.value]: value.value.trim() } }, `${names[key.value] ?? key.value} now has a test value.`);
        }
      }, h("p", { class: "faint" },
        "The service uses these values instead of the device's until you remove them."),
      h("div", { class: "row" }, h("label", { class: "sr", for: "trial-key" }, "What"), key, h(
      "label", { class: "sr", for: "trial-value" }, "Value"), value, list, h("button", { type: "submit",
        class: "button" }, "Set")), help),
    h("form", {
      class: "stack",
      id: "policy-form",
      onsubmit: event => {
        event.preventDefault();
        change(event.submitter, { backgroundPolicy: seconds.value ? `${background.value}:${seconds.value}` :
            background.value }, "The background time was changed.");
      }
    }, h("div", { class: "row" }, h("label", { for: "policy" }, "Background time"), background, h(
    "label", { class: "sr", for: "policy-seconds" }, "Seconds"), seconds, h("button", { type: "submit",
      class: "button" }, "Set"))));
  return {
    node,
    show(device) {
      // Offer keys without a source too, because they can also have a test value.
      const keys = [...new Set([...device.values.map(value => value.key), ...Object.keys(words.deviceKeys)])];
      if (key.options.length !== keys.length) {
        fill(key, keys.map(name => h("option", { value: name }, names[name] ?? name)));
        hint();
      }
      if (document.activeElement !== background && document.activeElement !== seconds) {
        const [kind, length] = device.settings.backgroundPolicy.split(":");
        background.value = kind;
        seconds.value = length ?? "";
      }
    }
  };
}

/** Shows the section of a feature if the service has the feature. */
async function section(root, path, title, list) {
  let answer = null;
  try {
    answer = await has(path) ? await get(path) : null;
  } catch { /* The banner already says that the service does not respond. */ }
  const rows = answer && list(answer);
  if (!rows?.length) return;
  root.append(h("section", { class: "panel" }, h("h2", {}, title), h("ul", { class: "plain" }, rows.map(item => h(
    "li", {}, item.filter(Boolean).join(", "))))));
}
