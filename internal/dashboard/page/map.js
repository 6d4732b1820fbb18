// FleetMap draws the devices of all nodes on a canvas, and finds what is under the pointer.

import { layout } from "./layout.js";
import { colours, drawMark } from "./states.js";
import { Viewport } from "./viewport.js";

const markSize = 6; // pixels from which on devices have marks
const nameSize = 9; // and nodes have names

export class FleetMap {
  #canvas;
  #context;
  #fleet;
  #plane = { racks: [], boxes: [], width: 1, height: 1 };
  #version = -1;
  #viewport = new Viewport();
  #pending = false;
  #cursor = { box: 0, device: 0 };
  #wanted = () => true;
  #marked = () => false;

  // chosen is called with { place, device } when the person opens one; device is undefined for the
  // place. moved is called when the cursor has moved.
  constructor(canvas, fleet, { chosen, moved }) {
    this.#canvas = canvas;
    this.#context = canvas.getContext("2d");
    this.#fleet = fleet;
    this.chosen = chosen;
    this.moved = moved;
    new ResizeObserver(() => this.#resize()).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    this.#listen();
  }

  // update draws the fleet as it is. wanted tells the devices that are not dimmed, and marked those
  // that are outlined.
  update(wanted, marked) {
    this.#wanted = wanted;
    this.#marked = marked;
    if (this.#version !== this.#fleet.version) {
      this.#version = this.#fleet.version;
      this.#arrange();
    }
    this.draw();
  }

  get #size() {
    return { width: this.#canvas.clientWidth, height: this.#canvas.clientHeight };
  }

  #arrange() {
    const { width, height } = this.#size;
    if (width === 0 || height === 0) return;
    this.#plane = layout(this.#fleet.racks(), this.#fleet, width / height);
    if (this.#viewport.fitted) this.#viewport.fit(this.#plane, width, height);
    this.#cursor.box = Math.min(this.#cursor.box, Math.max(0, this.#plane.boxes.length - 1));
  }

  #resize() {
    const { width, height } = this.#size;
    const ratio = devicePixelRatio;
    this.#canvas.width = width * ratio;
    this.#canvas.height = height * ratio;
    this.#context.setTransform(ratio, 0, 0, ratio, 0, 0);
    if (this.#viewport.fitted) this.#arrange();
    this.draw();
  }

  // draw draws once before the next frame, however often it is called.
  draw() {
    if (this.#pending) return;
    this.#pending = true;
    requestAnimationFrame(() => {
      this.#pending = false;
      this.#paint();
    });
  }

  #paint() {
    const context = this.#context;
    const { width, height } = this.#size;
    const palette = colours();
    context.clearRect(0, 0, width, height);
    for (const rack of this.#plane.racks) {
      if (this.#isOutside(rack, width, height)) continue;
      this.#paintRackName(rack, palette);
      for (let i = rack.first; i < rack.end; i++) {
        const box = this.#plane.boxes[i];
        if (!this.#isOutside(box, width, height)) this.#paintPlace(box, palette);
      }
    }
    this.#paintCursor(palette);
    performance.mark("map-painted");
  }

  #isOutside(box, width, height) {
    const { x, y, scale } = this.#viewport;
    return box.x > x + width / scale || box.x + box.width < x || box.y > y + height / scale || box.y + box.height < y;
  }

  #paintRackName(rack, palette) {
    const size = Math.min(16, this.#viewport.scale * 1.4);
    if (rack.name === "" || size < 5) return;
    const at = this.#viewport.toScreen(rack.x, rack.y + 1.5);
    const context = this.#context;
    context.fillStyle = palette.muted;
    context.font = `${size}px system-ui, sans-serif`;
    context.fillText(rack.name, at.x, at.y, rack.width * this.#viewport.scale);
  }

  #paintPlace(box, palette) {
    const place = this.#fleet.place(box.place);
    if (!place) return;
    const context = this.#context;
    const { scale } = this.#viewport;
    const at = this.#viewport.toScreen(box.x, box.y);
    context.fillStyle = palette.node;
    context.fillRect(at.x - 0.2 * scale, at.y - 0.2 * scale, (box.width + 0.4) * scale, (box.height + 0.4) * scale);
    if (place.why) this.#paintRefusal(at, box, palette);
    const gap = scale > 4 ? scale * 0.12 : 0;
    const size = Math.max(1, scale - 2 * gap);
    (place.devices ?? []).forEach((device, i) => {
      const x = at.x + (i % box.columns) * scale + gap;
      const y = at.y + Math.floor(i / box.columns) * scale + gap;
      context.globalAlpha = this.#wanted(device) ? 1 : 0.15;
      const colour = palette.byState[device.state];
      if (size >= markSize) {
        drawMark(context, device.state, colour, palette.paper, x, y, size);
      } else {
        context.fillStyle = colour;
        context.fillRect(x, y, size, size);
      }
      if (this.#marked(device, place)) this.#outline(x, y, size, palette.text, Math.max(1.5, size / 8));
    });
    context.globalAlpha = 1;
    if (scale * box.width > 60 && scale > nameSize) this.#paintName(place, box, at, palette);
  }

  // #paintRefusal frames a node that takes no pods, or only some.
  #paintRefusal(at, box, palette) {
    const { scale } = this.#viewport;
    const edge = 0.32 * scale;
    this.#context.setLineDash([Math.max(2, scale / 3), Math.max(2, scale / 4)]);
    this.#context.strokeStyle = palette.byState.tainted;
    this.#context.lineWidth = Math.max(1, scale / 8);
    this.#context.strokeRect(at.x - edge, at.y - edge, box.width * scale + 2 * edge, box.height * scale + 2 * edge);
    this.#context.setLineDash([]);
  }

  #paintName(place, box, at, palette) {
    const { scale } = this.#viewport;
    this.#context.fillStyle = palette.muted;
    this.#context.font = `${Math.min(12, scale * 0.55)}px system-ui, sans-serif`;
    this.#context.fillText(place.name, at.x, at.y + (box.height + 0.62) * scale, box.width * scale);
  }

  #outline(x, y, size, colour, width) {
    this.#context.strokeStyle = colour;
    this.#context.lineWidth = width;
    this.#context.strokeRect(x - width / 2, y - width / 2, size + width, size + width);
  }

  #paintCursor(palette) {
    if (document.activeElement !== this.#canvas) return;
    const { box, device } = this.#cursor;
    const b = this.#plane.boxes[box];
    if (!b) return;
    const at = this.#viewport.toScreen(b.x, b.y);
    const { scale } = this.#viewport;
    const x = at.x + (device % b.columns) * scale;
    const y = at.y + Math.floor(device / b.columns) * scale;
    this.#outline(x, y, scale, palette.accent, 3);
  }

  // find returns the place and device under a point of the screen, or null.
  find(x, y) {
    const point = this.#viewport.toPlane(x, y);
    const inside = (b) => point.x >= b.x - 0.3 && point.x <= b.x + b.width + 0.3 && point.y >= b.y - 0.3 && point.y <= b.y + b.height + 0.3;
    const rack = this.#plane.racks.find(inside);
    if (!rack) return null;
    for (let i = rack.first; i < rack.end; i++) {
      const box = this.#plane.boxes[i];
      if (!inside(box)) continue;
      const column = Math.floor(point.x - box.x);
      const index = Math.floor(point.y - box.y) * box.columns + column;
      const device = column >= 0 && column < box.columns ? this.#fleet.place(box.place)?.devices?.[index] : undefined;
      return { box: i, index: device ? index : 0, place: this.#fleet.place(box.place), device };
    }
    return null;
  }

  // under returns what the cursor is on.
  get under() {
    const box = this.#plane.boxes[this.#cursor.box];
    const place = box && this.#fleet.place(box.place);
    return place ? { place, device: place.devices?.[this.#cursor.device] } : null;
  }

  #listen() {
    const canvas = this.#canvas;
    let drag = null;
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.#viewport.zoom(Math.exp(-event.deltaY / 300), event.offsetX, event.offsetY);
      this.draw();
    }, { passive: false });
    canvas.addEventListener("pointerdown", (event) => {
      drag = { x: event.offsetX, y: event.offsetY, moved: false };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (drag) this.#drag(drag, event);
      else this.moved(this.find(event.offsetX, event.offsetY));
    });
    canvas.addEventListener("pointerup", (event) => {
      const clicked = drag && !drag.moved;
      drag = null;
      if (clicked) this.#click(event);
    });
    canvas.addEventListener("focus", () => this.draw());
    canvas.addEventListener("blur", () => this.draw());
    canvas.addEventListener("keydown", (event) => {
      if (this.#press(event)) event.preventDefault();
    });
  }

  #drag(drag, event) {
    const dx = event.offsetX - drag.x;
    const dy = event.offsetY - drag.y;
    if (!drag.moved && Math.hypot(dx, dy) < 4) return;
    Object.assign(drag, { x: event.offsetX, y: event.offsetY, moved: true });
    this.#viewport.move(dx, dy);
    this.draw();
  }

  #click(event) {
    const found = this.find(event.offsetX, event.offsetY);
    if (!found) return;
    this.#cursor = { box: found.box, device: found.index };
    this.chosen(found);
    this.draw();
  }

  // #press does what a key means, and reports whether it means something.
  #press(event) {
    const { width, height } = this.#size;
    const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    if (event.ctrlKey || event.altKey || event.metaKey) return false;
    if (steps[event.key]) {
      this.#step(...steps[event.key], event.shiftKey);
    } else if (event.key === "Enter" || event.key === "n" || event.key === "N") {
      const under = this.under;
      if (under) this.chosen(event.key === "Enter" ? under : { place: under.place });
    } else if (event.key === "+" || event.key === "-") {
      const box = this.#plane.boxes[this.#cursor.box];
      const at = box ? this.#viewport.toScreen(box.x, box.y) : { x: width / 2, y: height / 2 };
      this.#viewport.zoom(event.key === "+" ? 1.5 : 1 / 1.5, at.x, at.y);
    } else if (event.key === "0") {
      this.#viewport.fit(this.#plane, width, height);
    } else {
      return false;
    }
    this.draw();
    return true;
  }

  // #step moves the cursor by a device, or to the next place.
  #step(dx, dy, byPlace) {
    const box = this.#plane.boxes[this.#cursor.box];
    if (!box) return;
    const { columns } = box;
    const devices = this.#fleet.place(box.place)?.devices?.length ?? 0;
    const column = (this.#cursor.device % columns) + dx;
    const device = this.#cursor.device + dx + dy * columns;
    if (!byPlace && column >= 0 && column < columns && device >= 0 && device < devices) {
      this.#cursor.device = device;
    } else {
      this.#stepToPlace(box, dx, dy);
    }
    const { width, height } = this.#size;
    this.#viewport.show(this.#plane.boxes[this.#cursor.box], width, height);
    this.moved(this.under);
  }

  #stepToPlace(box, dx, dy) {
    const rack = this.#plane.racks[box.rack];
    let next = this.#cursor.box + dx + dy * rack.columns;
    if (dy !== 0 && (next < rack.first || next >= rack.end)) next = dy > 0 ? rack.end : rack.first - 1;
    if (next < 0 || next >= this.#plane.boxes.length) return;
    this.#cursor = { box: next, device: 0 };
  }
}
