// A copy of the service's journal, as the page reads it and as it grows.

import { get } from "./api.js";
import { state, listen } from "./store.js";

/** Milliseconds after which a journal that could not be read to its end is read again. */
const patience = 5000;

/**
 * The entries since a moment: in order, each once, and without a gap.
 *
 * Entries that arrive while the pages are read wait until the pages have been read. If the pages could not be read to the end, or if
 * entries were missed, all are read again.
 */
export class JournalCopy {
  entries = [];
  isReading = false;
  #changed;
  #ends;
  #seconds = 0;
  #reading = 0;
  #isWhole = false;
  /** The number of the newest entry that was read, even if it was too old to be kept. */
  #last = 0;
  #timer = 0;

  /** @param {() => void} changed is called after each page, at the end, and for new entries */
  constructor(changed) {
    this.#changed = changed;
    this.#ends = [
      listen(["journal"], () => this.#follow()),
      listen(["reset"], () => this.read(this.#seconds)),
      listen(["link"], () => {
        if (state.link === "live" && !this.#isWhole && !this.isReading) this.read(this.#seconds);
      }),
    ];
  }

  /** Whether the copy ends with the newest entry. */
  get isWhole() {
    return this.#isWhole;
  }

  /** Reads all entries of the last `seconds` again, or of all time for 0. */
  async read(seconds) {
    const mine = ++this.#reading;
    clearTimeout(this.#timer);
    this.#seconds = seconds;
    this.entries = [];
    this.#isWhole = false;
    this.isReading = true;
    this.#last = Math.max(state.forgotten, ...state.entries.slice(-1).map(entry => entry.id));
    const since = seconds ? `&since=${encodeURIComponent(new Date(Date.now() - seconds * 1000).toISOString())}` : "";
    try {
      for (let after = 0; after !== undefined;) {
        const page = await get(`/v1/journal?limit=1000${after ? `&after=${after}` : ""}${since}`);
        if (mine !== this.#reading) return;
        this.#add(page.entries);
        after = page.next;
        if (after !== undefined) this.#changed();
      }
      this.#isWhole = true;
    } catch {
      // The banner says that the service is away.
      if (mine !== this.#reading) return;
      this.#timer = setTimeout(() => this.read(seconds), patience);
    }
    this.isReading = false;
    if (!this.#follow()) this.#changed();
  }

  /** Adds new entries, and returns whether there were any. */
  #follow() {
    if (this.isReading || !this.#isWhole) return false;
    // The page was hidden for so long that some of the newest entries are missing.
    if (state.forgotten > this.#last) {
      this.read(this.#seconds);
      return true;
    }
    const more = state.entries.filter(entry => entry.id > this.#last);
    if (!more.length) return false;
    // Together with the learned use, earlier entries of the journal were deleted.
    if (more.some(entry => entry.decision === "learnedForgotten")) {
      this.read(this.#seconds);
      return true;
    }
    this.#add(more);
    this.#changed();
    return true;
  }

  #add(entries) {
    if (!entries.length) return;
    this.entries.push(...entries);
    this.#last = Math.max(this.#last, entries[entries.length - 1].id);
  }

  end() {
    this.#reading += 1;
    clearTimeout(this.#timer);
    for (const end of this.#ends) end();
  }
}
