// Fleet is the picture of the cluster as far as it was received.

const order = new Intl.Collator("en", { numeric: true }).compare;

// key returns the key of an entry, as package picture has it.
const keys = {
  nodes: (node) => node.name,
  pools: (pool) => `${pool.driver}/${pool.name}`,
  units: (unit) => (unit.namespace ? `${unit.kind}/${unit.namespace}/${unit.name}` : `${unit.kind}/${unit.name}`),
  claims: (claim) => `${claim.namespace}/${claim.name}`,
};

export class Fleet {
  constructor() {
    this.reset();
  }

  reset() {
    this.taken = null;
    this.cluster = {};
    this.unknown = [];
    this.kinds = [];
    this.samples = [];
    this.moments = [];
    for (const list of Object.keys(keys)) {
      this[list] = new Map();
    }
    this.version = 0; // of the set of nodes and pools, and where they are
  }

  // apply changes the fleet by a difference.
  apply(difference) {
    this.taken = new Date(difference.taken);
    this.cluster = difference.cluster;
    this.unknown = difference.unknown ?? [];
    this.kinds.push(...(difference.kinds ?? []));
    for (const list of Object.keys(keys)) {
      this.#change(list, difference[list] ?? {});
    }
    this.#addSamples(difference.samples ?? []);
    this.moments = [...this.moments, ...(difference.moments ?? [])].slice(-200);
  }

  #change(list, { put = [], deleted = [] }) {
    const entries = this[list];
    const isPlace = list === "nodes" || list === "pools";
    for (const entry of put) {
      const key = keys[list](entry);
      const old = entries.get(key);
      if (isPlace && (!old || old.rack !== entry.rack || size(old) !== size(entry))) this.version++;
      entries.set(key, entry);
    }
    for (const key of deleted) {
      entries.delete(key);
      if (isPlace) this.version++;
    }
  }

  #addSamples(samples) {
    if (samples.length === 0) return;
    const first = samples[0].time;
    const last = this.samples.at(-1);
    if (last && last.time >= first) this.samples.pop();
    this.samples = [...this.samples, ...samples].slice(-200);
  }

  // racks returns the nodes and pools by rack, in the order of names.
  racks() {
    const racks = new Map();
    const nodes = [...this.nodes.values()].sort((a, b) => order(a.name, b.name));
    for (const node of nodes) {
      const name = node.rack ?? "";
      if (!racks.has(name)) racks.set(name, { name, places: [] });
      racks.get(name).places.push({ list: "nodes", key: node.name });
    }
    const list = [...racks.values()].sort((a, b) => order(a.name, b.name));
    if (this.pools.size > 0) {
      const places = [...this.pools.keys()].sort(order).map((key) => ({ list: "pools", key }));
      list.push({ name: "pools of several nodes", places });
    }
    return list;
  }

  // place returns the node or pool of a place of racks, or undefined if it was deleted.
  place({ list, key }) {
    return this[list].get(key);
  }

  // deviceName returns the whole name of a device at a place.
  deviceName(place, device) {
    return `${this.kinds[device.kind].driver}/${device.pool ?? place.name}/${device.name}`;
  }

  // unitsOf returns the keys of the units that use a device.
  unitsOf(device) {
    return (device.claims ?? []).flatMap((key) => this.claims.get(key)?.units ?? []);
  }

  // counts returns the number of devices that pass a test, by state.
  counts(test) {
    const counts = {};
    for (const place of this.places()) {
      for (const device of place.devices ?? []) {
        if (test(device)) counts[device.state] = (counts[device.state] ?? 0) + 1;
      }
    }
    return counts;
  }

  *places() {
    yield* this.nodes.values();
    yield* this.pools.values();
  }
}

const size = (place) => place.devices?.length ?? 0;
