// The page's copy of the service's state. The page reads the state once, and then updates it from the stream of events.

import { get, optional, segment, Refused } from "./api.js";

export const state = {
  /** The state of the connection: connecting, live, away (no service), ended (no page program), locked (no access). */
  link: "connecting",
  detail: "",
  status: null,
  device: null,
  tasks: new Map(),
  /** The numbers of transfers that will be removed unless you undo it. */
  hidden: new Set(),
  apps: new Map(),
  /** The background refresh state of each app that uses background refresh. */
  refresh: new Map(),
  sessions: new Map(),
  /** The newest journal entries that arrived while this page was open. */
  entries: [],
  /** The number of the last journal entry that this page missed or no longer keeps. */
  forgotten: 0,
  /** The time of the last message from the service. */
  heardAt: null,
  loaded: 0,
  isLoaded: false,
};

const listeners = new Map();
const dirty = new Set();
let frame = 0;
let lastProgress = 0;
let progressTimer = 0;

/** Calls `listener` in the next frame after one of the topics has changed. Returns a function that ends the calls. */
export function listen(topics, listener) {
  for (const topic of topics) {
    if (!listeners.has(topic)) listeners.set(topic, new Set());
    listeners.get(topic).add(listener);
  }
  return () => {
    for (const topic of topics) listeners.get(topic).delete(listener);
  };
}

function changed(topic) {
  dirty.add(topic);
  if (!frame) frame = requestAnimationFrame(tell);
}

/** Notifies the listeners of progress, at most four times a second. */
function progressed() {
  if (progressTimer) return;
  const wait = Math.max(0, lastProgress + 250 - performance.now());
  progressTimer = setTimeout(() => {
    progressTimer = 0;
    lastProgress = performance.now();
    changed("progress");
  }, wait);
}

function tell() {
  frame = 0;
  const called = new Set();
  for (const topic of dirty)
    for (const listener of listeners.get(topic) ?? []) called.add(listener);
  dirty.clear();
  for (const listener of called) listener();
}

function link(name, detail = "") {
  if (state.link === name && state.detail === detail) return;
  if (state.link === "live") state.heardAt = new Date();
  state.link = name;
  state.detail = detail;
  changed("link");
}

// MARK: - Reading again

const wanted = { tasks: new Set(), newTasks: false, apps: false, device: false, status: false };
let readTimer = 0;
let isReading = false;

function want() {
  if (!readTimer && !isReading) readTimer = setTimeout(read, 250);
}

/** Reads again everything that events have changed since the last read, in few requests. */
async function read() {
  readTimer = 0;
  isReading = true;
  const now = { ...wanted, tasks: [...wanted.tasks] };
  Object.assign(wanted, { tasks: new Set(), newTasks: false, apps: false, device: false, status: false });
  try {
    if (now.newTasks) await readNewTasks();
    for (let i = 0; i < now.tasks.length; i += 200) await readTasks(now.tasks.slice(i, i + 200));
    await Promise.all([now.apps && readApps(), now.device && readDevice(), now.status && readStatus()]);
  } catch (error) {
    failed(error);
  } finally {
    isReading = false;
    if (wanted.newTasks || wanted.tasks.size || wanted.apps || wanted.device || wanted.status) want();
  }
}

function failed(error) {
  if (!(error instanceof Refused)) throw error;
  if (error.status === 403) link("locked", error.message);
  else if (error.status === 0) link("ended", error.message);
  else if (error.isAway) link("away", error.message);
}

/** The numbers of removed tasks. A late answer must not bring a removed task back, and no new task gets its number. */
const removed = new Set();

/** Updates a task from an answer of the service. */
export function tellTask(task) {
  if (removed.has(task.id)) return;
  // Drop the resume data of a cancelled download. It may be long, and the page does not show it.
  delete task.resumeData;
  state.tasks.set(task.id, task);
  changed("tasks");
}

export function tellApp(app) {
  state.apps.set(app.id, app);
  changed("apps");
}

export function tellDevice(device) {
  state.device = device;
  changed("device");
}

async function readTasks(ids) {
  const page = await get(`/v1/tasks?limit=1000&task=${ids.join(",")}`);
  const missing = new Set(ids);
  for (const task of page.tasks) {
    missing.delete(task.id);
    tellTask(task);
  }
  for (const id of missing) forgetTask(id);
}

export function forgetTask(id) {
  removed.add(id);
  state.hidden.delete(id);
  if (state.tasks.delete(id)) changed("tasks");
}

export function hideTasks(ids) {
  for (const id of ids) state.hidden.add(id);
  changed("tasks");
}

export function showTasks(ids) {
  for (const id of ids) state.hidden.delete(id);
  changed("tasks");
}

let highest = 0;

async function readNewTasks(onPage = () => {}) {
  for (let after = highest; after !== undefined;) {
    const page = await get(`/v1/tasks?limit=1000&after=${after}`);
    for (const task of page.tasks) {
      highest = Math.max(highest, task.id);
      tellTask(task);
    }
    onPage();
    after = page.next;
  }
}

async function readApps() {
  const [{ apps }, refresh] = await Promise.all([get("/v1/apps"), optional("/v1/refresh")]);
  state.apps = new Map(apps.map(app => [app.id, app]));
  state.refresh = new Map((refresh?.apps ?? []).map(app => [app.app, app]));
  changed("apps");
}

async function readDevice() {
  tellDevice(await get("/v1/device"));
}

export async function readStatus() {
  state.status = await get("/v1/status");
  changed("status");
}

// MARK: - The stream

let source = null;
let lastID = 0;
let retryTimer = 0;
let pause = 1000;
let generation = 0;

/** Reads the complete state, and then follows the stream of events. */
export async function start() {
  const mine = ++generation;
  clearTimeout(retryTimer);
  source?.close();
  source = null;
  link(state.link === "live" ? "connecting" : state.link);
  try {
    await readStatus();
    lastID = state.status.lastJournalEntry;
    // Events do not repeat earlier journal entries. A view that lacks some of them must read the journal again.
    state.forgotten = Math.max(state.forgotten, lastID);
    changed("journal");
    await Promise.all([readApps(), readDevice()]);
    state.tasks = new Map();
    highest = 0;
    await readNewTasks(() => {
      state.loaded = state.tasks.size;
      changed("tasks");
    });
    if (mine !== generation) return;
    state.isLoaded = true;
    changed("tasks");
    follow();
  } catch (error) {
    if (mine !== generation) return;
    failed(error);
    again();
  }
}

/** Schedules another attempt, while the page is visible. The delay grows with each attempt, up to half a minute. */
function again() {
  clearTimeout(retryTimer);
  if (["locked", "ended"].includes(state.link) || document.hidden) return;
  retryTimer = setTimeout(state.isLoaded ? follow : start, pause);
  pause = Math.min(pause * 2, 30000);
}

/** Tries to connect again at once. */
export function tryNow() {
  pause = 1000;
  if (state.isLoaded && state.link !== "ended") follow();
  else start();
}

function follow() {
  clearTimeout(retryTimer);
  source?.close();
  source = null;
  if (document.hidden) return;
  const query = new URLSearchParams({ progress: "true", lastEventID: String(lastID) });
  const mine = source = new EventSource(`/v1/events?${query}`);
  mine.addEventListener("open", () => {
    pause = 1000;
    const wasAway = state.link !== "live";
    link("live");
    if (wasAway) {
      wanted.apps = wanted.device = wanted.status = true;
      want();
      refreshRunning();
    }
  });
  mine.addEventListener("journal", event => {
    lastID = Number(event.lastEventId);
    journal(JSON.parse(event.data));
  });
  mine.addEventListener("progress", event => progress(JSON.parse(event.data)));
  mine.addEventListener("reset", event => {
    lastID = Number(event.lastEventId);
    state.entries = [];
    state.forgotten = 0;
    // After a reset, the service may use the numbers of removed tasks again.
    removed.clear();
    changed("reset");
    start();
  });
  mine.addEventListener("error", () => {
    if (mine === source) broken(mine);
  });
}

/** Handles the end of the stream. Sends a request to find out whether the service or the page's program has ended. */
async function broken(mine) {
  mine.close();
  source = null;
  link("connecting");
  try {
    await readStatus();
    pause = 500;
  } catch (error) {
    failed(error);
  }
  if (source === null) again();
}

function refreshRunning() {
  for (const task of state.tasks.values())
    if (task.state === "running") wanted.tasks.add(task.id);
  want();
}

const deviceDecisions = new Set(["deviceChanged", "deviceHeldAwake", "deviceReleased", "deviceSlept", "deviceWoke",
  "dozeBegan",
  "dozeEnded", "windowOpened", "windowClosed", "networkChanged", "networkLost", "networkReturned", "stintBegan",
  "stintEnded",
  "backgroundTaskBegan", "backgroundTaskEnded"
]);

function journal(entry) {
  state.entries.push(entry);
  if (state.entries.length > 5000) state.forgotten = state.entries.splice(0, 1000).at(-1).id;
  changed("journal");
  if (entry.decision === "accepted") wanted.newTasks = true;
  else if (entry.decision === "removed" && entry.task) forgetTask(entry.task);
  else if (entry.task) wanted.tasks.add(entry.task);
  if (entry.app) wanted.apps = true;
  if (deviceDecisions.has(entry.decision) || !entry.task && !entry.app) wanted.device = true;
  wanted.status = true;
  want();
}

function progress(now) {
  const task = state.tasks.get(now.id);
  if (!task) return;
  Object.assign(task, now);
  // Only a running task has progress. The journal entry about its start follows.
  if (task.state === "waiting") {
    wanted.tasks.add(task.id);
    want();
  }
  progressed();
}

/** The interval at which a hidden page requests a file. The page's program ends ten minutes after the last request. */
const openInterval = 240_000;
let openTimer = 0;

// A browser opens at most six connections to a server, for all its tabs together. Therefore a hidden page closes its stream. When
// the page is visible again, the stream continues from the last event.
document.addEventListener("visibilitychange", () => {
  if (!state.isLoaded || ["locked", "ended"].includes(state.link)) return;
  clearInterval(openTimer);
  if (document.hidden) {
    clearTimeout(retryTimer);
    source?.close();
    source = null;
    openTimer = setInterval(() => get("/page/setup.json").catch(failed), openInterval);
  } else {
    tryNow();
    refreshRunning();
  }
});

export const taskPath = (id, action = "") => `/v1/tasks/${id}${action && `/${action}`}`;
export const appPath = (id, action = "") => `/v1/apps/${segment(id)}${action && `/${action}`}`;
