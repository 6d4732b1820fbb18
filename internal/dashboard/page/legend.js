// Legend shows the states with their marks, and how many devices are in each.

import { element } from "./element.js";
import { colours, drawMark, states } from "./states.js";

const size = 16;

export class Legend {
  #counts = new Map();
  #marks = [];

  constructor(root) {
    for (const state of states) {
      const mark = element("canvas");
      mark.width = mark.height = size * devicePixelRatio;
      mark.ariaHidden = "true";
      const count = element("b", "", "0");
      const item = element("li", "", mark, ` ${state.name} `, count);
      item.title = state.meaning;
      root.append(item);
      this.#counts.set(state.name, count);
      this.#marks.push({ mark, state: state.name });
    }
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#draw());
    this.#draw();
  }

  update(counts) {
    for (const [state, element] of this.#counts) element.textContent = (counts[state] ?? 0).toLocaleString("en");
  }

  #draw() {
    const palette = colours();
    for (const { mark, state } of this.#marks) {
      const context = mark.getContext("2d");
      context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
      context.clearRect(0, 0, size, size);
      drawMark(context, state, palette.byState[state], palette.paper, 2, 2, size - 4);
    }
  }
}
