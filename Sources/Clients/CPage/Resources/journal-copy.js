// The page's copy of the service's journal, which is updated as the journal grows.

import { get } from "./api.js";
import { state, listen } from "./store.js";

/** The time after which an incomplete read of the journal is repeated, in milliseconds. */
const patience = 5000;

/**
 * The journal entries since some point in time: in order, each once, and without a gap.
 *
 * The journal is read in pages. Entries that arrive during a read are added after the last page. If the read fails, or if entries
 * were missed, the whole journal is read again.
 */
export class JournalCopy {
  entries = [];
  isReading = false;
  #changed;
  #ends;
  #seconds = 0;
  #reading = 0;
  #isWhole = false;
  /** The number of the newest entry that was read, including entries that were too old to keep. */
  #last = 0;
  #timer = 0;

  /** @param {() => void} changed the function to call after each page, after the last page, and for new entries */
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

  /** Whether the copy has been read up to the newest entry. */
  get isWhole() {
    return this.#isWhole;
  }

  /** Reads the entries of the last `seconds` again, or all entries if `seconds` is 0. */
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
      // The banner already says that the service does not answer.
      if (mine !== this.#reading) return;
      this.#timer = setTimeout(() => this.read(seconds), patience);
    }
    this.isReading = false;
    if (!this.#follow()) this.#changed();
  }

  /** Adds new entries. Returns true if there were any. */
  #follow() {
    if (this.isReading || !this.#isWhole) return false;
    // If the page was hidden for long, some of the newest entries are missing, so read the journal again.
    if (state.forgotten > this.#last) {
      this.read(this.#seconds);
      return true;
    }
    const more = state.entries.filter(entry => entry.id > this.#last);
    if (!more.length) return false;
    // A deletion of the learned use also deletes earlier journal entries, so read the journal again.
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
