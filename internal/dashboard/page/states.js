// The states of devices, in the order of the legend: a colour of page.css, and a mark that tells
// them apart without colour. Marks are drawn into a square of the given size.

export const states = [
  { name: "free", meaning: "not in use, and can be allocated", mark: outline },
  { name: "held", meaning: "used by a claim", mark: solid },
  { name: "shared", meaning: "used by several claims", mark: halves },
  { name: "reserved", meaning: "allocated to a claim that no pod on a node uses yet", mark: dot },
  { name: "tainted", meaning: "claims get it only if they tolerate its taint", mark: cross },
  { name: "unavailable", meaning: "not in use, and cannot be allocated", mark: slash },
  { name: "unpublished", meaning: "used by a claim, and not in a ResourceSlice any more", mark: frame },
];

// colours returns the present colours by state, for light or dark.
export function colours() {
  const style = getComputedStyle(document.documentElement);
  const of = (name) => style.getPropertyValue(`--${name}`).trim();
  const byState = {};
  for (const { name } of states) byState[name] = of(`device-${name}`);
  return { byState, text: of("text"), muted: of("muted"), node: of("node"), paper: of("paper"), accent: of("accent") };
}

// drawMark draws the mark of a state in a square.
export function drawMark(context, state, colour, paper, x, y, size) {
  context.fillStyle = colour;
  context.strokeStyle = colour;
  context.lineWidth = Math.max(1, size / 8);
  const { mark } = states.find((s) => s.name === state) ?? states[0];
  mark(context, x, y, size, paper);
}

function outline(context, x, y, size) {
  const inset = context.lineWidth / 2;
  context.strokeRect(x + inset, y + inset, size - 2 * inset, size - 2 * inset);
}

function solid(context, x, y, size) {
  context.fillRect(x, y, size, size);
}

function halves(context, x, y, size) {
  const half = size * 0.42;
  context.fillRect(x, y, half, size);
  context.fillRect(x + size - half, y, half, size);
}

function dot(context, x, y, size) {
  outline(context, x, y, size);
  context.beginPath();
  context.arc(x + size / 2, y + size / 2, size / 5, 0, 2 * Math.PI);
  context.fill();
}

function cross(context, x, y, size, paper) {
  solid(context, x, y, size);
  context.strokeStyle = paper;
  line(context, x, y, x + size, y + size);
  line(context, x + size, y, x, y + size);
}

function slash(context, x, y, size) {
  outline(context, x, y, size);
  line(context, x, y + size, x + size, y);
}

function frame(context, x, y, size) {
  context.setLineDash([size / 5, size / 5]);
  outline(context, x, y, size);
  context.setLineDash([]);
  context.fillRect(x + size * 0.35, y + size * 0.35, size * 0.3, size * 0.3);
}

function line(context, x1, y1, x2, y2) {
  context.beginPath();
  context.moveTo(x1, y1);
  context.lineTo(x2, y2);
  context.stroke();
}
