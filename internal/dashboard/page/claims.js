// Rows of claims: what is broken or waits comes first.

import { compare } from "./compare.js";
import { element } from "./element.js";

const order = ["Waiting", "Reserved", "Terminating", "InUse", "Free"];
const words = {
  Waiting: "waits", Reserved: "reserved, not used yet", Terminating: "terminating", InUse: "in use", Free: "not allocated",
};
const signs = { Waiting: "◔", Reserved: "◎", Terminating: "✕", InUse: "●", Free: "○" };

export function claimRows(fleet, wanted) {
  const rows = [...fleet.claims.values()].filter(wanted);
  const rank = (claim) => (claim.why ? -1 : order.indexOf(claim.state));
  return rows.sort((a, b) => rank(a) - rank(b) || compare(a.namespace, b.namespace) || compare(a.name, b.name));
}

export function claimRow(claim) {
  const title = element("span", "name", `${claim.namespace}/${claim.name}`);
  const state = element("span", `state ${claim.state}`, claim.why ? "⚠ broken" : `${signs[claim.state]} ${words[claim.state]}`);
  const row = element("div", "", element("div", "line", title, state), element("span", "reason", claim.why ?? holds(claim)));
  row.title = claim.why ?? "";
  return row;
}

function holds({ devices = [], consumers = [], units = [], classes = [] }) {
  if (devices.length === 0) return `wants ${classes.join(", ")}${units.length > 0 ? ` for ${units.map(plain).join(", ")}` : ""}`;
  const has = devices.length === 1 ? devices[0] : `${devices.length} devices: ${devices[0]}, …`;
  const used = consumers.length > 0 ? consumers : units.map(plain);
  return used.length > 0 ? `${has}, for ${used.slice(0, 3).join(", ")}${used.length > 3 ? ", …" : ""}` : `${has}, for nothing`;
}

const plain = (key) => key.replace("/", " ");
