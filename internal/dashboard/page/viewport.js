// Viewport is which part of a plane a canvas shows.

const maxScale = 64; // pixels a device

export class Viewport {
  constructor() {
    this.scale = 1;
    this.x = 0; // of the plane, at the left of the screen
    this.y = 0;
    this.fitted = true; // whether all is shown
  }

  // fit shows the whole plane.
  fit(plane, width, height) {
    const margin = 8;
    this.least = Math.min((width - 2 * margin) / Math.max(1, plane.width), (height - 2 * margin) / Math.max(1, plane.height), 24);
    this.scale = this.least;
    this.x = -margin / this.scale;
    this.y = -margin / this.scale;
    this.fitted = true;
  }

  // zoom keeps the point of the plane under (x, y) of the screen where it is.
  zoom(factor, x, y) {
    const scale = Math.min(Math.max(this.scale * factor, this.least), Math.max(maxScale, this.least));
    this.x += x / this.scale - x / scale;
    this.y += y / this.scale - y / scale;
    this.scale = scale;
    this.fitted = scale === this.least;
  }

  move(dx, dy) {
    this.x -= dx / this.scale;
    this.y -= dy / this.scale;
    this.fitted = false;
  }

  // show moves a box of the plane onto the screen if it is outside.
  show(box, width, height) {
    const right = this.x + width / this.scale;
    const bottom = this.y + height / this.scale;
    if (box.x < this.x || box.x + box.width > right) this.x = box.x + box.width / 2 - width / this.scale / 2;
    if (box.y < this.y || box.y + box.height > bottom) this.y = box.y + box.height / 2 - height / this.scale / 2;
  }

  toPlane(x, y) {
    return { x: this.x + x / this.scale, y: this.y + y / this.scale };
  }

  toScreen(x, y) {
    return { x: (x - this.x) * this.scale, y: (y - this.y) * this.scale };
  }
}
