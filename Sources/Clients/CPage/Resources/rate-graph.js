// A small graph of the total rate over the last minute.

import { attribute } from "./dom.js";
import { rate } from "./format.js";

const SVG = "http://www.w3.org/2000/svg";
const span = 60_000;
const width = 120;
const height = 28;

export class RateGraph {
  constructor() {
    this.samples = [];
    this.node = document.createElementNS(SVG, "svg");
    this.line = document.createElementNS(SVG, "polyline");
    this.node.append(this.line);
    this.node.classList.add("graph");
    attribute(this.node, "viewBox", `0 0 ${width} ${height}`);
    attribute(this.node, "preserveAspectRatio", "none");
    attribute(this.node, "role", "img");
    this.draw(0);
  }

  /** Adds a sample of the rate at the time `now`, in milliseconds. Keeps at most one sample per second. */
  add(bytesPerSecond, now) {
    const last = this.samples.at(-1);
    if (last && now - last.time < 1000) last.rate = bytesPerSecond;
    else if (bytesPerSecond > 0 || last?.rate > 0) this.samples.push({ time: now, rate: bytesPerSecond });
    while (this.samples.length && this.samples[0].time < now - span) this.samples.shift();
    this.draw(now);
  }

  /** Deletes all samples, because they are out of date. */
  clear() {
    this.samples = [];
    this.draw(0);
  }

  draw(now) {
    const most = Math.max(1, ...this.samples.map(sample => sample.rate));
    attribute(this.line, "points", this.samples.map(sample => `${
      (width * (1 - (now - sample.time) / span)).toFixed(1)},${(height - 2 - (height - 4) * sample.rate / most)
      .toFixed(1)}`).join(" "));
    attribute(this.node, "aria-label", this.samples.length ? `Rate in the last minute, at most ${rate(most)}` :
      "No transfer ran in the last minute");
    this.node.classList.toggle("blank", this.samples.length < 2);
  }
}
