// List shows the rows of a long list that are in sight. Rows have one height, so that only these are
// in the document.

const rowHeight = 44;

export class List {
  #root;
  #inner = document.createElement("div");
  #rows = [];
  #active = 0;
  #render;
  #open;

  // render returns an element for a row; open is called with a row that the person opens.
  constructor(root, { render, open }) {
    this.#root = root;
    this.#render = render;
    this.#open = open;
    this.#inner.className = "rows";
    root.append(this.#inner);
    root.addEventListener("scroll", () => this.#draw(), { passive: true });
    root.addEventListener("keydown", (event) => this.#press(event));
    root.addEventListener("focus", () => this.#draw());
    new ResizeObserver(() => this.#draw()).observe(root);
  }

  // show replaces the rows.
  show(rows) {
    this.#rows = rows;
    this.#active = Math.min(this.#active, Math.max(0, rows.length - 1));
    this.#draw();
  }

  #draw() {
    const first = Math.max(0, Math.floor(this.#root.scrollTop / rowHeight) - 2);
    const last = Math.min(this.#rows.length, Math.ceil((this.#root.scrollTop + this.#root.clientHeight) / rowHeight) + 2);
    this.#inner.style.height = `${this.#rows.length * rowHeight}px`;
    const elements = [];
    for (let i = first; i < last; i++) elements.push(this.#element(i));
    this.#inner.replaceChildren(...elements);
    const active = this.#rows.length > 0 ? `${this.#root.id}-${this.#active}` : "";
    this.#root.setAttribute("aria-activedescendant", active);
  }

  #element(i) {
    const element = this.#render(this.#rows[i]);
    element.classList.add("row");
    element.id = `${this.#root.id}-${i}`;
    element.setAttribute("role", "option");
    element.setAttribute("aria-setsize", this.#rows.length);
    element.setAttribute("aria-posinset", i + 1);
    element.setAttribute("aria-selected", i === this.#active);
    element.style.transform = `translateY(${i * rowHeight}px)`;
    element.addEventListener("click", () => {
      this.#active = i;
      this.#open(this.#rows[i]);
      this.#draw();
    });
    return element;
  }

  #press(event) {
    const page = Math.max(1, Math.floor(this.#root.clientHeight / rowHeight) - 1);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    if (event.key === "Enter" && this.#rows[this.#active]) {
      this.#open(this.#rows[this.#active]);
    } else if (event.key in steps) {
      this.#active = Math.min(Math.max(0, this.#active + steps[event.key]), Math.max(0, this.#rows.length - 1));
      const top = this.#active * rowHeight;
      if (top < this.#root.scrollTop) this.#root.scrollTop = top;
      const bottom = top + rowHeight - this.#root.clientHeight;
      if (bottom > this.#root.scrollTop) this.#root.scrollTop = bottom;
      this.#draw();
    } else {
      return;
    }
    event.preventDefault();
  }
}
