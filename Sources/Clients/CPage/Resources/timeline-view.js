// The timeline view, a live picture. The wheel, the keys + and -, and two fingers zoom. Dragging and the arrow keys pan.

import { h, fill, button } from "./dom.js";
import { state, listen } from "./store.js";
import { words, clock, duration } from "./format.js";
import { LiveTimeline, extend } from "./timeline.js";
import { painter, palette } from "./timeline-paint.js";

const ranges = [
  [3600, "1 hour"],
  [6 * 3600, "6 hours"],
  [86400, "1 day"],
  [7 * 86400, "1 week"]
];
export function timeline(root) {
  const canvas = h("canvas", { class: "timeline", tabindex: 0,
role: "img", "aria-label": "Timeline", "aria-describedby": "timeline-help" });
  const tip = h("div", { class: "tip", hidden: true, role: "tooltip" });
  const range = h("select", { class: "field", id: "timeline-range", "aria-label": "Time range" }, ranges.map(([
    seconds, name
  ]) => h("option", { value: String(seconds) }, name)));
  const app = h("select", { class: "field", id: "timeline-app", "aria-label": "App" });
  const live = button("play", "Live", () => {
    view.isLive = true;
    place();
  }, { showsWords: true, id: "timeline-live" });
  const table = h("details", { class: "as-text" }, h("summary", {}, "As text"), h(
  "div", { class: "stack" }));
  const legend = h("ul", { class: "legend" });
  const frame = h("div", { class: "canvas-frame" }, canvas, tip);
  range.value = "21600";
  fill(root, h("div", { class: "toolbar" }, h("h1", {}, "Timeline"), h("span", { class: "spring" }), range, app,
      button("add", "Zoom in", () => zoom(0.5), { id: "zoom-in" }), h("button", { type: "button", class: "button",
        id: "zoom-out", "aria-label": "Zoom out", title: "Zoom out", onclick: () => zoom(2) }, "−"), live),
    frame, legend, h("p", { class: "faint", id: "timeline-help" },
      "Zoom with the wheel, + and −. Pan by dragging or with the arrow keys. Point at a bar to see its time, duration and reason."),
    table);

  const source = new LiveTimeline(() => again(true));
  let wanted = 0;
  let timer = 0;
  const view = { from: 0, to: 0, isLive: true };
  const scheme = matchMedia("(prefers-color-scheme: dark)");
  const pen = painter(canvas, view, scheme);

  // MARK: - Drawing

  function read() {
    view.isLive = true;
    source.seconds = Number(range.value);
    source.app = app.value;
    source.read();
    place();
  }

  function choices() {
    const ids = [...state.apps.keys()];
    if (app.options.length === ids.length + 1) return;
    const chosen = app.value;
    fill(app, h("option", { value: "" }, "every app"), ids.map(id => h("option", { value: id }, state.apps.get(id)
      .name || id)));
    app.value = chosen;
  }

  function place() {
    if (view.isLive) {
      const width = view.to - view.from || Number(range.value) * 1000;
      view.to = Date.now();
      view.from = view.to - width;
    }
    live.hidden = view.isLive;
    again(false);
  }

  let isStale = true;
  let isFitted = false;

  function again(isNew) {
    isStale ||= isNew;
    wanted ||= requestAnimationFrame(() => {
      wanted = 0;
      draw();
    });
  }

  function draw() {
    if (!canvas.isConnected) return;
    const now = Date.now();
    if (view.isLive) {
      const width = view.to - view.from;
      view.to = now;
      view.from = now - width;
    }
    const picture = source.picture;
    if (!picture) return;
    if (view.isLive) extend(picture, now);
    if (isStale) {
      fitYoung(picture, now);
      inWords(picture);
      showLegend(picture);
      choices();
      isStale = false;
    }
    pen.paint(picture);
    // Redraw when the current time has moved by a pixel, but only while the page is visible.
    clearTimeout(timer);
    if (view.isLive && !document.hidden) timer = setTimeout(() => again(false), Math.max(1000, (view.to - view
      .from) / Math.max(1, canvas.clientWidth)));
  }

  /** If less time than the range is known, that time fills the picture until you zoom. */
  function fitYoung(picture, now) {
    if (isFitted) return;
    isFitted = true;
    const all = [...picture.device, ...picture.apps.flatMap(one => one.states), ...picture.transfers.flatMap(row => row
      .spans)];
    const first = all.reduce((least, span) => Math.min(least, span.from), now);
    if (first > picture.start) view.from = now - Math.max(60e3, (now - first) * 1.05);
  }

  // MARK: - Zooming and panning

  function zoom(factor, at = (view.from + view.to) / 2) {
    const width = view.to - view.from;
    const next = Math.min(60 * 86400e3, Math.max(5000, width * factor));
    if (view.isLive && factor !== 1) at = view.to;
    const part = (at - view.from) / width;
    view.from = at - next * part;
    view.to = view.from + next;
    place();
  }

  function pan(milliseconds) {
    view.isLive = false;
    const width = view.to - view.from;
    view.to = Math.min(Date.now(), view.to + milliseconds);
    view.from = view.to - width;
    if (view.to >= Date.now() - 1) view.isLive = true;
    place();
  }

  const perDot = () => (view.to - view.from) / Math.max(1, canvas.clientWidth - pen.margin());
  const pointers = new Map();
  canvas.addEventListener("wheel", event => {
    event.preventDefault();
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) pan(event.deltaX * perDot());
    else zoom(Math.exp(event.deltaY * 0.002), view.from + (event.offsetX - pen.left()) * perDot());
  }, { passive: false });
  canvas.addEventListener("pointerdown", event => {
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
    hover(event);
  });
  canvas.addEventListener("pointermove", event => {
    const before = pointers.get(event.pointerId);
    if (!before) {
      hover(event);
      return;
    }
    const others = [...pointers].filter(([id]) => id !== event.pointerId).map(([, point]) => point);
    if (others.length) {
      const [was, is] = [Math.abs(before.x - others[0].x), Math.abs(event.offsetX - others[0].x)];
      if (was > 4 && is > 4) zoom(was / is, view.from + ((event.offsetX + others[0].x) / 2 - pen.left()) * perDot());
    } else pan((before.x - event.offsetX) * perDot());
    pointers.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
  });
  for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, event => pointers.delete(event
    .pointerId));
  canvas.addEventListener("pointerleave", () => {
    tip.hidden = true;
  });
  canvas.addEventListener("keydown", event => {
    const step = (view.to - view.from) / 8;
    const keys = {
      ArrowLeft: () => pan(-step),
      ArrowRight: () => pan(step),
      "+": () => zoom(0.5),
      "=": () => zoom(0.5),
      "-": () => zoom(2),
      End: () => {
        view.isLive = true;
        place();
      }
    };
    if (keys[event.key]) {
      event.preventDefault();
      keys[event.key]();
    }
  });

  function hover(event) {
    const hit = pen.at(event.offsetX, event.offsetY);
    tip.hidden = !hit;
    if (!hit) return;
    fill(tip, h("strong", {}, hit.title), h("span", { class: "number" }, hit.to === undefined ? clock(new Date(hit
          .from)) :
        `${clock(new Date(hit.from))} to ${clock(new Date(hit.to))}, ${duration((hit.to - hit.from) / 1000)}`),
      hit.note && h("span", {}, hit.note));
    tip.style.transform =
      `translate(${Math.max(0, Math.min(event.offsetX + 12, canvas.clientWidth - tip.offsetWidth))}px, ${event.offsetY + 16}px)`;
  }

  // MARK: - As text

  function sums(spans, names) {
    const totals = new Map();
    for (const span of spans) totals.set(span.value, (totals.get(span.value) ?? 0) + (span.to - span.from) / 1000);
    return [...totals].map(([value, seconds]) => `${names[value] ?? value} ${duration(seconds)}`).join(", ");
  }

  function inWords(picture) {
    const unknown = (picture.end - picture.start - picture.device.reduce((sum, span) => sum + span.to - span.from, 0)) /
      1000;
    const device = [sums(picture.device, words.timelineDevice), unknown >= 1 && `unknown ${duration(unknown)}`].filter(
      Boolean).join(", ");
    canvas.setAttribute("aria-label",
      `Timeline. The device: ${device || "unknown"}. ${picture.apps.length} apps and ${picture.transfers.reduce((sum, row) => sum + row.count, picture.hidden)} transfers are drawn.`
      );
    const line = (who, what) => h("tr", {}, h("th", { scope: "row" }, who), h("td", {}, what || "–"));
    fill(table.lastChild, h("table", { class: "values" }, h("tbody", {}, line("Device", device), picture.apps.map(
        one => line(state.apps.get(one.id)?.name ?? one.id,
          [sums(one.states, words.timelineApps), ...one.tasks.slice(-5).map(task =>
            `${task.value} from ${clock(new Date(task.from))} for ${duration((task.to - task.from) / 1000)}`
            ), ...one.marks.slice(-5).map(mark => `${words.timelineMarks[mark.kind]} at ${clock(new Date(mark.at))}`)]
          .filter(Boolean).join("; "))),
      picture.transfers.map(row => line(row.label, sums(row.spans, { running: "ran", waiting: "waited" }))))));
  }

  function showLegend(picture) {
    const colors = palette(scheme);
    const items = [];
    const has = (spans, value) => spans.some(span => span.value === value);
    for (const value of Object.keys(colors).filter(value => value in words.timelineDevice))
      if (has(picture.device, value)) items.push([value, words.timelineDevice[value]]);
    for (const value of ["external", "battery"])
      if (has(picture.power, value)) items.push([value, value === "external" ? "external power" : "on battery"]);
    if (picture.network.some(span => span.value.isAvailable && !span.value.isExpensive)) items.push(["network",
      "network"
    ]);
    if (picture.network.some(span => span.value.isAvailable && span.value.isExpensive)) items.push(["expensive",
      "metered network"
    ]);
    if (picture.network.some(span => !span.value.isAvailable)) items.push(["offline", "no network"]);
    for (const value of Object.keys(colors).filter(value => value in words.timelineApps))
      if (picture.apps.some(one => has(one.states, value))) items.push([value, `app: ${words.timelineApps[value]}`]);
    if (picture.apps.some(one => one.tasks.length)) items.push(["task", "background task"]);
    for (const value of ["running", "waiting"])
      if (picture.transfers.some(row => has(row.spans, value))) items.push([value,
        `transfer ${value === "running" ? "runs" : "waits"}`
      ]);
    fill(legend, items.map(([value, name]) => {
      const swatch = h(
      "span", { class: `swatch ${["hatch", "stripes"].includes(colors[value]) ? "hatched" : ""}`, "aria-hidden": "true" });
      swatch.style.backgroundColor = colors[value] === "stripes" ? "#e69f00" : colors[value] === "hatch" ?
        colors.faint : colors[value];
      return h("li", {}, swatch, name);
    }));
  }

  const size = new ResizeObserver(() => {
    again(false);
  });
  size.observe(frame);
  const recolour = () => again(true);
  scheme.addEventListener("change", recolour);
  range.addEventListener("change", () => {
    view.from = view.to = 0;
    isFitted = false;
    read();
  });
  app.addEventListener("change", read);
  const onSight = () => {
    if (!document.hidden) source.read();
  };
  document.addEventListener("visibilitychange", onSight);
  const end = listen(["apps"], () => again(true));
  choices();
  read();
  return () => {
    source.end();
    end();
    clearTimeout(timer);
    size.disconnect();
    scheme.removeEventListener("change", recolour);
    document.removeEventListener("visibilitychange", onSight);
  };
}
