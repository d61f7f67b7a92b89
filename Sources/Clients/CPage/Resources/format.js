// Functions that format numbers, times and states for people.

/** The words for the API's values, from the page's program. */
export const words = { home: "", downloads: "", taskStates: {}, tasks: {}, waits: {}, decisions: {}, appStates: {},
  exits: {}, wakes: {}, fetchResults: {}, pushStates: {}, regionStates: {}, stintEnds: {}, awake: {}, windows: {},
  timelineDevice: {}, timelineApps: {}, timelineMarks: {}, deviceKeys: {} };

const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

export function size(bytes) {
  if (!(bytes >= 0)) return "?";
  let value = bytes,
    unit = 0;
  while (value >= 1023.5 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 || value >= 100 ? value.toFixed(0) : value.toFixed(1)} ${units[unit]}`;
}

export const rate = bytes => `${size(bytes)}/s`;

export function duration(seconds) {
  const s = Math.max(0, seconds);
  if (s < 1) return s < 0.0005 ? "0 s" : `${Math.max(1, Math.round(s * 1000))} ms`;
  if (s < 60) return `${Math.round(s)} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min${s % 60 >= 1 ? ` ${Math.floor(s % 60)} s` : ""}`;
  if (s < 86400) return `${Math.floor(s / 3600)} h${s % 3600 >= 60 ? ` ${Math.floor(s % 3600 / 60)} min` : ""}`;
  return `${Math.floor(s / 86400)} d${s % 86400 >= 3600 ? ` ${Math.floor(s % 86400 / 3600)} h` : ""}`;
}

const two = number => String(number).padStart(2, "0");
const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
export const clock = date => `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
export const day = date => `${date.getDate()} ${months[date.getMonth()]}`;

/** Returns the time. Includes the day if it is not today. */
export function moment(value) {
  const date = new Date(value);
  return date.toDateString() === new Date().toDateString() ? clock(date) : `${day(date)}, ${clock(date)}`;
}

export function host(url) {
  try {
    return new URL(url).host;
  } catch {
    return "";
  }
}

export function fileName(path) {
  return path.split("/").filter(Boolean).pop() ?? path;
}

/** Returns the name of a transfer: the name of its file, else the last part of its URL's path, else the host. */
export function taskName(task) {
  const file = task.file ?? task.source;
  if (file) return fileName(file);
  if (task.destination?.filename) return task.destination.filename;
  const rest = (task.currentURL ?? task.url).replace(/^[^:]*:\/\//, "").replace(/[?#].*$/, "");
  const parts = rest.split("/").filter(Boolean);
  const last = parts.pop() ?? "?";
  if (!parts.length) return last.split("@").pop();
  try {
    return decodeURIComponent(last);
  } catch {
    return last;
  }
}

/** Returns the name of a transfer for headings and sentences. The middle of a long name is left out. */
export function shortName(task, most = 80) {
  const letters = [...taskName(task)];
  if (letters.length <= most) return letters.join("");
  return `${letters.slice(0, most - 17).join("")}…${letters.slice(-16).join("")}`;
}

/** Returns whether a task has ended. */
export const isOver = task => ["completed", "failed", "cancelled"].includes(task.state);

/** Returns a sentence about the state of a transfer and the reason for the state. */
export function taskSentence(task) {
  const sentence = words.tasks[task.kind]?.[task.state];
  const wait = task.state === "waiting" && task.wait;
  if (wait) {
    const failure = wait.failure ?? task.lastError;
    if (["retry", "hostBackoff"].includes(wait.reason) && failure) {
      return `${capital(failure.message)}${wait.count > 1 ? ` (${wait.count} times)` : ""}${wait.until ? ` Again at ${moment(wait.until)}.` : ""}`;
    }
    return (words.waits[wait.reason] ?? wait.reason) + (wait.until ? ` Until ${moment(wait.until)}.` : "");
  }
  if (task.state === "completed" && task.file) return `Saved as ${task.file}`;
  if (task.state === "failed" && task.error) return capital(task.error.message);
  return sentence ?? (task.state === "removed" ? "It is removed from the list." : task.state);
}

export function capital(sentence) {
  const whole = sentence.charAt(0).toUpperCase() + sentence.slice(1);
  return /[.!?…]$/.test(whole) ? whole : `${whole}.`;
}

/** Returns the numbers of transferred and expected bytes. A total of -1 means that the total is unknown. */
export function amounts(task) {
  const up = task.kind === "upload";
  return {
    done: up ? task.countOfBytesSent : task.countOfBytesReceived,
    total: up ? task.countOfBytesExpectedToSend : task.countOfBytesExpectedToReceive
  };
}

export function timeLeft(task) {
  const { done, total } = amounts(task);
  if (task.state !== "running" || !(task.bytesPerSecond > 0) || !(total > 0)) return "";
  const seconds = (total - done) / task.bytesPerSecond;
  // Round the estimate, because an exact value would change all the time.
  return `${duration(seconds < 600 ? seconds : Math.round(seconds / 60) * 60)} left`;
}

/** Returns the name of a transfer's state. The state of a transfer that was removed from the list is `removed`. */
export const stateName = task => words.taskStates[task.state] ?? task.state;

export const appStateName = app => words.appStates[app.state] ?? app.state;

/** Returns a sentence of the service, with its times converted to this machine's time zone. */
export function localTimes(sentence) {
  return (sentence ?? "").replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, time => moment(time));
}

/** Returns an explanation: the reason for a state, and the event that ends the state. */
export function answer(why) {
  return localTimes(why.endedBy ?
    `${why.sentence} What ends it: ${capital(why.endedBy.trim()).replace(/^./, c => c.toLowerCase())}` : why
    .sentence);
}

export function policy(text) {
  const [kind, seconds] = String(text).split(":");
  return seconds ? `${kind}, ${duration(Number(seconds))}` : kind;
}

/** Reads a rate in bytes per second, such as 500K or 1.5M. Returns 0, no limit, for an empty text or `none`; NaN for other text. */
export function parseRate(typed) {
  const word = typed.trim().toLowerCase();
  if (word === "" || word === "none" || word === "0") return 0;
  const match = /^(\d+(?:\.\d+)?)\s*([kmg]?)(?:i?b)?(?:\/s)?$/.exec(word);
  return match ? Math.round(Number(match[1]) * 1024 ** ["", "k", "m", "g"].indexOf(match[2])) : NaN;
}

export function typedRate(bytes) {
  if (!bytes) return "";
  for (const [unit, factor] of [
      ["G", 1024 ** 3],
      ["M", 1024 ** 2],
      ["K", 1024]
    ]) {
    if (bytes % factor === 0) return `${bytes / factor}${unit}`;
  }
  return String(bytes);
}

/** Returns the details of a journal entry, without repetitions. */
export function particulars(entry) {
  const kept = [];
  for (const part of [entry.wait?.detail, entry.detail, entry.error?.message]) {
    if (part && !kept.some(other => other.includes(part))) kept.push(part);
  }
  return kept.join(" ");
}

export function decision(entry) {
  const sentence = words.decisions[entry.decision] ?? entry.decision;
  return entry.wait ? `${sentence} ${words.waits[entry.wait.reason] ?? entry.wait.reason}` : sentence;
}

/** Returns a line about a push and its result. */
export const pushLine = push =>
  `${moment(push.received)}: ${push.isSilent ? "silent" : "alert"}, ${words.pushStates[push.state]}. ${push.sentence}`;
