// element returns an element with these classes and children. Children are elements or text, which
// never becomes HTML.
export function element(name, classes, ...children) {
  const e = document.createElement(name);
  if (classes) e.className = classes;
  e.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return e;
}

// link returns a link that explains an object.
export function link(text, hash) {
  const a = element("a", "", text);
  a.href = hash;
  return a;
}
