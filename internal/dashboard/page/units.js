// Rows of PodGroups and pods: what waits comes first.

import { compare } from "./compare.js";
import { element } from "./element.js";

const order = ["Waiting", "PartlyPlaced", "Terminating", "Placed", "Finished"];
const words = {
  Waiting: "waits", PartlyPlaced: "placed in part", Terminating: "terminating", Placed: "placed", Finished: "finished",
};
const signs = { Waiting: "◔", PartlyPlaced: "◐", Terminating: "✕", Placed: "●", Finished: "✓" };

// unitRows returns the wanted units in the order of the list.
export function unitRows(fleet, wanted) {
  const rows = [];
  for (const [key, unit] of fleet.units) if (wanted(unit, key)) rows.push(unit);
  return rows.sort(
    (a, b) =>
      order.indexOf(a.state) - order.indexOf(b.state) || (b.priority ?? 0) - (a.priority ?? 0) ||
      compare(a.since ?? "", b.since ?? "") || compare(a.name, b.name),
  );
}

export function unitRow(unit) {
  const title = element("span", "name", `${unit.namespace}/${unit.name}`, unit.kind === "pod" ? " (pod)" : "");
  const state = element("span", `state ${unit.state}`, `${signs[unit.state]} ${words[unit.state]}`);
  const reason = element("span", "reason", unit.reason ?? counts(unit));
  const row = element("div", "", element("div", "line", title, state), reason);
  row.title = unit.reason ?? "";
  return row;
}

function counts({ pods, wanted, priority }) {
  const parts = Object.entries(pods).map(([state, n]) => `${n} ${state}`);
  if (wanted) parts.push(`at least ${wanted} together`);
  if (priority) parts.push(`priority ${priority}`);
  return parts.join(", ");
}
