// Timelines. The page's program computes them from the journal.

import { get } from "./api.js";
import { state, listen } from "./store.js";

const times = new Set(["start", "end", "from", "to", "at"]);

/** Returns a copy in which all times are numbers of milliseconds. */
function inMilliseconds(value) {
  if (Array.isArray(value)) return value.map(inMilliseconds);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) =>
    [key, times.has(key) ? Date.parse(part) : inMilliseconds(part)]));
}

/** The timeline of the last `seconds`, which is read again when the journal has grown. */
export class LiveTimeline {
  picture = null;
  seconds = 0;
  app = "";
  #changed;
  #ends;
  #timer = 0;
  #reading = 0;
  #isReading = false;
  #isStale = false;
  /** The time before which the timeline is not read again, so that a long timeline does not keep the program busy. */
  #notBefore = 0;

  /** @param {() => void} changed the function to call after each read */
  constructor(changed) {
    this.#changed = changed;
    this.#ends = [
      listen(["journal"], () => this.#soon()),
      listen(["reset"], () => this.read()),
      listen(["link"], () => state.link === "live" && this.#isStale && this.#soon()),
    ];
  }

  /** Reads the timeline at once. */
  async read() {
    const mine = ++this.#reading;
    clearTimeout(this.#timer);
    this.#timer = 0;
    this.#isReading = true;
    this.#isStale = false;
    const began = performance.now();
    let pause = 5000;
    try {
      const query = new URLSearchParams({ seconds: String(this.seconds), app: this.app });
      const answer = await get(`/page/timeline.json?${query}`);
      if (mine !== this.#reading) return;
      this.picture = inMilliseconds(answer);
      pause = Math.max(500, 10 * (performance.now() - began));
      this.#changed();
    } catch {
      // The banner already says that the service does not answer.
      if (mine !== this.#reading) return;
      this.#isStale = true;
    }
    this.#isReading = false;
    this.#notBefore = performance.now() + pause;
    if (this.#isStale) this.#soon();
  }

  /** Reads the timeline as soon as it may be read again, unless the page is hidden. */
  #soon() {
    this.#isStale = true;
    if (this.#timer || this.#isReading || document.hidden || state.link !== "live") return;
    this.#timer = setTimeout(() => this.read(), Math.max(0, this.#notBefore - performance.now()));
  }

  end() {
    this.#reading += 1;
    clearTimeout(this.#timer);
    for (const end of this.#ends) end();
  }
}

/** Moves the end of a timeline to a later time, and changes nothing else. */
export function extend(timeline, end) {
  const all = [timeline.device, timeline.power, timeline.network, ...timeline.transfers.map(row => row.spans)];
  for (const app of timeline.apps) all.push(app.states, app.tasks);
  for (const spans of all)
    for (const span of spans) if (span.to === timeline.end) span.to = end;
  timeline.end = end;
}
