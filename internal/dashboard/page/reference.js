// A reference names an object that can be explained: { kind, namespace, name }. Its hash is the part
// of the address that opens it.

const spaced = ["pod", "podgroup", "job", "claim"];

export function hashOf({ kind, namespace, name }) {
  const parts = spaced.includes(kind) ? [kind, namespace, name] : [kind, ...name.split("/")];
  return "#" + parts.map(encodeURIComponent).join("/");
}

// referenceOf returns what a hash names, or null.
export function referenceOf(hash) {
  const [kind, ...rest] = hash.slice(1).split("/").map(decodeURIComponent);
  if (spaced.includes(kind) && rest.length === 2) return { kind, namespace: rest[0], name: rest[1] };
  if (kind === "node" && rest.length === 1) return { kind, name: rest[0] };
  if (kind === "device" && rest.length >= 3) return { kind, name: rest.join("/") };
  return null;
}
