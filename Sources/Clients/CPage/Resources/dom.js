// Functions that build elements. They insert every string as text, and never parse it as markup.

const invisible = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/** Returns the text with invisible characters and direction marks escaped, as in `\u{202e}`. */
export const visible = value => String(value).replace(invisible, character =>
  `\\u{${character.codePointAt(0).toString(16)}}`);

const SVG = "http://www.w3.org/2000/svg";

/** Creates an element with properties, listeners (`onclick`), `data-`, `aria-` and other attributes, and children. */
export function h(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "class") node.className = value;
    else if (name === "value" || name === "checked" || name === "disabled" || name === "hidden") node[name] = value;
    else node.setAttribute(name, value === true ? "" : visible(value));
  }
  add(node, children);
  return node;
}

function add(node, children) {
  for (const child of children.flat(3)) {
    if (child === undefined || child === null || child === false) continue;
    node.append(child instanceof Node ? child : visible(child));
  }
}

export function fill(node, ...children) {
  node.replaceChildren();
  add(node, children);
}

/** Sets the text of a node if it has changed. An unchanged text then causes no layout. */
export function text(node, value) {
  const words = visible(value ?? "");
  if (node.textContent !== words) node.textContent = words;
}

export function attribute(node, name, value) {
  if (value === null || value === undefined || value === false) node.removeAttribute(name);
  else if (node.getAttribute(name) !== visible(value)) node.setAttribute(name, visible(value));
}

const shapes = {
  apps: "M4 4h7v7H4zM13 4h7v7h-7zM4 13h7v7H4zM13 13h7v7h-7z",
  transfers: "M7 4v13m0 0-4-4m4 4 4-4M17 20V7m0 0-4 4m4-4 4 4",
  timeline: "M3 6h9M8 12h10M5 18h6M3 3v18",
  device: "M3 5h18v11H3zM9 20h6M12 16v4",
  why: "M9 9a3 3 0 1 1 4.6 2.500c-1 .7-1.6 1.2-1.6 2.500M12 18v.1M12 2a10 10 0 1 0 .1 0",
  journal: "M5 3h14v18H5zM8 8h8M8 12h8M8 16h5",
  pause: "M8 5v14M16 5v14",
  play: "M7 4l13 8-13 8z",
  stop: "M6 6l12 12M18 6L6 18",
  retry: "M20 12a8 8 0 1 1-2.5-5.800M20 3v5h-5",
  more: "M5 11v2M12 11v2M19 11v2",
  add: "M12 5v14M5 12h14",
  remove: "M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13",
  front: "M4 14v6h16v-6M12 16V4m0 0L7 9m5-5 5 5",
  leave: "M4 10V4h16v6M12 8v12m0 0-5-5m5 5 5-5",
  force: "M13 2 4 14h7l-1 8 10-13h-7z",
  quit: "M12 3v9M6 6a8.5 8.5 0 1 0 12 0",
  limit: "M4 18a8 8 0 1 1 16 0M12 18l4-6",
  close: "M6 6l12 12M18 6L6 18",
  undo: "M4 9h10a6 6 0 1 1 0 12H8M4 9l5-5M4 9l5 5",
};

export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  svg.classList.add("icon");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", shapes[name]);
  svg.append(path);
  return svg;
}

/** Creates a button with an icon and a label. The label is shown, or is only for screen readers and the tooltip. */
export function button(name, words, onclick, options = {}) {
  const { showsWords = false, kind = "", ...others } = options;
  return h("button", {
    type: "button",
    class: `button ${kind}`,
    "aria-label": showsWords ? null : words,
    title: showsWords ? null : words,
    onclick,
    ...others
  }, icon(name), showsWords ? h("span", {}, words) : null);
}

/** Opens a dialog. When it closes, the dialog is removed, and the previous element gets the focus again. */
export function dialog(title, ...children) {
  const id = `dialog-${Math.random().toString(36).slice(2)}`;
  const node = h("dialog", { class: "dialog", "aria-labelledby": id },
    h("div", { class: "dialog-head" }, h("h2", { id }, title), button("close", "Close", () => node.close())),
    ...children);
  const before = document.activeElement;
  node.addEventListener("close", () => {
    node.remove();
    if (before?.isConnected) before.focus();
  });
  node.addEventListener("click", event => {
    if (event.target === node) node.close();
  });
  document.body.append(node);
  node.showModal();
  return node;
}

/** Asks for confirmation of an action that cannot be undone. The button that changes nothing has the focus. */
export function confirm(title, words, action, keep = "Keep it") {
  return new Promise(resolve => {
    const safe = h("button", { type: "button", class: "button", "data-keep": true, onclick: () => node.close() }, keep);
    const node = dialog(title, h("p", {}, words), h("div", { class: "row end" }, safe,
      h("button", {
        type: "button",
        class: "button bad",
        onclick: () => {
          node.returnValue = "yes";
          node.close();
        }
      }, action)));
    node.addEventListener("close", () => resolve(node.returnValue === "yes"));
    safe.focus();
  });
}

export function toast(words, isBad = false) {
  const node = h("div", { class: isBad ? "toast bad" : "toast" }, words);
  const box = document.getElementById("toasts");
  box.append(node);
  const plain = [...box.children].filter(other => !other.classList.contains("undoable"));
  for (const old of plain.slice(0, -3)) old.remove();
  setTimeout(() => node.remove(), isBad ? 12000 : 5000);
}

/** The time in which an action can be undone, in milliseconds. It is paused while the button has the pointer or the focus. */
const undoTime = 8000;
const pendingActions = new Set();

/**
 * Runs `action` after some seconds, unless you press *Undo* before. If the page is closed, runs `action(true)` at once.
 *
 * Returns {words(text), restart(), undo()}.
 */
export function undoable(words, action, undo) {
  const said = h("span", {}, words);
  const node = h("div", { class: "toast undoable" }, said, h("button", { type: "button", class: "button undo",
    onclick: () => pending.undo() }, "Undo"));
  let timer = 0;
  const end = () => {
    clearTimeout(timer);
    node.remove();
    return pendingActions.delete(pending);
  };
  const wait = () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      if (node.matches(":hover, :focus-within")) wait();
      else pending.run();
    }, undoTime);
  };
  const pending = {
    words: value => text(said, value),
    restart: wait,
    run: isLeaving => end() && action(isLeaving === true),
    undo: () => end() && undo()
  };
  pendingActions.add(pending);
  document.getElementById("toasts").append(node);
  wait();
  return pending;
}

window.addEventListener("pagehide", () => {
  for (const pending of [...pendingActions]) pending.run(true);
});

/** Undoes the last action that can still be undone. Returns false if no such action exists. */
export function undoLast() {
  const last = [...pendingActions].pop();
  last?.undo();
  return last !== undefined;
}

/** Runs an action, and marks its button as busy meanwhile. Shows the error if the service refuses the action. */
export async function act(node, action, done) {
  if (node?.getAttribute("aria-busy") === "true") return undefined;
  node?.setAttribute("aria-busy", "true");
  try {
    const result = await action();
    if (done) toast(done);
    return result;
  } catch (error) {
    toast(error.message, true);
    return undefined;
  } finally {
    node?.removeAttribute("aria-busy");
  }
}
