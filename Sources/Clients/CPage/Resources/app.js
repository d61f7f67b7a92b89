// The page itself: its views, the tabs between them, and the state of the connection.

import { h, fill, text, icon, attribute, undoLast } from "./dom.js";
import { get } from "./api.js";
import { words, clock } from "./format.js";
import { state, listen, start, tryNow } from "./store.js";
import { switcher } from "./switcher.js";
import { transfers } from "./transfers.js";
import { addDialog, urls } from "./transfer-dialogs.js";
import { timeline } from "./timeline-view.js";
import { device } from "./device.js";
import { why } from "./why.js";
import { journal } from "./journal.js";

const views = [
  ["switcher", "Apps", "apps", switcher],
  ["transfers", "Transfers", "transfers", transfers],
  ["timeline", "Timeline", "timeline", timeline],
  ["device", "Device", "device", device],
  ["why", "Why", "why", why],
  ["journal", "Journal", "journal", journal]
];

const main = document.getElementById("main");
const tabs = document.getElementById("tabs");
const link = document.getElementById("link");
const banner = document.getElementById("banner");
let leave = () => {};

for (const [key, name, shape] of views) tabs.append(h("a", { href: `#${key}`, "data-view": key }, icon(shape), h(
  "span", {}, name)));

function route() {
  const [key, ...rest] = location.hash.slice(1).split("/");
  const view = views.find(view => view[0] === key) ?? views[1];
  leave();
  main.className = `view-${view[0]}`;
  for (const tab of tabs.children) attribute(tab, "aria-current", tab.dataset.view === view[0] ? "page" : null);
  document.title = `${view[1]} · Nightshift`;
  fill(main);
  leave = view[3](main, rest.length ? decodeURIComponent(rest.join("/")) : undefined) ?? (() => {});
}

const links = { connecting: "Connecting…", live: "Live", away: "Service unreachable", ended: "Page process ended",
  locked: "No access" };

const lastHeard = () => state.heardAt ? `. The page shows the state at ${clock(state.heardAt)}.` : "";

function showLink() {
  text(link, links[state.link]);
  attribute(link, "data-link", state.link);
  const isFine = state.link === "live" || state.link === "connecting";
  banner.hidden = isFine;
  document.body.classList.toggle("stale", !isFine);
  if (isFine) return;
  const what = {
    away: [
      `The service does not answer, so no transfer runs. Start it with: nightshift service start${lastHeard()}`,
      true
    ],
    ended: [`This page's program has ended. Open the page again with: nightshift page${lastHeard()}`, true],
    locked: ["This browser has no access to the page. Open it with: nightshift page", false]
  } [state.link];
  fill(banner, h("span", {}, what[0]), what[1] ? h("button", { type: "button", class: "button", onclick: tryNow },
    "Try now") : null);
}

document.addEventListener("keydown", event => {
  const isTyping = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName) && event.target.type !== "checkbox";
  if ((event.ctrlKey || event.metaKey) && event.key === "z" && !isTyping) {
    if (undoLast()) event.preventDefault();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]") ||
    isTyping) return;
  const index = Number(event.key) - 1;
  if (views[index]) {
    location.hash = views[index][0];
    tabs.children[index].focus();
  }
});

// If you paste URLs outside a field, the page offers to download them.
document.addEventListener("paste", event => {
  if (/^(INPUT|TEXTAREA)$/.test(event.target.tagName) || document.querySelector("dialog[open]")) return;
  const found = urls(event.clipboardData.getData("text"));
  if (found.length) {
    location.hash = "transfers";
    addDialog(found.join("\n"));
  }
});

window.addEventListener("hashchange", route);
listen(["link"], showLink);
showLink();
try {
  Object.assign(words, await get("/page/setup.json"));
} catch (error) {
  console.error(error.message);
}
route();
start();
