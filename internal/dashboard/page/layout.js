// layout arranges racks, and the nodes and pools in them, on a plane. A device is a square of one
// unit.

const nodeGap = 0.9; // between nodes
const rackGap = 2.5;
const rackHead = 2.2; // above the nodes of a rack, for its name

// layout returns the boxes of all places and racks, and the size of the plane, for a screen whose
// width is aspect times its height. It tries rows of different lengths.
export function layout(racks, fleet, aspect) {
  const blocks = racks.map((rack) => block(rack, fleet, racks.length === 1 ? aspect : 1));
  let best = { rows: [], scale: 0 };
  let limit = 0;
  for (const b of blocks) {
    limit += b.width + rackGap;
    const rows = inRows(blocks, limit);
    const scale = Math.min(aspect / Math.max(...rows.map((row) => row.width)), 1 / rows.reduce((sum, row) => sum + row.height, 0));
    if (scale > best.scale) best = { rows, scale };
  }
  return plane(best.rows);
}

// inRows divides blocks into rows that are not longer than a limit.
function inRows(blocks, limit) {
  const rows = [];
  for (const b of blocks) {
    let row = rows.at(-1);
    if (!row || row.width + b.width + rackGap > limit) {
      row = { blocks: [], width: 0, height: 0 };
      rows.push(row);
    }
    row.blocks.push(b);
    row.width += b.width + rackGap;
    row.height = Math.max(row.height, b.height + rackGap);
  }
  return rows;
}

// plane puts blocks where they are in their rows.
function plane(rows) {
  const racks = [];
  const boxes = [];
  let y = 0;
  for (const row of rows) {
    let x = 0;
    for (const b of row.blocks) {
      const rack = { name: b.name, x, y, width: b.width, height: b.height, first: boxes.length, columns: b.columns };
      for (const box of b.boxes) boxes.push({ ...box, x: box.x + x, y: box.y + y, rack: racks.length });
      racks.push({ ...rack, end: boxes.length });
      x += b.width + rackGap;
    }
    y += row.height;
  }
  return { racks, boxes, width: Math.max(1, ...rows.map((row) => row.width - rackGap)), height: Math.max(1, y - rackGap) };
}

// block arranges the places of one rack in a grid, in cells of the size of the largest.
function block(rack, fleet, aspect) {
  let most = 1;
  for (const place of rack.places) most = Math.max(most, fleet.place(place)?.devices?.length ?? 0);
  const deviceColumns = Math.ceil(Math.sqrt(most * 2));
  const deviceRows = Math.ceil(most / deviceColumns);
  const cell = { width: deviceColumns + nodeGap, height: deviceRows + nodeGap };
  const count = rack.places.length;
  const columns = columnsOf(count, Math.sqrt((count * cell.height * aspect) / cell.width));
  const head = rack.name === "" ? 0 : rackHead;
  const boxes = rack.places.map((place, i) => ({
    place,
    x: (i % columns) * cell.width,
    y: head + Math.floor(i / columns) * cell.height,
    width: deviceColumns,
    height: deviceRows,
    columns: deviceColumns,
  }));
  return {
    name: rack.name, boxes, columns,
    width: columns * cell.width - nodeGap,
    height: head + Math.ceil(count / columns) * cell.height - nodeGap,
  };
}

// columnsOf returns the number of columns for some places: what is wanted, or a little more if that
// leaves no gap in the last row.
function columnsOf(count, wanted) {
  const least = Math.max(1, Math.min(count, Math.round(wanted)));
  for (let columns = least; columns <= least * 1.4; columns++) {
    if (count % columns === 0) return columns;
  }
  return least;
}
