// A list of any length of which only what is in sight exists: rows of one height, taken again as the list scrolls.

import { h, attribute } from "./dom.js";

export class VirtualList {
  /**
   * @param label what a screen reader calls it
   * @param create makes an empty row's content: (row) => parts
   * @param update shows an item in it: (parts, item, row)
   * @param open is called for a row that is chosen with Enter or a click
   */
  constructor({ label, create, update, open, keys }) {
    Object.assign(this, { create, update, open, keys, items: [], rows: [], active: 0 });
    this.inner = h("div", { class: "virtual-inner", role: "presentation" });
    this.node = h("div", { class: "virtual", role: "grid", "aria-label": label, "aria-readonly": "true" }, this
      .inner);
    this.node.addEventListener("scroll", () => this.schedule(), { passive: true });
    this.node.addEventListener("keydown", event => this.key(event));
    this.observer = new ResizeObserver(() => this.measure());
    this.observer.observe(this.node);
  }

  set(items) {
    this.items = items;
    attribute(this.node, "aria-rowcount", items.length);
    if (this.active >= items.length) this.active = Math.max(0, items.length - 1);
    this.measure();
  }

  measure() {
    this.height = parseFloat(getComputedStyle(this.node).getPropertyValue("--row")) || 64;
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
    // Each item keeps to one row as long as it is in sight, so that scrolling moves little.
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
      for (const inner of row.node.querySelectorAll("button")) attribute(inner, "tabindex", isActive ? 0 : -1);
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
      if (!event.target.closest("button") && this.open) this.open(this.items[row.index]);
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
