// The app switcher: a card for each app with its last snapshot. Throwing a card upwards with a mouse or a pen force-quits the app,
// unless you undo it within some seconds. A finger on a card scrolls.

import { h, fill, text, attribute, button, confirm, act, dialog, undoable } from "./dom.js";
import { get, post } from "./api.js";
import { state, listen, tellApp, appPath } from "./store.js";
import { appStateName, answer, words, moment, duration, policy, capital, isOver } from "./format.js";
import { past } from "./transfer-details.js";

const rank = { active: 0, inactive: 1, background: 2, suspended: 3, notRunning: 4 };
const throwDistance = 120;

const front = app => post(appPath(app.id, "activate")).then(tellApp);
const leave = app => post(appPath(app.id, "background")).then(tellApp);
const quit = app => post(appPath(app.id, "quit"), { force: false }).then(tellApp);
/** Returns the consequences of a force quit in words, with the number of transfers that are cancelled. */
function forceQuitWords(app) {
  const prefix = `${app.id.replaceAll("%", "%25").replaceAll(":", "%3A")}:`;
  let count = 0;
  for (const task of state.tasks.values())
    if (!isOver(task) && task.session.startsWith(prefix)) count += 1;
  const transfers = count === 0 ? "It has no unfinished transfers." :
    `Its ${count === 1 ? "unfinished transfer is" : `${count} unfinished transfers are`} cancelled and partial data is ` +
    "deleted. Finished files stay.";
  return `${transfers} The app does not run again until you open it.`;
}

const forceQuit = app => post(appPath(app.id, "quit"), { force: true }).then(tellApp);

export function switcher(root) {
  const cards = new Map();
  const deck = h("ul", { class: "deck" });
  const empty = h("div", { class: "empty", hidden: true });
  fill(root, h("div", { class: "toolbar" }, h("h1", {}, "Apps")), empty, deck);
  let clock = 0;

  function show() {
    const apps = [...state.apps.values()].sort((a, b) => rank[a.state] - rank[b.state] ||
      (b.stateSince ?? "").localeCompare(a.stateSince ?? "") || a.name.localeCompare(b.name));
    empty.hidden = apps.length > 0;
    text(empty, state.status ? "No app is installed. To install one, run: nightshift app install FILE" : "Reading…");
    for (const [id, card] of cards)
      if (!state.apps.has(id)) {
        card.node.remove();
        cards.delete(id);
      }
    apps.forEach((app, index) => {
      let card = cards.get(app.id);
      if (!card) {
        card = makeCard(app.id);
        cards.set(app.id, card);
      }
      showCard(card, app);
      if (deck.children[index] !== card.node) deck.insertBefore(card.node, deck.children[index] ?? null);
    });
    // The timer runs only while the view is visible and an app has background time left.
    const runs = apps.some(app => app.background?.remaining !== undefined && !app.background.standsStill && app
      .state === "background");
    clearInterval(clock);
    clock = runs && !document.hidden ? setInterval(tick, 1000) : 0;
  }

  function tick() {
    if (document.hidden) {
      clearInterval(clock);
      clock = 0;
      return;
    }
    for (const [id, card] of cards) {
      const app = state.apps.get(id);
      if (app) text(card.time, timeLeft(app, card.readAt));
    }
  }

  const end = listen(["apps", "link"], show);
  document.addEventListener("visibilitychange", show);
  show();
  return () => {
    end();
    clearInterval(clock);
    document.removeEventListener("visibilitychange", show);
  };
}

function makeCard(id) {
  const card = { id, readAt: performance.now() };
  const app = () => state.apps.get(id);
  card.picture = h("img", { class: "picture", alt: "", draggable: "false", hidden: true });
  card.letter = h("div", { class: "letter", "aria-hidden": "true" });
  card.title = h("h2", { class: "name" });
  card.badge = h("span", { class: "badge" });
  card.waits = h("p", { class: "sentence" });
  card.time = h("dd", { class: "number" });
  card.next = h("dd");
  card.nextName = h("dt", {}, "Next fetch");
  card.last = h("dd");
  card.front = button("front", "Bring to front", () => act(card.front, () => front(
app())), { showsWords: true, "data-action": "front" });
  card.leave = button("leave", "Leave", () => act(card.leave, () => leave(app())), { "data-action": "leave" });
  card.quit = button("quit", "Quit", () => act(card.quit, () => quit(app())), { "data-action": "quit" });
  card.force = button("force", "Force quit", async () => {
    if (await confirm(`Force-quit ${app().name}?`,
        forceQuitWords(app()), "Force quit", "Keep it running")) act(card.force, () =>
      forceQuit(app()));
  }, { kind: "bad", "data-action": "force" });
  card.why = button("why", "Why", () => explain(id), { "data-action": "why" });
  card.hint = h("div", { class: "throw-hint", "aria-hidden": "true" }, "Release to force-quit");
  card.pane = h("div", { class: "pane" }, card.letter, card.picture);
  card.node = h("li", { class: "card", "data-app": id }, card.hint, h("article", { class: "card-body" },
    card.pane, h("div", { class: "card-text" }, h("div", { class: "line" }, card.title, card.badge), card.waits,
      h("dl", { class: "facts tight" }, h("dt", {}, "Background time"), card.time, card.nextName, card.next, h(
        "dt", {}, "Last exit"), card.last)),
    h("div", { class: "actions row" }, card.front, card.leave, card.quit, card.force, card.why)));
  card.picture.addEventListener("error", () => {
    card.picture.hidden = true;
    card.letter.hidden = false;
  });
  throwable(card, app);
  return card;
}

function showCard(card, app) {
  card.readAt = performance.now();
  text(card.title, app.name || app.id);
  text(card.letter, (app.name || app.id).trim().charAt(0).toUpperCase());
  text(card.badge, app.isForceQuit ? "force-quit" : appStateName(app));
  attribute(card.node, "data-state", app.state);
  text(card.waits, waitingFor(app));
  text(card.time, timeLeft(app, card.readAt));
  const next = nextFetch(app);
  card.nextName.hidden = card.next.hidden = !next;
  text(card.next, next ?? "");
  text(card.last, app.lastExit ?
    `${moment(app.lastExit.time)}: ${words.exits[app.lastExit.cause] ?? app.lastExit.cause}` : "–");
  const stamp = app.snapshotTakenAt ?? "";
  if (card.stamp !== stamp) {
    card.stamp = stamp;
    card.picture.hidden = !stamp;
    card.letter.hidden = Boolean(stamp);
    if (stamp) card.picture.src = `${appPath(app.id, "snapshot")}?taken=${encodeURIComponent(stamp)}`;
  }
  const runs = app.state !== "notRunning";
  card.front.disabled = app.state === "active" || (!runs && !app.manifest);
  card.leave.disabled = !(app.state === "active" || app.state === "inactive");
  card.quit.disabled = !runs;
  card.force.disabled = app.isForceQuit;
}

/** Returns a sentence that says what the app does or waits for. */
function waitingFor(app) {
  const open = app.background?.tasks ?? [];
  if (app.wakes?.length) {
    const wake = app.wakes[0];
    const sentence = words.wakes[wake.reason]?.sentence ?? wake.reason;
    return `${wake.deadline ? "Woken" : "To be woken"}: ${sentence}${wake.session ? ` (${wake.session})` : ""}`;
  }
  if (app.launchesPausedUntil && new Date(app.launchesPausedUntil) > new Date())
  return `It is not launched before ${moment(app.launchesPausedUntil)}.`;
  if (open.length) return `It has background tasks: ${open.map(task => task.name).join(", ")}.`;
  if (app.background?.standsStill) return "It is paused until the next maintenance window.";
  return {
    active: "It is in the foreground.",
    inactive: "It is changing between foreground and background.",
    background: "It runs in the background.",
    suspended: "It is suspended and uses no processor time.",
    notRunning: app.isForceQuit ? "You force-quit it. It does not run until you open it." : "It is not running."
  } [app.state] ?? "";
}

function timeLeft(app, readAt) {
  const background = app.background;
  if (!background || background.remaining === undefined || !["background", "inactive"].includes(app.state))
  return background ? policy(background.policy) : "–";
  if (background.standsStill) return `${duration(background.remaining)}, paused`;
  return duration(background.remaining - (performance.now() - readAt) / 1000);
}

/** Returns the time of the next background fetch; null for an app without background refresh. */
function nextFetch(app) {
  const refresh = state.refresh.get(app.id);
  if (!refresh || refresh.interval === "never") return null;
  return refresh.expected ? moment(refresh.expected) : refresh.sentence || null;
}

/** Lets a mouse or a pen throw the card upwards. A card that is released too early returns to its place. */
function throwable(card, app) {
  let start = null;
  const pane = card.node;
  const settle = () => {
    pane.classList.remove("thrown", "far");
    pane.style.removeProperty("--lift");
    start = null;
  };
  card.pane.addEventListener("pointerdown", event => {
    if (event.pointerType === "touch" || event.button !== 0 || app()?.isForceQuit || card.pending) return;
    start = { y: event.clientY, x: event.clientX, id: event.pointerId };
  });
  card.pane.addEventListener("pointermove", event => {
    if (!start || event.pointerId !== start.id) return;
    const lift = start.y - event.clientY;
    if (!pane.classList.contains("thrown")) {
      if (lift < 10 || Math.abs(event.clientX - start.x) > lift) return;
      pane.classList.add("thrown");
      card.pane.setPointerCapture(event.pointerId);
    }
    pane.style.setProperty("--lift", `${-Math.max(0, lift)}px`);
    pane.classList.toggle("far", lift > throwDistance);
  });
  card.pane.addEventListener("pointerup", () => {
    const isFar = pane.classList.contains("far");
    settle();
    if (!isFar) return;
    const thrown = app();
    card.pending = undoable(`${thrown.name || thrown.id} will be force-quit. ${forceQuitWords(thrown)}`, isLeaving => {
      card.pending = null;
      pane.classList.remove("leaving");
      // If the page is closed, the force quit can no longer be undone.
      return isLeaving ? undefined : act(card.force, () => forceQuit(thrown));
    }, () => {
      card.pending = null;
      pane.classList.remove("leaving");
    });
    pane.classList.add("leaving");
  });
  card.pane.addEventListener("pointercancel", settle);
}

async function explain(id) {
  const app = state.apps.get(id);
  const body = h("div", { class: "stack" }, "Reading…");
  const node = dialog(app.name || app.id, body);
  node.classList.add("sheet");
  try {
    const why = await get(appPath(id, "why"));
    fill(body, h("p", { class: "answer" }, h("strong", {}, `${appStateName(why.app)}: `), answer(why)),
      appFacts(why.app), past(why));
  } catch (error) {
    fill(body, h("p", {}, error.message));
  }
}

export function appFacts(app) {
  const rows = [
    ["Id", app.id],
    ["Process", app.processID],
    ["Since", app.stateSince && moment(app.stateSince)],
    ["Sessions", app.sessions?.join(", ")],
    ["Background time", app.background && policy(app.background.policy)],
    ["Modes", app.manifest?.modes?.join(", ")],
    ["Command", app.manifest?.command?.join(" ")],
    ["Crashes", app.faults || null],
    ["Background refresh", state.refresh.get(app.id)?.sentence],
    ["Fetches", state.refresh.get(app.id)?.fetches.slice(-5).reverse().map(fetch =>
      `${moment(fetch.began)}: ${words.fetchResults[fetch.result] ?? "under way"}`).join("; ")],
    ["Scheduled tasks", state.refresh.get(app.id)?.scheduled.map(scheduled => [
      scheduled.task.title ?? scheduled.task.identifier, scheduled.sentence ?? (scheduled.began ? "Running." : "")
    ].join(": ")).join(" ")],
    ["Last exit", app.lastExit && capital(
      `${moment(app.lastExit.time)}: ${words.exits[app.lastExit.cause] ?? app.lastExit.cause} ${app.lastExit.detail ?? ""}`
      )]
  ];
  const stints = app.background?.stints ?? [];
  return [h("dl", { class: "facts" }, rows.filter(([, value]) => value).map(([name, value]) => [h("dt", {}, name),
      h("dd", {}, value)
    ])),
    stints.length ? h("details", {}, h("summary", {}, "Its last background runs"), h(
    "ol", { class: "past" }, stints.slice(-10).reverse().map(stint => h("li", {},
        h("time", { class: "number", datetime: stint.began }, moment(stint.began)),
        ` ${duration(stint.seconds)}${stint.heldAwake ? ", the device was kept awake" : ""}${stint.windows ? `, ${stint.windows} windows` : ""}. `,
        stint.end ? words.stintEnds[stint.end] ?? stint.end : "It continues.", " ", h(
        "span", { class: "faint" }, [...stint.tasks, ...stint.wakes.map(wake => words.wakes[wake]?.short ?? wake)]
          .join(", ")))))) : null
  ];
}
