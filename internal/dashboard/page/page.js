// The page: what the server sends goes into the fleet, and from there into the map, the lists, the
// legend and the timeline. What the person opens is in the hash of the address.

import { claimRow, claimRows } from "./claims.js";
import { element } from "./element.js";
import { follow } from "./feed.js";
import { Filter } from "./filter.js";
import { Fleet } from "./fleet.js";
import { Legend } from "./legend.js";
import { List } from "./list.js";
import { FleetMap } from "./map.js";
import { hashOf, referenceOf } from "./reference.js";
import { Report } from "./report.js";
import { Timeline } from "./timeline.js";
import { unitRow, unitRows } from "./units.js";

const find = (id) => document.getElementById(id);
const open = (reference) => {
  location.hash = hashOf(reference);
};

const fleet = new Fleet();
const filter = new Filter(find("filter"), fleet, () => update());
const legend = new Legend(find("legend"));
const timeline = new Timeline(find("samples"), find("moments"), fleet);
const report = new Report(find("report"), () => {
  history.pushState(null, "", location.pathname);
  opened();
  find("map").focus();
});
const units = new List(find("units"), { render: unitRow, open });
const claims = new List(find("claims"), {
  render: claimRow, open: ({ namespace, name }) => open({ kind: "claim", namespace, name }),
});
const map = new FleetMap(find("map"), fleet, { chosen: ({ place, device }) => open(referenceAt(place, device)), moved: describe });

// referenceAt returns the reference of a device, or of its node.
function referenceAt(place, device) {
  if (device) return { kind: "device", name: fleet.deviceName(place, device) };
  if (fleet.nodes.get(place.name) === place) return { kind: "node", name: place.name };
  return { kind: "device", name: fleet.deviceName(place, place.devices[0]) };
}

// describe says in text what the pointer or the cursor is on.
function describe(under) {
  if (!under) {
    find("cursor").textContent = "";
    return;
  }
  const { place, device } = under;
  const parts = [place.rack ? `${place.name} in ${place.rack}` : place.name];
  if (place.why) parts.push(place.why);
  if (device) {
    parts.unshift(`${device.name}: ${device.state}`);
    if (device.why) parts.push(device.why);
    const users = fleet.unitsOf(device).map((key) => key.replace("/", " "));
    if (device.claims) parts.push(`claim ${device.claims.join(", ")}`);
    if (users.length > 0) parts.push(`for ${users.join(", ")}`);
    const kind = fleet.kinds[device.kind];
    parts.push([kind.driver, ...(kind.classes ?? []).map((name) => `class ${name}`)].join(", "));
  } else {
    parts.push(`${place.pods ?? 0} pods`);
  }
  find("cursor").textContent = parts.join(" · ");
}

// marked returns a function that reports whether a device belongs to what is open.
function marked() {
  const shown = report.shown;
  if (!shown) return () => false;
  if (shown.kind === "device") return (device, place) => fleet.deviceName(place, device) === shown.name;
  if (shown.kind === "node") return (_, place) => place.name === shown.name;
  const key = `${shown.namespace}/${shown.name}`;
  if (shown.kind === "claim") return (device) => (device.claims ?? []).includes(key);
  const unit = `${shown.kind}/${key}`;
  return (device) => device.claims !== undefined && fleet.unitsOf(device).includes(unit);
}

function update() {
  filter.update();
  const wanted = filter.device();
  map.update(wanted, marked());
  legend.update(fleet.counts(wanted));
  units.show(unitRows(fleet, filter.unit()));
  claims.show(claimRows(fleet, filter.claim()));
  timeline.update();
  const { version, rackLabel } = fleet.cluster;
  find("cluster").textContent = version ? `Kubernetes ${version} · ${fleet.nodes.size} nodes${rackLabel ? ` by ${rackLabel}` : ""}` : "";
  find("unknown").hidden = fleet.unknown.length === 0;
  find("unknown").firstElementChild.textContent = `You may not see everything: ${fleet.unknown.length} kinds are left out, or in part`;
  find("unknown").lastElementChild.replaceChildren(...fleet.unknown.map((text) => element("li", "", text)));
}

// opened shows what the address names.
function opened() {
  const reference = referenceOf(location.hash);
  if (reference) report.show(reference);
  else report.hide();
  map.update(filter.device(), marked());
}

addEventListener("hashchange", opened);
opened();

follow({
  picture(difference) {
    fleet.reset();
    fleet.apply(difference);
    update();
    performance.mark("first-picture");
  },
  change(difference) {
    fleet.apply(difference);
    update();
    report.refresh();
  },
  status(problem) {
    find("status").textContent = problem;
  },
});
