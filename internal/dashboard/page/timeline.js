// Timeline shows the last minutes: how many devices were in which state, and what happened.

import { element, link } from "./element.js";
import { hashOf } from "./reference.js";
import { colours } from "./states.js";

const span = 15 * 60 * 1000;
const used = ["held", "shared", "reserved"]; // what the chart adds up, from the bottom
const broken = ["tainted", "unpublished"];

export class Timeline {
  #canvas;
  #list;
  #fleet;

  constructor(canvas, list, fleet) {
    this.#canvas = canvas;
    this.#list = list;
    this.#fleet = fleet;
    new ResizeObserver(() => this.draw()).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    setInterval(() => this.draw(), 5000); // time passes without changes, too
  }

  update() {
    const items = this.#fleet.moments.slice(-60).reverse().map(({ time, what, subject }) => {
      const at = element("time", "muted", new Date(time).toLocaleTimeString());
      return element("li", "", at, " ", subject ? link(what, hashOf(subject)) : what);
    });
    this.#list.replaceChildren(...(items.length > 0 ? items : [element("li", "muted", "Nothing has happened in the last 15 minutes.")]));
    this.draw();
  }

  draw() {
    const canvas = this.#canvas;
    const { clientWidth: width, clientHeight: height } = canvas;
    canvas.width = width * devicePixelRatio;
    canvas.height = height * devicePixelRatio;
    const context = canvas.getContext("2d");
    context.scale(devicePixelRatio, devicePixelRatio);
    const palette = colours();
    const { samples } = this.#fleet;
    const now = Date.now();
    const total = Math.max(1, ...samples.map(({ devices }) => Object.values(devices).reduce((a, b) => a + b, 0)));
    const x = (time) => width - ((now - new Date(time)) / span) * width;
    const y = (n) => height - 16 - (n / total) * (height - 30);
    samples.forEach((sample, i) => {
      const left = Math.max(0, Math.round(x(sample.time)));
      const right = i + 1 < samples.length ? Math.round(x(samples[i + 1].time)) : width;
      let sum = 0;
      for (const state of [...used, ...broken]) {
        const n = sample.devices[state] ?? 0;
        context.fillStyle = palette.byState[state];
        context.fillRect(left, y(sum + n), Math.max(0, right - left), y(sum) - y(sum + n));
        sum += n;
      }
    });
    this.#label(context, palette, samples.at(-1), total, width, height);
  }

  #label(context, palette, last, total, width, height) {
    context.fillStyle = palette.muted;
    context.font = "11px system-ui, sans-serif";
    context.fillText("15 min ago", 0, height - 3);
    context.textAlign = "right";
    context.fillText("now", width, height - 3);
    context.textAlign = "left";
    if (!last) return;
    const inUse = used.reduce((sum, state) => sum + (last.devices[state] ?? 0), 0);
    const text = `${inUse} of ${total} devices in use, ${last.waiting} waiting`;
    context.fillText(text, 0, 11);
    this.#canvas.setAttribute("aria-label", `Devices in use over the last 15 minutes: now ${text}`);
  }
}
