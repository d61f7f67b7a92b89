// The computation of a timeline from the journal: the activity of the device, its apps and its transfers, as spans.
// 'nightshift timeline' computes it in the same way. Unknown times are not drawn: the time before the service's first entry, and the
// time from the last entry of one run of the service to the start of the next run.

export const deviceWords = { inUse: "in use", awake: "awake", held: "kept awake by an app", window: "maintenance window",
  dozing: "dozing", asleep: "asleep" };
export const appWords = { active: "active", inactive: "inactive", background: "in the background",
  standing: "paused by doze", suspended: "suspended" };
export const markWords = { woken: "woken", expiring: "notified that its time is nearly over",
  killed: "ended by the service" };
export const mostTransferRows = 12;

class Track {
  constructor(from) {
    this.spans = [];
    this.value = null;
    this.since = from;
    this.key = null;
  }
  change(value, at, note, key = value) {
    if (key === this.key) return;
    this.close(at);
    Object.assign(this, { value, key, note });
  }
  close(at) {
    // Omit spans without a length. A span would have a negative length if the clock was set back.
    if (at <= this.since) return;
    if (this.value !== null) this.spans.push({ from: this.since, to: at, value: this.value, note: this.note });
    this.since = at;
  }
  finish(at) {
    this.close(at);
    return this.spans;
  }
}

const opposites = { yes: "no", no: "yes", external: "battery", battery: "external" };
const firstPhases = { dozeBegan: "awake", windowOpened: "dozing", dozeEnded: "dozing", windowClosed: "window" };
const tellsBefore = { deviceSlept: ["sleeping", "no"], deviceWoke: ["sleeping", "yes"], networkLost: ["network",
  "yes"], networkReturned: ["network", "no"] };
const appStates = { inactive: "inactive", active: "active", background: "background", suspended: "suspended" };
const starts = new Set(["started", "continued", "restarted", "uploadKept", "uploadContinued", "uploadRestarted"]);
const ends = new Set(["completed", "failed", "cancelled", "removed", "suspended"]);

/** Whether the entry contains all device conditions, as the first entry of a run of the service does. */
const describesWholeDevice = entry => entry.decision === "deviceChanged" &&
  ["power", "network", "idle", "sleeping"].every(key => key in (entry.inputs ?? {}));

/**
 * Returns the entries, with each start of the service moved before the first device state of that run. The service records that device
 * state shortly before its start.
 */
function startsFirst(entries) {
  const result = [];
  let found = -1;
  for (const entry of entries) {
    if (entry.decision === "serviceStarted" && found >= 0) {
      const { id, time } = result[found];
      result.splice(found, 1, { ...entry, id, time }, { ...result[found], id: entry.id });
      found = -1;
    } else {
      if (describesWholeDevice(entry)) found = result.length;
      result.push(entry);
    }
  }
  return result;
}

/** Returns the entries up to the next start of the service, or up to the next deletion of the learned use. */
function stretch(entries, index) {
  const end = entries.findIndex((entry, at) => at >= index && (entry.decision === "serviceStarted" || entry.decision ===
    "learnedForgotten" && !entry.app));
  return { entries: entries.slice(index, end < 0 ? undefined : end), isLast: end < 0 };
}

/**
 * Returns the device state before the entry `index`, derived from later entries. A condition with two values had the opposite value
 * before its first change. A condition that does not change has its current value.
 */
function knownBefore(entries, index, current) {
  const { entries: later, isLast } = stretch(entries, index);
  const conditions = {};
  const tell = (key, value) => {
    if (!(key in conditions)) conditions[key] = value;
  };
  for (const entry of later) {
    if (entry.decision === "deviceChanged")
      for (const [key, value] of Object.entries(entry.inputs ?? {})) tell(key, opposites[value]);
    else if (entry.decision in tellsBefore) tell(...tellsBefore[entry.decision]);
  }
  let phase = firstPhases[later.find(entry => entry.decision in firstPhases)?.decision];
  const held = later.find(entry => ["deviceHeldAwake", "deviceReleased"].includes(entry.decision))?.decision;
  let isHeld = held === "deviceReleased";
  if (isLast && current) {
    for (const { key, value } of current.values) tell(key, value);
    phase ??= current.doze.phase;
    if (!held) isHeld = current.holders.length > 0;
  }
  return { conditions, phase, isHeld };
}

/**
 * Returns the timeline of journal entries between two times, in milliseconds. The entries must be in order.
 *
 * `current` is the current device state.
 */
export function readTimeline(journal, from, to, words, onlyApp = "", current = null) {
  const entries = startsFirst(journal);
  let isKnown = false,
    conditions = {},
    phase,
    isHeld = false;
  const device = new Track(from),
    power = new Track(from),
    network = new Track(from);
  const apps = new Map(),
    transfers = new Map();

  function activity() {
    if (conditions.sleeping === "yes") return "asleep";
    if (phase === "window" || phase === "dozing") return phase;
    if (conditions.idle === "no") return "inUse";
    // On external power the device does not doze, so its phase is known.
    if (conditions.idle === undefined || !phase && conditions.power !== "external") return null;
    return isHeld ? "held" : "awake";
  }

  function show(at, note) {
    device.change(isKnown ? activity() : null, at, note);
    power.change(isKnown ? conditions.power ?? null : null, at);
    const isTold = isKnown && (conditions.interface !== undefined || conditions.network !== undefined);
    const use = { kind: conditions.interface, isExpensive: conditions.expensive === "yes", isAvailable: conditions
        .network !== "no" };
    network.change(isTold ? use : null, at, undefined, isTold ? JSON.stringify(use) : null);
  }

  function begin(known, at) {
    ({ conditions, phase, isHeld } = known);
    isKnown = true;
    show(at);
  }

  /** Handles a start of the service, or a deletion of the learned use. */
  function readBoundary(index) {
    const entry = entries[index],
      at = Date.parse(entry.time);
    if (entry.decision === "serviceStarted") {
      // The time from the last entry of the previous run to its end is unknown.
      const last = index ? Date.parse(entries[index - 1].time) : -Infinity;
      if (last >= at) return;
      if (index) endRun(last, at);
      const later = knownBefore(entries, index + 1, current);
      begin({ conditions: {}, phase: phase ?? later.phase ?? (entry.id === 1 ? "awake" : undefined), isHeld: false }, at);
    } else if (entry.decision === "learnedForgotten" && !entry.app) {
      const known = knownBefore(entries, index + 1, current);
      conditions.idle = known.conditions.idle;
      phase = known.phase;
      show(at);
    }
  }

  function endRun(last, next) {
    isKnown = false;
    show(last);
    for (const app of apps.values()) {
      app.left = app.states.value;
      app.states.change(null, last);
    }
    for (const { track } of transfers.values()) {
      if (track.value === null) continue;
      track.change(null, last);
      track.change("waiting", next);
    }
  }

  function readDevice(entry) {
    switch (entry.decision) {
      case "deviceChanged":
      case "serviceStarted":
        Object.assign(conditions, entry.inputs ?? {});
        break;
      case "deviceSlept":
        conditions.sleeping = "yes";
        break;
      case "deviceWoke":
        conditions.sleeping = "no";
        break;
      case "networkLost":
        conditions.network = "no";
        break;
      case "networkReturned":
        conditions.network = "yes";
        break;
      case "deviceHeldAwake":
        isHeld = true;
        break;
      case "deviceReleased":
        isHeld = false;
        break;
      case "dozeBegan":
      case "windowClosed":
        phase = "dozing";
        break;
      case "windowOpened":
        phase = "window";
        break;
      case "dozeEnded":
        phase = "awake";
        break;
      default:
        return false;
    }
    return true;
  }

  function note(entry) {
    const sentence = words.decisions[entry.decision] ?? entry.decision;
    return entry.detail ? `${sentence} ${entry.detail}` : sentence;
  }

  function readApp(entry, at) {
    if (!apps.has(entry.app)) apps.set(entry.app, { id: entry.app, states: new Track(from), open: [], tasks: [],
      marks: [] });
    const app = apps.get(entry.app);
    const mark = kind => app.marks.push({ at, kind, note: note(entry) });
    switch (entry.decision) {
      case "appEntered":
        app.states.change(appStates[entry.detail] ?? null, at);
        break;
      case "appAdopted":
        // The previous run may have left the app suspended. After the service has adopted the app, the app runs.
        app.states.change(["suspended", "standing"].includes(app.left) ? "background" : app.left ?? null, at);
        break;
      case "appWoken":
        app.states.change("background", at);
        mark("woken");
        break;
      case "stintBegan":
      case "backgroundTimeResumed":
        app.states.change("background", at);
        break;
      case "backgroundTimeStopped":
        app.states.change("standing", at);
        break;
      case "backgroundTimeExpiring":
        mark("expiring");
        break;
      case "backgroundTaskBegan":
        app.open.push({ name: entry.detail ?? "", since: at });
        break;
      case "backgroundTaskEnded":
        endTask(app, entry.detail ?? "", at);
        break;
      case "appEnded":
        app.states.change(null, at);
        for (const task of [...app.open]) endTask(app, task.name, at);
        if (words.kills.includes(entry.inputs?.cause)) mark("killed");
        break;
      default:
        break;
    }
  }

  function endTask(app, name, at) {
    const index = app.open.findIndex(task => task.name === name);
    if (index < 0) return;
    const [task] = app.open.splice(index, 1);
    app.tasks.push({ from: Math.max(from, task.since), to: Math.max(at, task.since), value: name });
  }

  function transfer(id, app) {
    if (!transfers.has(id)) transfers.set(id, { id, app, track: new Track(from) });
    return transfers.get(id).track;
  }

  function readTransfer(entry, at) {
    if (entry.decision === "accepted") {
      const last = Number(/^(?:Transfers|Tasks) \d+ to (\d+)\.$/.exec(entry.detail ?? "")?.[1] ?? entry.task);
      for (let id = entry.task; id <= Math.min(last, entry.task + 10000); id += 1) transfer(id, entry.app).change(
        "waiting", at, "Accepted.");
      return;
    }
    const track = transfer(entry.task, entry.app);
    if (starts.has(entry.decision)) track.change("running", at);
    else if (entry.decision === "held") {
      track.change(null, at);
      track.change("waiting", at, entry.wait &&
        `${words.waits[entry.wait.reason] ?? entry.wait.reason} ${entry.wait.detail ?? ""}`);
    } else if (ends.has(entry.decision)) track.change(null, at);
    else if (["resumed", "retargeted", "retried"].includes(entry.decision)) track.change("waiting", at);
  }

  // If the first entry is not a start of the service, the service was running before it.
  if (entries.length ? entries[0].decision !== "serviceStarted" : current)
    begin(knownBefore(entries, 0, current), entries[0]?.id === 1 ? Date.parse(entries[0].time) : from);
  for (const [index, entry] of entries.entries()) {
    const at = Date.parse(entry.time);
    readBoundary(index);
    if (readDevice(entry)) show(at, entry.detail);
    else if (entry.decision === "learnedForgotten") continue;
    else if (onlyApp && entry.app !== onlyApp) continue;
    else if (entry.task) readTransfer(entry, at);
    else if (entry.app) readApp(entry, at);
  }
  const rows = [...transfers.values()].sort((a, b) => a.id - b.id).map(one => ({ label: `Transfer ${one.id}`, task: one
      .id, app: one.app, count: 1, spans: one.track.finish(to) }));
  const shown = rows.length > mostTransferRows ? grouped(rows) : rows;
  return {
    from,
    to,
    device: device.finish(to),
    power: power.finish(to),
    network: network.finish(to),
    apps: [...apps.values()].map(app => {
      for (const task of [...app.open]) endTask(app, task.name, to);
      return { id: app.id, states: app.states.finish(to), tasks: app.tasks, marks: app.marks };
    }),
    transfers: shown.slice(0, mostTransferRows),
    hidden: shown.slice(mostTransferRows).reduce((sum, row) => sum + row.count, 0)
  };
}

/** Combines many transfers into one row for each app. The row shows *running* while any transfer runs, else *waiting* while any waits. */
function grouped(rows) {
  const groups = new Map();
  for (const row of rows) {
    const app = row.app ?? "";
    if (!groups.has(app)) groups.set(app, []);
    groups.get(app).push(row);
  }
  return [...groups].sort().map(([app, members]) => {
    const edges = members.flatMap(row => row.spans).flatMap(span => [
      [span.from, span.value, 1],
      [span.to, span.value, -1]
    ]).sort((a, b) => a[0] - b[0] || a[2] - b[2]);
    const track = new Track(edges[0]?.[0] ?? 0);
    const now = { running: 0, waiting: 0 };
    edges.forEach(([at, value, step], index) => {
      now[value] += step;
      if (edges[index + 1]?.[0] === at) return;
      track.change(now.running ? "running" : now.waiting ? "waiting" : null, at, now.running ?
        `${now.running} run, ${now.waiting} wait` : `${now.waiting} wait`);
    });
    return { label: `${app || "no app"} (${members.length})`, app, count: members.length, spans: track.finish(
        edges[edges.length - 1]?.[0] ?? 0) };
  });
}

/** Moves the end of a timeline to a later time, and changes nothing else. */
export function extend(timeline, to) {
  const all = [timeline.device, timeline.power, timeline.network, ...timeline.transfers.map(row => row.spans)];
  for (const app of timeline.apps) all.push(app.states, app.tasks);
  for (const spans of all)
    for (const span of spans) if (span.to === timeline.to) span.to = to;
  timeline.to = to;
}
