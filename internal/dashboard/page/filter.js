// Filter is what the person wants to see. Devices and entries that it excludes are dimmed or left
// out, never removed from the fleet.

export class Filter {
  #form;
  #fleet;

  // changed is called when the person has changed the filter.
  constructor(form, fleet, changed) {
    this.#form = form;
    this.#fleet = fleet;
    form.addEventListener("change", changed);
    form.addEventListener("reset", () => setTimeout(changed));
    form.addEventListener("submit", (event) => event.preventDefault());
  }

  #value(name) {
    return this.#form.elements[name].value;
  }

  get active() {
    return ["class", "driver", "namespace", "group"].some((name) => this.#value(name) !== "");
  }

  // update offers what the fleet has.
  update() {
    const fleet = this.#fleet;
    const values = { class: new Set(), driver: new Set(), namespace: new Set(), group: new Set() };
    for (const kind of fleet.kinds) {
      values.driver.add(kind.driver);
      for (const name of kind.classes ?? []) values.class.add(name);
    }
    for (const claim of fleet.claims.values()) values.namespace.add(claim.namespace);
    for (const [key, unit] of fleet.units) {
      values.namespace.add(unit.namespace);
      if (unit.kind === "podgroup") values.group.add(key.slice("podgroup/".length));
    }
    for (const [name, set] of Object.entries(values)) this.#offer(this.#form.elements[name], [...set].sort());
  }

  #offer(select, values) {
    const now = ["", ...values];
    if (select.options.length === now.length && now.every((v, i) => select.options[i].value === v)) return;
    const chosen = select.value;
    select.replaceChildren(...now.map((value) => new Option(value || "all", value)));
    select.value = now.includes(chosen) ? chosen : "";
  }

  // device returns a function that reports whether a device is wanted.
  device() {
    const fleet = this.#fleet;
    const [wantClass, driver, namespace, group] = ["class", "driver", "namespace", "group"].map((n) => this.#value(n));
    const kinds = fleet.kinds.map(
      (kind) => (!driver || kind.driver === driver) && (!wantClass || (kind.classes ?? []).includes(wantClass)),
    );
    return (device) => {
      if (!kinds[device.kind]) return false;
      if (namespace && !(device.claims ?? []).some((key) => key.startsWith(`${namespace}/`))) return false;
      return !group || fleet.unitsOf(device).includes(`podgroup/${group}`);
    };
  }

  unit() {
    const [wantClass, driver, namespace, group] = ["class", "driver", "namespace", "group"].map((n) => this.#value(n));
    const byClaims = wantClass || driver ? this.#unitsByClaims() : null;
    return (unit, key) =>
      (!namespace || unit.namespace === namespace) && (!group || key === `podgroup/${group}`) &&
      (!byClaims || byClaims.has(key));
  }

  // #unitsByClaims returns the units that use or want a claim that passes.
  #unitsByClaims() {
    const passes = this.claim();
    const units = new Set();
    for (const claim of this.#fleet.claims.values()) {
      if (passes(claim)) for (const key of claim.units ?? []) units.add(key);
    }
    return units;
  }

  claim() {
    const [wantClass, driver, namespace, group] = ["class", "driver", "namespace", "group"].map((n) => this.#value(n));
    return (claim) =>
      (!namespace || claim.namespace === namespace) &&
      (!group || (claim.units ?? []).includes(`podgroup/${group}`)) &&
      (!wantClass || (claim.classes ?? []).includes(wantClass)) &&
      (!driver || (claim.devices ?? []).some((name) => name.startsWith(`${driver}/`)));
  }
}
