// The painter of a timeline on a canvas. It remembers the areas of the bars, to find the bar under the pointer.

import { state } from "./store.js";
import { visible } from "./dom.js";
import { words, clock, day, taskName } from "./format.js";

const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800,
  604800
];

/** The palette of Okabe and Ito, which colour-blind people can tell apart. Position, height and hatching also show what colour shows. */
const light = {
  ink: "#1f2328",
  faint: "#57606a",
  grid: "rgba(87,96,106,.18)",
  base: "rgba(87,96,106,.35)",
  inUse: "#56b4e9",
  awake: "#b9dcf2",
  held: "#e69f00",
  window: "#009e73",
  dozing: "#8b93a1",
  asleep: "#3b4252",
  external: "#40b696",
  battery: "#f0e442",
  network: "#a9c9e0",
  expensive: "#d692b6",
  offline: "hatch",
  active: "#0072b2",
  inactive: "#56b4e9",
  background: "#e69f00",
  standing: "stripes",
  suspended: "#c3c6ca",
  task: "#8a5a00",
  running: "#0072b2",
  waiting: "#b8bcc1",
  woken: "#009e73",
  expiring: "#d55e00",
  killed: "#d55e00",
  dozeBand: "rgba(59,66,82,.09)",
  windowBand: "rgba(0,158,115,.20)",
  heldBand: "rgba(230,159,0,.13)",
  now: "#d55e00",
  onBar: "#1f2328",
  onAsleep: "#fff"
};
const dark = {
  ...light,
  ink: "#e6edf3",
  faint: "#9da7b3",
  grid: "rgba(157,167,179,.18)",
  base: "rgba(157,167,179,.35)",
  network: "#3f6a8c",
  suspended: "#4b535d",
  waiting: "#5b636e",
  task: "#ffd27a",
  asleep: "#5b6577",
  dozeBand: "rgba(170,180,196,.10)",
  onBar: "#1f2328",
  onNetwork: "#e6edf3",
  running: "#2b8fd0",
  active: "#2b8fd0"
};

/** The colours of the current colour scheme. */
export const palette = scheme => scheme.matches ? dark : light;

/** Paints the part of the timeline from `view.from` to `view.to`. */
export function painter(canvas, view, scheme) {
  const pen = canvas.getContext("2d");
  let picture = null;
  let hits = [];
  let left = 140;
  const right = 14;
  const x = (at, width) => left + (at - view.from) / (view.to - view.from) * (width - left - right);

  function rows() {
    const list = [{ kind: "device", label: "Device", height: 34 }];
    if (picture.power.length) list.push({ kind: "power", label: "Power", height: 18 });
    if (picture.network.length) list.push({ kind: "network", label: "Network", height: 18 });
    if (picture.apps.length) list.push({ kind: "section", label: "APPS", height: 28 });
    for (const one of picture.apps) {
      const lanes = laned(one.tasks);
      list.push({ kind: "app", app: one, lanes, label: state.apps.get(one.id)?.name ?? one.id.split(/[./]/).pop(),
        height: 27 + lanes.count * 7 });
    }
    if (picture.transfers.length) list.push({ kind: "section", label: "TRANSFERS", height: 28 });
    for (const one of picture.transfers) list.push({ kind: "transfer", transfer: one, label: one.task ? name(one
        .task) : one.label, height: 18 });
    if (picture.hidden) list.push({ kind: "more", label: `${picture.hidden} more`, height: 20 });
    return list;
  }

  /** Returns the label of a transfer. A removed transfer has only its number. */
  const name = id => {
    const task = state.tasks.get(id);
    return task ? taskName(task) : `Transfer ${id}`;
  };

  function laned(tasks) {
    const ends = [];
    const places = tasks.map(task => {
      let lane = ends.findIndex(end => end <= task.from);
      if (lane < 0) lane = Math.min(ends.length, 2);
      ends[lane] = Math.max(ends[lane] ?? 0, task.to);
      return { task, lane };
    });
    return { places, count: ends.length };
  }

  function paint(now) {
    picture = now;
    const width = canvas.clientWidth,
      ratio = devicePixelRatio || 1;
    left = width < 560 ? 84 : 140;
    const list = rows();
    const top = 44;
    const height = Math.max(160, top + list.reduce((sum, row) => sum + row.height, 0) + 14);
    if (canvas.style.height !== `${height}px`) canvas.style.height = `${height}px`;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    const colors = scheme.matches ? dark : light;
    hits = [];
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    pen.textBaseline = "middle";
    bands(width, height, top, colors);
    axis(width, height, top, colors);
    let y = top;
    for (const row of list) {
      drawRow(row, y, width, colors);
      y += row.height;
    }
  }

  function bar(span, y, height, color, width, title, colors, inside) {
    const from = Math.max(left, x(span.from, width)),
      to = Math.min(width - right, x(span.to, width));
    if (to < left || from > width - right) return;
    const wide = Math.max(1.5, to - from);
    pen.fillStyle = pattern(color, colors);
    pen.fillRect(from, y, wide, height);
    hits.push({ x: from, y, width: Math.max(4, wide), height, title: title, from: span.from, to: span.to, note: span
        .note });
    if (inside && wide > title.length * 6.2 + 12) {
      pen.fillStyle = inside;
      pen.font = `${height < 18 ? 10 : 11}px system-ui, sans-serif`;
      pen.textAlign = "left";
      pen.fillText(visible(title), from + 6, y + height / 2 + 0.5);
    }
  }

  const patterns = new Map();

  function pattern(color, colors) {
    if (color !== "hatch" && color !== "stripes") return color;
    const key = `${color} ${scheme.matches}`;
    if (!patterns.has(key)) {
      const tile = document.createElement("canvas");
      tile.width = tile.height = 6;
      const ink = tile.getContext("2d");
      ink.fillStyle = color === "stripes" ? "rgba(230,159,0,.2)" : "rgba(128,136,146,.15)";
      ink.fillRect(0, 0, 6, 6);
      ink.strokeStyle = color === "stripes" ? "#e69f00" : colors.faint;
      ink.lineWidth = 1.5;
      ink.beginPath();
      for (const shift of [-6, 0, 6]) {
        ink.moveTo(shift, 6);
        ink.lineTo(shift + 6, 0);
      }
      ink.stroke();
      patterns.set(key, pen.createPattern(tile, "repeat"));
    }
    return patterns.get(key);
  }

  function bands(width, height, top, colors) {
    for (const span of picture.device) {
      const color = { dozing: colors.dozeBand, asleep: colors.dozeBand, window: colors.windowBand, held: colors
          .heldBand } [span.value];
      if (!color) continue;
      const from = Math.max(left, x(span.from, width)),
        to = Math.min(width - right, x(span.to, width));
      if (to > from) {
        pen.fillStyle = color;
        pen.fillRect(from, top - 8, to - from, height - top);
      }
    }
  }

  function axis(width, height, top, colors) {
    const seconds = (view.to - view.from) / 1000;
    const most = Math.max(2, Math.floor((width - left) / 70));
    const step = steps.find(step => seconds / step <= most) ?? steps[steps.length - 1];
    const shift = new Date(view.from).getTimezoneOffset() * 60;
    pen.font = "11px system-ui, sans-serif";
    pen.textAlign = "center";
    let lastDay = "";
    for (let at = Math.ceil((view.from / 1000 - shift) / step) * step + shift; at * 1000 <= view.to; at += step) {
      const date = new Date(at * 1000),
        place = x(at * 1000, width);
      pen.fillStyle = colors.grid;
      pen.fillRect(Math.round(place), top - 8, 1, height - top);
      pen.fillStyle = colors.faint;
      pen.fillText(clock(date).slice(0, step < 60 ? 8 : 5), place, top - 18);
      if (day(date) !== lastDay) {
        lastDay = day(date);
        pen.fillStyle = colors.ink;
        pen.fillText(lastDay, Math.min(place, width - 24), top - 33);
      }
    }
  }

  function drawRow(row, y, width, colors) {
    pen.font = row.kind === "section" ? "600 11px system-ui, sans-serif" : "12px system-ui, sans-serif";
    pen.fillStyle = row.kind === "section" || row.kind === "more" ? colors.faint : colors.ink;
    pen.textAlign = row.kind === "section" ? "left" : "right";
    const middle = { device: 14, power: 8, network: 8, section: 18, app: 10, transfer: 7, more: 10 } [row.kind];
    pen.fillText(row.kind === "section" ? row.label : fit(visible(row.label), left - 16), row.kind === "section" ? 4 : left -
      10, y + middle);
    switch (row.kind) {
      case "device":
        base(y + 14, width, colors);
        for (const span of picture.device) bar(span, y, 28, colors[span.value], width, words.timelineDevice[span.value],
          colors, span.value === "asleep" ? colors.onAsleep : colors.onBar);
        break;
      case "power":
        for (const span of picture.power) bar(span, y, 14, colors[span.value], width, span.value === "external" ?
          "external power" : "on battery", colors, colors.onBar);
        break;
      case "network":
        for (const span of picture.network) {
          const use = span.value;
          bar(span, y, 14, colors[!use.isAvailable ? "offline" : use.isExpensive ? "expensive" : "network"], width,
            !use.isAvailable ? "no network" :
            `${use.kind ?? "network"}${use.isExpensive ? ", metered" : ""}`, colors, use.isExpensive ?
            colors.onBar : colors.onNetwork ?? colors.onBar);
        }
        break;
      case "app":
        drawApp(row, y, width, colors);
        break;
      case "transfer":
        base(y + 7, width, colors);
        for (const span of row.transfer.spans) {
          const runs = span.value === "running";
          bar(span, runs ? y + 1 : y + 5, runs ? 12 : 4, colors[span.value], width,
            `${row.label} ${runs ? "runs" : "waits"}`, colors);
        }
        break;
      default:
        break;
    }
  }

  function drawApp(row, y, width, colors) {
    base(y + 9, width, colors);
    for (const isFront of [false, true])
      for (const span of row.app.states)
        if ((span.value === "active") === isFront) bar(span, y, 18, colors[span.value], width,
          `${row.label}: ${words.timelineApps[span.value]}`, colors);
    for (const { task, lane } of row.lanes.places) bar(task, y + 21 + lane * 7, 4, colors.task, width,
      `background task ${task.value}`, colors);
    for (const mark of row.app.marks) {
      const at = x(mark.at, width);
      if (at < left || at > width - right) continue;
      pen.beginPath();
      if (mark.kind === "woken") {
        pen.moveTo(at, y + 9);
        pen.lineTo(at - 5, y + 18);
        pen.lineTo(at + 5, y + 18);
      } else if (mark.kind === "expiring") {
        pen.moveTo(at, y + 3);
        pen.lineTo(at + 5, y + 9);
        pen.lineTo(at, y + 15);
        pen.lineTo(at - 5, y + 9);
      } else {
        pen.moveTo(at - 6, y + 3);
        pen.lineTo(at + 6, y + 15);
        pen.moveTo(at + 6, y + 3);
        pen.lineTo(at - 6, y + 15);
      }
      pen.lineWidth = 2.6;
      pen.strokeStyle = pen.fillStyle = colors[mark.kind];
      if (mark.kind === "killed") pen.stroke();
      else pen.fill();
      hits.push({ x: at - 6, y, width: 12, height: 18, title: `${row.label}: ${words.timelineMarks[mark.kind]}`, from: mark
          .at, note: mark.note });
    }
  }

  function base(y, width, colors) {
    pen.fillStyle = colors.base;
    pen.fillRect(left, Math.round(y), width - left - right, 1);
  }

  function fit(label, width) {
    if (pen.measureText(label).width <= width) return label;
    let short = label;
    while (short.length > 1 && pen.measureText(`${short}…`).width > width) short = short.slice(0, -1);
    return `${short}…`;
  }

  /** Returns the topmost bar or mark at a position. */
  const at = (x, y) => hits.findLast(hit => x >= hit.x && x <= hit.x + hit.width && y >= hit.y && y <= hit.y + hit.height);
  return { paint, at, margin: () => left + right, left: () => left };
}
