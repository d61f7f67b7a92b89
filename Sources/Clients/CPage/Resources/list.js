// A list of any length, whose rows have the same height. Only visible rows exist, and they are reused as the list scrolls.
// While you point at the list or use keys in it, the list keeps its order, so that no row moves.

import { h, attribute } from "./dom.js";

/** The time for which the list keeps its order after the last pointer movement or key press, in milliseconds. */
const holdTime = 10_000;

export class VirtualList {
  /**
   * @param label the name of the list for screen readers
   * @param create creates the content of an empty row: (row) => parts
   * @param update shows an item in a row: (parts, item, row)
   * @param open called for a row that you choose with Enter or a click
   * @param identify returns the identity of an item; without this function, the list does not keep its order
   * @param left returns the item to show in place of an item that has left the list while the order is kept: (identity, item) => item
   * @param released called when the list no longer keeps its order
   */
  constructor({ label, create, update, open, keys, identify, left, released }) {
    Object.assign(this, { create, update, open, keys, identify, left, released, items: [], rows: [], active: 0,
      holdTimer: 0 });
    this.inner = h("div", { class: "virtual-inner", role: "presentation" });
    this.node = h("div", { class: "virtual", role: "grid", "aria-label": label, "aria-readonly": "true",
      "aria-rowcount": "-1" }, this.inner);
    this.node.addEventListener("scroll", () => this.schedule(), { passive: true });
    this.node.addEventListener("keydown", event => this.key(event));
    if (identify) this.followHands();
    this.observer = new ResizeObserver(() => this.measure());
    this.observer.observe(this.node);
  }

  followHands() {
    for (const kind of ["pointermove", "pointerdown", "keydown", "focusin"])
      this.node.addEventListener(kind, () => this.hold(), { passive: true });
    this.node.addEventListener("pointerleave", event => {
      if (event.pointerType !== "touch" && !this.node.querySelector(":focus-visible")) this.release();
    });
    this.node.addEventListener("focusout", event => {
      if (!this.node.contains(event.relatedTarget) && !this.node.matches(":hover")) this.release();
    });
  }

  get isHeld() {
    return this.holdTimer !== 0;
  }

  /** Keeps the order of the rows until some seconds after the last call. */
  hold() {
    clearTimeout(this.holdTimer);
    this.holdTimer = setTimeout(() => this.release(), holdTime);
  }

  release() {
    if (!this.isHeld) return;
    clearTimeout(this.holdTimer);
    this.holdTimer = 0;
    this.released();
  }

  /** Returns the items in the order of the current rows. Items without a row are at the end. */
  inHeldOrder(items) {
    const fresh = new Map(items.map(item => [this.identify(item), item]));
    const kept = this.items.map(old => {
      const identity = this.identify(old);
      const item = fresh.get(identity);
      fresh.delete(identity);
      return item ?? this.left(identity, old);
    });
    return [...kept, ...fresh.values()];
  }

  /** Replaces the items. If you chose their order (`isChosen`), the list no longer keeps the previous order. */
  set(items, isChosen = false) {
    if (isChosen) {
      clearTimeout(this.holdTimer);
      this.holdTimer = 0;
    }
    const before = this.identify && this.items[this.active] ? this.identify(this.items[this.active]) : null;
    this.items = this.isHeld ? this.inHeldOrder(items) : items;
    attribute(this.node, "aria-rowcount", this.items.length);
    const focused = this.node.contains(document.activeElement) ? document.activeElement : null;
    if (before !== null && focused) this.moveActive(before, focused);
    if (this.active >= this.items.length) this.active = Math.max(0, this.items.length - 1);
    this.measure();
  }

  /** Moves the focus with its item if the item's position has changed. */
  moveActive(identity, focused) {
    const index = this.items.findIndex(item => this.identify(item) === identity);
    if (index < 0 || index === this.active) return;
    const controls = [...focused.closest(".virtual-row")?.querySelectorAll("button, input") ?? []];
    const control = controls.indexOf(focused);
    this.active = index;
    this.measure();
    const row = this.rows.find(row => row.index === index)?.node;
    (control < 0 ? row : row?.querySelectorAll("button, input")[control])?.focus({ preventScroll: true });
  }

  /** Returns the height of a row in pixels. The style sheet sets it in rem, which grows with your font size. */
  rowHeight() {
    const height = parseFloat(getComputedStyle(this.node).getPropertyValue("--row"));
    return height * parseFloat(getComputedStyle(document.documentElement).fontSize) || 64;
  }

  measure() {
    this.height = this.rowHeight();
    const total = `${this.items.length * this.height}px`;
    if (this.inner.style.height !== total) this.inner.style.height = total;
    this.draw();
  }

  schedule() {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      this.draw();
    });
  }

  draw() {
    const first = Math.max(0, Math.floor(this.node.scrollTop / this.height) - 4);
    const last = Math.min(this.items.length, Math.ceil((this.node.scrollTop + this.node.clientHeight) / this
      .height) + 4);
    const count = Math.max(0, last - first);
    while (this.rows.length < count) this.rows.push(this.makeRow());
    // A visible item keeps its row, so that scrolling moves few nodes.
    const size = this.rows.length;
    for (let index = 0; index < size; index += 1) {
      const row = this.rows[index];
      const item = size ? first + ((index - first % size) + size) % size : 0;
      this.show(row, item < last ? item : -1);
    }
  }

  show(row, index) {
    if (index < 0) {
      if (row.index !== -1) {
        row.node.hidden = true;
        row.index = -1;
      }
      return;
    }
    if (row.index !== index || row.height !== this.height) {
      row.node.hidden = false;
      row.node.style.transform = `translateY(${index * this.height}px)`;
      attribute(row.node, "aria-rowindex", index + 1);
      row.height = this.height;
    }
    row.index = index;
    const isActive = index === this.active;
    attribute(row.node, "tabindex", isActive ? 0 : -1);
    if (row.isActive !== isActive) {
      row.isActive = isActive;
      for (const inner of row.node.querySelectorAll("button, input")) attribute(inner, "tabindex", isActive ? 0 : -1);
    }
    this.update(row.parts, this.items[index], row.node);
  }

  makeRow() {
    const node = h("div", { class: "virtual-row", role: "row", tabindex: -1 });
    const row = { node, index: -1, isActive: null };
    row.parts = this.create(node, () => this.items[row.index]);
    node.addEventListener("focusin", () => {
      if (row.index >= 0 && row.index !== this.active) {
        this.active = row.index;
        this.schedule();
      }
    });
    node.addEventListener("click", event => {
      if (!event.target.closest("button, input, label") && this.open) this.open(this.items[row.index]);
    });
    this.inner.append(node);
    return row;
  }

  key(event) {
    const page = Math.max(1, Math.floor(this.node.clientHeight / this.height) - 1);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -this.items.length, End: this
        .items.length };
    const isRow = event.target.classList.contains("virtual-row") || event.target === this.node;
    if (event.key in steps && this.items.length) {
      event.preventDefault();
      this.focus(Math.min(this.items.length - 1, Math.max(0, this.active + steps[event.key])));
    } else if (isRow && event.key === "Enter" && this.open && this.items[this.active]) {
      event.preventDefault();
      this.open(this.items[this.active]);
    } else if (isRow && this.keys?.[event.key] && this.items[this.active]) {
      event.preventDefault();
      this.keys[event.key](this.items[this.active]);
    }
  }

  focus(index) {
    this.active = index;
    const top = index * this.height,
      bottom = top + this.height;
    if (top < this.node.scrollTop) this.node.scrollTop = top;
    else if (bottom > this.node.scrollTop + this.node.clientHeight) this.node.scrollTop = bottom - this.node
      .clientHeight;
    this.draw();
    this.rows.find(row => row.index === index)?.node.focus({ preventScroll: true });
  }

  end() {
    this.observer.disconnect();
  }
}
