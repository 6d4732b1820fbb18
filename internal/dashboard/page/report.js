// Report shows what explain says about one object.

import { element, link } from "./element.js";
import { hashOf } from "./reference.js";

const refreshAfter = 3000; // ms, as an explanation of a large cluster takes a second

export class Report {
  #root;
  #asked = null; // the reference that is shown, or is being fetched
  #refreshing = 0; // timer; 0 while there is none

  // closed is called when the person closes the report.
  constructor(root, closed) {
    this.#root = root;
    root.addEventListener("keydown", (event) => {
      if (event.key === "Escape") closed();
    });
    this.closed = closed;
  }

  // show fetches and shows the report about an object; again is set if it is shown already, so that
  // the focus stays.
  async show(reference, again = false) {
    this.#asked = reference;
    const query = new URLSearchParams({ kind: reference.kind, namespace: reference.namespace ?? "", name: reference.name });
    const top = again ? this.#root.scrollTop : 0;
    if (!again) this.#fill(reference, element("p", "muted", "is being explained …"));
    let answer;
    try {
      answer = await (await fetch(`explain?${query}`)).json();
    } catch {
      answer = { problem: "allot does not respond" };
    }
    if (this.#asked !== reference) return; // another one was asked for meanwhile
    this.#fill(reference, ...(answer.problem ? [element("p", "problem", answer.problem)] : body(answer, reference)));
    this.#root.scrollTop = top;
    if (!again) this.#root.focus();
  }

  // refresh fetches what is shown again, once in a while, however often it is called.
  refresh() {
    if (!this.#asked || this.#refreshing) return;
    this.#refreshing = setTimeout(() => {
      this.#refreshing = 0;
      if (this.#asked) this.show(this.#asked, true);
    }, refreshAfter);
  }

  get shown() {
    return this.#asked;
  }

  hide() {
    this.#asked = null;
    this.#root.hidden = true;
    this.#root.replaceChildren(); // nothing of it is shown when the next one is opened
  }

  #fill(reference, ...content) {
    const close = element("button", "close", "✕");
    close.ariaLabel = "Close the explanation";
    close.addEventListener("click", this.closed);
    const name = reference.namespace ? `${reference.namespace}/${reference.name}` : reference.name;
    const title = element("h2", "", `${reference.kind} ${name}`);
    this.#root.replaceChildren(element("div", "line", title, close), ...content);
    this.#root.hidden = false;
  }
}

function body(report, { namespace }) {
  return [
    element("p", "summary", element("strong", "", words(report.state)), `: ${report.summary}.`),
    report.recomputed ? element("p", "muted", "Another scheduler decides; this is what allot computes from the API.") : null,
    ...(report.unknown ?? []).map((text) => element("p", "problem", text)),
    facts(report.facts ?? []),
    ...(report.pods ?? []).map((answer) => podAnswer(answer, namespace)),
    section("Devices", (report.devices ?? []).map(deviceAnswer)),
    section("Why there", (report.placement ?? []).map((p) => placement(p, namespace))),
    section("What helps", (report.help ?? []).map(help)),
    section("History", (report.history ?? []).map(moment)),
  ].filter(Boolean);
}

const words = (state) => state.replace(/(?<=[a-z])[A-Z]/g, (c) => ` ${c.toLowerCase()}`);

function facts(list) {
  const names = list.flatMap(({ name, value }) => [element("dt", "", name), element("dd", "", value)]);
  return list.length > 0 ? element("dl", "", ...names) : null;
}

function section(title, items) {
  return items.length > 0 ? element("section", "", element("h3", "", title), ...items) : null;
}

function podAnswer(answer, namespace) {
  const pods = answer.pods.slice(0, 5).map((name) => link(name, hashOf({ kind: "pod", namespace, name })));
  const more = answer.pods.length > pods.length ? ` and ${answer.pods.length - pods.length} more` : "";
  const names = pods.flatMap((a, i) => (i > 0 ? [", ", a] : [a]));
  return element(
    "section", "", element("h3", "", "Why it waits"), element("p", "", ...names, more),
    answer.reason ? element("p", "", answer.reason) : null,
    ...(answer.details ?? []).map((text) => element("p", "muted", text)),
    answer.nodes ? nodeClasses(answer) : null,
    answer.nearest ? nearest(answer.nearest) : null,
  );
}

function nodeClasses({ nodes, examined }) {
  const rows = nodes.map((c) =>
    element(
      "li", "", `${c.nodes} of ${examined} nodes: ${c.reason}`, c.detail ? ` (${c.detail})` : "",
      element("ul", "", ...c.examples.map((e) => element("li", "", nodeLink(e.node), e.found ? `: ${e.found}` : ""))),
    ),
  );
  return element("ul", "", ...rows);
}

const nodeLink = (name) => link(name, hashOf({ kind: "node", name }));

function nearest(n) {
  const where = n.node ? [" is missing on ", nodeLink(n.node)] : [];
  return element(
    "div", "", element("p", "", "The least", ...where, `: ${n.missing}`),
    ...(n.why ?? []).map((text) => element("p", "muted", text)), ...(n.holders ?? []).map(holder),
  );
}

function holder(h) {
  const by = h.claim ? [" is held by ", claimLink(h.claim)] : [];
  return element(
    "div", "holder", element("p", "", h.held, ...by, h.since ? ` since ${h.since}` : ""),
    ...(h.consumers ?? []).map((text) => element("p", "muted", `used by ${text}`)),
    h.preemption ? element("p", "muted", h.preemption) : null,
  );
}

// claimLink links a claim; a reservation is text.
function claimLink(claim) {
  const [namespace, name, ...rest] = claim.split("/");
  return name && rest.length === 0 && !claim.includes(" ") ? link(claim, hashOf({ kind: "claim", namespace, name })) : claim;
}

function deviceAnswer(d) {
  return element(
    "div", "holder",
    element("p", "", link(d.device, hashOf({ kind: "device", name: d.device })), `: ${d.state}`, d.request ? ` (request ${d.request})` : ""),
    ...(d.taints ?? []).map((text) => element("p", "problem", `tainted: ${text}`)),
    ...(d.holders ?? []).map(holder), facts(d.attributes ?? []),
  );
}

function placement(p, namespace) {
  const rows = (p.candidates ?? []).map((c) =>
    element("li", "", `${c.rank}. `, nodeLink(c.node), c.chosen ? " (chosen)" : "",
      ...(c.scores ?? []).map((s) => element("span", "muted", ` · ${s.preference} ${s.value}`))),
  );
  return element("div", "", element("p", "", link(p.pod, hashOf({ kind: "pod", namespace, name: p.pod })), " is on ", nodeLink(p.node)), element("ul", "", ...rows));
}

function help(h) {
  return element("div", "", element("p", "", h.what), ...(h.commands ?? []).map((text) => element("pre", "", text)));
}

function moment(m) {
  return element("p", "", element("time", "muted", new Date(m.time).toLocaleString()), ` ${m.what}`);
}
